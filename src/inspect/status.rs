//! How far each view has come, and how far behind the lake it is. Reads metadata and the registry only.

use serde::Serialize;

use crate::lake::{Lake, LakeError, SnapshotId, Transaction, Value, identifier, literal};
use crate::sync::SyncError;
use crate::sync::window::{changes_since, window};
use crate::view::{View, ViewError, ViewName, ViewState, registry};

/// The status of one view; serialised, an element of `status --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The view, as `schema.name`.
    pub view: String,
    /// The snapshot that its rows stand for.
    pub snapshot: SnapshotId,
    /// Is there a change that it has not taken in?
    pub stale: bool,
    /// How many snapshots have come since, if it is stale; else 0.
    pub lag_snapshots: u64,
    /// For how long the oldest change has been waiting, in milliseconds; 0 if none is.
    pub lag_ms: u64,
    /// How many rows it holds.
    pub rows: u64,
    /// How it is maintained: `incremental`, or `recompute` with the reason.
    pub maintenance: &'static str,
    /// Why it is recomputed.
    pub reason: Option<String>,
    /// Its last refresh.
    pub last_refresh: Option<LastRefresh>,
    /// What the next sync would stumble over.
    pub error: Option<String>,
}

/// A view's last refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastRefresh {
    /// When, in UTC.
    pub at: String,
    /// How.
    pub strategy: String,
    /// Rows that came.
    pub rows_inserted: u64,
    /// Rows that went.
    pub rows_deleted: u64,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// The status of the views called `names`, or of all.
pub fn status(lake: &Lake, names: &[ViewName]) -> Result<Vec<Status>, SyncError> {
    let transaction = lake.begin()?;
    let views = registry::views(&transaction)?;
    for name in names {
        if !views.iter().any(|view| view.name == *name) {
            let known = views.iter().map(|view| view.name.clone()).collect();
            return Err(ViewError::Unknown { view: name.clone(), known }.into());
        }
    }
    let wanted = views.iter().filter(|view| names.is_empty() || names.contains(&view.name));
    wanted.map(|view| view_status(&transaction, view)).collect()
}

fn view_status(transaction: &Transaction<'_>, view: &View) -> Result<Status, SyncError> {
    let state = registry::state(transaction, view)?;
    let newest = transaction.snapshot();
    let first_change = first_change(transaction, &state)?;
    let is_stale = first_change.is_some();
    let error = if registry::table(transaction, view, &state)?.is_none() {
        Some(SyncError::TableGone { view: view.name.clone() }.to_string())
    } else {
        source_error(transaction, view, &state)?
    };
    Ok(Status {
        view: view.name.to_string(),
        snapshot: state.snapshot,
        stale: is_stale,
        lag_snapshots: if is_stale { newest.0.saturating_sub(state.snapshot.0) } else { 0 },
        lag_ms: first_change.map_or(Ok(0), |snapshot| age(transaction, snapshot))?,
        rows: state.rows,
        maintenance: if view.class.obstacle.is_none() { "incremental" } else { "recompute" },
        reason: view.class.obstacle.as_ref().map(ToString::to_string),
        last_refresh: last_refresh(transaction, view)?,
        error,
    })
}

/// The first snapshot that changed a source after the view took it in.
fn first_change(transaction: &Transaction<'_>, state: &ViewState) -> Result<Option<SnapshotId>, LakeError> {
    let newest = transaction.snapshot();
    let mut first = None;
    for source in &state.sources {
        if !transaction.changed(source.table, source.watermark, newest)? {
            continue;
        }
        let (mut before, mut at) = (source.watermark, newest);
        // The window is halved until the snapshot stands alone; the answers come from metadata.
        while at.0 - before.0 > 1 {
            let middle = SnapshotId(before.0.midpoint(at.0));
            if transaction.changed(source.table, before, middle)? { at = middle } else { before = middle }
        }
        first = Some(first.map_or(at, |first: SnapshotId| first.min(at)));
    }
    Ok(first)
}

/// How old a snapshot is, in milliseconds.
fn age(transaction: &Transaction<'_>, snapshot: SnapshotId) -> Result<u64, LakeError> {
    let Some(time) = transaction.snapshot_time(snapshot)? else { return Ok(0) };
    let sql = format!(
        "SELECT CAST(greatest(epoch_ms(now()) - epoch_ms(CAST({} AS TIMESTAMP)), 0) AS BIGINT)",
        literal(&time)
    );
    transaction.query_value(&sql)?.as_u64()
}

fn last_refresh(transaction: &Transaction<'_>, view: &View) -> Result<Option<LastRefresh>, LakeError> {
    let table = [transaction.alias(), registry::SCHEMA, "refreshes"].map(identifier).join(".");
    let rows = transaction.query(&format!(
        "SELECT CAST(refreshed_at AS VARCHAR), strategy, rows_inserted, rows_deleted, elapsed_ms FROM {table} \
         WHERE view_id = {} ORDER BY snapshot_id DESC LIMIT 1",
        literal(view.id.as_str())
    ))?;
    let Some([at, strategy, inserted, deleted, elapsed]) = rows.rows.first().map(Vec::as_slice) else {
        return Ok(None);
    };
    Ok(Some(LastRefresh {
        at: at.as_str()?.to_owned(),
        strategy: strategy.as_str()?.to_owned(),
        rows_inserted: inserted.as_u64()?,
        rows_deleted: deleted.as_u64()?,
        elapsed_ms: elapsed.optional(Value::as_u64)?.unwrap_or(0),
    }))
}

/// A source that is gone, or lacks a column that the view reads.
fn source_error(transaction: &Transaction<'_>, view: &View, state: &ViewState) -> Result<Option<String>, SyncError> {
    let changes = changes_since(transaction, state)?;
    for source in &state.sources {
        match window(transaction, &view.name, source, transaction.snapshot(), &changes) {
            Ok(_) => {}
            Err(error @ (SyncError::SourceDropped { .. } | SyncError::ColumnDropped { .. })) => {
                return Ok(Some(error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
