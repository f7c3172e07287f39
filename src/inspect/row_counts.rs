//! How many rows of a table came and went in a commit. The metadata tells it of most commits, of all at once; the others
//! are read, each by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::Ends;
use crate::lake::{CommitRows, LakeError, SnapshotId, TableId, TableWindow, Transaction};
use crate::sync::temporary::Temporary;

/// For how many commits at once the metadata is read ahead: what is read is compared with each of them.
const AT_ONCE: usize = 200;

/// Rows of a table that a commit changed, net.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// Rows that came.
    pub(super) inserted: u64,
    /// Rows that went.
    pub(super) deleted: u64,
    /// Rows that have the same row id and other content.
    pub(super) updated: u64,
}

/// What a commit did to a table, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    /// `created`, `dropped`, `altered`, `changed`, `compacted`.
    pub(super) change: &'static str,
    /// It inserted or deleted rows, and nothing else.
    pub(super) is_plain: bool,
}

/// Counts rows, and remembers what it learnt.
pub(super) struct RowCounts<'a> {
    transaction: &'a Transaction<'a>,
    told: BTreeMap<TableId, CommitRows>,
}

impl<'a> RowCounts<'a> {
    /// Nothing is known yet.
    pub(super) fn new(transaction: &'a Transaction<'a>) -> RowCounts<'a> {
        RowCounts { transaction, told: BTreeMap::new() }
    }

    /// Reads ahead what [`RowCounts::of`] is going to be asked.
    pub(super) fn foresee(&mut self, windows: &[(TableWindow, Touch)]) -> Result<(), LakeError> {
        let tables: BTreeSet<TableId> =
            windows.iter().filter(|(_, touch)| touch.is_plain).map(|(window, _)| window.table).collect();
        for table in tables {
            self.told.insert(table, self.transaction.commit_rows(table)?);
        }
        let is_read = |(window, touch): &&(TableWindow, Touch)| {
            touch.change != "compacted" && self.told(window.table, window.to, *touch).is_none()
        };
        let read: Vec<TableWindow> = windows.iter().filter(is_read).map(|(window, _)| *window).collect();
        for windows in read.chunks(AT_ONCE) {
            self.transaction.foresee_changes(windows)?;
        }
        Ok(())
    }

    fn told(&self, table: TableId, commit: SnapshotId, touch: Touch) -> Option<Rows> {
        let (inserted, deleted) = self.told.get(&table).filter(|_| touch.is_plain)?.of(commit)?;
        Some(Rows { inserted, deleted, updated: 0 })
    }

    /// What a commit did to a table; `None` where that can no longer be read.
    pub(super) fn of(&self, table: TableId, commit: SnapshotId, touch: Touch) -> Result<Option<Rows>, LakeError> {
        let Some(before) = self.before(commit)? else { return Ok(None) };
        if let Some(rows) = self.told(table, commit, touch) {
            return Ok(Some(rows));
        }
        // Of a table that was not there before, or is not any more, all rows came or went.
        let old = self.transaction.table_by_id(table, before)?;
        let new = self.transaction.table_by_id(table, commit)?;
        match (old, new) {
            (None, Some(new)) => {
                Ok(Some(Rows { inserted: self.transaction.count_at(&new, commit)?, ..Rows::default() }))
            }
            (Some(old), None) => {
                Ok(Some(Rows { deleted: self.transaction.count_at(&old, before)?, ..Rows::default() }))
            }
            _ => self.read(table, commit),
        }
    }

    /// The same from the rows themselves.
    pub(super) fn read(&self, table: TableId, commit: SnapshotId) -> Result<Option<Rows>, LakeError> {
        let Some(before) = self.before(commit)? else { return Ok(None) };
        let (transaction, temporary) = (self.transaction, Temporary::default());
        let ends = Ends::of(transaction, table, before, commit)?;
        let found = match ends.stage(transaction, (before, commit), &temporary, &|_| true) {
            Ok(staged) => staged.map(|staged| Rows {
                inserted: staged.inserted,
                deleted: staged.deleted,
                updated: staged.updated,
            }),
            // What cannot be trusted is not counted; the log itself goes on.
            Err(LakeError::UnreadablePast { .. }) => None,
            Err(error) => return Err(error),
        };
        temporary.clear(transaction)?;
        Ok(found)
    }

    /// The snapshot before a commit, unless it is gone.
    fn before(&self, commit: SnapshotId) -> Result<Option<SnapshotId>, LakeError> {
        let before = commit.0.checked_sub(1).map(SnapshotId);
        Ok(match before {
            Some(before) if self.transaction.snapshot_exists(before)? => Some(before),
            _ => None,
        })
    }
}
