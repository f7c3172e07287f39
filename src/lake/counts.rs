//! How many rows tables have at snapshots, without opening their files where the metadata tells.

use super::{
    LakeError, SnapshotId, TableId, TableIdentity, TableWindow, Transaction, Value,
    catalog::{live, unexpected_row},
    text::{identifier, literals, numbers},
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

/// With so many files of unclear content the whole table is counted instead.
const UNCLEAR_FILES: usize = 1_000;

/// A table at a snapshot.
type Place = (TableId, SnapshotId);

/// Where the catalog itself keeps rows and deletes of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct InlinedStores {
    /// The metadata table of the deletes of rows in files, if there is one.
    pub(super) deletes: Option<String>,
    /// The metadata tables of rows.
    pub(super) rows: Vec<String>,
}

/// How the rows and deletes changed that the catalog itself keeps of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlinedChanges {
    /// Rows that came.
    pub rows_added: u64,
    /// Rows that went: deleted, or flushed into a file.
    pub rows_removed: u64,
    /// Deletes of rows in files that came.
    pub deletes_added: u64,
}

/// The rows of a table's files at a snapshot.
#[derive(Default)]
struct InFiles {
    /// In files of which the metadata tells how many rows they show.
    clear: u64,
    /// How many files there are of which it does not.
    unclear: usize,
    /// Their paths below the table's folder.
    relative: Vec<String>,
    /// Their other paths.
    absolute: Vec<String>,
}

