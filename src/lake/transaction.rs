//! A transaction that sees one snapshot of the lake, in its rows and in its metadata alike.

use super::{Lake, LakeError, SnapshotId, known::Known, text::literal};
use std::{ops::Deref, time::Duration};

/// How often a transaction is begun anew because the catalog moved between its two first reads.
const ATTEMPTS: u32 = 20;

/// A transaction pinned at one snapshot. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction<'a> {
    lake: &'a Lake,
    snapshot: SnapshotId,
    open: bool,
    pub(super) known: Known,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction.
    ///
    /// DuckLake reads the lake at the snapshot that it saw first, but its metadata tables through another transaction,
    /// which may see later commits: then the names of files found there would select the wrong rows, silently. So the
    /// two must agree, or the transaction is begun anew.
    pub(super) fn begin(lake: &'a Lake) -> Result<Self, LakeError> {
        let mut attempt = 0;
        loop {
            lake.batch("BEGIN")?;
            let mut transaction = Self { lake, snapshot: SnapshotId(0), open: true, known: Known::default() };
            let (pinned, newest) = transaction.pin()?;
            transaction.snapshot = pinned;
            if pinned == newest {
                transaction.load_schemas_of_late_rows()?;
                return Ok(transaction);
            }
            drop(transaction);
            attempt += 1;
            if attempt == ATTEMPTS {
                return Err(LakeError::MovedOn { pinned, newest });
            }
            std::thread::sleep(Duration::from_millis(2 * u64::from(attempt)));
        }
    }

    /// The snapshot that the lake's rows are read at, and the newest one of its metadata.
    fn pin(&self) -> Result<(SnapshotId, SnapshotId), LakeError> {
        let pinned = self.lake.current_snapshot()?;
        let bound =
            if self.lake.is_pinned_by_attach() { format!(" WHERE snapshot_id <= {pinned}") } else { String::new() };
        let sql = format!("SELECT max(snapshot_id) FROM {}.ducklake_snapshot{bound}", self.lake.metadata());
        let newest = self.lake.query_value(&sql)?;
        Ok((pinned, SnapshotId(newest.as_u64()?)))
    }

    /// The snapshot that this transaction sees.
    pub fn snapshot(&self) -> SnapshotId {
        self.snapshot
    }

    /// Says who commits, what, and why; DuckLake keeps it with the snapshot.
    pub fn set_commit_message(&self, author: &str, message: &str, extra_info: Option<&str>) -> Result<(), LakeError> {
        let extra_info = extra_info.map(|extra_info| format!(", extra_info => {}", literal(extra_info)));
        let sql = format!(
            "CALL {}.set_commit_message({}, {}{})",
            super::identifier(self.lake.alias()),
            literal(author),
            literal(message),
            extra_info.unwrap_or_default()
        );
        self.lake.batch(&sql)
    }

    /// Commits. After an error nothing of the transaction is in the lake.
    pub fn commit(mut self) -> Result<(), LakeError> {
        self.open = false;
        self.lake.batch("COMMIT")
    }

    /// Rolls back, as dropping does, but says when that fails.
    pub fn rollback(mut self) -> Result<(), LakeError> {
        self.open = false;
        self.lake.batch("ROLLBACK")
    }
}

impl Deref for Transaction<'_> {
    type Target = Lake;

    fn deref(&self) -> &Lake {
        self.lake
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.lake.batch("ROLLBACK")
        {
            // After a failed statement DuckDB may have ended the transaction by itself.
            tracing::debug!(%error, "rollback");
        }
    }
}
