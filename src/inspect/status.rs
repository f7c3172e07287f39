//! How far each view has come, and how far behind the lake it is. Reads metadata and the registry only.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::condition::condition;
use crate::lake::{
    Expired, Lake, LakeError, SnapshotId, TableId, TableIdentity, Transaction, Value, identifier, literal,
};
use crate::sync::SyncError;
use crate::view::{View, ViewError, ViewName, ViewState, drift, redefinitions, registry};

/// The status of one view; serialised, an element of `status --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// The view, as `schema.name`.
    pub view: String,
    /// `ok`; `changed`, if someone else wrote to its table; `broken`, if it cannot be refreshed as it is.
    pub condition: &'static str,
    /// The snapshot that its rows stand for; null if that is lost.
    pub snapshot: Option<SnapshotId>,
    /// Is there a change that it has not taken in?
    pub stale: bool,
    /// How many snapshots have come since, if it is stale; else 0.
    pub lag_snapshots: u64,
    /// For how long the oldest change has been waiting, in milliseconds; 0 if none is.
    pub lag_ms: u64,
    /// The oldest snapshot that its next refresh reads: older ones may expire.
    pub oldest_needed: Option<SnapshotId>,
    /// How many rows it holds, as of its last refresh.
    pub rows: Option<u64>,
    /// How many data files they are in; rows that the catalog holds itself are in none.
    pub files: Option<u64>,
    /// How it is maintained: `incremental`, or `recompute` with the reason.
    pub maintenance: &'static str,
    /// Why it is recomputed.
    pub reason: Option<String>,
    /// Its last refresh.
    pub last_refresh: Option<LastRefresh>,
    /// What the user should know about the view's meaning.
    pub notes: Vec<String>,
    /// What the next sync would stumble over.
    pub error: Option<String>,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// A view's last refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    let tables = registry::tables(&transaction, &views);
    drop(transaction);
    // Where a state is lost, it is not known which table is whose; the view's own status says so.
    let tables = tables.unwrap_or_default();
    let by_table = tables.iter().filter_map(|(table, id)| Some((*table, views.iter().find(|view| view.id == *id)?)));
    let by_table: BTreeMap<TableId, &View> = by_table.collect();
    let wanted = views.iter().filter(|view| names.is_empty() || names.contains(&view.name));
    wanted.map(|view| view_status(lake, view, &by_table)).collect()
}

fn view_status(lake: &Lake, view: &View, views: &BTreeMap<TableId, &View>) -> Result<Status, SyncError> {
    let transaction = &lake.begin()?;
    let condition = condition(transaction, view)?;
    let first_change = match &condition.state {
        Some(state) => first_change(transaction, state, views, &mut BTreeSet::new())?,
        None => None,
    };
    let state = condition.state.as_ref();
    let waiting = first_change.and(state).map_or(0, |state| transaction.snapshot().0.saturating_sub(state.snapshot.0));
    Ok(Status {
        view: view.name.to_string(),
        condition: condition.word(),
        snapshot: state.map(|state| state.snapshot),
        stale: first_change.is_some(),
        lag_snapshots: waiting,
        lag_ms: first_change.map_or(Ok(0), |snapshot| age(transaction, snapshot))?,
        oldest_needed: state.and_then(|state| state.sources.iter().map(|source| source.watermark).min()),
        rows: state.map(|state| state.rows),
        files: condition.table.as_ref().map(|table| files(transaction, table)).transpose()?,
        maintenance: if view.class.obstacle.is_none() { "incremental" } else { "recompute" },
        reason: view.class.obstacle.as_ref().map(ToString::to_string),
        last_refresh: last_refresh(transaction, view)?,
        notes: drift(transaction, view, &redefinitions(transaction, view.created)?)?,
        hint: condition.trouble.as_ref().and_then(SyncError::hint),
        error: condition.trouble.map(|error| error.to_string()),
    })
}

/// How many data files a table has now.
fn files(transaction: &Transaction<'_>, table: &TableIdentity) -> Result<u64, LakeError> {
    let sql = format!(
        "SELECT count(*) FROM {}.ducklake_data_file WHERE table_id = {} AND end_snapshot IS NULL",
        transaction.metadata(),
        table.id
    );
    transaction.query_value(&sql)?.as_u64()
}

/// The first snapshot that changed a source after the view took it in, or a source of a view that it reads after that one
/// took it in. `seen` are the views that were asked already.
fn first_change(
    transaction: &Transaction<'_>,
    state: &ViewState,
    views: &BTreeMap<TableId, &View>,
    seen: &mut BTreeSet<TableId>,
) -> Result<Option<SnapshotId>, LakeError> {
    let newest = transaction.snapshot();
    let mut first = None;
    let marks = state.sources.iter().map(|source| (source.table, source.watermark)).collect();
    let firsts = transaction.first_changes(&marks)?;
    for source in &state.sources {
        if let Some(view) = views.get(&source.table).filter(|_| seen.insert(source.table))
            && let Ok(below) = registry::state(transaction, view)
            && let Some(at) = first_change(transaction, &below, views, seen)?
        {
            first = Some(first.map_or(at, |first: SnapshotId| first.min(at)));
        }
        let changed = match firsts.after(source.table, source.watermark) {
            Ok(commit) => commit,
            Err(Expired) => narrowed(transaction, source.table, source.watermark, newest)?,
        };
        if let Some(at) = changed {
            first = Some(first.map_or(at, |first: SnapshotId| first.min(at)));
        }
    }
    Ok(first)
}

/// The first snapshot that changed a table, from the states of its files alone: the window is halved until the snapshot
/// stands alone.
fn narrowed(
    transaction: &Transaction<'_>,
    table: TableId,
    mut before: SnapshotId,
    mut at: SnapshotId,
) -> Result<Option<SnapshotId>, LakeError> {
    if !transaction.changed(table, before, at)? {
        return Ok(None);
    }
    while at.0 - before.0 > 1 {
        let middle = SnapshotId(before.0.midpoint(at.0));
        if transaction.changed(table, before, middle)? { at = middle } else { before = middle }
    }
    Ok(Some(at))
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
    let found = transaction.query(&format!(
        "SELECT CAST(refreshed_at AS VARCHAR), strategy, rows_inserted, rows_deleted, elapsed_ms FROM {table} \
         WHERE view_id = {} ORDER BY snapshot_id DESC LIMIT 1",
        literal(view.id.as_str())
    ));
    let rows = match found {
        Err(error) if error.is_unbound() => return Ok(None),
        found => found?,
    };
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
