//! The history of refreshes: a table of the registry that is only ever appended to. A refresh that changed something
//! leaves a line in its own commit; one that failed leaves its error in a commit of its own, unless the history of its view
//! ends with that error already.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::registry::{SCHEMA, from_json, registry_table, state_if_known, to_json};
use super::{AUTHOR, ObservedView, RefreshRecord, SourceWindow, Strategy, View, ViewError, ViewId, ViewName};
use crate::lake::{Lake, LakeError, SnapshotId, Transaction, Value, literal};

/// The name of the table.
const HISTORY: &str = "refreshes";

/// What stands in the place of a strategy in the line of a refresh that failed; its reason is the error.
pub(crate) const FAILED: &str = "failed";

/// The table, as a FROM item.
pub(crate) fn table(lake: &Lake) -> String {
    registry_table(lake, HISTORY)
}

/// The reason that stands in the first line of a view.
pub(super) const CREATED: &str = "created";
/// The same for a definition in place of another one.
pub(super) const REPLACED: &str = "replaced";

/// Makes an empty history, in place of whatever has its name.
pub(crate) fn create(lake: &Lake) -> Result<(), LakeError> {
    lake.execute(&format!("DROP TABLE IF EXISTS {}", table(lake)))?;
    lake.execute(&format!(
        "CREATE TABLE {} (view_id VARCHAR, view_name VARCHAR, snapshot BIGINT, strategy VARCHAR, reason VARCHAR, \
         sources VARCHAR, terms_total BIGINT, terms_run BIGINT, rows_in BIGINT, rows_inserted BIGINT, \
         rows_deleted BIGINT, elapsed_ms BIGINT, refreshed_at TIMESTAMP, commit_id VARCHAR)",
        table(lake)
    ))?;
    Ok(())
}

/// Appends to the history of refreshes.
pub(crate) fn append(lake: &Lake, view: &View, record: &RefreshRecord) -> Result<(), ViewError> {
    let optional = |text: &Option<String>| text.as_ref().map_or_else(|| "NULL".to_owned(), |text| literal(text));
    lake.execute(&format!(
        "INSERT INTO {} VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, make_timestamp({}), {})",
        table(lake),
        literal(view.id.as_str()),
        literal(&view.name.to_string()),
        record.snapshot,
        literal(&record.strategy),
        optional(&record.reason),
        literal(&to_json(&record.sources, &view.name)?),
        record.terms_total,
        record.terms_run,
        record.rows_in,
        record.rows_inserted,
        record.rows_deleted,
        record.elapsed_ms,
        microseconds(),
        literal(&record.commit_id),
    ))
    .map_err(
        |error| if error.is_unbound() { ViewError::History { detail: error.to_string() } } else { error.into() },
    )?;
    Ok(())
}

/// What is wrong with the history, if anything is.
pub(crate) fn damage(transaction: &Transaction<'_>) -> Result<Option<String>, LakeError> {
    let sql = format!(
        "SELECT view_id, view_name, snapshot, strategy, reason, sources, terms_total, terms_run, rows_in, \
         rows_inserted, rows_deleted, elapsed_ms, refreshed_at, commit_id FROM {} LIMIT 0",
        table(transaction)
    );
    match transaction.query(&sql) {
        Ok(_) => Ok(None),
        Err(error) if error.is_unbound() => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// The snapshot that a view's definition was first bound at, as far as the history tells: a view that another table was given
/// to is bound anew, and no younger for it.
pub(crate) fn made(transaction: &Transaction<'_>, view: &View) -> Result<SnapshotId, LakeError> {
    let sql = format!(
        "SELECT max(snapshot) FROM {} WHERE view_id = {} AND strategy = {} AND reason IN ({}, {})",
        table(transaction),
        literal(view.id.as_str()),
        literal(Strategy::Full.word()),
        literal(CREATED),
        literal(REPLACED),
    );
    let made = match transaction.query_value(&sql) {
        Ok(made) => made.optional(Value::as_u64)?.map(SnapshotId),
        Err(error) if error.is_unbound() => None,
        Err(error) => return Err(error),
    };
    Ok(made.unwrap_or(view.created).min(view.created))
}

/// How much of the history a sync looks at.
const LOOKED_BACK: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Now, in microseconds since 1970. The engine's own clock would need its time zones for it, which takes longer than the
/// statement.
fn microseconds() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros()
}

/// What is known of views from their last refreshes.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// How far each has come.
    pub views: BTreeMap<ViewId, ObservedView>,
    /// The errors of those that failed last.
    pub errors: BTreeMap<ViewId, String>,
}

