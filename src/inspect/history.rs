//! Past refreshes of a view, newest first, as the registry keeps them; also of a view that was dropped, and of those that
//! had its name before.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value as Json;

use crate::lake::{Lake, LakeError, SnapshotId, Transaction, Value, literal, utc};
use crate::view::{ViewError, ViewName, history as refreshes, registry};

/// A refresh; serialised, an element of `history --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PastRefresh {
    /// When it was committed, in UTC: `2026-11-01T08:30:00.123456Z`.
    pub at: String,
    /// The commit.
    pub committed: SnapshotId,
    /// The snapshot that the view has stood for since.
    pub snapshot: SnapshotId,
    /// How it was done; `failed`, if it was not.
    pub strategy: String,
    /// Why so, if there was a choice.
    pub reason: Option<String>,
    /// What went wrong, if it failed.
    pub error: Option<String>,
    /// What was taken in.
    pub sources: Vec<PastWindow>,
    /// How many terms the delta could have had.
    pub terms_total: u64,
    /// How many were run.
    pub terms_run: u64,
    /// Rows of the net changes of the sources.
    pub rows_read: u64,
    /// Rows that came into the view.
    pub rows_inserted: u64,
    /// Rows that went out of it.
    pub rows_deleted: u64,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Can what it changed still be looked at?
    #[serde(skip)]
    pub is_visible: bool,
}

/// A window of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PastWindow {
    /// The table, as `schema.name`.
    pub table: String,
    /// After this snapshot,
    pub from: u64,
    /// up to this one.
    pub to: u64,
    /// Did it change in between?
    pub changed: bool,
    /// Can what changed still be looked at?
    #[serde(skip)]
    pub is_visible: bool,
}

/// The last `limit` refreshes of the view called `name`, and of those called so before it.
pub fn history(lake: &Lake, name: &ViewName, limit: u64) -> Result<Vec<PastRefresh>, ViewError> {
    let transaction = lake.begin()?;
    let views = registry::views(&transaction)?;
    let unknown = || ViewError::unknown(&transaction, name, &views);
    if !registry::exists(&transaction)? {
        return Err(unknown());
    }
    let found = past(&transaction, name, limit)?;
    if found.is_empty() && !views.iter().any(|view| view.name == *name) { Err(unknown()) } else { Ok(found) }
}

fn past(transaction: &Transaction<'_>, name: &ViewName, limit: u64) -> Result<Vec<PastRefresh>, ViewError> {
    let sql = format!(
        "SELECT CAST(refreshed_at AS VARCHAR), snapshot_id, snapshot, strategy, reason, sources, terms_total, \
         terms_run, rows_in, rows_inserted, rows_deleted, elapsed_ms FROM {} WHERE lower(view_name) = lower({}) \
         ORDER BY snapshot_id DESC, refreshed_at DESC LIMIT {limit}",
        refreshes::table(transaction),
        literal(&name.to_string())
    );
    let rows = match transaction.query(&sql) {
        Ok(found) => found.rows,
        Err(error) if error.is_unbound() => return Err(ViewError::History { detail: error.to_string() }),
        Err(error) => return Err(error.into()),
    };
    let mut found = rows.iter().map(|row| past_refresh(row)).collect::<Result<Vec<_>, LakeError>>()?;
    let kept: BTreeSet<SnapshotId> =
        transaction.snapshot_ids(SnapshotId(0)..=transaction.snapshot())?.into_iter().collect();
    let are_kept = |from: u64, to: u64| kept.contains(&SnapshotId(from)) && kept.contains(&SnapshotId(to));
    for refresh in &mut found {
        refresh.is_visible = are_kept(refresh.committed.0.saturating_sub(1), refresh.committed.0);
        for source in &mut refresh.sources {
            source.is_visible = are_kept(source.from, source.to);
        }
    }
    Ok(found)
}

fn past_refresh(row: &[Value]) -> Result<PastRefresh, LakeError> {
    let [at, committed, snapshot, strategy, reason, sources, total, run, read, inserted, deleted, elapsed] = row else {
        return Err(LakeError::NotOneRow { found: row.len() });
    };
    let (strategy, reason) = (strategy.as_str()?.to_owned(), reason.optional(Value::as_str)?.map(str::to_owned));
    let (reason, error) = if strategy == refreshes::FAILED { (None, reason) } else { (reason, None) };
    let number = |value: &Value| Ok::<_, LakeError>(value.optional(Value::as_u64)?.unwrap_or(0));
    Ok(PastRefresh {
        at: utc(at.as_str()?),
        committed: SnapshotId(committed.as_u64()?),
        snapshot: SnapshotId(snapshot.as_u64()?),
        strategy,
        reason,
        error,
        sources: windows(sources.optional(Value::as_str)?.unwrap_or_default()),
        terms_total: number(total)?,
        terms_run: number(run)?,
        rows_read: number(read)?,
        rows_inserted: number(inserted)?,
        rows_deleted: number(deleted)?,
        elapsed_ms: number(elapsed)?,
        is_visible: false,
    })
}

/// The windows as the registry keeps them; what cannot be read is left out.
fn windows(text: &str) -> Vec<PastWindow> {
    let windows: Vec<Json> = serde_json::from_str(text).unwrap_or_default();
    let window = |window: &Json| {
        Some(PastWindow {
            table: window["table"].as_str()?.to_owned(),
            from: window["from"].as_u64()?,
            to: window["to"].as_u64()?,
            changed: window["changed"].as_bool()?,
            is_visible: false,
        })
    };
    windows.iter().filter_map(window).collect()
}
