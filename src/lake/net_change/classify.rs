//! Which data files can show other rows at the two ends of a piece; from the metadata alone.

use super::{SnapshotId, TableId, Transaction};
use crate::lake::{LakeError, Value, catalog::live, text::identifier};

/// What became of a data file in a piece (p, q].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Begun in the piece and live at its end.
    Born,
    /// Live at the begin of the piece and ended in it.
    Died,
    /// Live at both ends.
    Stayed,
    /// Live at both ends, with fewer deletes at the end: nothing that DuckLake is known to do, and read as two states.
    Odd,
}

/// What a delete file says about when each of its positions was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Labels {
    /// Each position carries the snapshot that deleted it.
    All,
    /// Made by a flush: each position may carry one.
    Maybe,
    /// None does: the commit that made the file deleted them all.
    None,
}

/// A delete file whose positions may have been deleted in the piece.
#[derive(Clone, Debug)]
pub(super) struct DeleteFile {
    pub(super) path: String,
    /// Whether all its positions were deleted in the piece.
    pub(super) fresh: bool,
    pub(super) labels: Labels,
    pub(super) encryption_key: Option<String>,
}

/// A data file that can show other rows at the two ends.
#[derive(Clone, Debug)]
pub(super) struct TouchedFile {
    pub(super) id: u64,
    /// As DuckLake's virtual column `filename` gives it.
    pub(super) path: String,
    pub(super) fate: Fate,
    /// Some of its rows carry labels after p.
    pub(super) partly_new: bool,
    /// Some of its deletes of the piece are kept in the catalog.
    pub(super) inlined_deletes: bool,
    /// Nothing of it is deleted at q.
    pub(super) clean: bool,
    pub(super) delete_file: Option<DeleteFile>,
    pub(super) doubled: Doubled,
}

/// Whether a file has two delete files, so that a read takes its rows twice (DuckLake issue 1406).
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubled {
    pub(super) at_begin: bool,
    pub(super) at_end: bool,
}