/// What is known of each view's last refresh: enough to see, without a read per view, which of them may have something
/// to do. It comes from the last month of the history, however long that is; views that were not refreshed since are
/// looked up in their state tables, which hold the truth in any case.
pub(crate) fn observed(transaction: &Transaction<'_>, views: &[View]) -> Result<Observed, ViewError> {
    let mut observed = Observed::default();
    if views.is_empty() {
        return Ok(observed);
    }
    let (table, failed) = (table(transaction), literal(FAILED));
    let since = microseconds().saturating_sub(LOOKED_BACK.as_micros());
    let sql = format!(
        "SELECT view_id, max(snapshot_id) FILTER (done), arg_max(snapshot, snapshot_id) FILTER (done), \
         arg_max(sources, snapshot_id) FILTER (done), max(snapshot_id) FILTER (NOT done), \
         arg_max(reason, snapshot_id) FILTER (NOT done) \
         FROM (SELECT *, snapshot_id, strategy IS DISTINCT FROM {failed} AS done FROM {table} \
         WHERE refreshed_at >= make_timestamp({since})) GROUP BY view_id ORDER BY view_id",
    );
    let rows = match transaction.query(&sql) {
        Ok(found) => found.rows,
        // The states tell the same, one by one.
        Err(error) if error.is_unbound() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    for row in &rows {
        // What cannot be read is looked up in the states.
        let _ = observed.add(row);
    }
    for view in views.iter().filter(|view| !observed.views.contains_key(&view.id)).collect::<Vec<_>>() {
        let Some(state) = state_if_known(transaction, view)? else { continue };
        let sources = state.sources.iter().map(|source| SourceWindow {
            table: format!("{}.{}", source.schema, source.name),
            id: source.table,
            from: source.watermark,
            to: source.watermark,
            changed: false,
        });
        let (landed, snapshot) = (state.landed, state.snapshot);
        observed.views.insert(view.id.clone(), ObservedView { landed, snapshot, sources: sources.collect() });
    }
    Ok(observed)
}

impl Observed {
    fn add(&mut self, row: &[Value]) -> Result<(), ViewError> {
        let [id, landed, snapshot, sources, failed, error] = row else {
            return Err(ViewError::registry(HISTORY, "has other columns than expected"));
        };
        let id = ViewId(id.as_str()?.to_owned());
        let landed = landed.optional(Value::as_u64)?;
        if failed.optional(Value::as_u64)? > landed {
            self.errors.insert(id.clone(), error.optional(Value::as_str)?.unwrap_or_default().to_owned());
        }
        let Some(landed) = landed else { return Ok(()) };
        let view = ObservedView {
            landed: SnapshotId(landed),
            snapshot: SnapshotId(snapshot.as_u64()?),
            sources: from_json(sources.as_str()?, &ViewName::new(SCHEMA, id.as_str()))?,
        };
        self.views.insert(id, view);
        Ok(())
    }
}

/// A refresh that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The view.
    pub view: View,
    /// What went wrong.
    pub error: String,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// Records the refreshes that failed, in a commit of their own, if there is anything to record. Of `known` is what was known
/// of the views before.
pub(crate) fn record_failures(lake: &Lake, failures: &[Failure], known: &Observed) -> Result<(), ViewError> {
    let is_new = |failure: &&Failure| {
        known.errors.get(&failure.view.id).is_none_or(|last| !is_the_same(last, &shortened(&failure.error)))
    };
    let failures: Vec<&Failure> = failures.iter().filter(is_new).collect();
    if failures.is_empty() {
        return Ok(());
    }
    let transaction = lake.begin()?;
    let commit_id = uuid::Uuid::new_v4().to_string();
    for Failure { view, error, elapsed_ms } in &failures {
        let observed = known.views.get(&view.id);
        let sources = observed.into_iter().flat_map(|observed| &observed.sources);
        let sources = sources.map(|source| SourceWindow { from: source.to, changed: false, ..source.clone() });
        let record = RefreshRecord {
            snapshot: observed.map_or(view.created, |observed| observed.snapshot),
            strategy: FAILED.to_owned(),
            reason: Some(shortened(error)),
            sources: sources.collect(),
            terms_total: view.class.terms,
            terms_run: 0,
            rows_in: 0,
            rows_inserted: 0,
            rows_deleted: 0,
            elapsed_ms: *elapsed_ms,
            commit_id: commit_id.clone(),
        };
        append(&transaction, view, &record)?;
    }
    let names: Vec<String> = failures.iter().map(|failure| failure.view.name.to_string()).collect();
    let message = format!("keep the error of {}", names.join(", "));
    transaction.set_commit_message(AUTHOR, &message, Some(&commit_id))?;
    transaction.commit()?;
    Ok(())
}

/// The text as the lake keeps it: what an error quotes can be of any length.
fn shortened(text: &str) -> String {
    const KEPT: usize = 4000;
    match text.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Do two texts tell of the same error? How full a disk is, how many rows are concerned, or what a new file is called may
/// differ each minute.
fn is_the_same(one: &str, other: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !c.is_alphanumeric() && c != '-')
            .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
    }
    words(one).eq(words(other))
}

#[cfg(test)]
mod tests {
    use super::is_the_same;

    #[test]
    fn errors_are_told_apart_by_their_words() {
        assert!(is_the_same("no space: 10.2 of 10.3 GB used", "no space: 9.8 of 10.3 GB used"));
        let file = |id: &str| format!("cannot write /lake/main/v/ducklake-{id}.parquet: no space left");
        assert!(is_the_same(
            &file("01a22c96-0072-76cc-abcd-ef0123456789"),
            &file("01a22c97-99aa-7abc-8def-0123456789ab")
        ));
        assert!(!is_the_same("column \"a\" was dropped", "column \"b\" was dropped"));
    }
}
