//! Does a view hold what its query returns? Compared with a recomputation at the view's own watermarks, row by row, as
//! bags.

use serde::Serialize;

use super::condition::{Condition, condition};
use crate::lake::{Lake, LakeError, LastChanges, SnapshotId, TableId, Transaction, Value, identifier};
use crate::plan::WEIGHT;
use crate::plan::ties::first_tie;
use crate::sync::SyncError;
use crate::sync::damage::Damage;
use crate::sync::nearness::{Tolerance, is_number, is_rounded, nearly_same, within_reach};
use crate::sync::recompute::{self, Query};
use crate::sync::rows::names;
use crate::sync::temporary::{Temporary, qualified};
use crate::sync::window::{Window, changes_since, reads_of, window};
use crate::view::{
    Binding, Meaning, SourceState, View, ViewColumn, ViewError, ViewName, ViewState, meaning, registry, stored,
};

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verification {
    /// The view, as `schema.name`.
    pub view: String,
    /// The snapshot that its rows stand for; null if that is lost.
    pub snapshot: Option<SnapshotId>,
    /// How many rows its query returns there.
    pub rows: u64,
    /// Rows that the query returns and the view does not hold.
    pub missing: u64,
    /// Rows that the view holds and the query does not return.
    pub unexpected: u64,
    /// The names of the view's columns.
    pub columns: Vec<String>,
    /// Some of the rows that differ.
    pub differences: Vec<Difference>,
    /// What the next sync would stumble over, or why the view could not be compared.
    pub error: Option<String>,
    /// What the user can do about that.
    pub hint: Option<String>,
    /// What a difference may come from, or why the view cannot be compared at all.
    pub note: Option<String>,
    /// Was it compared?
    pub compared: bool,
    /// Per cent of the rows that were compared, if not all.
    pub sample: Option<f64>,
}

impl Verification {
    /// Of a view that was not compared.
    fn none(view: &View, snapshot: Option<SnapshotId>) -> Verification {
        Verification {
            view: view.name.to_string(),
            snapshot,
            rows: 0,
            missing: 0,
            unexpected: 0,
            columns: Vec::new(),
            differences: Vec::new(),
            error: None,
            hint: None,
            note: None,
            compared: false,
            sample: None,
        }
    }

    /// Was it compared, and is it right?
    pub fn holds(&self) -> bool {
        self.compared && self.missing == 0 && self.unexpected == 0
    }
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// How many copies the view lacks; negative: has too many.
    pub missing: i64,
    /// The values as text, in the order of the view's columns; null for NULL.
    pub row: Vec<Option<String>>,
}

/// Verifies the views called `views`, or all; at most `samples` differing rows of each are returned.
pub fn verify(lake: &Lake, views: &[ViewName], samples: usize) -> Result<Vec<Verification>, SyncError> {
    verify_sample(lake, views, samples, None)
}

/// The same with only so many per cent of the rows, chosen by their content, so that both sides are held to the same
/// ones. The query runs as a whole; what is kept and compared is a part of its rows.
pub fn verify_sample(
    lake: &Lake,
    views: &[ViewName],
    samples: usize,
    percent: Option<f64>,
) -> Result<Vec<Verification>, SyncError> {
    let transaction = lake.begin()?;
    let known = registry::views(&transaction)?;
    for name in views {
        if !known.iter().any(|view| view.name == *name) {
            return Err(ViewError::unknown(&transaction, name, &known).into());
        }
    }
    drop(transaction);
    let wanted = known.iter().filter(|view| views.is_empty() || views.contains(&view.name));
    Ok(wanted
        .map(|view| {
            verify_view(lake, view, samples, percent).unwrap_or_else(|error| {
                let error = error.about(&view.name);
                Verification {
                    hint: error.hint(),
                    error: Some(error.to_string()),
                    ..Verification::none(view, standing(lake, view))
                }
            })
        })
        .collect())
}

