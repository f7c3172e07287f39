//! Cuts a window at the commits that only moved rows.

use super::{SnapshotId, TableId, Transaction};
use crate::lake::LakeError;

/// The pieces of the window (from, to] between its rewrites.
///
/// A commit of DuckLake either changes rows or compacts files, never both, so the net change of a compacting commit r
/// is empty, and that of the window is the sum of those of (from, r − 1], (r, …]. Where r or r − 1 was expired, or the
/// commit did anything else, there is no cut: the rewritten file then counts as ended and begun, which is as exact and
/// reads it.
pub(super) fn cut(
    transaction: &Transaction<'_>,
    table: TableId,
    from: SnapshotId,
    to: SnapshotId,
) -> Result<Vec<(SnapshotId, SnapshotId)>, LakeError> {
    let metadata = transaction.metadata();
    let rewrites = transaction.query(&format!(
        "SELECT h.snapshot_id::BIGINT FROM {metadata}.ducklake_snapshot_changes h \
         WHERE h.snapshot_id > {from} AND h.snapshot_id <= {to} \
         AND regexp_full_match(h.changes_made, '((rewrite_delete|merge_adjacent|compacted_table):[0-9]+,?)+') \
         AND h.snapshot_id IN (SELECT end_snapshot FROM {metadata}.ducklake_data_file \
         WHERE table_id = {table} AND end_snapshot > {from} AND end_snapshot <= {to}) \
         AND 2 = (SELECT count(*) FROM {metadata}.ducklake_snapshot s \
         WHERE s.snapshot_id IN (h.snapshot_id, h.snapshot_id - 1)) ORDER BY 1"
    ))?;
    let rewrites = rewrites.rows.iter().flatten().map(|value| value.as_u64().map(SnapshotId));
    Ok(pieces(from, &rewrites.collect::<Result<Vec<_>, _>>()?, to))
}

fn pieces(from: SnapshotId, rewrites: &[SnapshotId], to: SnapshotId) -> Vec<(SnapshotId, SnapshotId)> {
    let begins = std::iter::once(from).chain(rewrites.iter().copied());
    let ends = rewrites.iter().map(|rewrite| SnapshotId(rewrite.0.saturating_sub(1))).chain([to]);
    begins.zip(ends).filter(|(begin, end)| begin < end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_at(from: u64, rewrites: &[u64], to: u64) -> Vec<(u64, u64)> {
        let rewrites: Vec<SnapshotId> = rewrites.iter().copied().map(SnapshotId).collect();
        pieces(SnapshotId(from), &rewrites, SnapshotId(to)).iter().map(|(begin, end)| (begin.0, end.0)).collect()
    }

    #[test]
    fn empty_pieces_cost_nothing() {
        assert_eq!(cut_at(2, &[], 9), [(2, 9)]);
        assert_eq!(cut_at(2, &[3, 6, 7], 9), [(3, 5), (7, 9)]);
        assert_eq!(cut_at(2, &[3], 3), []);
        assert_eq!(cut_at(2, &[], 2), []);
    }
}
