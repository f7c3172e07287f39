//! The command line as a user sees it: what is typed, what comes back on stdout and stderr, and the exit code.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_input;
mod configuration;
mod demo;
mod help;
mod inspect;
#[path = "../support/program.rs"]
mod program;
mod results;
mod signals;
