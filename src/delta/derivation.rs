//! A derivation under way: goes down the plan, hands each node to its rule, and gathers the steps.

use super::accumulator::{ACCUMULATED, Accumulator, AccumulatorChange};
use super::own_rows::OwnRows;
use super::{
    Change, Changes, DeltaPlan, JoinMethod, Leg, NotIncremental, Refill, STAGED, Sign, Step, Term, affected, constant,
    construct, dependent_join, distinct, filter, grouping_sets, guards, inner_join, left_join, probe, projection, scan,
    semi_join, union_all, unnest,
};
use crate::plan::expr::Expr;
use crate::plan::facts::{self, Source};
use crate::plan::normalise::flatten;
use crate::plan::rel::{JoinKind, Rel, Scan, SetOperator, State, TableKind};
use crate::plan::shape::WEIGHT;
use crate::plan::types::DataType;

/// A derivation under way.
pub(super) struct Derivation {
    /// What happened to each source, and to each accumulator table that was derived so far.
    pub(super) changes: Changes,
    steps: Vec<Step>,
    next_id: usize,
    accumulated: Vec<Accumulated>,
    stage_terms: Vec<Term>,
}

/// An accumulator table that changes: what its scans read.
pub(super) struct Accumulated {
    names: AccumulatorChange,
    delta: Rel,
    after: Rel,
}

impl Derivation {
    /// Begins the derivation of `rel`.
    pub(super) fn new(rel: &Rel, changes: &Changes) -> Derivation {
        let (changes, next_id) = (changes.clone(), next_id(rel));
        Derivation { changes, steps: Vec::new(), next_id, accumulated: Vec::new(), stage_terms: Vec::new() }
    }

    /// The plan made of what was staged and the terms of the view itself.
    pub(super) fn finish(
        self,
        terms: Vec<Term>,
        own_rows: Option<OwnRows>,
        refill: Option<Refill>,
        sign: Sign,
        join: Option<JoinMethod>,
    ) -> DeltaPlan {
        let accumulators = self.accumulated.into_iter().map(|change| change.names).collect();
        DeltaPlan {
            steps: self.steps,
            accumulators,
            stage_terms: self.stage_terms,
            terms,
            own_rows,
            refill,
            sign,
            join,
        }
    }

    /// The terms of the delta of `rel`, one per leg, unchanged legs included.
    pub(super) fn terms(&mut self, rel: &Rel) -> Result<Vec<Term>, NotIncremental> {
        match rel {
            Rel::Scan(scan) => Ok(vec![match self.accumulated_of(scan) {
                Some(change) => {
                    let mut exprs = scan::narrowed(scan);
                    exprs.push(weight_at(change.delta.columns().len() - 1));
                    Term { leg: self.whole_leg(rel), rel: Some(construct::project(change.delta.clone(), exprs)) }
                }
                None if scan.catalog == ACCUMULATED => Term { leg: self.whole_leg(rel), rel: None },
                None => scan::term(scan, self),
            }]),
            Rel::Values(_) | Rel::DependentKeys(_) => Ok(constant::terms()),
            Rel::TableFunction(function) => match &function.input {
                None => Ok(constant::terms()),
                Some(input) => Ok(unnest::function_terms(function, self.terms(input)?)),
            },
            Rel::Project(project) => Ok(projection::terms(project, self.terms(&project.input)?)),
            Rel::Filter(filter) => Ok(filter::terms(filter, self.terms(&filter.input)?)),
            Rel::Unnest(unnest) => Ok(unnest::terms(unnest, self.terms(&unnest.input)?)),
            Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => {
                self.all_terms(&operation.inputs)
            }
            Rel::InnerJoin(join) => inner_join::terms(join, self),
            Rel::Join(join) => match join.kind {
                JoinKind::Semi | JoinKind::Anti => semi_join::terms(join, self),
                JoinKind::Left => left_join::terms(join, self),
                JoinKind::Full => left_join::full_terms(join, self),
                JoinKind::Mark | JoinKind::Single => probe::terms(join, self),
                JoinKind::Inner | JoinKind::Right => Err(without_rule(rel)),
                JoinKind::AsOfInner | JoinKind::AsOfLeft | JoinKind::AsOfRight | JoinKind::AsOfFull => {
                    affected::as_of_terms(join, self)
                }
                JoinKind::Positional => Ok(affected::whole_terms(rel, self)),
            },
            Rel::Distinct(node) => match &node.on {
                None => distinct::terms(&node.input, self),
                Some(on) => affected::distinct_on_terms(node, on, self),
            },
            Rel::Aggregate(aggregate) => match grouping_sets::split(aggregate) {
                None => affected::aggregate_terms(aggregate, self),
                Some(sets) => self.all_terms(&sets),
            },
            Rel::Window(window) => affected::window_terms(window, self),
            Rel::SetOperation(operation) => affected::set_terms(operation, self),
            Rel::DependentJoin(node) => dependent_join::terms(node, self),
            Rel::Limit(_) | Rel::RecursiveCte(_) => Ok(affected::whole_terms(rel, self)),
            Rel::Sort(sort) => self.terms(&sort.input),
            other => Err(without_rule(other)),
        }
    }

    /// The terms of a bag union: those of its inputs, one after the other.
    pub(super) fn all_terms(&mut self, inputs: &[Rel]) -> Result<Vec<Term>, NotIncremental> {
        union_all::terms(inputs, self)
    }

