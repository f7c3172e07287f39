//! Cuts a window at the commits that only moved rows.

use super::{SnapshotId, TableId, Transaction};
use crate::lake::{LakeError, known::TableWindow};

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
    let mut cuts = Vec::new();
    for rewrite in transaction.rewrites(TableWindow { table, from, to })? {
        let before = SnapshotId(rewrite.0.saturating_sub(1));
        if transaction.snapshot_exists(before)? && transaction.snapshot_exists(rewrite)? {
            cuts.push(rewrite);
        }
    }
    Ok(pieces(from, &cuts, to))
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
