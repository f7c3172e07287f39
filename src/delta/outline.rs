//! What a delta plan does at each node of a view's plan, for people.

use super::accumulator::{ACCUMULATED, Accumulator};
use super::affected::shared_partitions;
use super::{Changes, DeltaPlan, OWN, STAGED, grouping_sets, own_rows, top};
use crate::plan::expr::Comparison;
use crate::plan::facts::{self, RuleKind, Source, operator_name};
use crate::plan::rel::{JoinKind, Rel, Scan, SetOperator, State};

/// A node of a view's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// How many nodes stand above it.
    pub depth: usize,
    /// The operator, as a user writes it.
    pub operator: String,
    /// What kind of rule it has.
    pub rule: RuleKind,
    /// Did anything below it change?
    pub changed: bool,
    /// The table that it reads, if it is a scan.
    pub source: Option<Source>,
    /// What is read of that table.
    pub states: Vec<State>,
    /// What is done, if it is no scan; nothing is said of linear nodes, which are applied to the change.
    pub done: &'static str,
}

/// The nodes of `rel`, outermost first; what stands in accumulator tables below their scans. Of a view without a delta
/// `plan` is none.
pub fn outline(rel: &Rel, accumulators: &[Accumulator], changes: &Changes, plan: Option<&DeltaPlan>) -> Vec<Node> {
    let read = plan.map(read_states).unwrap_or_default();
    let mut outline = Outline { accumulators, changes, is_delta: plan.is_some(), read, nodes: Vec::new() };
    outline.node(rel, 0, Some(rel));
    outline.nodes
}

/// The tables that a plan reads, in which states, each once.
fn read_states(plan: &DeltaPlan) -> Vec<(Source, State)> {
    let steps = plan.steps.iter().map(|step| &step.rel);
    let terms = plan.terms.iter().filter_map(|term| term.rel.as_ref());
    let mut read = Vec::new();
    for scan in steps.chain(terms).flat_map(Rel::scans) {
        let own = (Source::of(scan), scan.state);
        if scan.catalog != STAGED && scan.catalog != OWN && !read.contains(&own) {
            read.push(own);
        }
    }
    read
}

struct Outline<'a> {
    accumulators: &'a [Accumulator],
    changes: &'a Changes,
    is_delta: bool,
    read: Vec<(Source, State)>,
    nodes: Vec<Node>,
}

impl Outline<'_> {
    fn node(&mut self, rel: &Rel, depth: usize, view: Option<&Rel>) {
        if let Rel::Scan(scan) = rel {
            match self.accumulators.iter().find(|kept| scan.catalog == ACCUMULATED && kept.name == scan.table) {
                Some(kept) => self.accumulated(kept, depth),
                None => self.scan(rel, scan, depth),
            }
            return;
        }
        let changed = self.touched(rel);
        let done = match (self.is_delta, changed) {
            (false, _) => "",
            (true, false) => "skipped: nothing below it changed",
            (true, true) => view.and_then(|view| at_top(view, rel)).unwrap_or_else(|| treatment(rel)),
        };
        self.push(rel, depth, changed, done);
        for input in rel.inputs() {
            self.node(input, depth + 1, view);
        }
    }

    fn push(&mut self, rel: &Rel, depth: usize, changed: bool, done: &'static str) {
        let (operator, rule) = (operator_name(rel), facts::rule_kind(rel));
        self.nodes.push(Node { depth, operator, rule, changed, source: None, states: Vec::new(), done });
    }

    fn accumulated(&mut self, kept: &Accumulator, depth: usize) {
        let changed = self.touched(&kept.fill);
        let done = if changed {
            "groups that changed, from the accumulator table"
        } else {
            "skipped: nothing below it changed"
        };
        let operator = if kept.keys.is_empty() { "ungrouped aggregate" } else { "GROUP BY" };
        let (operator, rule) = (operator.to_owned(), RuleKind::Stateful);
        self.nodes.push(Node { depth, operator, rule, changed, source: None, states: Vec::new(), done });
        self.node(kept.input(), depth + 1, None);
    }

    fn scan(&mut self, rel: &Rel, scan: &Scan, depth: usize) {
        let source = Source::of(scan);
        let mut states: Vec<State> =
            self.read.iter().filter(|(read, _)| *read == source).map(|(_, state)| *state).collect();
        states.sort_unstable();
        let changed = self.touched(rel);
        let (operator, rule) = (source.to_string(), facts::rule_kind(rel));
        self.nodes.push(Node { depth, operator, rule, changed, source: Some(source), states, done: "" });
    }

    /// Did any table below `rel` change, below its accumulator tables too?
    fn touched(&self, rel: &Rel) -> bool {
        self.changes.touch(rel)
            || rel
                .scans()
                .into_iter()
                .filter(|scan| scan.catalog == ACCUMULATED)
                .any(|scan| self.accumulators.iter().any(|kept| kept.name == scan.table && self.touched(&kept.fill)))
    }
}

/// What is done at the topmost operator of a view, if the view's own rows stand for its old ones.
fn at_top(view: &Rel, node: &Rel) -> Option<&'static str> {
    let is = |operator: Option<&Rel>| operator.is_some_and(|operator| std::ptr::eq(operator, node));
    if is(own_rows::operator(view)) {
        return Some("keys that changed, put in place of the view's own rows");
    }
    if !is(top::operator(view)) || own_rows::operator(view).is_some() {
        return None;
    }
    Some(if top::is_folded(view) {
        "the first of the view's own rows and the change, or computed whole"
    } else {
        "computed whole, put in place of the view's own rows"
    })
}

const BOTH_ENDS: &str = "keys that changed, computed at both ends";
const WHOLE: &str = "computed whole at both ends";

/// What is done at a node below which something changed.
fn treatment(rel: &Rel) -> &'static str {
    match rel {
        Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => "",
        Rel::InnerJoin(_) => "one term for each input that changed",
        Rel::Join(join) => match join.kind {
            JoinKind::Left | JoinKind::Right | JoinKind::Full => {
                "the change of each side, rows whose match comes or goes"
            }
            JoinKind::Semi | JoinKind::Anti => "the change of the left side, rows whose match comes or goes",
            JoinKind::Mark | JoinKind::Single => "the change of the left side, rows whose answer may differ",
            JoinKind::AsOfInner | JoinKind::AsOfLeft | JoinKind::AsOfRight | JoinKind::AsOfFull => {
                let equal = |op: Comparison| matches!(op, Comparison::Equal | Comparison::NotDistinctFrom);
                if join.conditions.iter().any(|condition| equal(condition.op)) { BOTH_ENDS } else { WHOLE }
            }
            JoinKind::Inner | JoinKind::Positional => WHOLE,
        },
        Rel::DependentJoin(_) => "the change of the outer side, rows whose answer may differ",
        Rel::Distinct(distinct) if distinct.on.is_none() => "rows whose first copy comes or last one goes",
        Rel::Aggregate(aggregate) if grouping_sets::split(aggregate).is_some() => "each grouping set by itself",
        Rel::Aggregate(aggregate) if aggregate.groups.is_empty() => WHOLE,
        Rel::Window(window) => {
            let whole = window.functions.iter().any(|call| call.partition_by.is_empty());
            if whole && shared_partitions(window).is_empty() { WHOLE } else { BOTH_ENDS }
        }
        Rel::Aggregate(_) | Rel::Distinct(_) | Rel::SetOperation(_) => BOTH_ENDS,
        Rel::Limit(_) | Rel::RecursiveCte(_) => WHOLE,
        _ => "",
    }
}
