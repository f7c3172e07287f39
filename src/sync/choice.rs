//! Which way a view is brought up to date. Results never depend on the choice; the report gives the reason.

use super::SyncError;
use super::refresh::Request;
use super::window::Window;
use crate::lake::{TableId, Transaction};
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
    view_rows: u64,
    notes: &mut Vec<String>,
) -> Result<Choice, SyncError> {
    let full = |reason: &str| Choice::Full { reason: Some(reason.to_owned()) };
    let recompute = |reason: String| Choice::Recompute { reason: Some(reason) };
    if request.repair {
        return Ok(full("repair"));
    }
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
    if view.strategy == Strategy::Auto
        && let Some(reason) = dearer_than_recompute(transaction, windows, view_rows)?
    {
        return Ok(recompute(reason));
    }
    Ok(Choice::Incremental { whole })
}

/// Views below this many rows read and written are never worth the question.
const SMALL: u64 = 100_000;

/// Would the delta read more than the query itself? Each changed leg's term reads the other legs, while a recompute
/// reads each leg once, and the view's rows to compare with them.
fn dearer_than_recompute(
    transaction: &Transaction<'_>,
    windows: &[Window],
    view_rows: u64,
) -> Result<Option<String>, SyncError> {
    let mut rows = 0;
    let mut terms = 0;
    let mut churn = 0;
    for window in windows {
        rows += window.source.rows;
        if window.changed {
            terms += 1;
            let now = transaction.count_at(&window.new.identity, window.to)?;
            churn += now.abs_diff(window.source.rows);
        }
    }
    // Comparing a row with the view's costs about four times what it costs to read one.
    let recompute = rows + 4 * view_rows;
    let incremental = terms * rows + 4 * churn;
    if recompute > SMALL && incremental > 2 * recompute {
        Ok(Some(format!("the changes would read about {incremental} rows, the query {recompute}")))
    } else {
        Ok(None)
    }
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
