//! Dropping a view, with all that was kept for it.

use super::create::AUTHOR;
use super::retry::retrying;
use super::{Graph, View, ViewError, ViewName, drop_accumulators, registry};
use crate::lake::{Lake, literal};

/// Drops the view, its table and its state. Its history stays in `refreshes`.
pub fn drop_view(lake: &Lake, name: &ViewName) -> Result<View, ViewError> {
    retrying(
        || drop_once(lake, name),
        ViewError::retryable,
        |error, pause| tracing::info!(view = %name, %error, ?pause, "beginning anew"),
    )
}

fn drop_once(lake: &Lake, name: &ViewName) -> Result<View, ViewError> {
    let transaction = lake.begin()?;
    let known = registry::views(&transaction)?;
    let Some(view) = known.iter().find(|view| view.name == *name) else {
        return Err(ViewError::unknown(&transaction, name, &known));
    };
    let dependents = Graph::read(&transaction, &known)?.dependents(&view.id);
    if !dependents.is_empty() {
        return Err(ViewError::Dependents { view: name.clone(), dependents });
    }
    // The table may be gone, or stand under another name, by the user's own doing.
    let state = registry::state_if_known(&transaction, view)?;
    let table = registry::table_id(&transaction, view, state.as_ref())?;
    let table = table.map_or(Ok(None), |id| transaction.table_by_id(id, transaction.snapshot()))?;
    if let Some(table) = table {
        let table = ViewName::new(table.schema, table.name);
        transaction.execute(&format!("DROP TABLE {}", registry::rows_table(lake, &table)))?;
    }
    transaction.execute(&format!("DROP TABLE IF EXISTS {}", registry::state_table(lake, &view.id)))?;
    drop_accumulators(&transaction, &view.id)?;
    transaction.execute(&format!(
        "DELETE FROM {} WHERE id = {}",
        registry::registry_table(lake, "views"),
        literal(view.id.as_str())
    ))?;
    let commit_id = uuid::Uuid::new_v4().to_string();
    transaction.set_commit_message(AUTHOR, &format!("drop view {name}"), Some(&commit_id))?;
    transaction.commit()?;
    Ok(view.clone())
}
