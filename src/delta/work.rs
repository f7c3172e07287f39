//! What computing a relation costs, so that a delta can be weighed against the query that it stands for.
//!
//! - Cost unit: what it takes to pass over one row in a scan. A row that is joined, grouped, sorted into partitions or
//!   compared costs [`JOINED`] of them.
//! - What decides: whether an operator works on a table as a whole or on the little that a change meets. A relation is
//!   *reduced* if it is a change, a staged step, or joined with one; an operator over a reduced relation works on few
//!   rows, and the scans below it are only passed over.
//! - Selectivity is not known and not guessed: a filter lets everything through, on both sides of the comparison.
//! - Source: the weights are fitted to refreshes and recomputes of the views of `benches/tpch.rs`.

use super::{ACCUMULATED, Changes, DeltaPlan, OWN, STAGED};
use crate::plan::facts::Source;
use crate::plan::rel::{InnerJoin, Join, JoinKind, LimitCount, Rel, Scan, SetOperator, State};
use std::collections::BTreeMap;

/// What it costs to join or compare a row, where passing over one costs 1.
pub(crate) const JOINED: u64 = 5;

/// How many rows of a table one row of a change is taken to meet.
const MET: u64 = 10;

/// A relation while it is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Flow {
    /// What it has cost so far.
    cost: u64,
    /// How many rows come out.
    rows: u64,
    /// They are only what a change meets.
    reduced: bool,
}

impl Flow {
    /// After an operator that takes up every row.
    fn taken_up(self) -> Flow {
        Flow { cost: self.cost.saturating_add(self.rows.saturating_mul(JOINED - 1)), ..self }
    }

    /// Both, one after the other.
    fn and(self, other: Flow) -> Flow {
        Flow {
            cost: self.cost.saturating_add(other.cost),
            rows: self.rows.saturating_add(other.rows),
            reduced: self.reduced && other.reduced,
        }
    }
}

/// How large everything is that a plan reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes<'a> {
    /// The tables and their changes.
    pub changes: &'a Changes,
    /// Rows of the view itself.
    pub view: u64,
}

impl Sizes<'_> {
    /// What it costs to run a view's query and to compare its rows with those of the view.
    pub(crate) fn of_query(&self, rel: &Rel) -> u64 {
        let query = Estimate { sizes: *self, steps: BTreeMap::new() }.flow(rel);
        query.cost.saturating_add(self.view.saturating_mul(JOINED))
    }

    /// What the steps and terms of a delta cost, and finding the rows of the view that go. The reading of the changes
    /// themselves is not in it.
    pub(crate) fn of_delta(&self, plan: &DeltaPlan) -> u64 {
        let mut estimate = Estimate { sizes: *self, steps: BTreeMap::new() };
        let mut cost = if plan.append_only() { 0 } else { self.view };
        for step in &plan.steps {
            let flow = estimate.flow(&step.rel);
            cost = cost.saturating_add(flow.cost);
            estimate.steps.insert(&step.name, Flow { cost: flow.rows, ..flow });
        }
        for rel in plan.terms.iter().filter_map(|term| term.rel.as_ref()) {
            cost = cost.saturating_add(estimate.flow(rel).cost);
        }
        cost
    }
}

struct Estimate<'a> {
    sizes: Sizes<'a>,
    /// What was staged so far.
    steps: BTreeMap<&'a str, Flow>,
}

impl Estimate<'_> {
    fn flow(&self, rel: &Rel) -> Flow {
        match rel {
            Rel::Scan(scan) => self.scan(scan),
            Rel::Join(join) => self.join(join),
            Rel::DependentJoin(node) => self.join(&node.join),
            Rel::InnerJoin(join) => self.inner_join(join),
            Rel::Aggregate(_) | Rel::Distinct(_) | Rel::Window(_) | Rel::RecursiveCte(_) => self.inputs(rel).taken_up(),
            Rel::SetOperation(operation) if !(operation.op == SetOperator::Union && operation.all) => {
                self.inputs(rel).taken_up()
            }
            Rel::Limit(limit) => {
                let input = self.inputs(rel);
                match limit.limit {
                    LimitCount::Rows(rows) => Flow { rows: input.rows.min(rows), ..input },
                    _ => input,
                }
            }
            _ => self.inputs(rel),
        }
    }

    fn inputs(&self, rel: &Rel) -> Flow {
        let inputs = rel.inputs();
        let mut flows = inputs.into_iter().map(|input| self.flow(input));
        let Some(first) = flows.next() else { return Flow { reduced: true, ..Flow::default() } };
        flows.fold(first, Flow::and)
    }

    fn scan(&self, scan: &Scan) -> Flow {
        let whole = |rows| Flow { cost: rows, rows, reduced: false };
        match (scan.catalog.as_str(), scan.state) {
            (STAGED, _) => self.steps.get(scan.table.as_str()).copied().unwrap_or_default(),
            (OWN | ACCUMULATED, _) => whole(self.sizes.view),
            (_, State::Delta) => {
                let rows = self.sizes.changes.size(&Source::of(scan)).changed;
                Flow { cost: rows, rows, reduced: true }
            }
            _ => whole(self.sizes.changes.size(&Source::of(scan)).rows),
        }
    }

    fn join(&self, join: &Join) -> Flow {
        let (left, right) = (self.flow(&join.left), self.flow(&join.right));
        let cost = left.cost.saturating_add(right.cost);
        let met = |by: u64| by.saturating_mul(MET);
        let drops_left = matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::AsOfInner);
        if left.reduced {
            Flow { cost: cost.saturating_add(left.rows.saturating_mul(JOINED)), ..left }
        } else if right.reduced && drops_left {
            let rows = left.rows.min(met(right.rows));
            Flow { cost: cost.saturating_add(rows.saturating_mul(JOINED)), rows, reduced: true }
        } else {
            let all = Flow { cost, rows: left.rows.saturating_add(right.rows), reduced: false }.taken_up();
            Flow { rows: left.rows.max(right.rows), ..all }
        }
    }

    fn inner_join(&self, join: &InnerJoin) -> Flow {
        let legs: Vec<Flow> = join.legs.iter().map(|leg| self.flow(leg)).collect();
        let cost = legs.iter().fold(0_u64, |cost, leg| cost.saturating_add(leg.cost));
        let legs_joined = legs.len() as u64 - 1;
        match legs.iter().filter(|leg| leg.reduced).map(|leg| leg.rows).min() {
            Some(rows) => {
                let joined = rows.saturating_mul(JOINED).saturating_mul(legs_joined);
                Flow { cost: cost.saturating_add(joined), rows, reduced: true }
            }
            None => {
                let rows = legs.iter().fold(0_u64, |rows, leg| rows.saturating_add(leg.rows));
                let all = Flow { cost, rows, reduced: false }.taken_up();
                Flow { rows: legs.iter().map(|leg| leg.rows).max().unwrap_or_default(), ..all }
            }
        }
    }
}