impl Transaction<'_> {
    /// How many rows each table has at its snapshot.
    pub(super) fn count(
        &self,
        wanted: &[(TableIdentity, SnapshotId)],
    ) -> Result<BTreeMap<(TableId, SnapshotId), u64>, LakeError> {
        let places: BTreeSet<Place> = wanted.iter().map(|(table, at)| (table.id, *at)).collect();
        let (mut in_files, inlined) = (self.count_files(&places)?, self.count_inlined(&places)?);
        let mut counts = BTreeMap::new();
        for (table, at) in wanted {
            let place = (table.id, *at);
            let found = in_files.remove(&place).unwrap_or_default();
            let in_catalog = inlined.get(&place).copied().unwrap_or_default();
            if let Entry::Vacant(vacant) = counts.entry(place) {
                vacant.insert(self.count_unclear(table, *at, found, in_catalog)? + in_catalog);
            }
        }
        Ok(counts)
    }

    /// Rows in files: the metadata knows how many a file has and how many of them are deleted, unless some of the rows or
    /// deletes are of later snapshots.
    fn count_files(&self, places: &BTreeSet<Place>) -> Result<BTreeMap<Place, InFiles>, LakeError> {
        if places.is_empty() {
            return Ok(BTreeMap::new());
        }
        let metadata = self.metadata();
        let mut inlined = vec![
            "SELECT NULL::BIGINT AS id, NULL::BIGINT AS place, NULL::BIGINT AS file_id, 0 AS deleted WHERE false"
                .to_owned(),
        ];
        for (table, at) in places {
            inlined.extend(self.inlined_stores(*table)?.deletes.map(|deletes| {
                format!(
                    "SELECT {table}, {at}, file_id, count(*) FROM {metadata}.{} WHERE begin_snapshot <= {at} GROUP BY 3",
                    identifier(&deletes)
                )
            }));
        }
        let values: Vec<String> = places.iter().map(|(table, at)| format!("({table}, {at})")).collect();
        let rows = self.query(&format!(
            "WITH v(id, place) AS (VALUES {values}), d AS (
                SELECT v.id, v.place, e.data_file_id, sum(e.delete_count) AS deleted,
                    count(*) > 1 OR bool_or(e.delete_count IS NULL OR coalesce(e.partial_max > v.place, false)
                    OR e.partial_max IS NULL AND e.delete_file_id >= coalesce(s.next_file_id, 0)) AS unclear
                FROM {metadata}.ducklake_delete_file e JOIN v ON e.table_id = v.id
                    LEFT JOIN {metadata}.ducklake_snapshot s ON s.snapshot_id = e.begin_snapshot
                WHERE e.table_id IN ({tables}) AND {live_delete} GROUP BY 1, 2, 3
            ), i AS ({inlined}), counted AS (
                SELECT v.id, v.place, f.path, f.path_is_relative::BOOLEAN AS relative,
                    f.record_count - coalesce(d.deleted, 0) - coalesce(i.deleted, 0) AS rows,
                    f.record_count IS NULL OR coalesce(f.partial_max > v.place, false) OR coalesce(d.unclear, false) AS unclear
                FROM {metadata}.ducklake_data_file f JOIN v ON f.table_id = v.id
                    LEFT JOIN d ON d.id = v.id AND d.place = v.place AND d.data_file_id = f.data_file_id
                    LEFT JOIN i ON i.id = v.id AND i.place = v.place AND i.file_id = f.data_file_id
                WHERE f.table_id IN ({tables}) AND {live_file}
            )
            SELECT id::BIGINT, place::BIGINT, (coalesce(sum(rows) FILTER (NOT unclear), 0))::HUGEINT,
                count(*) FILTER (unclear), list(path ORDER BY path) FILTER (unclear AND relative),
                list(path ORDER BY path) FILTER (unclear AND NOT relative)
            FROM counted GROUP BY id, place ORDER BY id, place",
            values = values.join(", "),
            tables = numbers(places.iter().map(|(table, _)| *table).collect::<BTreeSet<_>>()),
            inlined = inlined.join(" UNION ALL "),
            live_delete = live("e", "v.place"),
            live_file = live("f", "v.place"),
        ))?;
        let texts = |list: &Value| -> Result<Vec<String>, LakeError> {
            let list = list.optional(Value::as_list)?.unwrap_or_default();
            list.iter().map(|path| path.as_str().map(str::to_owned)).collect()
        };
        let mut found = BTreeMap::new();
        for row in &rows.rows {
            let [table, at, clear, unclear, relative, absolute] = row.as_slice() else { return Err(unexpected_row()) };
            let in_files = InFiles {
                clear: clear.as_u64()?,
                unclear: usize::try_from(unclear.as_u64()?).unwrap_or(usize::MAX),
                relative: texts(relative)?,
                absolute: texts(absolute)?,
            };
            found.insert((TableId(table.as_u64()?), SnapshotId(at.as_u64()?)), in_files);
        }
        Ok(found)
    }

    /// All rows in files: those whose number the metadata does not tell are read.
    fn count_unclear(
        &self,
        table: &TableIdentity,
        at: SnapshotId,
        found: InFiles,
        inlined: u64,
    ) -> Result<u64, LakeError> {
        if found.unclear == 0 {
            return Ok(found.clear);
        }
        let base = self.base_path(table, at)?;
        let mut names: Vec<String> = found.relative.iter().map(|path| format!("{base}{path}")).collect();
        names.extend(found.absolute);
        if let Some(name) = names.first().filter(|_| found.unclear <= UNCLEAR_FILES)
            && self.is_path_of(table, at, &base, name)?
        {
            let read = self.query_value(&format!(
                "SELECT count(*) FROM {} WHERE filename IN ({})",
                self.at(table, at),
                literals(&names)
            ))?;
            return Ok(found.clear + read.as_u64()?);
        }
        let all = self.query_value(&format!("SELECT count(*) FROM {}", self.at(table, at)))?.as_u64()?;
        Ok(all.saturating_sub(inlined))
    }

    /// Rows that are kept in the catalog.
    fn count_inlined(&self, places: &BTreeSet<Place>) -> Result<BTreeMap<Place, u64>, LakeError> {
        let mut parts = Vec::new();
        for (table, at) in places {
            parts.extend(self.inlined_stores(*table)?.rows.iter().map(|rows| {
                format!(
                    "SELECT {table}::BIGINT, {at}::BIGINT, count(*) FROM {}.{} r WHERE {}",
                    self.metadata(),
                    identifier(rows),
                    live("r", at)
                )
            }));
        }
        let mut counts = BTreeMap::new();
        if parts.is_empty() {
            return Ok(counts);
        }
        for row in &self.query(&parts.join(" UNION ALL "))?.rows {
            let [table, at, count] = row.as_slice() else { return Err(unexpected_row()) };
            *counts.entry((TableId(table.as_u64()?), SnapshotId(at.as_u64()?))).or_default() += count.as_u64()?;
        }
        Ok(counts)
    }

    /// How many rows the data files hold of which rows went in a window; to read what went, these files have to be passed
    /// over. Files that were only rewritten are not among them. A delete file that takes in the deletes of older ones is
    /// dated back to the first of them, so that only its id tells that it is of the window.
    pub fn rows_in_files_with_deletes(&self, windows: &[TableWindow]) -> Result<BTreeMap<TableId, u64>, LakeError> {
        let mut found = BTreeMap::new();
        if windows.is_empty() {
            return Ok(found);
        }
        let metadata = self.metadata();
        let mut deleted = vec![format!(
            "SELECT e.data_file_id FROM {metadata}.ducklake_delete_file e JOIN v ON e.table_id = v.id \
             JOIN {metadata}.ducklake_snapshot s ON s.snapshot_id = v.p \
             WHERE e.delete_file_id >= s.next_file_id AND e.begin_snapshot <= v.q"
        )];
        let mut values = Vec::new();
        for TableWindow { table, from, to } in windows {
            let rewrites = self.rewrites(TableWindow { table: *table, from: *from, to: *to })?;
            let rewrites: Vec<String> = rewrites.iter().map(ToString::to_string).collect();
            values.push(format!("({table}, {from}, {to}, [{}]::BIGINT[])", rewrites.join(", ")));
            deleted.extend(self.inlined_stores(*table)?.deletes.map(|deletes| {
                format!(
                    "SELECT file_id FROM {metadata}.{} WHERE begin_snapshot > {from} AND begin_snapshot <= {to}",
                    identifier(&deletes)
                )
            }));
        }
        let rows = self.query(&format!(
            "WITH v(id, p, q, rewrites) AS (VALUES {}), d(id) AS ({}) \
             SELECT f.table_id::BIGINT, sum(f.record_count)::HUGEINT FROM {metadata}.ducklake_data_file f \
             JOIN v ON f.table_id = v.id WHERE {} \
             AND (f.end_snapshot <= v.q AND NOT list_contains(v.rewrites, f.end_snapshot::BIGINT) \
             OR f.data_file_id IN (FROM d)) GROUP BY 1 ORDER BY 1",
            values.join(", "),
            deleted.join(" UNION ALL "),
            live("f", "v.p")
        ))?;
        for row in &rows.rows {
            let [table, count] = row.as_slice() else { return Err(unexpected_row()) };
            found.insert(TableId(table.as_u64()?), count.optional(Value::as_u64)?.unwrap_or_default());
        }
        Ok(found)
    }

    /// What came into the catalog's own store of a table's rows, or went out of it, after `from`, up to `to`.
    pub fn inlined_changes(&self, id: TableId, from: SnapshotId, to: SnapshotId) -> Result<InlinedChanges, LakeError> {
        let stores = self.inlined_stores(id)?;
        let came = format!("{} AND r.begin_snapshot > {from}", live("r", to));
        let went = format!("{} AND r.end_snapshot <= {to}", live("r", from));
        let count = |store: &str, condition: &str| {
            let store = identifier(store);
            let sql = format!("SELECT count(*) FROM {}.{store} r WHERE {condition}", self.metadata());
            self.query_value(&sql)?.as_u64()
        };
        let mut found = InlinedChanges::default();
        for store in &stores.rows {
            found.rows_added += count(store, &came)?;
            found.rows_removed += count(store, &went)?;
        }
        if let Some(store) = &stores.deletes {
            found.deletes_added = count(store, &format!("r.begin_snapshot > {from} AND r.begin_snapshot <= {to}"))?;
        }
        Ok(found)
    }

    /// Where the catalog itself keeps rows and deletes of tables.
    pub(super) fn find_stores(&self, ids: &BTreeSet<TableId>) -> Result<BTreeMap<TableId, InlinedStores>, LakeError> {
        let mut stores = BTreeMap::new();
        for id in ids {
            let deletes = format!("ducklake_inlined_delete_{id}");
            let deletes = self.has_metadata_table(&deletes)?.then_some(deletes);
            stores.insert(*id, InlinedStores { deletes, rows: Vec::new() });
        }
        let listed = self.query(&format!(
            "SELECT table_id::BIGINT, table_name FROM {}.ducklake_inlined_data_tables WHERE table_id IN ({}) ORDER BY 1, 2",
            self.metadata(),
            numbers(ids)
        ))?;
        for row in &listed.rows {
            let [table, name] = row.as_slice() else { return Err(unexpected_row()) };
            let (table, name) = (TableId(table.as_u64()?), name.as_str()?);
            if self.has_metadata_table(name)? {
                stores.entry(table).or_default().rows.push(name.to_owned());
            }
        }
        Ok(stores)
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
