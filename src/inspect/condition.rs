//! Whether a view can be refreshed as it stands: what the next sync would stumble over. Reads metadata, and of a table
//! that someone else wrote to what was written.

use crate::lake::{LastChanges, TableIdentity, Transaction};
use crate::sync::damage::{self, Damage};
use crate::sync::temporary::Temporary;
use crate::sync::window::{Window, changes_since, window};
use crate::sync::{SyncError, choice, recompute};
use crate::view::{AUTHOR, View, ViewError, ViewState, meaning, registry};

/// What was found.
#[derive(Debug)]
pub(crate) struct Condition {
    /// How far the view has come; `None` if that is lost.
    pub state: Option<ViewState>,
    /// The view's table, unless it is gone.
    pub table: Option<TableIdentity>,
    /// What stands in the way of a refresh.
    pub trouble: Option<SyncError>,
    /// Why the next refresh cannot read changes, though the view is maintained from them.
    pub lost_past: Option<String>,
    /// Why its accumulator tables cannot be built on.
    pub distrust: Option<String>,
}

impl Condition {
    /// A word for it: `ok`, `changed` by someone else, `broken`, or `failing` if nothing else is known to be wrong with a
    /// view whose last refresh `failed`.
    pub(crate) fn word(&self, failed: bool) -> &'static str {
        match &self.trouble {
            None if failed => "failing",
            None => "ok",
            Some(SyncError::Damaged { damage, .. }) if !damage.breaks() => "changed",
            Some(_) => "broken",
        }
    }
}

/// Looks at a view.
pub(crate) fn condition(transaction: &Transaction<'_>, view: &View) -> Result<Condition, SyncError> {
    let state = match registry::state(transaction, view) {
        Ok(state) => state,
        Err(error @ ViewError::State { .. }) => {
            let trouble = Some(error.into());
            return Ok(Condition { state: None, table: None, trouble, lost_past: None, distrust: None });
        }
        Err(error) => return Err(error.into()),
    };
    let table = registry::table(transaction, view, &state)?;
    let changes = changes_since(transaction, &state)?;
    if let Some(damage) = damage_of(transaction, view, &state, table.as_ref(), &changes)? {
        let trouble = Some(damage.error(&view.name));
        return Ok(Condition { state: Some(state), table, trouble, lost_past: None, distrust: None });
    }
    let distrust = damage::accumulators_unknown(transaction, view, &state, &changes)?;
    let (lost_past, trouble) = match sources(transaction, view, &state, &changes) {
        Ok(windows) => (lost_past(view, &windows), sources_trouble(transaction, view, &windows)?),
        Err(error @ (SyncError::SourceDropped { .. } | SyncError::ColumnDropped { .. })) => (None, Some(error)),
        Err(error) => return Err(error),
    };
    Ok(Condition { state: Some(state), table, trouble, lost_past, distrust })
}

fn damage_of(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    table: Option<&TableIdentity>,
    changes: &LastChanges,
) -> Result<Option<Damage>, SyncError> {
    if let Some(damage) = damage::of_state(transaction, AUTHOR, state)? {
        return Ok(Some(damage));
    }
    let temporary = Temporary::default();
    let mut damage = damage::of_table(transaction, view, state, table, changes, &temporary)?;
    if damage.is_none() {
        damage = damage::of_accumulators(transaction, view, state, changes, &temporary)?;
    }
    temporary.clear(transaction)?;
    Ok(damage)
}

/// What has become of the sources since the view took them in.
fn sources(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    changes: &LastChanges,
) -> Result<Vec<Window>, SyncError> {
    let window = |source| window(transaction, &view.name, source, transaction.snapshot(), changes);
    state.sources.iter().map(window).collect()
}

fn lost_past(view: &View, windows: &[Window]) -> Option<String> {
    let is_maintained = view.class.obstacle.is_none() && view.strategy.reads_changes();
    choice::lost_past(windows).filter(|_| is_maintained)
}

/// A source that has become one over which the query cannot be run.
fn sources_trouble(
    transaction: &Transaction<'_>,
    view: &View,
    windows: &[Window],
) -> Result<Option<SyncError>, SyncError> {
    if !windows.iter().any(|window| window.misfit.is_some() || window.renamed()) {
        return Ok(None);
    }
    match recompute::query(transaction, view, &meaning(transaction, view)?, windows, transaction.snapshot()) {
        Err(error @ (SyncError::MeaningChanged { .. } | SyncError::TargetUnreachable { .. })) => Ok(Some(error)),
        Err(error) => Err(error),
        Ok(_) => Ok(None),
    }
}
