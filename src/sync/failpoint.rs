//! The named points of a refresh at which a test build (feature `failpoints`) can be made to die, fail or wait.

/// All points, in the order in which a refresh passes them. Between any two of them a crash must leave the lake as it
/// was before the refresh; from the last one on, as after it.
pub const POINTS: [&str; 12] = [
    "sync::after_begin",
    "sync::after_windows",
    "sync::after_net_change",
    "sync::after_delta",
    "sync::after_match",
    "sync::after_delete",
    "sync::after_insert",
    "sync::after_accumulators",
    "sync::after_state",
    "sync::after_history",
    "sync::before_commit",
    "sync::after_commit",
];

/// Passes the point `name`.
macro_rules! pass {
    ($name:literal) => {
        fail::fail_point!(concat!("sync::", $name))
    };
}

pub(super) use pass;
