//! What can go wrong with a refresh.

use super::damage::Damage;
use crate::lake::{LakeError, SnapshotId};
use crate::view::{ViewError, ViewName};

/// What can go wrong with a sync.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The lake refused.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The registry or a definition is at fault.
    #[error(transparent)]
    View(Box<ViewError>),
    /// A statement of a refresh failed.
    #[error("view {view}: {source}")]
    Statement {
        /// The view.
        view: ViewName,
        /// What DuckDB says.
        source: Box<LakeError>,
    },
    /// A term of the delta failed.
    #[error("view {view}: a term of its delta failed: {source}")]
    Term {
        /// The view.
        view: ViewName,
        /// What DuckDB says.
        source: Box<LakeError>,
    },
    /// A source is gone.
    #[error("view {view} is broken: its source {table} was dropped{}", at(*.snapshot))]
    SourceDropped {
        /// The view.
        view: ViewName,
        /// The source.
        table: String,
        /// Since when, where the catalog still tells.
        snapshot: Option<SnapshotId>,
    },
    /// A source did not exist yet.
    #[error("view {view} cannot be looked at as of snapshot {target}: its source {table} was made at snapshot {born}")]
    SourceNotYet {
        /// The view.
        view: ViewName,
        /// The source.
        table: String,
        /// The snapshot that made it.
        born: SnapshotId,
        /// The snapshot asked for.
        target: SnapshotId,
    },
    /// A column that the view reads is gone.
    #[error("view {view} is broken: column {column:?} of its source {table} was dropped{}", at(*.snapshot))]
    ColumnDropped {
        /// The view.
        view: ViewName,
        /// The source.
        table: String,
        /// The column.
        column: String,
        /// Since when, where the catalog still tells.
        snapshot: Option<SnapshotId>,
    },
    /// The query no longer means what it meant, and cannot be run as it was meant.
    #[error("view {view} is broken: {detail}")]
    MeaningChanged {
        /// The view.
        view: ViewName,
        /// What changed.
        detail: String,
    },
    /// Someone else laid hands on the view's table.
    #[error("view {view} {}: {damage}", if damage.breaks() { "is broken" } else { "was changed" })]
    Damaged {
        /// The view.
        view: ViewName,
        /// What was done.
        damage: Box<Damage>,
    },
    /// The delta takes rows away that the view does not hold.
    #[error(
        "view {view}: the delta takes {expected} rows away, and the view holds {found} of them; nothing was written"
    )]
    RowsMissing {
        /// The view.
        view: ViewName,
        /// How many rows were to go.
        expected: u64,
        /// How many were found.
        found: u64,
    },
    /// A view that this one reads was not refreshed.
    #[error("view {view} was not refreshed because {source_view}, which it reads, was not")]
    SourceNotRefreshed {
        /// The view.
        view: ViewName,
        /// The view that failed.
        source_view: ViewName,
    },
    /// Another process refreshed one of the views below this one to a later snapshot meanwhile.
    #[error("view {view}: the views that it reads stand for different snapshots, because another sync is running")]
    Overtaken {
        /// The view.
        view: ViewName,
    },
    /// The target does not exist.
    #[error("snapshot {target} does not exist; the newest is {newest}")]
    NoTarget {
        /// What was asked for.
        target: SnapshotId,
        /// What there is.
        newest: SnapshotId,
    },
    /// The query cannot be run at the target.
    #[error("view {view} cannot be computed at snapshot {target}: {detail}")]
    TargetUnreachable {
        /// The view.
        view: ViewName,
        /// The target.
        target: SnapshotId,
        /// Why.
        detail: String,
    },
    /// What the view was made of can no longer be read.
    #[error("view {view} cannot be compared with its query: {detail}")]
    NotComparable {
        /// The view.
        view: ViewName,
        /// Why.
        detail: String,
    },
    /// The user wants `incremental`, and it cannot be had.
    #[error("view {view} cannot be refreshed incrementally: {reason}")]
    NotIncremental {
        /// The view.
        view: ViewName,
        /// Why.
        reason: String,
    },
}

