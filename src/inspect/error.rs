//! What can go wrong with a question about the lake.

use super::revision::RevisionError;
use crate::lake::{LakeError, SnapshotId};
use crate::sync::SyncError;
use crate::view::{ViewError, ViewName};

/// What can go wrong with a question about the lake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The lake refused.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A view or the registry is at fault.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A view cannot be looked at.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// A revision names no snapshot.
    #[error(transparent)]
    Revision(#[from] RevisionError),
    /// There is no such table.
    #[error("table {table} does not exist{}", between(*.span))]
    UnknownTable {
        /// The name asked for.
        table: ViewName,
        /// Where it was looked for, if not in the whole past.
        span: Option<(SnapshotId, SnapshotId)>,
        /// From which snapshot to which there was one; to none, if there is one.
        lived: Vec<(SnapshotId, Option<SnapshotId>)>,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// The name is that of a view of the lake, which holds no rows.
    #[error("{table} is a view of the lake, not a table")]
    LakeView {
        /// The name.
        table: ViewName,
    },
    /// Nothing follows from what happened to that view's rows.
    #[error("no view reads {view}, which is a view itself: its changes mean nothing for any")]
    UnreadView {
        /// The name.
        view: ViewName,
    },
    /// There is no such column.
    #[error("table {table} has no column {column:?} at snapshot {at}")]
    UnknownColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The snapshot.
        at: SnapshotId,
        /// What happened to the column of that name at another time.
        fate: Option<String>,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// The condition on rows is not SQL that fits the table.
    #[error("the condition does not fit table {table}: {message}")]
    Condition {
        /// The table.
        table: String,
        /// What DuckDB says.
        message: String,
        /// Columns that are called like the one that is not there.
        near: Vec<String>,
    },
}

fn between(span: Option<(SnapshotId, SnapshotId)>) -> String {
    match span {
        None => String::new(),
        Some((from, to)) if from == to => format!(" at snapshot {from}"),
        Some((from, to)) => format!(" at snapshot {from}, nor at {to}"),
    }
}

/// `it was there from 13 to 39, and since 42`
fn there(lived: &[(SnapshotId, Option<SnapshotId>)]) -> String {
    let parts: Vec<String> = lived
        .iter()
        .map(|(begin, end)| match end {
            None => format!("since {begin}"),
            Some(end) if begin == end => format!("at {begin}"),
            Some(end) => format!("from {begin} to {end}"),
        })
        .collect();
    let verb = if matches!(lived, [(_, None)]) { "has been" } else { "was" };
    format!("it {verb} there {}", parts.join(", and "))
}

impl InspectError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            InspectError::Lake(error) => error.hint(),
            InspectError::View(error) => error.hint(),
            InspectError::Sync(error) => error.hint(),
            InspectError::Revision(error) => error.hint(),
            InspectError::Condition { near, .. } if near.is_empty() => {
                Some("write it as in WHERE, over the table's own columns".to_owned())
            }
            InspectError::UnknownTable { lived, .. } if !lived.is_empty() => Some(there(lived)),
            InspectError::UnknownColumn { fate: Some(fate), .. } => Some(fate.clone()),
            InspectError::UnknownTable { near, .. }
            | InspectError::UnknownColumn { near, .. }
            | InspectError::Condition { near, .. } => {
                (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
            }
            InspectError::UnreadView { view } => Some(format!(
                "leave the name out to see what the range means for {view}, or name a table that it reads"
            )),
            InspectError::LakeView { .. } => Some("name the tables that it reads".to_owned()),
        }
    }
}
