//! Which way a view is brought up to date. Results never depend on the choice; the report gives the reason.

use super::SyncError;
use super::incremental::NetChanges;
use super::refresh::Request;
use super::window::Window;
use crate::delta::DeltaPlan;
use crate::lake::{TableId, Transaction};
use crate::plan::facts::Source;
use crate::view::{Strategy, View};

/// The way chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// No source changed.
    Noop,
    /// From the changes.
    Incremental {
        /// Tables whose change has to be found by comparing both ends as a whole.
        whole: Vec<TableId>,
    },
    /// From the query, writing the difference.
    Recompute {
        /// Why.
        reason: Option<String>,
    },
    /// From the query, replacing all rows.
    Full {
        /// Why.
        reason: Option<String>,
    },
}

/// Chooses; guards that fail are noted in `notes`.
pub(crate) fn choose(
    transaction: &Transaction<'_>,
    view: &View,
    request: &Request<'_>,
    windows: &[Window],
    notes: &mut Vec<String>,
) -> Result<Choice, SyncError> {
    let full = |reason: &str| Choice::Full { reason: Some(reason.to_owned()) };
    let recompute = |reason: String| Choice::Recompute { reason: Some(reason) };
    if request.full {
        return Ok(full("asked for"));
    }
    let changed = windows.iter().any(|window| window.changed || window.misfit.is_some());
    if !changed && !view.class.untracked {
        return Ok(Choice::Noop);
    }
    if view.strategy == Strategy::Full {
        return Ok(full("the view's strategy"));
    }
    if let Some(reason) = &request.recompute {
        return Ok(recompute(reason.clone()));
    }
    if view.strategy == Strategy::Recompute {
        return Ok(recompute("the view's strategy".to_owned()));
    }
    if let Some(obstacle) = &view.class.obstacle {
        return Ok(recompute(obstacle.to_string()));
    }
    if let Some(reason) = windows.iter().find_map(Window::misfit_reason) {
        return Ok(recompute(reason));
    }
    transaction.foresee_changes(&windows.iter().filter_map(Window::span).collect::<Vec<_>>())?;
    let mut whole = Vec::new();
    for window in windows.iter().filter(|window| window.changed) {
        if window.old.is_none() {
            let reason = format!("snapshot {} of {} can no longer be read", window.from, window.name());
            return Ok(recompute(reason));
        }
        let source = &window.source;
        for failure in transaction.check_guards(source.table, window.from, window.to, Some(source.rows))? {
            let note = format!("{}: {}: {}", window.name(), failure.guard, failure.detail);
            notes.push(note.clone());
            if !failure.past_readable {
                return Ok(recompute(format!("guard {note}")));
            }
            whole.push(source.table);
        }
    }
    Ok(Choice::Incremental { whole })
}

/// Work below this many rows is never worth the question.
const SMALL: u64 = 100_000;

/// What it costs to join a row or to compare it with the view's, where passing over one in a scan costs 1.
const JOINED: u64 = 5;

/// Would the terms cost more than the query itself? A term passes over the other legs and joins the rows of its delta;
/// the query joins all rows of all legs, and its result is compared with the view's rows.
pub(crate) fn dearer_than_recompute(
    catalog: &str,
    windows: &[Window],
    net: &NetChanges,
    plan: &DeltaPlan,
    view_rows: u64,
) -> Option<String> {
    let rows = |source: &Source| {
        let window = windows.iter().find(|window| window.key(catalog) == *source);
        window.map_or(0, |window| window.source.rows)
    };
    let terms = plan.account();
    let legs: u64 = terms.iter().flat_map(|term| &term.leg.sources).map(rows).sum();
    let passed: u64 = terms.iter().flat_map(|term| plan.reads(term)).map(|(source, _)| rows(&source)).sum();
    let joined: u64 = terms.iter().flat_map(|term| plan.deltas(term)).map(|source| net.rows_of(&source)).sum();
    let matched = if plan.append_only() { 0 } else { view_rows };
    let incremental = passed + JOINED * joined + matched;
    let recompute = JOINED * (legs + view_rows);
    (recompute > SMALL && incremental > recompute)
        .then(|| format!("estimated work: {incremental} for the changes, {recompute} for the query"))
}

/// Is it cheaper to replace all rows than to find the `deleted` ones among `rows`?
pub(crate) fn rewrites_most(deleted: u64, rows: u64) -> bool {
    rows >= 10_000 && deleted > rows / 2
}

#[cfg(test)]
mod tests {
    use super::rewrites_most;

    #[test]
    fn only_large_views_are_rewritten_for_a_large_difference() {
        assert!(!rewrites_most(9, 10));
        assert!(rewrites_most(5_001, 10_000));
        assert!(!rewrites_most(5_000, 10_000));
    }
}