fn at(snapshot: Option<SnapshotId>) -> String {
    snapshot.map(|snapshot| format!(" at snapshot {snapshot}")).unwrap_or_default()
}

impl From<ViewError> for SyncError {
    fn from(error: ViewError) -> SyncError {
        match error {
            ViewError::Lake(error) => SyncError::Lake(error),
            other => SyncError::View(Box::new(other)),
        }
    }
}

impl SyncError {
    /// May the same work succeed when it is begun again?
    pub fn retryable(&self) -> bool {
        match self {
            SyncError::Lake(error) => error.retryable(),
            SyncError::Statement { source, .. } | SyncError::Term { source, .. } => source.retryable(),
            SyncError::View(error) => error.retryable(),
            _ => false,
        }
    }

    /// The lake's error behind this one.
    pub(crate) fn lake_error(&mut self) -> Option<&mut LakeError> {
        match self {
            SyncError::Lake(error) => Some(error),
            SyncError::Statement { source, .. } | SyncError::Term { source, .. } => Some(source),
            SyncError::View(error) => error.lake_error(),
            _ => None,
        }
    }

    /// The same with the view that it is about.
    pub(crate) fn about(self, view: &ViewName) -> SyncError {
        match self {
            SyncError::Lake(source)
                if !matches!(
                    source,
                    LakeError::Interrupted | LakeError::Disconnected { .. } | LakeError::UnknownType { .. }
                ) =>
            {
                SyncError::Statement { view: view.clone(), source: Box::new(source) }
            }
            error => error,
        }
    }

    /// Whether the lake cannot be reached any more, so that the other views need not be tried.
    pub fn is_disconnection(&self) -> bool {
        match self {
            SyncError::Lake(error) => error.is_disconnection(),
            SyncError::Statement { source, .. } | SyncError::Term { source, .. } => source.is_disconnection(),
            SyncError::View(error) => matches!(&**error, ViewError::Lake(error) if error.is_disconnection()),
            _ => false,
        }
    }

    /// Whether somebody asked for the work to stop.
    pub fn is_interruption(&self) -> bool {
        match self {
            SyncError::Lake(error) => error.is_interruption(),
            SyncError::Statement { source, .. } | SyncError::Term { source, .. } => source.is_interruption(),
            SyncError::View(error) => error.is_interruption(),
            _ => false,
        }
    }

    /// Whether it says more about the snapshot that was asked for than about the view.
    pub(crate) fn is_about_target(&self) -> bool {
        matches!(self, SyncError::SourceNotYet { .. } | SyncError::TargetUnreachable { .. })
    }

    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            SyncError::Lake(error) => return error.hint(),
            SyncError::Statement { source, .. } | SyncError::Term { source, .. } => return source.hint(),
            SyncError::View(error) => return error.hint(),
            SyncError::SourceDropped { .. } | SyncError::ColumnDropped { .. } | SyncError::MeaningChanged { .. } => {
                "give it a new definition with create --or-replace, or drop it"
            }
            SyncError::SourceNotYet { born, .. } => return Some(format!("ask for snapshot {born} or a later one")),
            SyncError::Damaged { view, damage } => {
                return Some(match damage.as_ref() {
                    Damage::ForeignWrite { first: Some(first), .. } => {
                        format!("rebuild it with sync --repair; diff {first}^! {view} --rows shows what came first")
                    }
                    _ => "rebuild it with sync --repair".to_owned(),
                });
            }
            SyncError::RowsMissing { .. } => "compare with verify, rebuild with sync --repair, and report it",
            SyncError::SourceNotRefreshed { .. } => "mend that view first",
            SyncError::Overtaken { .. } => "the next sync brings them together",
            SyncError::NoTarget { .. } => "leave --to away to take the newest",
            SyncError::TargetUnreachable { .. } => "leave --to away",
            SyncError::NotComparable { .. } => "sync it first: what is there now can be compared",
            SyncError::NotIncremental { .. } => "create it with --strategy auto",
        };
        Some(hint.to_owned())
    }
}