/// The files of a table that can show other rows at p than at q. `deletes` is the metadata table of inlined deletes, if
/// there is one; `base` is what relative paths hang on.
pub(super) fn touched_files(
    transaction: &Transaction<'_>,
    table: TableId,
    (p, q): (SnapshotId, SnapshotId),
    deletes: Option<&str>,
    base: &str,
) -> Result<Vec<TouchedFile>, LakeError> {
    let metadata = transaction.metadata();
    let inlined = deletes.map_or_else(
        || "SELECT NULL::BIGINT AS file_id, false AS recent WHERE false".to_owned(),
        |deletes| {
            format!(
                "SELECT file_id, bool_or(begin_snapshot > {p}) AS recent FROM {metadata}.{} \
                 WHERE begin_snapshot <= {q} GROUP BY 1",
                identifier(deletes)
            )
        },
    );
    let (at_p, at_q) = (live("d", p), live("d", q));
    // A delete file made by a flush is dated back: its own id is not older than the ids that its first snapshot left
    // to later ones.
    let rows = transaction.query(&format!(
        "WITH f AS (
            SELECT *, begin_snapshot <= {p} AS at_p, end_snapshot IS NULL OR {q} < end_snapshot AS at_q
            FROM {metadata}.ducklake_data_file
            WHERE table_id = {table} AND begin_snapshot <= {q} AND (end_snapshot IS NULL OR end_snapshot > {p})
        ), d AS (
            SELECT e.*, e.partial_max IS NULL AND e.delete_file_id >= coalesce(s.next_file_id, 0) AS flushed
            FROM {metadata}.ducklake_delete_file e
                LEFT JOIN {metadata}.ducklake_snapshot s ON s.snapshot_id = e.begin_snapshot
            WHERE e.table_id = {table}
        ), dp AS (
            SELECT data_file_id, count(*) AS files, max(delete_file_id) AS id, max(delete_count) AS deleted
            FROM d WHERE {at_p} GROUP BY 1
        ), dq AS (
            SELECT data_file_id, count(*) AS files, max(delete_file_id) AS id, max(delete_count) AS deleted,
                any_value(path) AS path, any_value(path_is_relative) AS path_is_relative,
                any_value(begin_snapshot) > {p} AS fresh, any_value(partial_max) AS partial_max,
                any_value(encryption_key) AS encryption_key, bool_or(flushed) AS flushed
            FROM d WHERE {at_q} GROUP BY 1
        ), i AS ({inlined}), touched AS (
            SELECT f.data_file_id AS id, f.path, f.path_is_relative,
                CASE WHEN NOT at_p THEN 'born' WHEN NOT at_q THEN 'died'
                    WHEN dp.id IS NOT NULL AND dq.id IS NULL OR dq.id <> dp.id AND dq.deleted < dp.deleted THEN 'odd'
                    ELSE 'stayed' END AS fate,
                coalesce(f.partial_max > {p}, false) AS partly_new,
                coalesce(i.recent, false) AS inlined_deletes,
                dq.id IS NULL AND i.file_id IS NULL AS clean,
                CASE WHEN dq.fresh OR dq.partial_max > {p} OR dq.flushed OR dq.id IS DISTINCT FROM dp.id
                    THEN dq.path END AS delete_path,
                dq.path_is_relative AS delete_path_is_relative, dq.fresh,
                CASE WHEN dq.partial_max IS NOT NULL THEN 'all' WHEN dq.flushed THEN 'maybe' ELSE 'none' END AS labels,
                dq.encryption_key,
                at_p AND coalesce(dp.files, 0) > 1 AS doubled_at_begin,
                at_q AND coalesce(dq.files, 0) > 1 AS doubled_at_end, at_p, at_q
            FROM f LEFT JOIN dp USING (data_file_id) LEFT JOIN dq USING (data_file_id)
                LEFT JOIN i ON i.file_id = f.data_file_id
            WHERE at_p OR at_q
        )
        SELECT id::BIGINT, path, path_is_relative::BOOLEAN, fate, partly_new, inlined_deletes, clean, delete_path,
            delete_path_is_relative::BOOLEAN, fresh, labels, encryption_key::VARCHAR, doubled_at_begin, doubled_at_end
        FROM touched
        WHERE NOT at_p OR NOT at_q OR partly_new OR inlined_deletes OR delete_path IS NOT NULL OR fate = 'odd'
            OR doubled_at_begin OR doubled_at_end
        ORDER BY id"
    ))?;
    rows.rows.iter().map(|row| touched_file(row, base)).collect()
}

fn touched_file(row: &[Value], base: &str) -> Result<TouchedFile, LakeError> {
    let [
        id,
        path,
        relative,
        fate,
        partly_new,
        inlined_deletes,
        clean,
        delete_path,
        delete_relative,
        fresh,
        labels,
        encryption_key,
        doubled_at_begin,
        doubled_at_end,
    ] = row
    else {
        return Err(LakeError::Metadata { message: "a data file has another number of properties".to_owned() });
    };
    let full = |path: &str, relative: bool| if relative { format!("{base}{path}") } else { path.to_owned() };
    let delete_file = match delete_path.optional(Value::as_str)? {
        None => None,
        Some(path) => Some(DeleteFile {
            path: full(path, delete_relative.as_bool()?),
            fresh: fresh.as_bool()?,
            labels: match labels.as_str()? {
                "all" => Labels::All,
                "maybe" => Labels::Maybe,
                _ => Labels::None,
            },
            encryption_key: encryption_key.optional(Value::as_str)?.map(str::to_owned),
        }),
    };
    Ok(TouchedFile {
        id: id.as_u64()?,
        path: full(path.as_str()?, relative.as_bool()?),
        fate: match fate.as_str()? {
            "born" => Fate::Born,
            "died" => Fate::Died,
            "odd" => Fate::Odd,
            _ => Fate::Stayed,
        },
        partly_new: partly_new.as_bool()?,
        inlined_deletes: inlined_deletes.as_bool()?,
        clean: clean.as_bool()?,
        delete_file,
        doubled: Doubled { at_begin: doubled_at_begin.as_bool()?, at_end: doubled_at_end.as_bool()? },
    })
}