/// The snapshot that a view stands for, where that is known.
fn standing(lake: &Lake, view: &View) -> Option<SnapshotId> {
    let transaction = lake.begin().ok()?;
    registry::state(&transaction, view).ok().map(|state| state.snapshot)
}

fn verify_view(lake: &Lake, view: &View, samples: usize, percent: Option<f64>) -> Result<Verification, SyncError> {
    let transaction = lake.begin()?;
    let Condition { state, table, trouble, .. } = condition(&transaction, view)?;
    let (Some(state), Some(table)) = (state, table) else {
        return Err(trouble.unwrap_or_else(|| Damage::TableGone.error(&view.name)));
    };
    if let Some(SyncError::Damaged { damage, .. }) = &trouble
        && damage.breaks()
    {
        return Err(damage.error(&view.name));
    }
    let (hint, error) = (trouble.as_ref().and_then(SyncError::hint), trouble.map(|error| error.to_string()));
    let meaning = meaning(&transaction, view)?;
    let outside = Binding::of(&meaning.plan, transaction.alias(), view.created.0).untracked;
    if let Some(obstacle) = view.class.volatility(&outside) {
        let note = format!("view {} cannot be compared with its query: {obstacle}", view.name);
        return Ok(Verification { hint, error, note: Some(note), ..Verification::none(view, Some(state.snapshot)) });
    }
    let tables: Vec<TableId> = state.sources.iter().map(|source| source.table).collect();
    transaction.read_all_files_of_late_buckets(&tables)?;
    let query = query_at_watermarks(&transaction, view, &meaning, &state)?;
    let statement = |error| SyncError::Statement { view: view.name.clone(), source: Box::new(error) };
    let temporary = Temporary::default();
    let chosen = percent.and_then(|percent| chosen(&view.columns, percent));
    let rows = stage_rows(&transaction, &view.columns, &query.sql, chosen.as_deref(), &temporary).map_err(statement)?;
    let held = registry::rows_table(&transaction, &ViewName::new(table.schema, table.name));
    let held = chosen.as_ref().map_or(held.clone(), |chosen| format!("(SELECT * FROM {held} WHERE {chosen})"));
    let difference = temporary.name("verify");
    stage_difference(&transaction, &view.columns, &qualified(&rows), &held, &difference).map_err(statement)?;
    forgive_rounding(&transaction, &view.columns, &difference).map_err(statement)?;
    let found = read(&transaction, &view.columns, &difference, samples).map_err(statement)?;
    let count = transaction.query_value(&format!("SELECT count(*) FROM {}", qualified(&rows)))?.as_u64()?;
    // The temporary tables go with the transaction.
    transaction.rollback()?;
    let (missing, unexpected, differences) = found;
    let note = if missing + unexpected > 0 { doubt(view, &outside, &meaning) } else { None };
    Ok(Verification {
        view: view.name.to_string(),
        snapshot: Some(state.snapshot),
        rows: count,
        missing,
        unexpected,
        columns: view.columns.iter().map(|column| column.name.clone()).collect(),
        differences,
        hint,
        error,
        note,
        compared: true,
        sample: chosen.is_some().then_some(percent).flatten(),
    })
}

/// What a difference may come from, other than a wrong view.
fn doubt(view: &View, outside: &[String], meaning: &Meaning) -> Option<String> {
    if let Some(input) = outside.first() {
        let name = &view.name;
        return Some(format!(
            "view {name} reads {input}, whose past is not kept: it may have changed since the last sync"
        ));
    }
    let tie = first_tie(meaning.rel.as_ref()?)?;
    Some(format!("view {} may hold another right answer of its query: {tie}", view.name))
}

