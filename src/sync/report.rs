//! What a sync says when it is done; serialised, this is `sync --format json`.

use serde::Serialize;

use crate::lake::SnapshotId;

/// The report of one sync.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// The snapshot of the lake that the views stand for now.
    pub snapshot: SnapshotId,
    /// The views, in the order in which they were looked at.
    pub views: Vec<ViewReport>,
    /// What was wrong with the registry itself and has been made good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<String>,
}

impl Report {
    /// Did every view come through?
    pub fn succeeded(&self) -> bool {
        self.views.iter().all(|view| view.error.is_none())
    }
}

/// How a view was brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Nothing to do, nothing written.
    Noop,
    /// From the changes.
    Incremental,
    /// The query was run and the difference written.
    Recompute,
    /// All rows were replaced.
    Full,
    /// In a dry run: a view below this one would change, and this one would follow it.
    Follows,
}

impl Method {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Method::Noop => "noop",
            Method::Incremental => "incremental",
            Method::Recompute => "recompute",
            Method::Full => "full",
            Method::Follows => "follows",
        }
    }
}

/// What happened to one view.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ViewReport {
    /// The view, as `schema.name`.
    pub view: String,
    /// How it was brought up to date; null if it was not.
    pub strategy: Option<Method>,
    /// Why so, where there was a choice.
    pub reason: Option<String>,
    /// What it reads.
    pub sources: Vec<SourceReport>,
    /// The terms of its delta.
    pub terms: Terms,
    /// Rows that came into the view.
    pub rows_inserted: u64,
    /// Rows that went out of it.
    pub rows_deleted: u64,
    /// Wall time of this view's refresh.
    pub elapsed_ms: u64,
    /// What went wrong.
    pub error: Option<String>,
    /// What the user can do about the error.
    pub hint: Option<String>,
    /// What was found damaged and has been rebuilt.
    pub repaired: Vec<String>,
    /// What the user should know about the view's meaning and its table.
    pub notes: Vec<String>,
    /// Checks on the sources' history that failed, and so shaped the strategy.
    pub guards: Vec<String>,
    /// Rows of the net changes of the sources: what was read to find out what changes in the view.
    pub rows_read: u64,
    /// Groups and partitions that the change touched, over all aggregates and windows of the view.
    pub groups: u64,
    /// How often the transaction was begun anew.
    pub retries: u32,
    /// Where the time went.
    pub phases: Phases,
}

impl ViewReport {
    /// A view about which nothing is known yet.
    pub fn new(view: impl Into<String>) -> ViewReport {
        ViewReport {
            view: view.into(),
            strategy: None,
            reason: None,
            sources: Vec::new(),
            terms: Terms::default(),
            rows_inserted: 0,
            rows_deleted: 0,
            elapsed_ms: 0,
            error: None,
            hint: None,
            repaired: Vec::new(),
            notes: Vec::new(),
            guards: Vec::new(),
            rows_read: 0,
            groups: 0,
            retries: 0,
            phases: Phases::default(),
        }
    }
}

/// A source and the window that was taken in from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceReport {
    /// The table, as `schema.name`.
    pub table: String,
    /// The watermark before.
    pub from: SnapshotId,
    /// The watermark after.
    pub to: SnapshotId,
    /// Did it change in between?
    pub changed: bool,
}

/// The terms of a delta: one per leg of the view's joins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Terms {
    /// How many there can be.
    pub total: usize,
    /// How many were run.
    pub run: usize,
    /// How many were not needed because their leg did not change.
    pub skipped: usize,
}

impl Terms {
    /// `run` of `total`.
    pub fn new(total: usize, run: usize) -> Terms {
        Terms { total, run, skipped: total.saturating_sub(run) }
    }
}

/// Milliseconds per phase of a refresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phases {
    /// What changed: windows, guards, net changes.
    pub net_change_ms: u64,
    /// The terms and their consolidation, or the recomputation and its difference.
    pub join_ms: u64,
    /// Finding the rows to delete, deleting, inserting, bookkeeping.
    pub apply_ms: u64,
    /// The commit.
    pub commit_ms: u64,
}
