//! The `ducklake-ivm` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ducklake_ivm::commands::run()
}
