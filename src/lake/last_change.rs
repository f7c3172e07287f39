//! When each table of a lake was last changed: one query for all tables and all watermarks.

use super::catalog::changes_of;
use super::{LakeError, SnapshotId, TableId, Transaction};
use std::collections::BTreeMap;

/// The last commit that may have changed each table, up to the snapshot that the transaction sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChanges {
    commits: BTreeMap<TableId, SnapshotId>,
    /// From here on no snapshot is missing, so nothing that changed a table is unknown.
    complete_from: SnapshotId,
}

impl LastChanges {
    /// Whether a table may have changed after `from`. `Some(false)` is certain, provided that the table is still the
    /// same one; `None` where expired snapshots may hide a change: ask [`Transaction::changed`].
    pub fn since(&self, table: TableId, from: SnapshotId) -> Option<bool> {
        match self.commits.get(&table) {
            Some(commit) if *commit > from => Some(true),
            _ if from >= self.complete_from => Some(false),
            _ => None,
        }
    }
}

impl Transaction<'_> {
    /// The last changes of all tables after `from`.
    pub fn last_changes(&self, from: SnapshotId) -> Result<LastChanges, LakeError> {
        let (metadata, newest) = (self.metadata(), self.snapshot());
        let commits = self.query(&format!(
            "{} SELECT id, max(snapshot_id)::BIGINT FROM change GROUP BY id ORDER BY id",
            changes_of(metadata, from, newest)
        ))?;
        // Ids are contiguous: counted down from the newest, the first that is missing breaks the row.
        let complete = self.query_value(&format!(
            "SELECT coalesce(min(snapshot_id), {newest})::BIGINT FROM (\
             SELECT snapshot_id, row_number() OVER (ORDER BY snapshot_id DESC) AS place \
             FROM {metadata}.ducklake_snapshot_changes WHERE snapshot_id > {from} AND snapshot_id <= {newest}) \
             WHERE snapshot_id + place = {newest} + 1"
        ))?;
        let mut found = BTreeMap::new();
        for row in &commits.rows {
            if let [table, commit] = row.as_slice() {
                found.insert(TableId(table.as_u64()?), SnapshotId(commit.as_u64()?));
            }
        }
        let complete_from = SnapshotId(complete.as_u64()?.saturating_sub(1));
        Ok(LastChanges { commits: found, complete_from: if from >= newest { from } else { complete_from } })
    }
}
