//! Which way a view is brought up to date. Results never depend on the choice; the report gives the reason.

use super::SyncError;
use super::refresh::Request;
use super::window::Window;
use crate::delta::work::{JOINED, Sizes};
use crate::delta::{Change, Changes, DeltaPlan, Size, derive};
use crate::lake::{LakeError, TableId, TableWindow, Transaction};
use crate::plan::Rel;
use crate::view::{Accumulated, Meaning, Strategy, View};

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

/// Chooses; guards that fail are noted in `notes`. `distrust` says why the view's accumulator tables cannot be built on.
pub(crate) fn choose(
    transaction: &Transaction<'_>,
    view: &View,
    request: &Request<'_>,
    windows: &[Window],
    distrust: Option<&String>,
    notes: &mut Vec<String>,
) -> Result<Choice, SyncError> {
    let chosen = by_sources(transaction, view, request, windows, notes)?;
    Ok(match (chosen, distrust) {
        (Choice::Noop | Choice::Incremental { .. }, Some(reason)) => Choice::Recompute { reason: Some(reason.clone()) },
        (chosen, _) => chosen,
    })
}

/// Why the changes of some source cannot be read: what the view stands for has expired there, or the table is younger.
pub(crate) fn lost_past(windows: &[Window]) -> Option<String> {
    let lost = windows.iter().find(|window| window.changed && window.old.is_none() && window.misfit.is_none())?;
    let (from, name) = (lost.from, lost.name());
    Some(match lost.born {
        Some(born) => format!("{name} was made at snapshot {born}, and was not there at {from}"),
        None => format!("snapshot {from} of {name} can no longer be read"),
    })
}

fn by_sources(
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
    if let Some(reason) = lost_past(windows) {
        return Ok(recompute(reason));
    }
    transaction.foresee_changes(&windows.iter().filter_map(Window::span).collect::<Vec<_>>())?;
    let mut whole = Vec::new();
    for window in windows.iter().filter(|window| window.changed) {
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

/// A window of so many commits without anything for the view is not read a second time.
const MANY_COMMITS: u64 = 100;

/// Would every sync to come read much again, if the view stayed where it is before these windows?
pub(crate) fn is_dear_to_read_again(transaction: &Transaction<'_>, windows: &[Window]) -> Result<bool, LakeError> {
    let spans: Vec<TableWindow> = windows.iter().filter_map(Window::span).collect();
    if spans.iter().any(|span| span.to.0 - span.from.0 >= MANY_COMMITS) {
        return Ok(true);
    }
    let passed = transaction.rows_in_files_with_deletes(&spans)?;
    Ok(passed.values().sum::<u64>() >= SMALL)
}

/// Work below this many rows is never worth the question.
const SMALL: u64 = 100_000;

/// What the refreshes from changes and from the query are taken to cost ([`crate::delta::work`]).
pub(crate) struct Weighing<'a> {
    catalog: &'a str,
    windows: &'a [Window],
    query: &'a Rel,
    kept: &'a Accumulated,
    /// Rows of the view.
    view: u64,
    /// What it costs to read the changes.
    reading: u64,
}

impl<'a> Weighing<'a> {
    /// Of a view of so many `rows`, if there is a choice and it matters. The changes of the tables in `whole` are the
    /// difference of their two ends.
    pub(crate) fn new(
        transaction: &'a Transaction<'_>,
        view: &View,
        windows: &'a [Window],
        whole: &[TableId],
        (meaning, kept): (&'a Meaning, &'a Accumulated),
        rows: u64,
    ) -> Result<Option<Weighing<'a>>, SyncError> {
        let Some(query) = meaning.rel.as_ref().filter(|_| view.strategy == Strategy::Auto) else { return Ok(None) };
        let catalog = transaction.alias();
        let mut weighing = Weighing { catalog, windows, query, kept, view: rows, reading: 0 };
        if weighing.of_query(&weighing.least()) <= SMALL {
            return Ok(None);
        }
        let spans: Vec<TableWindow> = windows.iter().filter_map(Window::span).collect();
        let passed = transaction.rows_in_files_with_deletes(&spans)?;
        weighing.reading = windows
            .iter()
            .filter(|window| window.changed)
            .map(|window| {
                let table = window.source.table;
                if whole.contains(&table) {
                    2 * JOINED * window.source.rows
                } else {
                    // The rows are found by file and position, which are two more columns to read.
                    passed.get(&table).map_or(0, |rows| rows + rows / 2)
                }
            })
            .sum();
        Ok(Some(weighing))
    }

    /// Would the least that can have changed cost more than the query? Asked before the changes are read.
    pub(crate) fn dearer_to_begin_with(&self) -> Option<String> {
        let changes = self.least();
        let plan = derive(&self.kept.rel, &self.kept.accumulators, &changes).ok()?;
        self.compared(self.reading, &plan, &changes)
    }

    /// Does the delta cost more than the query, now that the changes have been read?
    pub(crate) fn dearer(&self, plan: &DeltaPlan, changes: &Changes) -> Option<String> {
        self.compared(0, plan, changes)
    }

    fn compared(&self, reading: u64, plan: &DeltaPlan, changes: &Changes) -> Option<String> {
        let sizes = Sizes { changes, view: self.view };
        let delta = reading.saturating_add(sizes.of_delta(plan));
        let query = self.of_query(changes);
        (delta > query).then(|| {
            format!("the changes would cost more than the query: {delta} cost units by estimate, against {query}")
        })
    }

    fn of_query(&self, changes: &Changes) -> u64 {
        Sizes { changes, view: self.view }.of_query(self.query)
    }

    /// Each changed table by the rows that it gained or lost.
    fn least(&self) -> Changes {
        let mut changes = Changes::default();
        for window in self.windows {
            let source = window.key(self.catalog);
            if window.changed {
                changes.set(source.clone(), Change::Mixed);
            }
            changes.set_size(source, Size { rows: window.source.rows, changed: u64::from(window.changed) });
        }
        changes
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
