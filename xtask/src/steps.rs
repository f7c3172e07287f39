//! What each command of this program runs, in order; every cargo command is shown before it starts.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    pins::{self, Piece},
    python,
    setup::{Home, Source},
};

/// Cargo's arguments, and environment variables set for them.
struct Step<'a> {
    arguments: &'a [&'a str],
    environment: &'a [(&'a str, &'a str)],
}

impl<'a> Step<'a> {
    const fn new(arguments: &'a [&'a str]) -> Self {
        Self { arguments, environment: &[] }
    }
}

/// What must hold of every commit. The tests come last, so that their summary ends the output.
///
/// The tests run with fail points compiled in, for the crash tests; clippy sees the program both with and without.
const CHECKS: [Step<'_>; 5] = [
    Step::new(&["fmt", "--all", "--check"]),
    Step::new(&["clippy", "--workspace", "--", "-D", "warnings"]),
    Step::new(&["clippy", "--workspace", "--all-targets", "--features", "failpoints", "--", "-D", "warnings"]),
    Step {
        arguments: &["doc", "--workspace", "--no-deps", "--document-private-items"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Step::new(&["test", "--workspace", "--features", "failpoints", "--no-fail-fast"]),
];

/// Says one line to the person at the terminal.
#[expect(clippy::print_stderr, reason = "the one printer of this program; stdout belongs to what it runs")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// Puts everything that a build and a run need into `.duckdb/`, and what the tests need beside.
pub(crate) fn setup(from: Option<&Path>, tests: bool) -> Result<()> {
    let (os, architecture) = (env::consts::OS, env::consts::ARCH);
    let Some(pieces) = pins::pieces(os, architecture) else {
        bail!(
            "no prebuilt libduckdb is published for {os} on {architecture}\nhint: build with `--features bundled`, \
             which compiles DuckDB, or point DUCKDB_LIB_DIR at a libduckdb of your own"
        );
    };
    let source = from.map_or(Source::Registries, Source::Folder);
    let report = |piece: &Piece| say(&format!("setting up {} from {}", piece.file_name(), piece.package.describe()));
    Home::of(&root()).ensure(&pieces, source, &report)?;
    if tests { python::ensure(&root(), source, &say) } else { Ok(()) }
}

/// Sets up and runs all checks, stopping at the first that fails.
pub(crate) fn check_everything() -> Result<()> {
    setup(None, true)?;
    CHECKS.iter().try_for_each(|step| cargo(step, &[]))
}

/// Sets up and runs chosen tests.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    setup(None, true)?;
    cargo(&Step::new(&["test"]), arguments)
}

/// Sets up and runs the demo.
pub(crate) fn demo(arguments: &[String]) -> Result<()> {
    setup(None, false)?;
    cargo(&Step::new(&["build", "--package", "ducklake-ivm"]), &[])?;
    cargo(&Step::new(&["run", "--quiet", "--package", "ducklake-ivm", "--", "demo"]), arguments)
}

/// Sets up and runs the benchmarks.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    setup(None, false)?;
    cargo(&Step::new(&["bench"]), arguments)
}

fn cargo(step: &Step<'_>, more: &[String]) -> Result<()> {
    let variables = step.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
    let arguments = step.arguments.iter().copied().chain(more.iter().map(String::as_str));
    let shown = variables.collect::<String>() + "cargo " + &arguments.clone().collect::<Vec<_>>().join(" ");
    say(&format!("$ {shown}"));
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(program)
        .args(arguments)
        .envs(step.environment.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// The clone that this program belongs to; cargo says so at run time, in case the clone was moved after the build.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    Path::new(&package).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
