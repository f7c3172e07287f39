//! How many rows a table has at a snapshot, without opening its files where the metadata tells.

use super::{
    LakeError, SnapshotId, TableId, TableIdentity, Transaction, Value,
    catalog::live,
    text::{identifier, literals},
};

/// With so many files of unclear content the whole table is counted instead.
const UNCLEAR_FILES: usize = 1_000;

/// Where the catalog itself keeps rows and deletes of a table.
#[derive(Clone, Debug)]
pub(super) struct InlinedStores {
    /// The metadata table of the deletes of rows in files, if there is one.
    pub(super) deletes: Option<String>,
    /// The metadata tables of rows.
    pub(super) rows: Vec<String>,
}

impl Transaction<'_> {
    /// How many rows a table had at a snapshot. Counted once per transaction, and so not touched by its own writes.
    pub fn count_at(&self, table: &TableIdentity, at: SnapshotId) -> Result<u64, LakeError> {
        if let Some(count) = self.known_count(table.id, at) {
            return Ok(count);
        }
        let count = self.count_files(table, at)? + self.count_inlined(table.id, at)?;
        self.remember_count(table.id, at, count);
        Ok(count)
    }

    /// Rows in files: the metadata knows how many a file has and how many of them are deleted, unless some of the rows or
    /// deletes are of later snapshots. Only such files are read.
    fn count_files(&self, table: &TableIdentity, at: SnapshotId) -> Result<u64, LakeError> {
        let metadata = self.metadata();
        let inlined = self.inlined_stores(table.id)?.deletes.map_or_else(
            || "SELECT NULL::BIGINT AS file_id, 0 AS deleted WHERE false".to_owned(),
            |deletes| {
                let deletes = identifier(&deletes);
                format!(
                    "SELECT file_id, count(*) AS deleted FROM {metadata}.{deletes} WHERE begin_snapshot <= {at} GROUP BY 1"
                )
            },
        );
        let row = self.query_one(&format!(
            "WITH d AS (
                SELECT e.data_file_id, sum(e.delete_count) AS deleted,
                    count(*) > 1 OR bool_or(e.delete_count IS NULL OR coalesce(e.partial_max > {at}, false)
                    OR e.partial_max IS NULL AND e.delete_file_id >= coalesce((SELECT next_file_id
                    FROM {metadata}.ducklake_snapshot s WHERE s.snapshot_id = e.begin_snapshot), 0)) AS unclear
                FROM {metadata}.ducklake_delete_file e WHERE e.table_id = {} AND {} GROUP BY 1
            ), i AS ({inlined}), counted AS (
                SELECT f.path, f.path_is_relative::BOOLEAN AS relative,
                    f.record_count - coalesce(d.deleted, 0) - coalesce(i.deleted, 0) AS rows,
                    f.record_count IS NULL OR coalesce(f.partial_max > {at}, false) OR coalesce(d.unclear, false) AS unclear
                FROM {metadata}.ducklake_data_file f LEFT JOIN d USING (data_file_id)
                    LEFT JOIN i ON i.file_id = f.data_file_id
                WHERE f.table_id = {} AND {}
            )
            SELECT (coalesce(sum(rows) FILTER (NOT unclear), 0))::HUGEINT, count(*) FILTER (unclear),
                list(path ORDER BY path) FILTER (unclear AND relative), list(path ORDER BY path) FILTER (unclear AND NOT relative)
            FROM counted",
            table.id,
            live("e", at),
            table.id,
            live("f", at)
        ))?;
        let [clear, unclear, relative, absolute] = row.as_slice() else {
            return Err(LakeError::NotOneRow { found: row.len() });
        };
        let clear = clear.as_u64()?;
        let unclear = usize::try_from(unclear.as_u64()?).unwrap_or(usize::MAX);
        if unclear == 0 {
            return Ok(clear);
        }
        let base = self.base_path(table, at)?;
        let mut names = Vec::new();
        for (paths, prefix) in [(relative, base.as_str()), (absolute, "")] {
            for path in paths.optional(Value::as_list)?.unwrap_or_default() {
                names.push(format!("{prefix}{}", path.as_str()?));
            }
        }
        if let Some(name) = names.first().filter(|_| unclear <= UNCLEAR_FILES)
            && self.is_path_of(table, at, &base, name)?
        {
            let read = self.query_value(&format!(
                "SELECT count(*) FROM {} WHERE filename IN ({})",
                self.at(table, at),
                literals(&names)
            ))?;
            return Ok(clear + read.as_u64()?);
        }
        let inlined = self.count_inlined(table.id, at)?;
        let all = self.query_value(&format!("SELECT count(*) FROM {}", self.at(table, at)))?.as_u64()?;
        Ok(all.saturating_sub(inlined))
    }

    /// Rows that are kept in the catalog.
    fn count_inlined(&self, id: TableId, at: SnapshotId) -> Result<u64, LakeError> {
        let counts: Vec<String> = self
            .inlined_stores(id)?
            .rows
            .iter()
            .map(|rows| {
                format!("SELECT count(*) AS n FROM {}.{} r WHERE {}", self.metadata(), identifier(rows), live("r", at))
            })
            .collect();
        if counts.is_empty() {
            return Ok(0);
        }
        self.query_value(&format!("SELECT sum(n)::HUGEINT FROM ({})", counts.join(" UNION ALL ")))?.as_u64()
    }

    /// What the relative paths of a table's files hang on.
    pub(super) fn base_path(&self, table: &TableIdentity, at: SnapshotId) -> Result<String, LakeError> {
        let metadata = self.metadata();
        let row = self.query_one(&format!(
            "SELECT s.path, s.path_is_relative::BOOLEAN, t.path, t.path_is_relative::BOOLEAN \
             FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
             WHERE t.table_id = {} AND {} AND {}",
            table.id,
            live("t", at),
            live("s", at)
        ))?;
        let [schema_path, schema_relative, table_path, table_relative] = row.as_slice() else {
            return Err(LakeError::NotOneRow { found: row.len() });
        };
        let mut base = String::new();
        if table_relative.as_bool()? {
            if schema_relative.as_bool()? {
                base.push_str(&self.data_path()?);
            }
            base.push_str(schema_path.as_str()?);
        }
        base.push_str(table_path.as_str()?);
        Ok(base)
    }

    /// Whether DuckLake calls a file of a table that is live at a snapshot by this path. A wrong path would silently
    /// select nothing; one that hangs on `base` is compared once per table and session.
    pub(super) fn is_path_of(
        &self,
        table: &TableIdentity,
        at: SnapshotId,
        base: &str,
        path: &str,
    ) -> Result<bool, LakeError> {
        if path.starts_with(base) && self.knows_path(table.id, base) {
            return Ok(true);
        }
        let sql = format!(
            "SELECT count(*) > 0 FROM ducklake_list_files({}, schema => {}, snapshot_version => {at}) WHERE data_file = {}",
            literals([self.alias(), &table.name]),
            literals([&table.schema]),
            literals([path])
        );
        let known = self.query_value(&sql)?.as_bool()?;
        if known && path.starts_with(base) {
            self.remember_path(table.id, base);
        }
        Ok(known)
    }
}