/// The condition that takes so many per cent of a view's rows by their content; `None` if equal values of every column may
/// differ in their bits, or in the last digits.
fn chosen(columns: &[ViewColumn], percent: f64) -> Option<String> {
    /// Finer than anybody asks for.
    const PARTS: f64 = 1_000_000.0;
    let exact: Vec<String> =
        columns.iter().filter(|column| !column.inexact).map(|column| identifier(&column.name)).collect();
    (!exact.is_empty()).then(|| format!("hash({}) % {PARTS} < {}", exact.join(", "), (percent * PARTS / 100.0).ceil()))
}

/// Stages what the query returns, or the chosen ones of its rows.
fn stage_rows(
    transaction: &Transaction<'_>,
    columns: &[ViewColumn],
    sql: &str,
    chosen: Option<&str>,
    temporary: &Temporary,
) -> Result<String, LakeError> {
    let Some(chosen) = chosen else { return recompute::stage_rows(transaction, columns, sql, temporary) };
    let table = temporary.name("rows");
    transaction.execute(&format!(
        "CREATE TEMP TABLE {} AS SELECT * FROM ({}) WHERE {chosen}",
        identifier(&table),
        stored(columns, sql)
    ))?;
    Ok(table)
}

/// The view's query over its sources at their watermarks.
fn query_at_watermarks(
    transaction: &Transaction<'_>,
    view: &View,
    meaning: &Meaning,
    state: &ViewState,
) -> Result<Query, SyncError> {
    let changes = changes_since(transaction, state)?;
    let mut windows: Vec<Window> = Vec::new();
    for source in &state.sources {
        windows.push(readable(transaction, view, source, &changes)?);
    }
    transaction.refuse_doubled_reads(&reads_of(&windows))?;
    for window in &windows {
        refuse_another_past(transaction, window)?;
    }
    let tables: Vec<TableId> = state.sources.iter().map(|source| source.table).collect();
    transaction.restrict_join_filters(&meaning.plan, &tables)?;
    recompute::query(transaction, view, meaning, &windows, state.snapshot).map_err(|error| match error {
        SyncError::TargetUnreachable { view, detail, .. } => SyncError::NotComparable { view, detail },
        error => error,
    })
}

/// The source at its watermark or, if that snapshot is gone and the table has not changed since, as it is now.
fn readable(
    transaction: &Transaction<'_>,
    view: &View,
    source: &SourceState,
    changes: &LastChanges,
) -> Result<Window, SyncError> {
    let current = transaction.snapshot();
    if transaction.snapshot_exists(source.watermark)? {
        return window(transaction, &view.name, source, source.watermark, changes);
    }
    let window = window(transaction, &view.name, source, current, changes)?;
    if window.changed || window.misfit.is_some() {
        return Err(SyncError::NotComparable {
            view: view.name.clone(),
            detail: format!("snapshot {} has expired, and {} has changed since", source.watermark, window.name()),
        });
    }
    Ok(window)
}

/// A source that no longer reads as it did when the view took it in tells nothing about the view.
fn refuse_another_past(transaction: &Transaction<'_>, window: &Window) -> Result<(), LakeError> {
    let rows = transaction.count_at(&window.new.identity, window.to)?;
    if rows == window.source.rows {
        return Ok(());
    }
    Err(LakeError::UnreadablePast {
        table: window.name(),
        snapshot: window.to,
        detail: format!("it has {rows} rows there now, and had {} when they were taken in", window.source.rows),
    })
}

/// The rows of `wanted` with weight +1 and those of `held` with −1, summed by DuckDB's own equality.
fn stage_difference(
    transaction: &Transaction<'_>,
    columns: &[ViewColumn],
    wanted: &str,
    held: &str,
    into: &str,
) -> Result<(), LakeError> {
    let (columns, weight) = (names(columns), identifier(WEIGHT));
    transaction.execute(&format!(
        "CREATE TEMP TABLE {} AS SELECT {columns}, CAST(sum({weight}) AS BIGINT) AS {weight} FROM (\
         SELECT {columns}, 1 AS {weight} FROM {wanted} UNION ALL SELECT {columns}, -1 FROM {held}) \
         GROUP BY {columns} HAVING sum({weight}) <> 0",
        identifier(into)
    ))?;
    Ok(())
}

