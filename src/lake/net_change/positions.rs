//! The positions of a file's rows that were deleted in a piece.

use super::{
    Failure, SnapshotId,
    branches::{Piece, Table},
    classify::{Labels, TouchedFile},
};
use crate::lake::{
    LakeError, Rows, Transaction,
    text::{identifier, literal, literals},
};
use std::collections::{BTreeMap, BTreeSet};

/// DuckLake's column in which a delete file tells when a position was deleted.
const LABEL: &str = "_ducklake_internal_snapshot_id";

/// Where the deleted positions are.
pub(super) enum Positions {
    /// Few enough to be written down, by the file's path.
    Listed(BTreeMap<String, Vec<u64>>),
    /// In a temporary table with the columns `f` (path) and `n` (position).
    Staged {
        /// The temporary table.
        table: String,
        /// The files that it names.
        files: BTreeSet<String>,
    },
}

/// The deleted positions of `files`; ones that were deleted before the piece may be among them, for a read at its begin
/// hides those rows anyway.
pub(super) fn deleted_positions(
    transaction: &Transaction<'_>,
    table: &Table<'_>,
    piece: &Piece<'_>,
    files: &[&TouchedFile],
) -> Result<Positions, Failure> {
    let limit = table.tuning.literal_positions;
    let in_catalog = catalog_positions(transaction, table, piece, files);
    let with_delete_files: Vec<&TouchedFile> =
        files.iter().copied().filter(|file| file.delete_file.is_some()).collect();
    let mut found = Vec::new();
    let mut in_files = None;
    if !with_delete_files.is_empty() {
        let (sql, rows) = match read_delete_files(transaction, table, piece, &with_delete_files)? {
            Some(read) => read,
            None => {
                let sql = by_keys(piece, &with_delete_files);
                let rows = transaction.query(&limited(&sql, limit))?;
                (sql, rows)
            }
        };
        in_files = Some(sql);
        found.extend(rows.rows);
    }
    if let Some(sql) = &in_catalog {
        found.extend(transaction.query(&limited(sql, limit))?.rows);
    }
    if found.len() > limit {
        let parts: Vec<String> = in_files.into_iter().chain(in_catalog).collect();
        return stage(transaction, table, piece, &parts.join(" UNION ALL ")).map_err(Failure::Lake);
    }
    let mut listed: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for row in &found {
        let [file, position] = row.as_slice() else {
            return Err(Failure::Lake(LakeError::NotOneRow { found: row.len() }));
        };
        listed.entry(file.as_str()?.to_owned()).or_default().insert(position.as_u64()?);
    }
    let listed = listed.into_iter().map(|(file, positions)| (file, positions.into_iter().collect()));
    Ok(Positions::Listed(listed.collect()))
}

/// The statement that reads the delete files by themselves, and its first rows; `None` if they cannot be read so.
fn read_delete_files(
    transaction: &Transaction<'_>,
    table: &Table<'_>,
    piece: &Piece<'_>,
    files: &[&TouchedFile],
) -> Result<Option<(String, Rows)>, LakeError> {
    if !table.tuning.read_delete_files || !files.iter().all(|file| is_plain_path(file)) {
        return Ok(None);
    }
    let sql = file_positions(piece.begin, piece.end, files);
    // Delete files never change, so they can be read beside the transaction, which a failure would abort.
    match transaction.query_aside(&limited(&sql, table.tuning.literal_positions)) {
        Ok(rows) => Ok(Some((sql, rows))),
        Err(LakeError::Interrupted) => Err(LakeError::Interrupted),
        Err(error) => {
            tracing::info!(%error, "delete files cannot be read by themselves");
            Ok(None)
        }
    }
}

fn limited(sql: &str, limit: usize) -> String {
    format!("SELECT f, n::BIGINT FROM ({sql}) LIMIT {}", limit + 1)
}

/// `read_parquet` takes some characters of a path for a pattern.
fn is_plain_path(file: &TouchedFile) -> bool {
    file.delete_file.as_ref().is_some_and(|delete_file| !delete_file.path.contains(['*', '?', '[', ']', '{', '}']))
}

