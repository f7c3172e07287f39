//! Random histories of a lake: what is done (`operations`), what the lake then is (`model`), the views that follow it
//! (`views`), and a run that plays a history and judges every sync (`run`).
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../support/random.rs"]
pub mod random;

pub mod model;
pub mod operations;
pub mod run;
pub mod views;
