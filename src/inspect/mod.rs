//! Read-only questions about the lake and its views: nothing here makes a snapshot.
//!
//! | question | answered by |
//! |---|---|
//! | how is this view kept up to date, and what would the next sync do? | [`explain()`] |
//! | how far is each view, and how far behind? | [`status()`] |
//! | does this view hold what its query returns? | [`verify()`] |

pub(crate) mod condition;
pub mod explain;
pub mod status;
pub mod verify;

pub use explain::{Explanation, Span, explain};
pub use status::{Status, status};
pub use verify::{Difference, Verification, verify};