    /// The delta of `rel` as one plan; `None` if nothing below it changed.
    pub(super) fn delta(&mut self, rel: &Rel) -> Result<Option<Rel>, NotIncremental> {
        let summands = self.terms(rel)?.into_iter().filter_map(|term| term.rel).collect();
        Ok(construct::union_all(summands))
    }

    /// The delta of an operator's input that is taken in as a whole; its terms are kept for the account.
    pub(super) fn stage_delta(&mut self, rel: &Rel) -> Result<Option<Rel>, NotIncremental> {
        let terms = self.terms(rel)?;
        self.stage_terms.extend(terms.iter().cloned());
        Ok(construct::union_all(terms.into_iter().filter_map(|term| term.rel).collect()))
    }

    /// `rel` as it was at `from`; tables that did not change are read in their new state.
    pub(super) fn at_old(&self, rel: &Rel) -> Rel {
        guards::guarded(rel.clone().map_scans(&mut |scan| {
            if scan.pinned.is_none() {
                let unchanged = self.changes.of_scan(scan) == Change::Unchanged;
                scan.state = if unchanged && scan.catalog != ACCUMULATED { State::New } else { State::Old };
            }
        }))
    }

    /// `rel` as it is at `to`.
    pub(super) fn at_new(&self, rel: &Rel) -> Rel {
        guards::guarded(self.new_state(rel))
    }

    fn new_state(&self, rel: &Rel) -> Rel {
        if let Rel::Scan(scan) = rel
            && let Some(change) = self.accumulated_of(scan)
        {
            return construct::project(change.after.clone(), scan::narrowed(scan));
        }
        let mut rel = rel.clone();
        if let Rel::Scan(scan) = &mut rel
            && scan.pinned.is_none()
        {
            // An accumulator table that does not change has one state, the one it is in.
            scan.state = if scan.catalog == ACCUMULATED { State::Old } else { State::New };
        }
        for input in rel.inputs_mut() {
            *input = self.new_state(input);
        }
        rel
    }

    pub(super) fn accumulated_of(&self, scan: &Scan) -> Option<&Accumulated> {
        let mut changes = self.accumulated.iter();
        changes.find(|change| scan.catalog == ACCUMULATED && change.names.name == scan.table)
    }

    /// Takes note that an accumulator table changes, and how.
    pub(super) fn record(
        &mut self,
        accumulator: &Accumulator,
        [groups, old_rows, new_rows]: [&Rel; 3],
        delta: Rel,
        after: Rel,
    ) {
        let step = |rel: &Rel| rel.scans().first().map_or_else(String::new, |scan| scan.table.clone());
        let names = AccumulatorChange {
            name: accumulator.name.clone(),
            old_rows: step(old_rows),
            new_rows: step(new_rows),
            groups: step(groups),
        };
        self.changes.set(accumulator.source(), Change::Mixed);
        self.accumulated.push(Accumulated { names, delta, after });
    }

    /// Keeps `rel` as a step of its own, and returns a scan of it.
    pub(super) fn stage(&mut self, name: &str, rel: Rel) -> Rel {
        let rel = flatten(construct::with_unique_names(rel));
        let columns = rel.columns();
        let name = format!("{name}_{}", self.steps.len() + 1);
        self.steps.push(Step { name: name.clone(), rel });
        Rel::Scan(Scan {
            catalog: STAGED.into(),
            schema: "main".into(),
            table: name,
            kind: TableKind::DuckDb,
            positions: (0..columns.len()).collect(),
            columns,
            pinned: None,
            state: State::Current,
        })
    }

    /// An id that no correlated subquery of the plan has.
    pub(super) fn fresh_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The leg that `rel` is.
    pub(super) fn leg(&self, rel: &Rel) -> Leg {
        let mut inner = rel;
        while let Rel::Filter(_) | Rel::Project(_) = inner {
            inner = inner.inputs()[0];
        }
        let name = match inner {
            Rel::Scan(scan) if scan.catalog == ACCUMULATED => format!("accumulator {}", scan.table),
            Rel::Scan(scan) => Source::of(scan).to_string(),
            other => facts::operator_name(other),
        };
        // What changes in an accumulator table is accounted for by the terms of the aggregate's input.
        let whole = matches!(inner, Rel::Scan(scan) if scan.catalog == ACCUMULATED);
        Leg { name, sources: facts::sources(rel), changed: self.changes.touch(rel), whole }
    }

    /// The leg that an operator makes of all of `rel`.
    pub(super) fn whole_leg(&self, rel: &Rel) -> Leg {
        Leg { whole: true, ..self.leg(rel) }
    }
}

/// The lowest id above those of all correlated subqueries in `rel`.
fn next_id(rel: &Rel) -> usize {
    let mut next = 0;
    rel.walk(&mut |node| {
        if let Rel::DependentJoin(node) = node {
            next = next.max(node.id + 1);
        }
    });
    next
}

fn without_rule(rel: &Rel) -> NotIncremental {
    let reason = "has no delta rule yet, so the view is recomputed and the difference written";
    NotIncremental { operator: facts::operator_name(rel), reason: reason.into(), undecided: false }
}

/// A reference to the weight of a delta with `width` columns before it.
pub(super) fn weight_at(width: usize) -> (String, Expr) {
    (WEIGHT.into(), Expr::column(width, DataType::BigInt))
}
