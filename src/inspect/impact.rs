//! What the changes of a range mean for each view: whether it reads them, and how a refresh over just this range would
//! be done.

use serde::Serialize;

use super::InspectError;
use super::diff::touched;
use super::revision::Range;
use crate::lake::{Lake, SnapshotId, Transaction};
use crate::sync::forecast::forecast;
use crate::sync::temporary::Temporary;
use crate::sync::window::{Window, changes_since, window};
use crate::sync::{Method, SyncError};
use crate::view::{View, ViewName, meaning, registry};

/// What a range means for a view; serialised, an element of `diff --impact --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Impact {
    /// The view, as `schema.name`.
    pub view: String,
    /// The tables that it reads and that changed.
    pub reads: Vec<String>,
    /// How a refresh over the range would be done; null if it could not.
    pub strategy: Option<Method>,
    /// Why so.
    pub reason: Option<String>,
    /// How many terms its delta has.
    pub terms_total: usize,
    /// How many would run.
    pub terms_run: usize,
    /// The tables whose terms would be skipped.
    pub skipped: Vec<String>,
    /// Why it could not be refreshed.
    pub error: Option<String>,
}

/// Tells for every view what a range means for it; `tables` limits what counts as changed.
pub fn impact(
    lake: &Lake,
    range: &Range,
    tables: &[ViewName],
) -> Result<((SnapshotId, SnapshotId), Vec<Impact>), InspectError> {
    let transaction = lake.begin()?;
    let touched = touched(&transaction, range, tables)?;
    let ids: Vec<_> = touched.tables.iter().map(|ends| ends.id).collect();
    let mut impacts = Vec::new();
    for view in registry::views(&transaction)? {
        let mut impact = Impact {
            view: view.name.to_string(),
            reads: Vec::new(),
            strategy: None,
            reason: None,
            terms_total: view.class.terms,
            terms_run: 0,
            skipped: Vec::new(),
            error: None,
        };
        if let Err(error) = fill(&transaction, &view, touched.span, &ids, &mut impact) {
            if error.is_interruption() {
                return Err(error.into());
            }
            impact.error = Some(error.to_string());
        }
        impacts.push(impact);
    }
    Ok((touched.span, impacts))
}

fn fill(
    transaction: &Transaction<'_>,
    view: &View,
    (from, to): (SnapshotId, SnapshotId),
    touched: &[crate::lake::TableId],
    impact: &mut Impact,
) -> Result<(), SyncError> {
    let mut state = registry::state(transaction, view)?;
    // A view that is younger than the range has taken in what was there when it was made.
    let from = from.max(view.created).min(to);
    for source in &mut state.sources {
        source.watermark = from;
        if let Some(table) = transaction.table_by_id(source.table, from)? {
            source.rows = transaction.count_at(&table, from)?;
        }
    }
    let changes = changes_since(transaction, &state)?;
    let mut windows: Vec<Window> = Vec::new();
    for source in &state.sources {
        let mut window = window(transaction, &view.name, source, to, &changes)?;
        window.changed &= touched.contains(&source.table) || window.misfit.is_some();
        if window.changed {
            impact.reads.push(window.name());
        } else {
            impact.skipped.push(window.name());
        }
        windows.push(window);
    }
    let temporary = Temporary::default();
    let meaning = meaning(transaction, view)?;
    let found = forecast(transaction, view, state.rows, &meaning, &windows, &temporary)?;
    temporary.clear(transaction)?;
    impact.strategy = Some(found.method);
    impact.reason = found.reason;
    if let (Ok(plan), Method::Incremental | Method::Noop) = (&found.delta, found.method) {
        impact.terms_total = plan.account().len();
        impact.terms_run = plan.terms_run();
    }
    Ok(())
}
