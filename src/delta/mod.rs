//! The algebra: a plan in, and which of its sources changed; a plan for its delta out. Writes no SQL and reads nothing.
//!
//! The law that every rule keeps, for a plan Q over a window (from, to]: with `consolidate` summing the weights of
//! equal rows and dropping zeros,
//!
//! > consolidate(delta(Q)) = bag(Q at `to`) − bag(Q at `from`)
//!
//! A delta is a list of [`Term`]s whose bag union it is. Each is a plan with the columns of Q and, last, the weight.
//! Leaves read a table's old state, its new state or its net change ([`State`]); a table that did not change is read
//! in its new state wherever a rule asks for old or new, so that it is read only once.
//!
//! | node | rule | kind |
//! |---|---|---|
//! | table | [`scan`] | linear |
//! | `VALUES`, table function over constants | [`constant`] | – |
//! | `SELECT` list | [`projection`] | linear |
//! | `WHERE` | [`filter`] | linear |
//! | `UNION ALL` | [`union_all`] | linear |
//! | `unnest`, lateral table function | [`unnest`] | linear |
//! | inner, cross, any-predicate join of N legs | [`inner_join`] | product |

pub mod constant;
pub mod filter;
pub mod inner_join;
#[cfg(test)]
mod law_tests;
pub mod projection;
pub mod scan;
pub mod sign;
pub mod union_all;
pub mod unnest;

use std::collections::BTreeMap;

use crate::plan::expr::Expr;
use crate::plan::facts::{self, Source};
use crate::plan::normalise::flatten;
use crate::plan::rel::{Rel, Scan, SetOperation, SetOperator, State};
use crate::plan::shape::WEIGHT;
use crate::plan::types::DataType;

pub use sign::Sign;

/// What happened to a source in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// No row differs.
    Unchanged,
    /// Rows came, none went.
    InsertsOnly,
    /// Rows went, or both.
    Mixed,
}

/// What happened to each source of a plan. A source that is not named did not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes(BTreeMap<Source, Change>);

impl Changes {
    /// Records what happened to `source`.
    pub fn set(&mut self, source: Source, change: Change) {
        self.0.insert(source, change);
    }

    /// What happened to `source`.
    pub fn of(&self, source: &Source) -> Change {
        self.0.get(source).copied().unwrap_or(Change::Unchanged)
    }

    /// What happened to the table under `scan`; a pinned scan never changes.
    pub fn of_scan(&self, scan: &Scan) -> Change {
        if scan.pinned.is_some() { Change::Unchanged } else { self.of(&Source::of(scan)) }
    }

    /// Did anything below `rel` change?
    pub fn touch(&self, rel: &Rel) -> bool {
        rel.scans().into_iter().any(|scan| self.of_scan(scan) != Change::Unchanged)
    }
}

impl FromIterator<(Source, Change)> for Changes {
    fn from_iter<T: IntoIterator<Item = (Source, Change)>>(changes: T) -> Self {
        Changes(changes.into_iter().collect())
    }
}

/// One input of the view's joins (or the view's only input).
#[derive(Debug, Clone, PartialEq)]
pub struct Leg {
    /// The table's name, or the operator whose result the leg is.
    pub name: String,
    /// The tables that it reads.
    pub sources: Vec<Source>,
    /// Did any of them change?
    pub changed: bool,
}

/// One summand of a delta: the change of one leg, joined with the others' states.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The leg whose change the term is about.
    pub leg: Leg,
    /// The summand; `None` if the leg did not change, so that no term is needed.
    pub rel: Option<Rel>,
}

impl Term {
    /// The tables and states that the term reads beside the net changes, in the plan's order, each once.
    pub fn reads(&self) -> Vec<(Source, State)> {
        let mut reads = Vec::new();
        for scan in self.rel.iter().flat_map(Rel::scans) {
            let read = (Source::of(scan), scan.state);
            if matches!(scan.state, State::Old | State::New) && scan.pinned.is_none() && !reads.contains(&read) {
                reads.push(read);
            }
        }
        reads
    }

    /// The tables whose net changes the term reads.
    pub fn deltas(&self) -> Vec<Source> {
        let mut deltas = Vec::new();
        for scan in self.rel.iter().flat_map(Rel::scans) {
            let source = Source::of(scan);
            if scan.state == State::Delta && !deltas.contains(&source) {
                deltas.push(source);
            }
        }
        deltas
    }

    /// The same term with `rule` applied to its summand.
    fn map(self, rule: impl FnOnce(Rel) -> Rel) -> Term {
        Term { leg: self.leg, rel: self.rel.map(rule) }
    }
}

/// How the terms of a view's joins were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinMethod {
    /// N terms over old and new states.
    Telescoping,
}

impl JoinMethod {
    /// The word for it in plans.
    pub fn word(self) -> &'static str {
        match self {
            JoinMethod::Telescoping => "telescoping",
        }
    }
}

