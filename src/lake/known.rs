//! What a transaction knows of the metadata. The transaction sees one state of it, so nothing is asked twice, and what is
//! needed of several tables is asked for all of them at once.

use super::{
    LakeError, SnapshotId, TableColumn, TableId, TableIdentity, Transaction, Value,
    catalog::{live, unexpected_row},
    counts::InlinedStores,
    history::TableHistory,
    text::numbers,
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// A table and the snapshots between which its change is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableWindow {
    /// The table.
    pub table: TableId,
    /// The snapshot whose rows are the old ones.
    pub from: SnapshotId,
    /// The snapshot whose rows are the new ones.
    pub to: SnapshotId,
}

/// What the metadata says against trusting the past of a table between two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Soundness {
    /// A delete of the table is a deletion vector.
    pub(super) deletion_vectors: bool,
    /// Live files are of another partitioning than the present one by buckets.
    pub(super) late_buckets: bool,
    /// Data files with more than one delete file at the begin of the window.
    pub(super) doubled_at_from: Vec<u64>,
    /// The same at its end.
    pub(super) doubled_at_to: Vec<u64>,
}

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    counts: RefCell<BTreeMap<(TableId, SnapshotId), u64>>,
    stores: RefCell<BTreeMap<TableId, InlinedStores>>,
    histories: RefCell<BTreeMap<TableId, Rc<TableHistory>>>,
    snapshots: RefCell<BTreeMap<SnapshotId, bool>>,
    soundness: RefCell<BTreeMap<TableWindow, Soundness>>,
    rewrites: RefCell<BTreeMap<TableWindow, Vec<SnapshotId>>>,
}

