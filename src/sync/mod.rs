//! One refresh: strategy, stages, apply, commit, retry.
//!
//! A refresh is one transaction, pinned at one snapshot: everything is read into temporary tables first (windows and
//! guards, net changes, the terms of the delta, the rows to delete), then everything is written (the view, its state
//! row, the history), then committed. A conflict begins it anew with a new window. A crash at any point leaves the lake
//! as it was before or as it is after.
//!
//! | file | does |
//! |---|---|
//! | `run` | which views have anything to do at all; the order; retries |
//! | `refresh` | the steps of one attempt |
//! | `window` | where each source stands and is to stand, and whether it still is what it was |
//! | `damage` | what was done to a view's own table and state without us |
//! | `choice` | noop, incremental, recompute or full, and why |
//! | `forecast` | the same choice, for whoever only asks |
//! | `incremental` | net changes and terms into a consolidated delta |
//! | `recompute` | the query's rows and their difference to the view's |
//! | `rebinding` | the query of a view whose tables are no longer those of its creation |
//! | `accumulators` | the groups of a delta into the view's accumulator tables, or all groups again |
//! | `compaction` | a view's tables of many small files, written anew in one |
//! | `apply`, `rows` | at most one DELETE, then one INSERT, by content |
//! | [`report`], [`event`] | what is told afterwards and meanwhile |

pub(crate) mod accumulators;
mod apply;
pub(crate) mod choice;
mod compaction;
pub(crate) mod damage;
mod error;
pub mod event;
mod failpoint;
pub(crate) mod forecast;
pub(crate) mod incremental;
pub(crate) mod nearness;
mod rebinding;
pub(crate) mod recompute;
mod refresh;
mod relations;
pub mod report;
pub(crate) mod rows;
mod run;
pub(crate) mod temporary;
pub(crate) mod window;

pub use damage::Damage;
pub use error::SyncError;
pub use event::{Event, Observer, Step};
pub use failpoint::POINTS;
pub use report::{Method, Phases, Report, SourceReport, Terms, ViewReport};
pub use run::{SyncOptions, sync};

/// Why nothing is done for a table that did change.
pub(crate) const NOTHING_USED: &str = "only maintenance or unused columns";

/// Why a view with accumulator tables is recomputed although it is maintained from changes.
pub(crate) const OTHER_LAYOUT: &str = "its accumulator tables were made by another version";

/// Why it cannot be told yet what a refresh of a view would do that reads `below`.
pub(crate) fn follows(below: impl std::fmt::Display) -> String {
    format!("it reads {below}, which would change first; only then is known what changes here")
}

/// Tells of the steps of one view's refresh.
pub(crate) struct Progress<'a> {
    view: &'a str,
    observer: &'a dyn Observer,
}
