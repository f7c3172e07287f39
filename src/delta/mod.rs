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
//! | inner, cross, any-predicate join of N legs | [`inner_join`], its large legs by [`reduction`] | product |
//! | semi and anti join | [`semi_join`] | linear in the left side |
//! | left and full join | [`left_join`] | linear in the preserved side |
//! | scalar subquery, `IN`, `ANY`, `ALL`, `EXISTS` as a value | [`probe`] | linear in the left side |
//! | correlated subquery, lateral | [`dependent_join`] | linear in the outer side |
//! | `DISTINCT`, `UNION` | [`distinct`] | stateful |
//! | `GROUP BY` and ungrouped aggregates kept in accumulators | [`accumulator`] | stateful |
//! | window, other aggregates, `DISTINCT ON`, `EXCEPT`, `INTERSECT`, `LIMIT`, recursive CTE | [`affected`] | non-linear |
//! | windows over several partitionings | [`partitions`] | non-linear |
//! | the topmost of these, where its keys stand in the view | [`own_rows`] | non-linear |
//! | topmost `LIMIT`, recursive CTE, ungrouped aggregate, window without `PARTITION BY` | [`top`] | non-linear |
//! | `GROUPING SETS`, `ROLLUP`, `CUBE` | [`grouping_sets`] | non-linear |

pub mod accumulator;
pub mod affected;
pub mod constant;
mod construct;
pub mod dependent_join;
mod derivation;
pub mod distinct;
pub mod filter;
pub mod grouping_sets;
pub mod guards;
pub mod inner_join;
#[cfg(test)]
mod law_tests;
pub mod left_join;
pub mod outline;
pub mod own_rows;
pub mod partitions;
pub mod probe;
pub mod projection;
pub mod reduction;
pub mod scan;
pub mod semi_join;
pub mod sign;
pub mod top;
pub mod union_all;
pub mod unnest;
pub(crate) mod work;

use std::collections::BTreeMap;

use crate::plan::facts::{self, Source};
use crate::plan::normalise::flatten;
use crate::plan::rel::{Rel, Scan, State};
use crate::plan::ties;

use derivation::{Derivation, weight_at};

pub use accumulator::{ACCUMULATED, Accumulator, AccumulatorChange};
pub use guards::ROWS_TIE;
pub use own_rows::OwnRows;
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
pub struct Changes {
    kinds: BTreeMap<Source, Change>,
    sizes: BTreeMap<Source, Size>,
}

/// How large a source is, where that is known. It decides how a delta is computed, never what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows of the table.
    pub rows: u64,
    /// Rows of its net change.
    pub changed: u64,
}

impl Changes {
    /// Records what happened to `source`.
    pub fn set(&mut self, source: Source, change: Change) {
        self.kinds.insert(source, change);
    }

    /// Records how large `source` is.
    pub fn set_size(&mut self, source: Source, size: Size) {
        self.sizes.insert(source, size);
    }

    /// How large `source` is; of one that nothing is known of, nothing.
    fn size(&self, source: &Source) -> Size {
        self.sizes.get(source).copied().unwrap_or(Size { rows: 0, changed: 0 })
    }

    /// The rows of the largest table below `rel`, as far as is known.
    fn table_rows(&self, rel: &Rel) -> u64 {
        let sizes = rel.scans().into_iter().filter_map(|scan| self.sizes.get(&Source::of(scan)));
        sizes.map(|size| size.rows).max().unwrap_or_default()
    }

    /// The changed rows of the tables below `rel`; `None` if they are not known of all.
    fn changed_rows(&self, rel: &Rel) -> Option<u64> {
        rel.scans().into_iter().map(|scan| self.sizes.get(&Source::of(scan)).map(|size| size.changed)).sum()
    }

    /// What happened to `source`.
    pub fn of(&self, source: &Source) -> Change {
        self.kinds.get(source).copied().unwrap_or(Change::Unchanged)
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
        Changes { kinds: changes.into_iter().collect(), sizes: BTreeMap::new() }
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
    /// The leg is what an operator makes of its whole input, whose own legs are accounted for.
    pub whole: bool,
}

/// An intermediate result that several summands share, or whose size the engine should know before it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The name under which later steps and terms scan it (catalog [`STAGED`]).
    pub name: String,
    /// What it holds.
    pub rel: Rel,
}

/// How the names of steps begin that hold the keys of groups or partitions that are computed again.
const AFFECTED_KEYS: &str = "affected_keys";

/// The catalog name of scans that read a [`Step`].
pub const STAGED: &str = "staged";

/// The catalog name of the scan that reads the rows of the view itself, its columns called `c0`, `c1`, ….
pub const OWN: &str = "view";

/// What takes the place of a plan's terms if a step holds any row.
#[derive(Debug, Clone, PartialEq)]
pub struct Refill {
    /// The step.
    pub needed: String,
    /// The delta.
    pub rel: Rel,
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
    /// Intermediate results in the order in which they must be made.
    pub steps: Vec<Step>,
    /// The accumulator tables that change, and the steps that hold their rows.
    pub accumulators: Vec<AccumulatorChange>,
    /// The terms inside the steps, for the account: the legs below the aggregates and other operators that take their
    /// input in as a whole.
    pub stage_terms: Vec<Term>,
    /// One term per leg; their bag union is the delta, less [`DeltaPlan::own_rows`].
    pub terms: Vec<Term>,
    /// The view's own rows that go.
    pub own_rows: Option<OwnRows>,
    /// What to do instead of the terms, should it be needed.
    pub refill: Option<Refill>,
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

