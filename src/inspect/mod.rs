//! Read-only questions about the lake and its views: nothing here makes a snapshot.
//!
//! | question | answered by |
//! |---|---|
//! | how is this view kept up to date, and what would the next sync do? | [`explain()`] |
//! | how far is each view, how far behind, and what is wrong with it? | [`status()`] |
//! | does this view hold what its query returns? | [`verify()`] |
//! | how was it refreshed so far? | [`history()`] |
//! | who committed what? | [`log()`] |
//! | what changed between two snapshots? | [`diff()`], [`stage_rows()`], [`files()`], [`impact()`] |

pub(crate) mod condition;
pub mod diff;
pub mod error;
pub mod explain;
pub mod files;
pub mod history;
pub mod impact;
mod lag;
pub mod log;
pub mod nodes;
pub mod revision;
mod row_counts;
pub mod rows;
pub mod status;
mod tables;
pub mod verify;

pub use diff::{Diff, TableDiff, diff};
pub use error::InspectError;
pub use explain::{Explanation, Span, explain};
pub use files::{ChangedFile, FileTotals, files};
pub use history::{PastRefresh, history};
pub use impact::{Impact, impact};
pub use log::{LogOptions, LoggedSnapshot, log};
pub use revision::{Range, Revision};
pub use rows::{RowOptions, RowTable, stage_rows};
pub use status::{Status, status};
pub use verify::{Difference, Verification, verify, verify_sample};
