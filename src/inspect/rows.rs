//! The rows themselves that changed between two snapshots, in a temporary table per table of the lake.

use super::InspectError;
use super::diff::touched;
use super::revision::Range;
use super::tables::{End, Ends, Staged};
use crate::lake::{Lake, LakeError, SnapshotId, TableColumn, TableId, Transaction, Value, identifier, literal};
use crate::plan::WEIGHT;
use crate::sync::temporary::{Temporary, qualified};
use crate::view::{ViewName, near};

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct RowOptions {
    /// The tables; all if empty.
    pub tables: Vec<ViewName>,
    /// The columns; all if empty.
    pub columns: Vec<String>,
    /// A condition over the columns of the table; a row is shown if it holds before or after.
    pub condition: Option<String>,
    /// At most so many per table.
    pub limit: Option<u64>,
}

/// The changed rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTable {
    /// The table, as `schema.name`.
    pub table: String,
    /// What happened to it, if it is not there at both ends: `created at 10`, `dropped at 12`.
    pub fate: Option<String>,
    /// The temporary table: `_change` (`delete`, `insert`, `update_preimage`, `update_postimage`), `_copies`, the row
    /// id, and the columns.
    pub staged: String,
    /// The columns of the table.
    pub columns: Vec<String>,
    /// How many rows there are, also those beyond the limit.
    pub rows: u64,
    /// How many there would be without the condition.
    pub changed: u64,
}

/// The columns that come before those of the table.
pub const LEADING: usize = 3;

/// Stages the changed rows of the tables that are named, else of those that have any. The temporary tables stay until the next call or the end of the session.
pub fn stage_rows(
    lake: &Lake,
    range: &Range,
    options: &RowOptions,
) -> Result<((SnapshotId, SnapshotId), Vec<RowTable>), InspectError> {
    let transaction = lake.begin()?;
    let touched = touched(&transaction, range, &options.tables)?;
    let temporary = Temporary::default();
    let mut tables = Vec::new();
    for ends in &touched.tables {
        let Some(last) = ends.last() else { continue };
        check_columns(&transaction, ends, last, options, touched.span)?;
        let chosen = |column: &TableColumn| {
            // A condition may be about any column.
            options.condition.is_some() || is_chosen(&options.columns, &column.name)
        };
        let Some(staged) = ends.stage(&transaction, touched.span, &temporary, &chosen)? else { continue };
        let mut shown = table(&transaction, last, &staged, options, &temporary)?;
        if shown.changed > 0 || !options.tables.is_empty() {
            shown.fate = ends.fate(&transaction)?;
            tables.push(shown);
        }
    }
    transaction.commit()?;
    Ok((touched.span, tables))
}

fn is_chosen(columns: &[String], name: &str) -> bool {
    columns.is_empty() || columns.iter().any(|column| column.eq_ignore_ascii_case(name))
}

fn check_columns(
    transaction: &Transaction<'_>,
    ends: &Ends,
    last: &End,
    options: &RowOptions,
    (from, to): (SnapshotId, SnapshotId),
) -> Result<(), InspectError> {
    let has = |column: &&String| last.columns.iter().any(|own| own.name.eq_ignore_ascii_case(column));
    match options.columns.iter().find(|column| !has(column)) {
        None => Ok(()),
        Some(column) => {
            let at = if ends.new.is_some() { to } else { from };
            Err(InspectError::UnknownColumn {
                table: last.name(),
                column: column.clone(),
                at,
                fate: column_fate(transaction, ends.id, last, column, at)?,
                near: near(column, last.columns.iter().map(|column| column.name.clone())),
            })
        }
    }
}

