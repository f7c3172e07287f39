//! What a sync tells while it runs.

use super::ViewReport;
use crate::lake::SnapshotId;

/// A step of a sync.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The target is known.
    Started {
        /// The snapshot that the views are brought to.
        snapshot: SnapshotId,
        /// How many views there are.
        views: usize,
    },
    /// A view's refresh begins.
    ViewStarted {
        /// The view.
        view: &'a str,
    },
    /// A step within the refresh of a view.
    Step {
        /// The view.
        view: &'a str,
        /// What is done.
        step: Step<'a>,
    },
    /// A transaction has to be begun anew.
    Retry {
        /// The view.
        view: &'a str,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Why.
        error: &'a str,
    },
    /// A view is done.
    ViewFinished {
        /// What happened.
        report: &'a ViewReport,
    },
}

/// A step within the refresh of one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Reading the net change of a table.
    NetChange {
        /// The table.
        table: &'a str,
    },
    /// Reading a table's state once for several terms.
    Stage {
        /// The table.
        table: &'a str,
    },
    /// Running one term of the delta.
    Term {
        /// Which, from 1.
        number: usize,
        /// Of how many.
        of: usize,
    },
    /// Running the view's own query.
    Recompute,
    /// Writing the view.
    Apply,
    /// Committing.
    Commit,
}

/// Hears of events. Any function of an event will do.
pub trait Observer {
    /// Called from the thread that syncs, so it should be quick.
    fn event(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>)> Observer for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}
