//! When each table of a lake was last changed, or first after a watermark: one query for all tables and all watermarks.

use super::catalog::{changes_of, unexpected_row};
use super::{LakeError, SnapshotId, TableId, Transaction, Value};
use std::collections::{BTreeMap, BTreeSet};

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

/// The first commit that may have changed each table after a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstChanges {
    commits: BTreeMap<(TableId, SnapshotId), SnapshotId>,
    /// No snapshot that may hold a change is missing.
    complete: bool,
}

impl FirstChanges {
    /// The first commit that may have changed a table after `from`, which must have been asked for; `Err` where expired
    /// snapshots may hide an earlier one.
    pub fn after(&self, table: TableId, from: SnapshotId) -> Result<Option<SnapshotId>, Expired> {
        if self.complete { Ok(self.commits.get(&(table, from)).copied()) } else { Err(Expired) }
    }
}

/// Snapshots that would have told are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired;

impl Transaction<'_> {
    /// The first changes of tables, each after a snapshot of its own.
    pub fn first_changes(&self, after: &BTreeSet<(TableId, SnapshotId)>) -> Result<FirstChanges, LakeError> {
        let newest = self.snapshot();
        let Some(oldest) = after.iter().map(|(_, from)| *from).min() else {
            return Ok(FirstChanges { commits: BTreeMap::new(), complete: true });
        };
        let values: Vec<String> = after.iter().map(|(table, from)| format!("({table}, {from})")).collect();
        let rows = self.query(&format!(
            "{} SELECT NULL::BIGINT, NULL::BIGINT, count(*)::BIGINT FROM s \
             UNION ALL SELECT v.id::BIGINT, v.mark::BIGINT, min(change.snapshot_id)::BIGINT \
             FROM change JOIN (VALUES {}) v(id, mark) ON change.id = v.id AND change.snapshot_id > v.mark GROUP BY 1, 2",
            changes_of(self.metadata(), oldest, newest),
            values.join(", ")
        ))?;
        let mut first = FirstChanges { commits: BTreeMap::new(), complete: oldest >= newest };
        for row in &rows.rows {
            match row.as_slice() {
                // Snapshot ids are contiguous, so a smaller count means that some were expired.
                [Value::Null, _, count] => first.complete |= count.as_u64()? == newest.0 - oldest.0,
                [table, from, commit] => {
                    let key = (TableId(table.as_u64()?), SnapshotId(from.as_u64()?));
                    first.commits.insert(key, SnapshotId(commit.as_u64()?));
                }
                _ => return Err(unexpected_row()),
            }
        }
        Ok(first)
    }

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