/// What happened to the last column of a table that was ever called so.
fn column_fate(
    transaction: &Transaction<'_>,
    table: TableId,
    last: &End,
    name: &str,
    at: SnapshotId,
) -> Result<Option<String>, LakeError> {
    let rows = transaction.query(&format!(
        "SELECT column_id::BIGINT, begin_snapshot::BIGINT, end_snapshot::BIGINT FROM {}.ducklake_column \
         WHERE table_id = {table} AND parent_column IS NULL AND lower(column_name) = lower({}) \
         ORDER BY begin_snapshot DESC LIMIT 1",
        transaction.metadata(),
        literal(name)
    ))?;
    let Some([id, begin, end]) = rows.rows.first().map(Vec::as_slice) else { return Ok(None) };
    let (id, begin, end) = (id.as_u64()?, begin.as_u64()?, end.optional(Value::as_u64)?);
    if let Some(column) = last.columns.iter().find(|column| column.id.0 == id) {
        return Ok(Some(format!("it was renamed: at snapshot {at} it is called {}", column.name)));
    }
    Ok(match end {
        _ if begin > at.0 => Some(format!("it was added at {begin}")),
        Some(end) => Some(format!("it was dropped at {end}: let the range end before")),
        None => None,
    })
}

fn table(
    transaction: &Transaction<'_>,
    end: &End,
    staged: &Staged,
    options: &RowOptions,
    temporary: &Temporary,
) -> Result<RowTable, InspectError> {
    let columns: Vec<String> =
        staged.columns.iter().filter(|column| is_chosen(&options.columns, column)).cloned().collect();
    let (source, row_id) = (qualified(&staged.table), identifier(&staged.row_id));
    let is_updated = identifier(&staged.is_updated);
    let mut list = vec![
        format!(
            "CASE WHEN {is_updated} THEN CASE WHEN {WEIGHT} < 0 THEN 'update_preimage' ELSE 'update_postimage' END \
             WHEN {WEIGHT} < 0 THEN 'delete' ELSE 'insert' END AS {}",
            identifier(&end.own_name("_change"))
        ),
        format!("abs({WEIGHT}) AS {}", identifier(&end.own_name("_copies"))),
        row_id.clone(),
    ];
    list.extend(columns.iter().map(|column| identifier(column)));
    let into = temporary.name("rows");
    // Pairs stand together; without a row id, equal rows do.
    let order = format!("{row_id} NULLS LAST, {WEIGHT} {}", following(&columns));
    let condition = match &options.condition {
        None => "true".to_owned(),
        Some(condition) => format!(
            "({condition}\n) OR ({is_updated} AND {row_id} IN (SELECT {row_id} FROM {source} WHERE ({condition}\n)))"
        ),
    };
    let select = format!("SELECT {} FROM {source} WHERE {condition}", list.join(", "));
    let refused = |error: LakeError| match &options.condition {
        Some(_) => {
            // What follows the first line shows our own statement around it.
            let message = error.to_string().lines().next().unwrap_or_default().to_owned();
            let column = message.strip_prefix("Referenced column \"").and_then(|rest| rest.split('"').next());
            let near = column.map_or_else(Vec::new, |column| near(column, staged.columns.iter().cloned()));
            InspectError::Condition { table: end.name(), message, near }
        }
        None => InspectError::Lake(error),
    };
    let count = |of: &str| transaction.query_value(&format!("SELECT count(*) FROM {of}"));
    let rows = count(&format!("({select})")).map_err(refused)?.as_u64()?;
    let changed = if options.condition.is_some() { count(&source)?.as_u64()? } else { rows };
    let limit = options.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
    transaction
        .execute(&format!("CREATE OR REPLACE TEMP TABLE {} AS {select} ORDER BY {order}{limit}", identifier(&into)))?;
    transaction.execute(&format!("DROP TABLE IF EXISTS {source}"))?;
    Ok(RowTable { table: end.name(), fate: None, staged: into, columns, rows, changed })
}

/// The columns as the tail of an ORDER BY: by their texts, for DuckDB 1.5.5 gives back the key that it sorted by, in which
/// -0.0 has become 0.0.
fn following(columns: &[String]) -> String {
    columns.iter().flat_map(|column| [", CAST(".to_owned(), identifier(column), " AS VARCHAR)".to_owned()]).collect()
}