impl Transaction<'_> {
    /// Reads ahead what [`Transaction::table_by_id`], [`Transaction::columns`] and [`Transaction::snapshot_exists`] are
    /// going to be asked about these windows.
    pub fn foresee_tables(&self, windows: &[TableWindow]) -> Result<(), LakeError> {
        let ends = windows.iter().flat_map(|window| [window.from, SnapshotId(window.from.0 + 1), window.to]);
        self.foresee_snapshots(&ends.collect())?;
        let from = windows.iter().map(|window| window.from.min(window.to)).min();
        let (Some(from), Some(to)) = (from, windows.iter().map(|window| window.to).max()) else { return Ok(()) };
        let tables = windows.iter().map(|window| window.table).collect();
        self.load_histories(&tables, from, to)
    }

    /// Reads ahead what guards and net changes are going to ask about these windows.
    pub fn foresee_changes(&self, windows: &[TableWindow]) -> Result<(), LakeError> {
        self.foresee_stores(windows.iter().map(|window| window.table).collect())?;
        let found = self.find_soundness(windows)?;
        self.known.soundness.borrow_mut().extend(found);
        let found = self.find_rewrites(windows)?;
        self.known.rewrites.borrow_mut().extend(found);
        let mut counted = Vec::new();
        for window in windows {
            for at in [window.from, window.to] {
                counted.extend(self.table_by_id(window.table, at)?.map(|table| (table, at)));
            }
        }
        self.foresee_counts(&counted)
    }

    /// What a table was called and made of in a window.
    pub(super) fn history(
        &self,
        table: TableId,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<Rc<TableHistory>, LakeError> {
        if let Some(history) = self.known_history(table, from, to) {
            return Ok(Rc::new(history));
        }
        let range = self.known.histories.borrow().get(&table).map_or((from, to), |history| history.range());
        self.load_histories(&BTreeSet::from([table]), from.min(range.0), to.max(range.1))?;
        let missing = || LakeError::Metadata { message: format!("nothing is known of table {table}") };
        self.known_history(table, from, to).map(Rc::new).ok_or_else(missing)
    }

    fn known_history(&self, table: TableId, from: SnapshotId, to: SnapshotId) -> Option<TableHistory> {
        self.known.histories.borrow().get(&table)?.within(from, to)
    }

    fn load_histories(&self, tables: &BTreeSet<TableId>, from: SnapshotId, to: SnapshotId) -> Result<(), LakeError> {
        let loaded = TableHistory::load(self, tables, from, to)?;
        let loaded = loaded.into_iter().map(|(table, history)| (table, Rc::new(history)));
        self.known.histories.borrow_mut().extend(loaded);
        Ok(())
    }

    /// The table with this id at a snapshot, under the name that it had then.
    pub fn table_by_id(&self, id: TableId, at: SnapshotId) -> Result<Option<TableIdentity>, LakeError> {
        Ok(self.history(id, at, at)?.identity(at).cloned())
    }

    /// The columns of a table at a snapshot, in their order, each nested one followed by its parts. None for a table that
    /// did not exist then.
    pub fn columns(&self, id: TableId, at: SnapshotId) -> Result<Vec<TableColumn>, LakeError> {
        Ok(self.history(id, at, at)?.columns(at))
    }

    /// What the relative paths of a table's files hang on.
    pub(super) fn base_path(&self, table: &TableIdentity, at: SnapshotId) -> Result<String, LakeError> {
        let base = self.history(table.id, at, at)?.base_path(at, &self.data_path()?);
        let missing = || LakeError::Metadata { message: format!("{} has no folder at snapshot {at}", table.name) };
        base.ok_or_else(missing)
    }

    /// Whether a snapshot exists: made, and not expired.
    pub fn snapshot_exists(&self, id: SnapshotId) -> Result<bool, LakeError> {
        let known = self.known.snapshots.borrow().get(&id).copied();
        match known {
            Some(exists) => Ok(exists),
            None => {
                self.foresee_snapshots(&BTreeSet::from([id]))?;
                Ok(self.known.snapshots.borrow().get(&id).copied().unwrap_or_default())
            }
        }
    }

    fn foresee_snapshots(&self, ids: &BTreeSet<SnapshotId>) -> Result<(), LakeError> {
        if ids.is_empty() {
            return Ok(());
        }
        let rows = self.query(&format!(
            "SELECT snapshot_id::BIGINT FROM {}.ducklake_snapshot WHERE snapshot_id IN ({})",
            self.metadata(),
            numbers(ids)
        ))?;
        let found = rows.rows.iter().flatten().map(|id| id.as_u64().map(SnapshotId));
        let found = found.collect::<Result<BTreeSet<_>, _>>()?;
        self.known.snapshots.borrow_mut().extend(ids.iter().map(|id| (*id, found.contains(id))));
        Ok(())
    }

    /// How many rows a table had at a snapshot. Counted once per transaction, and so not touched by its own writes.
    pub fn count_at(&self, table: &TableIdentity, at: SnapshotId) -> Result<u64, LakeError> {
        let known = |key| self.known.counts.borrow().get(&key).copied();
        if let Some(count) = known((table.id, at)) {
            return Ok(count);
        }
        self.foresee_counts(&[(table.clone(), at)])?;
        let missing = || LakeError::Metadata { message: format!("the rows of {} were not counted", table.name) };
        known((table.id, at)).ok_or_else(missing)
    }

    fn foresee_counts(&self, wanted: &[(TableIdentity, SnapshotId)]) -> Result<(), LakeError> {
        let counts = self.count(wanted)?;
        self.known.counts.borrow_mut().extend(counts);
        Ok(())
    }

    /// Where the catalog itself keeps rows and deletes of a table.
    pub(super) fn inlined_stores(&self, id: TableId) -> Result<InlinedStores, LakeError> {
        self.foresee_stores(BTreeSet::from([id]))?;
        Ok(self.known.stores.borrow().get(&id).cloned().unwrap_or_default())
    }

    fn foresee_stores(&self, mut ids: BTreeSet<TableId>) -> Result<(), LakeError> {
        ids.retain(|id| !self.known.stores.borrow().contains_key(id));
        if !ids.is_empty() {
            let found = self.find_stores(&ids)?;
            self.known.stores.borrow_mut().extend(found);
        }
        Ok(())
    }

    /// What is to be said against the past of a table in a window.
    pub(super) fn soundness(&self, window: TableWindow) -> Result<Soundness, LakeError> {
        if let Some(known) = self.known.soundness.borrow().get(&window) {
            return Ok(known.clone());
        }
        Ok(self.find_soundness(&[window])?.remove(&window).unwrap_or_default())
    }

    fn find_soundness(&self, windows: &[TableWindow]) -> Result<BTreeMap<TableWindow, Soundness>, LakeError> {
        let mut found: BTreeMap<TableWindow, Soundness> =
            windows.iter().map(|window| (*window, Soundness::default())).collect();
        if windows.is_empty() {
            return Ok(found);
        }
        let metadata = self.metadata();
        let tables = numbers(windows.iter().map(|window| window.table).collect::<BTreeSet<_>>());
        let ends = windows.iter().flat_map(|window| [(window.table, window.from), (window.table, window.to)]);
        let ends: BTreeSet<String> = ends.map(|(table, at)| format!("({table}, {at})")).collect();
        let rows = self.query(&format!(
            "SELECT DISTINCT table_id::BIGINT, 'vector', NULL::BIGINT, NULL::BIGINT \
             FROM {metadata}.ducklake_delete_file WHERE table_id IN ({tables}) AND format = 'puffin' \
             UNION ALL SELECT v.id::BIGINT, 'doubled', v.snapshot::BIGINT, d.data_file_id::BIGINT \
             FROM {metadata}.ducklake_delete_file d JOIN (VALUES {}) v(id, snapshot) ON d.table_id = v.id \
             WHERE d.table_id IN ({tables}) AND {} GROUP BY 1, 3, 4 HAVING count(*) > 1 \
             UNION ALL SELECT DISTINCT pi.table_id::BIGINT, 'buckets', NULL, NULL \
             FROM {metadata}.ducklake_partition_info pi \
             JOIN {metadata}.ducklake_partition_column pc USING (partition_id, table_id) \
             JOIN {metadata}.ducklake_data_file f USING (table_id) \
             WHERE pi.table_id IN ({tables}) AND pi.end_snapshot IS NULL AND pc.transform LIKE 'bucket%' \
             AND f.end_snapshot IS NULL AND f.partition_id IS DISTINCT FROM pi.partition_id ORDER BY ALL",
            ends.into_iter().collect::<Vec<_>>().join(", "),
            live("d", "v.snapshot")
        ))?;
        for row in &rows.rows {
            let [table, kind, at, file] = row.as_slice() else { return Err(unexpected_row()) };
            let (table, kind) = (TableId(table.as_u64()?), kind.as_str()?);
            let (at, file) = (at.optional(Value::as_u64)?.map(SnapshotId), file.optional(Value::as_u64)?);
            for (window, soundness) in found.iter_mut().filter(|(window, _)| window.table == table) {
                match kind {
                    "vector" => soundness.deletion_vectors = true,
                    "buckets" => soundness.late_buckets = true,
                    _ => {
                        soundness.doubled_at_from.extend(file.filter(|_| at == Some(window.from)));
                        soundness.doubled_at_to.extend(file.filter(|_| at == Some(window.to)));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The commits in a window that did nothing but compact, and ended data files of the table.
    pub(super) fn rewrites(&self, window: TableWindow) -> Result<Vec<SnapshotId>, LakeError> {
        if let Some(known) = self.known.rewrites.borrow().get(&window) {
            return Ok(known.clone());
        }
        Ok(self.find_rewrites(&[window])?.remove(&window).unwrap_or_default())
    }

    fn find_rewrites(&self, windows: &[TableWindow]) -> Result<BTreeMap<TableWindow, Vec<SnapshotId>>, LakeError> {
        let mut found: BTreeMap<TableWindow, Vec<SnapshotId>> =
            windows.iter().map(|window| (*window, Vec::new())).collect();
        let from = windows.iter().map(|window| window.from).min();
        let (Some(from), Some(to)) = (from, windows.iter().map(|window| window.to).max()) else { return Ok(found) };
        let metadata = self.metadata();
        let tables = numbers(windows.iter().map(|window| window.table).collect::<BTreeSet<_>>());
        let rows = self.query(&format!(
            "SELECT DISTINCT f.table_id::BIGINT, h.snapshot_id::BIGINT FROM {metadata}.ducklake_snapshot_changes h \
             JOIN {metadata}.ducklake_data_file f ON f.end_snapshot = h.snapshot_id \
             WHERE f.table_id IN ({tables}) AND f.end_snapshot > {from} AND f.end_snapshot <= {to} \
             AND h.snapshot_id > {from} AND h.snapshot_id <= {to} AND regexp_full_match(h.changes_made, \
             '((rewrite_delete|merge_adjacent|compacted_table):[0-9]+,?)+') ORDER BY 1, 2"
        ))?;
        for row in &rows.rows {
            let [table, rewrite] = row.as_slice() else { return Err(unexpected_row()) };
            let (table, rewrite) = (TableId(table.as_u64()?), SnapshotId(rewrite.as_u64()?));
            for (window, rewrites) in &mut found {
                if window.table == table && window.from < rewrite && rewrite <= window.to {
                    rewrites.push(rewrite);
                }
            }
        }
        Ok(found)
    }
}
