//! Whether a view can be refreshed as it stands: what the next sync would stumble over. Reads metadata, and of a table
//! that someone else wrote to what was written.

use crate::lake::{LastChanges, TableIdentity, Transaction};
use crate::sync::damage::{self, Damage};
use crate::sync::temporary::Temporary;
use crate::sync::window::{Window, changes_since, window};
use crate::sync::{SyncError, recompute};
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
}

impl Condition {
    /// A word for it: `ok`, `changed` by someone else, or `broken`.
    pub(crate) fn word(&self) -> &'static str {
        match &self.trouble {
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
            return Ok(Condition { state: None, table: None, trouble: Some(error.into()) });
        }
        Err(error) => return Err(error.into()),
    };
    let table = registry::table(transaction, view, &state)?;
    let changes = changes_since(transaction, &state)?;
    let trouble = match damage_of(transaction, view, &state, table.as_ref(), &changes)? {
        Some(damage) => Some(damage.error(&view.name)),
        None => sources_trouble(transaction, view, &state, &changes)?,
    };
    Ok(Condition { state: Some(state), table, trouble })
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

/// A source that is gone, or has become one over which the query cannot be run.
fn sources_trouble(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    changes: &LastChanges,
) -> Result<Option<SyncError>, SyncError> {
    let mut windows: Vec<Window> = Vec::new();
    for source in &state.sources {
        match window(transaction, &view.name, source, transaction.snapshot(), changes) {
            Ok(window) => windows.push(window),
            Err(error @ (SyncError::SourceDropped { .. } | SyncError::ColumnDropped { .. })) => return Ok(Some(error)),
            Err(error) => return Err(error),
        }
    }
    if !windows.iter().any(|window| window.misfit.is_some() || window.renamed()) {
        return Ok(None);
    }
    match recompute::query(transaction, view, &meaning(transaction, view)?, &windows, transaction.snapshot()) {
        Err(error @ (SyncError::MeaningChanged { .. } | SyncError::TargetUnreachable { .. })) => Ok(Some(error)),
        Err(error) => Err(error),
        Ok(_) => Ok(None),
    }
}
