//! How far each view has come, and how far behind the lake it is. Writes nothing, and reads rows only where metadata does
//! not tell whether a change is one for the view.

use serde::Serialize;

use super::condition::condition;
use super::lag::{Lags, Look};
use crate::lake::{Lake, LakeError, SnapshotId, TableIdentity, Transaction, Value, literal, utc};
use crate::sync::SyncError;
use crate::view::{View, ViewError, ViewName, drift, history, redefinitions, registry};

/// The status of one view; serialised, an element of `status --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// The view, as `schema.name`.
    pub view: String,
    /// `ok`; `failing`, if its last refresh failed; `changed`, if someone else wrote to its table; `broken`, if it cannot be
    /// refreshed as it is.
    pub condition: &'static str,
    /// The snapshot that its rows stand for; null if that is lost.
    pub snapshot: Option<SnapshotId>,
    /// Is there a change for it that it has not taken in? One of columns that it does not read is none.
    pub stale: bool,
    /// How many commits there are from the oldest such change on, those of this program left out; 0 if there is none.
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
    /// Its last refresh that did not fail.
    pub last_refresh: Option<LastRefresh>,
    /// The error of the last refresh, if that failed; the next that does not ends it.
    pub last_error: Option<LastError>,
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
    /// When, in UTC: `2026-11-01T08:30:00.123456Z`.
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

/// The error with which a view's last refresh ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastError {
    /// Since when the refreshes end with it, in UTC: `2026-11-01T08:30:00.123456Z`.
    pub at: String,
    /// What it says.
    pub message: String,
}

/// The status of the views called `names`, or of all.
pub fn status(lake: &Lake, names: &[ViewName]) -> Result<Vec<Status>, SyncError> {
    let transaction = lake.begin()?;
    let views = registry::views(&transaction)?;
    for name in names {
        if !views.iter().any(|view| view.name == *name) {
            return Err(ViewError::unknown(&transaction, name, &views).into());
        }
    }
    drop(transaction);
    let wanted: Vec<&View> = views.iter().filter(|view| names.is_empty() || names.contains(&view.name)).collect();
    let mut found = Vec::new();
    while found.len() < wanted.len() {
        let failed = all_in_one(lake, &views, &wanted, &mut found)?;
        if let (Some(error), Some(view)) = (failed, wanted.get(found.len())) {
            let transaction = lake.begin()?;
            let mut status = view_status(&transaction, view, &mut Lags::new(&transaction, &views, Look::Metadata))?;
            status.condition = "broken";
            status.hint = error.hint();
            status.error = Some(error.to_string());
            found.push(status);
        }
    }
    Ok(found)
}

/// Looks at the `wanted` views in one transaction, until the rows of one cannot be read: that ends a transaction of DuckDB.
fn all_in_one(
    lake: &Lake,
    views: &[View],
    wanted: &[&View],
    found: &mut Vec<Status>,
) -> Result<Option<SyncError>, SyncError> {
    let transaction = lake.begin()?;
    let mut lags = Lags::new(&transaction, views, Look::Rows);
    for view in &wanted[found.len()..] {
        match view_status(&transaction, view, &mut lags) {
            Ok(status) => found.push(status),
            Err(error) if error.is_interruption() || error.is_disconnection() => return Err(error),
            Err(error) => {
                transaction.rollback()?;
                return Ok(Some(error.about(&view.name)));
            }
        }
    }
    Ok(None)
}

fn view_status(transaction: &Transaction<'_>, view: &View, lags: &mut Lags<'_>) -> Result<Status, SyncError> {
    let condition = condition(transaction, view)?;
    let last_error = last_error(transaction, view)?;
    let state = condition.state.as_ref();
    let first_change = state.map(|state| lags.first_change(view, state)).transpose()?.flatten();
    let mut notes = drift(transaction, view, &redefinitions(transaction, view.created)?)?;
    let lost = condition.lost_past.iter().chain(&condition.distrust).next();
    notes.extend(lost.filter(|_| first_change.is_some()).map(|lost| format!("{lost}: the next sync recomputes it")));
    Ok(Status {
        view: view.name.to_string(),
        condition: condition.word(last_error.is_some()),
        snapshot: state.map(|state| state.snapshot),
        stale: first_change.is_some(),
        lag_snapshots: first_change.map_or(Ok(0), |first| lags.commits_from(first))?,
        lag_ms: first_change.map_or(Ok(0), |snapshot| age(transaction, snapshot))?,
        oldest_needed: state.and_then(|state| state.sources.iter().map(|source| source.watermark).min()),
        rows: state.map(|state| state.rows),
        files: condition.table.as_ref().map(|table| files(transaction, table)).transpose()?,
        maintenance: if view.class.obstacle.is_none() { "incremental" } else { "recompute" },
        reason: view.class.obstacle.as_ref().map(ToString::to_string),
        last_refresh: last_refresh(transaction, view)?,
        last_error,
        notes,
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
    let condition = format!("strategy <> {}", literal(history::FAILED));
    let columns = "CAST(refreshed_at AS VARCHAR), strategy, rows_inserted, rows_deleted, elapsed_ms";
    let row = last_line(transaction, view, columns, &condition)?;
    let Some([at, strategy, inserted, deleted, elapsed]) = row.as_deref() else { return Ok(None) };
    Ok(Some(LastRefresh {
        at: utc(at.as_str()?),
        strategy: strategy.as_str()?.to_owned(),
        rows_inserted: inserted.as_u64()?,
        rows_deleted: deleted.as_u64()?,
        elapsed_ms: elapsed.optional(Value::as_u64)?.unwrap_or(0),
    }))
}

/// The error of the view's last refresh, if that failed.
pub(super) fn last_error(transaction: &Transaction<'_>, view: &View) -> Result<Option<LastError>, LakeError> {
    let row = last_line(transaction, view, "CAST(refreshed_at AS VARCHAR), strategy, reason", "true")?;
    let Some([at, strategy, message]) = row.as_deref() else { return Ok(None) };
    if strategy.as_str()? != history::FAILED {
        return Ok(None);
    }
    let message = message.optional(Value::as_str)?.unwrap_or_default().to_owned();
    Ok(Some(LastError { at: utc(at.as_str()?), message }))
}

/// The newest line of a view's history for which `condition` holds; none if the history is lost.
fn last_line(
    transaction: &Transaction<'_>,
    view: &View,
    columns: &str,
    condition: &str,
) -> Result<Option<Vec<Value>>, LakeError> {
    let found = transaction.query(&format!(
        "SELECT {columns} FROM {} WHERE view_id = {} AND {condition} ORDER BY snapshot_id DESC LIMIT 1",
        history::table(transaction),
        literal(view.id.as_str())
    ));
    match found {
        Err(error) if error.is_unbound() => Ok(None),
        found => Ok(found?.rows.into_iter().next()),
    }
}