/// Takes rows out of the difference that stand on both sides as often, but for the last digits of floating-point numbers.
fn forgive_rounding(transaction: &Transaction<'_>, columns: &[ViewColumn], difference: &str) -> Result<(), LakeError> {
    if !columns.iter().any(is_rounded) {
        return Ok(());
    }
    let (table, weight) = (qualified(difference), identifier(WEIGHT));
    transaction.execute(&format!(
        "DELETE FROM {table} WHERE rowid IN (SELECT id FROM (SELECT id, sum(weight) OVER (PARTITION BY class) AS total \
         FROM (SELECT one.rowid AS id, one.{weight} AS weight, min(other.rowid) AS class \
         FROM {table} AS one JOIN {table} AS other ON {} GROUP BY ALL)) WHERE total = 0)",
        near(transaction, columns, &table)?
    ))?;
    Ok(())
}

/// The condition that two rows of the difference, `one` and `other`, are the same but for rounding.
fn near(transaction: &Transaction<'_>, columns: &[ViewColumn], table: &str) -> Result<String, LakeError> {
    /// From so many pairs of rows on that agree in all other columns, rows are sorted by a number.
    const CROWDED: u64 = 10_000_000;
    let exact: Vec<String> =
        columns.iter().filter(|column| !is_rounded(column)).map(|column| identifier(&column.name)).collect();
    let groups = if exact.is_empty() { String::new() } else { format!(" GROUP BY {}", exact.join(", ")) };
    let pairs = transaction.query_value(&format!(
        "SELECT CAST(least(coalesce(sum(n * n), 0), {CROWDED}) AS BIGINT) \
         FROM (SELECT CAST(count(*) AS HUGEINT) AS n FROM {table}{groups})"
    ))?;
    let crowded = pairs.as_u64()? == CROWDED;
    let conditions = columns.iter().map(|column| nearly_same("one", "other", column, Tolerance::Summation));
    let all = conditions.collect::<Vec<_>>().join(" AND ");
    let number = columns.iter().find(|column| is_number(column)).filter(|_| crowded);
    // DuckDB hashes by a condition that is a plain comparison, and then compares each row with each of its bucket.
    Ok(number.map_or(all.clone(), |number| {
        format!("{} AND CASE WHEN {all} THEN true ELSE false END", within_reach("one", "other", number))
    }))
}

/// Counts the difference, and reads some of it.
fn read(
    transaction: &Transaction<'_>,
    columns: &[ViewColumn],
    difference: &str,
    samples: usize,
) -> Result<(u64, u64, Vec<Difference>), LakeError> {
    let (table, weight) = (qualified(difference), identifier(WEIGHT));
    let counts = transaction.query_one(&format!(
        "SELECT CAST(coalesce(sum({weight}) FILTER ({weight} > 0), 0) AS BIGINT), \
         CAST(coalesce(-sum({weight}) FILTER ({weight} < 0), 0) AS BIGINT) FROM {table}"
    ))?;
    let texts: Vec<String> =
        columns.iter().map(|column| format!("CAST({} AS VARCHAR)", identifier(&column.name))).collect();
    let rows = transaction
        .query(&format!("SELECT {weight}, {} FROM {table} ORDER BY ALL LIMIT {samples}", texts.join(", ")))?;
    let mut differences = Vec::new();
    for row in &rows.rows {
        let Some((missing, values)) = row.split_first() else { continue };
        let values = values.iter().map(|value| value.optional(Value::as_str).map(|text| text.map(str::to_owned)));
        differences.push(Difference { missing: missing.as_i64()?, row: values.collect::<Result<_, _>>()? });
    }
    let [missing, unexpected] = counts.as_slice() else {
        return Err(LakeError::NotOneRow { found: counts.len() });
    };
    Ok((missing.as_u64()?, unexpected.as_u64()?, differences))
}
