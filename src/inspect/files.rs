//! The data and delete files that came or went between two snapshots, and what the catalog itself keeps instead of small
//! files: from metadata alone.

use serde::Serialize;

use super::InspectError;
use super::diff::{Registry, touched_with};
use super::revision::Range;
use crate::lake::{Lake, LakeError, SnapshotId, TableId, Transaction, Value};
use crate::view::ViewName;

/// A file that came or went; serialised, an element of `diff --files --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// The table, as `schema.name`.
    pub table: String,
    /// `added` or `removed`.
    pub change: String,
    /// `data` or `delete`; `inlined` or `inlined delete`, if the catalog itself holds the rows, or the deletes of rows.
    pub kind: String,
    /// Where it is; empty if it is no file.
    pub path: String,
    /// Rows in it, or positions that it deletes.
    pub rows: u64,
    /// Its size, as the catalog has it.
    pub bytes: u64,
    /// What the store says of it: `ok`, `missing`, or its other size; null where nobody asked, and for files that went.
    pub found: Option<String>,
}

/// How many files came and went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileTotals {
    /// Files that came.
    pub added: u64,
    /// Their bytes.
    pub bytes_added: u64,
    /// Files that went.
    pub removed: u64,
    /// Their bytes.
    pub bytes_removed: u64,
}

impl ChangedFile {
    /// Is it a file, and not rows that the catalog holds?
    pub fn is_file(&self) -> bool {
        !self.path.is_empty()
    }
}

impl FileTotals {
    /// Adds up `files`.
    pub fn of(files: &[ChangedFile]) -> FileTotals {
        files.iter().filter(|file| file.is_file()).fold(FileTotals::default(), |mut totals, file| {
            if file.change == "added" {
                totals.added += 1;
                totals.bytes_added += file.bytes;
            } else {
                totals.removed += 1;
                totals.bytes_removed += file.bytes;
            }
            totals
        })
    }
}

/// The files of all tables, or of those called `tables`, that came or went in a range.
pub fn of_range(
    lake: &Lake,
    range: &Range,
    tables: &[ViewName],
) -> Result<((SnapshotId, SnapshotId), Vec<ChangedFile>), InspectError> {
    let transaction = lake.begin()?;
    let touched = touched_with(&transaction, range, tables, Registry::Included)?;
    let mut found = Vec::new();
    for ends in &touched.tables {
        let Some(last) = ends.last() else { continue };
        let mut files = files(&transaction, ends.id, &last.name(), touched.span)?;
        if tables.is_empty() && last.is_of_registry() {
            // The bookkeeping in the catalog itself is of no interest; a file that it has can be missing like any other.
            files.retain(ChangedFile::is_file);
        }
        found.extend(files);
    }
    Ok((touched.span, found))
}

/// The files of the table `id`, which is called `table`, that came or went after `from`, up to `to`.
///
/// A file came in the commit that wrote it. DuckLake dates a file that maintenance or a later delete wrote back to the rows
/// that it holds, so that `begin_snapshot` does not tell; its id does, for each snapshot says which id is the next one.
pub fn files(
    transaction: &Transaction<'_>,
    id: TableId,
    table: &str,
    (from, to): (SnapshotId, SnapshotId),
) -> Result<Vec<ChangedFile>, LakeError> {
    let metadata = transaction.metadata();
    let whole_path = transaction.whole_path()?;
    let next_file = |at: SnapshotId| {
        let next =
            format!("SELECT max(next_file_id)::BIGINT FROM {metadata}.ducklake_snapshot WHERE snapshot_id <= {at}");
        transaction.query_value(&next)?.optional(Value::as_u64).map(Option::unwrap_or_default)
    };
    let (first, end) = (next_file(from)?, next_file(to)?);
    let part = |kind: &str, rows: &str| {
        let file_id = format!("f.{kind}_file_id");
        format!(
            "SELECT CASE WHEN {file_id} < {first} THEN 'removed' ELSE 'added' END AS change, '{kind}' AS kind, \
             {whole_path} AS path, f.{rows}::BIGINT AS rows, f.file_size_bytes::BIGINT AS bytes \
             FROM {metadata}.ducklake_{kind}_file f \
             JOIN (SELECT * FROM {metadata}.ducklake_table WHERE table_id = {id} ORDER BY begin_snapshot DESC LIMIT 1) t \
             USING (table_id) JOIN {metadata}.ducklake_schema s USING (schema_id) WHERE \
             ({file_id} >= {first} AND {file_id} < {end} AND (f.end_snapshot IS NULL OR f.end_snapshot > {to})) \
             OR ({file_id} < {first} AND f.end_snapshot > {from} AND f.end_snapshot <= {to})"
        )
    };
    let sql = format!(
        "SELECT DISTINCT * FROM ({} UNION ALL {}) ORDER BY change, kind, path",
        part("data", "record_count"),
        part("delete", "delete_count")
    );
    let file = |row: &Vec<Value>| match row.as_slice() {
        [change, kind, path, rows, bytes] => Ok(ChangedFile {
            table: table.to_owned(),
            change: change.as_str()?.to_owned(),
            kind: kind.as_str()?.to_owned(),
            path: path.as_str()?.to_owned(),
            rows: rows.optional(Value::as_u64)?.unwrap_or(0),
            bytes: bytes.optional(Value::as_u64)?.unwrap_or(0),
            found: None,
        }),
        other => Err(LakeError::NotOneRow { found: other.len() }),
    };
    let mut found = transaction.query(&sql)?.rows.iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let inlined = transaction.inlined_changes(id, from, to)?;
    for (change, kind, rows) in [
        ("added", "inlined", inlined.rows_added),
        ("added", "inlined delete", inlined.deletes_added),
        ("removed", "inlined", inlined.rows_removed),
    ] {
        if rows > 0 {
            let (change, kind) = (change.to_owned(), kind.to_owned());
            let path = String::new();
            found.push(ChangedFile { table: table.to_owned(), change, kind, path, rows, bytes: 0, found: None });
        }
    }
    Ok(found)
}

/// Asks the disk or the object store for each file that came. Those that went may have been cleaned up. Gives up once
/// `unwanted` says so.
pub fn check(lake: &Lake, files: &mut [ChangedFile], unwanted: &dyn Fn() -> bool) -> Result<(), LakeError> {
    if files.iter().any(ChangedFile::is_file) {
        lake.refuse_no_folder()?;
    }
    let mut came: Vec<&mut ChangedFile> =
        files.iter_mut().filter(|file| file.change == "added" && file.is_file()).collect();
    let paths: Vec<String> = came.iter().map(|file| file.path.clone()).collect();
    for (file, size) in came.iter_mut().zip(lake.file_sizes(&paths, unwanted)?) {
        file.found = Some(verdict(size, file.bytes));
    }
    Ok(())
}

fn verdict(size: Option<u64>, expected: u64) -> String {
    match size {
        None => "missing".to_owned(),
        Some(size) if size == expected => "ok".to_owned(),
        Some(size) => format!("has {size} bytes"),
    }
}