    /// The terms over the view's innermost legs, for the account.
    pub fn account(&self) -> Vec<&Term> {
        self.stage_terms.iter().chain(&self.terms).filter(|term| !term.leg.whole).collect()
    }

    /// The steps that hold one row per group or partition that the change touched.
    pub fn group_steps(&self) -> Vec<&str> {
        let keys = self.steps.iter().map(|step| step.name.as_str()).filter(|name| name.starts_with(AFFECTED_KEYS));
        self.accumulators.iter().map(|change| change.groups.as_str()).chain(keys).collect()
    }

    /// How many terms of the account read anything.
    pub fn terms_run(&self) -> usize {
        self.account().into_iter().filter(|term| term.rel.is_some()).count()
    }

    /// The tables and states that a term reads beside the net changes, through its steps too, each once.
    pub fn reads(&self, term: &Term) -> Vec<(Source, State)> {
        let mut reads = Vec::new();
        self.walk_scans(term, &mut |scan| {
            let read = (Source::of(scan), scan.state);
            if matches!(scan.state, State::Old | State::New) && scan.pinned.is_none() && !reads.contains(&read) {
                reads.push(read);
            }
        });
        reads
    }

    /// The tables whose net changes a term reads, through its steps too, each once.
    pub fn deltas(&self, term: &Term) -> Vec<Source> {
        let mut deltas = Vec::new();
        self.walk_scans(term, &mut |scan| {
            let source = Source::of(scan);
            if scan.state == State::Delta && !deltas.contains(&source) {
                deltas.push(source);
            }
        });
        deltas
    }

    fn walk_scans(&self, term: &Term, visit: &mut dyn FnMut(&Scan)) {
        let mut pending: Vec<&Rel> = term.rel.iter().collect();
        let mut seen = Vec::new();
        while let Some(rel) = pending.pop() {
            for scan in rel.scans() {
                if scan.catalog != STAGED {
                    if scan.catalog != OWN {
                        visit(scan);
                    }
                } else if !seen.contains(&&scan.table) {
                    seen.push(&scan.table);
                    pending.extend(self.steps.iter().filter(|step| step.name == scan.table).map(|step| &step.rel));
                }
            }
        }
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
    /// The rows of its tables do not decide what the operator gives, so that there can be no delta.
    pub undecided: bool,
}

/// Derives the delta of `rel` (in normal form, see [`crate::plan::normalise`]) when its sources changed as `changes`
/// says. The expressions of `rel` must be deterministic ([`facts::impurity`]). `accumulators` are those whose scans
/// stand in `rel` ([`accumulator::cut`]); of none, aggregates are recomputed for the groups that changed.
pub fn derive(rel: &Rel, accumulators: &[Accumulator], changes: &Changes) -> Result<DeltaPlan, NotIncremental> {
    let mut derivation = Derivation::new(rel, changes);
    for accumulator in accumulators {
        accumulator.derive(&mut derivation)?;
    }
    let (terms, own_rows, refill) = match own_rows::terms(rel, &mut derivation)? {
        Some(replacement) => (replacement.terms, replacement.own_rows, None),
        None => match top::terms(rel, &mut derivation)? {
            Some(whole) => (whole.terms, None, whole.refill),
            None => (derivation.terms(rel)?, None, None),
        },
    };
    let refill = refill.map(|refill| Refill { rel: flatten(refill.rel), ..refill });
    let terms = terms.into_iter().map(|term| term.map(flatten)).collect();
    let join = contains_join(rel) || accumulators.iter().any(|accumulator| contains_join(&accumulator.fill));
    let sign = sign::of(rel, &derivation.changes);
    Ok(derivation.finish(terms, own_rows, refill, sign, join.then_some(JoinMethod::Telescoping)))
}

/// Whether every node of `rel`, with the accumulator tables that [`accumulator::cut`] gives it, has a delta rule, and
/// its past can be computed again or is kept; the first node in the way is named.
pub fn check(rel: &Rel) -> Result<(), NotIncremental> {
    let (rel, accumulators) = accumulator::cut(rel.clone());
    let computed_again = match own_rows::input(&rel) {
        Some(input) => vec![input],
        None => top::inputs(&rel).unwrap_or_else(|| vec![&rel]),
    };
    let below = accumulators.iter().map(Accumulator::input);
    if let Some((operator, reason)) = below.chain(computed_again).find_map(ties::first_open_tie) {
        return Err(NotIncremental { operator, reason, undecided: true });
    }
    derive(&rel, &accumulators, &all_changed(&rel, &accumulators)).map(|_| ())
}

/// How many terms the account has when every source changed.
pub fn most_terms(rel: &Rel, accumulators: &[Accumulator]) -> usize {
    derive(rel, accumulators, &all_changed(rel, accumulators)).map_or(0, |delta| delta.account().len())
}

/// All sources below `rel` and its accumulator tables changed.
fn all_changed(rel: &Rel, accumulators: &[Accumulator]) -> Changes {
    let below = accumulators.iter().flat_map(|accumulator| facts::sources(&accumulator.fill));
    let own = facts::sources(rel).into_iter().filter(|source| source.catalog != ACCUMULATED);
    own.chain(below).map(|source| (source, Change::Mixed)).collect()
}

fn contains_join(rel: &Rel) -> bool {
    let mut found = false;
    rel.walk(&mut |node| found |= matches!(node, Rel::InnerJoin(_)));
    found
}
