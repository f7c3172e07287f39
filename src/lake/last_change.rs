//! When each table of a lake was last changed: one query for all tables and all watermarks.

use super::catalog::{changes_of, unexpected_row};
use super::{LakeError, SnapshotId, TableId, Transaction, Value};
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
        let rows = self.query(&format!(
            "{} SELECT NULL::BIGINT, count(*)::BIGINT FROM s \
             UNION ALL SELECT id, max(snapshot_id)::BIGINT FROM change GROUP BY id",
            changes_of(metadata, from, newest)
        ))?;
        let (mut commits, mut snapshots) = (BTreeMap::new(), 0);
        for row in &rows.rows {
            match row.as_slice() {
                [Value::Null, count] => snapshots = count.as_u64()?,
                [table, commit] => {
                    commits.insert(TableId(table.as_u64()?), SnapshotId(commit.as_u64()?));
                }
                _ => return Err(unexpected_row()),
            }
        }
        // Snapshot ids are contiguous, so a smaller count means that some were expired.
        let complete = from >= newest || snapshots == newest.0 - from.0;
        let complete_from = if complete { from } else { self.last_gap(from)? };
        Ok(LastChanges { commits, complete_from })
    }

    /// The last expired snapshot after `from`.
    fn last_gap(&self, from: SnapshotId) -> Result<SnapshotId, LakeError> {
        let newest = self.snapshot();
        // Counted down from the newest, the first that is missing breaks the row.
        let complete = self.query_value(&format!(
            "SELECT coalesce(min(snapshot_id), {newest} + 1)::BIGINT FROM (\
             SELECT snapshot_id, row_number() OVER (ORDER BY snapshot_id DESC) AS place \
             FROM {}.ducklake_snapshot_changes WHERE snapshot_id > {from} AND snapshot_id <= {newest}) \
             WHERE snapshot_id + place = {newest} + 1",
            self.metadata()
        ))?;
        Ok(SnapshotId(complete.as_u64()?.saturating_sub(1)))
    }
}
