//! The nodes of a view's plan, each with its rule kind, what is read of it from which snapshot, and what is done or skipped.

use serde::Serialize;

use super::explain::called;
use crate::delta::outline::{Node, outline};
use crate::delta::{Change, Changes, DeltaPlan};
use crate::lake::{SnapshotId, Transaction};
use crate::plan::facts::{self, RuleKind, Source};
use crate::plan::rel::{Scan, State};
use crate::plan::ties::{Tie, tie};
use crate::plan::{Expr, Rel};
use crate::sync::window::Window;
use crate::view::{Accumulated, Obstacle, View};

/// A node of a view's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainedNode {
    /// How many nodes stand above it.
    pub depth: usize,
    /// The operator, or the table.
    pub operator: String,
    /// What kind of rule it has.
    pub rule: &'static str,
    /// Did anything below it change?
    pub changed: bool,
    /// Of a table: the snapshots at which its rows are read.
    pub rows_at: Vec<SnapshotId>,
    /// Of a table: the snapshots between which its change is read.
    pub change: Option<[SnapshotId; 2]>,
    /// What is done, or why nothing is; null where the change is passed on, and in a view without a delta.
    pub done: Option<String>,
}

/// The nodes of a view that is maintained from changes.
pub(super) fn of_delta(
    kept: &Accumulated,
    plan: &DeltaPlan,
    transaction: &Transaction<'_>,
    windows: &[Window],
) -> Vec<ExplainedNode> {
    let nodes = outline(&kept.rel, &kept.accumulators, &changes(transaction, windows, plan), Some(plan));
    nodes.into_iter().map(|node| explained(node, transaction, windows)).collect()
}

/// The nodes of a view that is recomputed, from the tables as they are at the end of the window.
pub(super) fn of_recompute(
    rel: &Rel,
    view: &View,
    transaction: &Transaction<'_>,
    windows: &[Window],
) -> Vec<ExplainedNode> {
    let find = |scan: &Scan| windows.iter().find(|window| window.key(transaction.alias()) == Source::of(scan));
    let mut nodes = Vec::new();
    gather(rel, 0, &mut |rel, depth| {
        let mut rule = facts::rule_kind(rel);
        let obstacle = view.class.obstacle.as_ref().filter(|_| view.class.full_only);
        if obstacle.is_some_and(|obstacle| stands_in_the_way(rel, obstacle)) {
            rule = RuleKind::FullOnly;
        }
        let (operator, rows_at) = match rel {
            Rel::Scan(scan) => (
                called(&Source::of(scan), transaction, windows),
                find(scan).map(|window| window.to).into_iter().collect(),
            ),
            other => (facts::operator_name(other), Vec::new()),
        };
        let changed = rel.scans().into_iter().filter_map(find).any(|window| window.changed);
        let (change, done) = (None, None);
        nodes.push(ExplainedNode { depth, operator, rule: rule.word(), changed, rows_at, change, done });
    });
    nodes
}

fn gather<'a>(rel: &'a Rel, depth: usize, visit: &mut dyn FnMut(&'a Rel, usize)) {
    visit(rel, depth);
    for input in rel.inputs() {
        gather(input, depth + 1, visit);
    }
}

fn stands_in_the_way(rel: &Rel, obstacle: &Obstacle) -> bool {
    let calls = |expr: &Expr| {
        let mut found = false;
        expr.walk(&mut |expr| {
            found |= matches!(expr, Expr::Function(call) if obstacle.operator == format!("{}()", call.name));
        });
        found
    };
    let open = matches!(tie(rel), Some(Tie::Open(_)));
    matches!(rel, Rel::Sample(_))
        || (open && facts::operator_name(rel) == obstacle.operator)
        || rel.exprs().into_iter().any(calls)
}

/// What changed, as far as the plan read anything of it.
fn changes(transaction: &Transaction<'_>, windows: &[Window], plan: &DeltaPlan) -> Changes {
    let changed = plan.account().into_iter().filter(|term| term.leg.changed).flat_map(|term| term.leg.sources.clone());
    let changed: Vec<_> = changed.collect();
    let known = windows.iter().map(|window| window.key(transaction.alias()));
    known.filter(|source| changed.contains(source)).map(|source| (source, Change::Mixed)).collect()
}

fn explained(node: Node, transaction: &Transaction<'_>, windows: &[Window]) -> ExplainedNode {
    let Node { depth, operator, rule, changed, source, states, done } = node;
    let window =
        source.as_ref().and_then(|source| windows.iter().find(|window| window.key(transaction.alias()) == *source));
    let (mut rows_at, mut change) = (Vec::new(), None);
    if let Some(window) = window {
        for state in &states {
            match state {
                State::Old => rows_at.push(window.from),
                State::New | State::Current => rows_at.push(window.to),
                State::Delta => change = Some([window.from, window.to]),
            }
        }
    }
    rows_at.sort_unstable();
    rows_at.dedup();
    let done = match (&source, changed, states.is_empty()) {
        (None, ..) => done.to_owned(),
        (Some(_), false, true) => "not read: it did not change".to_owned(),
        (Some(_), false, false) => "no change to read".to_owned(),
        (Some(_), true, _) => String::new(),
    };
    let done = (!done.is_empty()).then_some(done);
    let operator = source.as_ref().map_or(operator, |source| called(source, transaction, windows));
    ExplainedNode { depth, operator, rule: rule.word(), changed, rows_at, change, done }
}