fn stage(
    transaction: &Transaction<'_>,
    table: &Table<'_>,
    piece: &Piece<'_>,
    sql: &str,
) -> Result<Positions, LakeError> {
    let name = format!("{}_positions_{}", table.into, piece.begin);
    let quoted = identifier(&name);
    transaction.execute(&format!("CREATE OR REPLACE TEMP TABLE {quoted} AS SELECT DISTINCT f, n FROM ({sql})"))?;
    let rows = transaction.query(&format!("SELECT DISTINCT f FROM temp.{quoted} ORDER BY f"))?.rows;
    let files = rows.iter().flatten().map(|file| file.as_str().map(str::to_owned)).collect::<Result<_, _>>()?;
    Ok(Positions::Staged { table: name, files })
}

/// Where a delete file is, which data file it is about, and whether all its positions are of the piece.
type Entry<'a> = (&'a str, &'a str, bool);

/// Positions from the delete files.
fn file_positions(p: SnapshotId, q: SnapshotId, files: &[&TouchedFile]) -> String {
    // Files of one kind are read together; an encrypted one by itself, for each has its own key.
    let mut kinds: BTreeMap<(Labels, Option<&str>), Vec<Entry<'_>>> = BTreeMap::new();
    for file in files {
        if let Some(delete_file) = &file.delete_file {
            let kind = (delete_file.labels, delete_file.encryption_key.as_deref());
            let entry = (delete_file.path.as_str(), file.path.as_str(), delete_file.fresh);
            kinds.entry(kind).or_default().push(entry);
        }
    }
    let mut parts = Vec::new();
    for ((labels, key), entries) in kinds {
        let mut options = String::new();
        if labels == Labels::Maybe && entries.len() > 1 && key.is_none() {
            // Not for encrypted files, where DuckDB 1.5.5 fails in itself with this option and a filter.
            options.push_str(", union_by_name = true");
        }
        if let Some(key) = key {
            options = format!(", encryption_config = {{footer_key_value: from_base64({})}}", literal(key));
        }
        let mut source = format!(
            "read_parquet([{}], filename = true, hive_partitioning = false{options})",
            literals(entries.iter().map(|(path, ..)| path))
        );
        if labels == Labels::Maybe {
            source = format!("(FROM {source} UNION ALL BY NAME SELECT NULL::BIGINT AS {LABEL} WHERE false)");
        }
        let values: Vec<String> = entries
            .iter()
            .map(|(path, file, fresh)| format!("({}, {}, {fresh})", literal(path), literal(file)))
            .collect();
        let in_window = format!("r.{LABEL} <= {q} AND (v.fresh OR r.{LABEL} > {p})");
        let condition = match labels {
            Labels::All => format!(" WHERE {in_window}"),
            Labels::Maybe => format!(" WHERE {in_window} OR r.{LABEL} IS NULL"),
            Labels::None => String::new(),
        };
        parts.push(format!(
            "SELECT v.f, r.pos AS n FROM {source} r JOIN (VALUES {}) v(d, f, fresh) ON r.filename = v.d{condition}",
            values.join(", ")
        ));
    }
    parts.join(" UNION ALL ")
}

/// Positions from two reads of the keys alone, for delete files that cannot be read by themselves.
fn by_keys(piece: &Piece<'_>, files: &[&TouchedFile]) -> String {
    let names = literals(files.iter().map(|file| &file.path));
    let keys =
        |rows: &str| format!("SELECT filename AS f, file_row_number AS n FROM {rows} WHERE filename IN ({names})");
    format!("SELECT f, n FROM (({}) EXCEPT ({}))", keys(&piece.at_begin), keys(&piece.at_end))
}

/// Positions from the deletes that are kept in the catalog.
fn catalog_positions(
    transaction: &Transaction<'_>,
    table: &Table<'_>,
    piece: &Piece<'_>,
    files: &[&TouchedFile],
) -> Option<String> {
    let deletes = table.stores.deletes.as_ref()?;
    let values: Vec<String> = files
        .iter()
        .filter(|file| file.inlined_deletes)
        .map(|file| format!("({}::BIGINT, {})", file.id, literal(&file.path)))
        .collect();
    if values.is_empty() {
        return None;
    }
    Some(format!(
        "SELECT v.f, i.row_id AS n FROM {}.{} i JOIN (VALUES {}) v(id, f) ON i.file_id = v.id \
         WHERE i.begin_snapshot > {} AND i.begin_snapshot <= {}",
        transaction.metadata(),
        identifier(deletes),
        values.join(", "),
        piece.begin,
        piece.end
    ))
}