/// The delta of a view over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaPlan {
    /// One term per leg; their bag union is the delta.
    pub terms: Vec<Term>,
    /// The signs that weights can have.
    pub sign: Sign,
    /// How joins were treated; `None` in a view without a join.
    pub join: Option<JoinMethod>,
}

impl DeltaPlan {
    /// No row can go: the delta is a plain insertion, with no need to consolidate or to delete.
    pub fn append_only(&self) -> bool {
        matches!(self.sign, Sign::Zero | Sign::Plus)
    }

    /// How many terms read anything.
    pub fn terms_run(&self) -> usize {
        self.terms.iter().filter(|term| term.rel.is_some()).count()
    }
}

/// A view has no delta rule: which operator is in the way, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operator}: {reason}")]
pub struct NotIncremental {
    /// The operator as a user wrote it.
    pub operator: String,
    /// Why there is no delta.
    pub reason: String,
}

/// Derives the delta of `rel` (in normal form, see [`crate::plan::normalise`]) when its sources changed as `changes`
/// says. The expressions of `rel` must be deterministic ([`facts::impurity`]).
pub fn derive(rel: &Rel, changes: &Changes) -> Result<DeltaPlan, NotIncremental> {
    let terms = terms(rel, changes)?.into_iter().map(|term| term.map(flatten)).collect();
    let joins = rel_contains_join(rel).then_some(JoinMethod::Telescoping);
    Ok(DeltaPlan { terms, sign: sign::of(rel, changes), join: joins })
}

/// Whether every node of `rel` has a delta rule; the first one that has not is named.
pub fn check(rel: &Rel) -> Result<(), NotIncremental> {
    let everything = facts::sources(rel).into_iter().map(|source| (source, Change::Mixed)).collect();
    derive(rel, &everything).map(|_| ())
}

fn rel_contains_join(rel: &Rel) -> bool {
    let mut found = false;
    rel.walk(&mut |node| found |= matches!(node, Rel::InnerJoin(_)));
    found
}

/// The terms of the delta of `rel`, one per leg, unchanged legs included.
fn terms(rel: &Rel, changes: &Changes) -> Result<Vec<Term>, NotIncremental> {
    match rel {
        Rel::Scan(scan) => Ok(vec![scan::term(scan, changes)]),
        Rel::Values(_) => Ok(constant::terms()),
        Rel::TableFunction(function) => match &function.input {
            None => Ok(constant::terms()),
            Some(input) => Ok(unnest::function_terms(function, terms(input, changes)?)),
        },
        Rel::Project(project) => Ok(projection::terms(project, terms(&project.input, changes)?)),
        Rel::Filter(filter) => Ok(filter::terms(filter, terms(&filter.input, changes)?)),
        Rel::Unnest(unnest) => Ok(unnest::terms(unnest, terms(&unnest.input, changes)?)),
        Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => {
            union_all::terms(operation.inputs.iter().map(|input| terms(input, changes)))
        }
        Rel::InnerJoin(join) => inner_join::terms(join, changes),
        other => Err(NotIncremental {
            operator: facts::operator_name(other),
            reason: "has no delta rule yet, so the view is recomputed and the difference written".into(),
        }),
    }
}

/// The delta of `rel` as one plan; `None` if nothing below it changed.
fn delta(rel: &Rel, changes: &Changes) -> Result<Option<Rel>, NotIncremental> {
    let mut summands: Vec<Rel> = terms(rel, changes)?.into_iter().filter_map(|term| term.rel).collect();
    Ok(match summands.len() {
        0 => None,
        1 => summands.pop(),
        _ => {
            let columns = summands[0].columns();
            let union = SetOperation { op: SetOperator::Union, all: true, inputs: summands, columns };
            Some(Rel::SetOperation(union))
        }
    })
}

/// `rel` as it was at `from`; tables that did not change are read in their new state.
fn old(rel: &Rel, changes: &Changes) -> Rel {
    rel.clone().map_scans(&mut |scan| {
        if scan.pinned.is_none() {
            scan.state = if changes.of_scan(scan) == Change::Unchanged { State::New } else { State::Old };
        }
    })
}

/// `rel` as it is at `to`.
fn new(rel: &Rel) -> Rel {
    rel.clone().at(State::New)
}

/// A reference to the weight of a delta with `width` columns before it.
fn weight_at(width: usize) -> (String, Expr) {
    (WEIGHT.into(), Expr::column(width, DataType::BigInt))
}

/// The leg that `rel` is.
fn leg(rel: &Rel, changes: &Changes) -> Leg {
    let mut inner = rel;
    while let Rel::Filter(_) | Rel::Project(_) = inner {
        inner = inner.inputs()[0];
    }
    let name = match inner {
        Rel::Scan(scan) => Source::of(scan).to_string(),
        other => facts::operator_name(other),
    };
    Leg { name, sources: facts::sources(rel), changed: changes.touch(rel) }
}
