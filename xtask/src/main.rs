//! Set-up, tests, demo and benchmarks from a fresh clone: `cargo xtask setup|test|demo|bench`.
//!
//! | stage | in | out |
//! |---|---|---|
//! | [`pins`] | a platform | the files that it needs, each with its package and SHA-256 sum |
//! | [`fetch`] | a package | its archive, through npm or pip |
//! | [`archive`] | an archive | one file of it, and its sum |
//! | [`python`] | pinned Python packages | a folder that the tests read files with |
//! | [`setup`] | files wanted | files in place, verified |
//! | [`steps`] | a command of this program | the cargo commands that it stands for |

mod archive;
mod fetch;
mod pins;
mod python;
mod setup;
mod steps;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Set-up, tests and demo of ducklake-ivm")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put the prebuilt libduckdb and its extensions into .duckdb/, as far as they are not there
    Setup {
        /// Take the files or their packages from this folder, and fetch nothing
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
        /// Also put the Python packages that the tests need into .duckdb/python/
        #[arg(long)]
        tests: bool,
    },
    /// Set up and run every check: rustfmt, clippy, rustdoc, all tests. With arguments: only `cargo test ARGUMENTS`
    Test {
        /// Given to `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Set up, build, and run `ducklake-ivm demo`
    Demo {
        /// Given to `ducklake-ivm demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Set up and run the benchmarks
    Bench {
        /// Given to `cargo bench`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Setup { from, tests } => steps::setup(from.as_deref(), tests),
        Command::Test { arguments } if arguments.is_empty() => steps::check_everything(),
        Command::Test { arguments } => steps::test(&arguments),
        Command::Demo { arguments } => steps::demo(&arguments),
        Command::Bench { arguments } => steps::bench(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            steps::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
