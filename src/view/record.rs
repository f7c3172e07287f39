//! One refresh as the history keeps it.

use serde::{Deserialize, Serialize};

use crate::lake::{SnapshotId, TableId};

/// What a refresh took from one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWindow {
    /// The table, as `schema.name`.
    pub table: String,
    /// Its identity.
    pub id: TableId,
    /// The watermark before.
    pub from: SnapshotId,
    /// The watermark after.
    pub to: SnapshotId,
    /// Did it change in between?
    pub changed: bool,
}

/// A row of `refreshes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshRecord {
    /// The snapshot that the view stands for now.
    pub snapshot: SnapshotId,
    /// How it was brought there.
    pub strategy: String,
    /// Why so, if there was a choice.
    pub reason: Option<String>,
    /// The sources and their windows.
    pub sources: Vec<SourceWindow>,
    /// How many terms the delta could have had.
    pub terms_total: usize,
    /// How many were run.
    pub terms_run: usize,
    /// Net changes read from the sources.
    pub rows_in: u64,
    /// Rows written to the view.
    pub rows_inserted: u64,
    /// Rows taken out of it.
    pub rows_deleted: u64,
    /// From the first read to just before the commit.
    pub elapsed_ms: u64,
    /// Marks the commit: also in DuckLake's `commit_extra_info`.
    pub commit_id: String,
}

/// A view's last refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedView {
    /// The commit of its last refresh.
    pub landed: SnapshotId,
    /// The snapshot that it stands for.
    pub snapshot: SnapshotId,
    /// Its sources.
    pub sources: Vec<SourceWindow>,
}
