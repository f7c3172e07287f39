//! The command line: arguments in, printed results and an exit code out.
//!
//! One file per command. Only `output` prints.

mod apply;
mod configuration;
mod create;
mod demo;
mod diff;
mod drop;
mod duration;
#[cfg(feature = "failpoints")]
mod failpoints;
mod failure;
mod global;
mod history;
mod interrupts;
mod names;
mod output;
mod plan;
#[cfg(test)]
mod schema;
mod snapshots;
mod status;
mod sync;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::{Exit, Failure};
use global::{GlobalArguments, Session};
use interrupts::Interrupts;

const EXIT_CODES: &str = "\
Exit codes:
  0    done, also when there was nothing to do
  1    some view failed; the others went on
  2    wrong usage or configuration: asking again does not help
  3    the lake cannot be opened or reached
  4    verify found a difference, status --check lag, or diff --files --check a missing file
  130  ended by Ctrl-C (143 by SIGTERM); what was begun was rolled back

Results go to stdout; logs, progress and errors to stderr.";

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm demo
      builds a small lake in a temporary folder and tells the whole story

  export DUCKLAKE_IVM_LAKE=ducklake:meta.ducklake
  ducklake-ivm create sales --sql 'SELECT o.id, c.city, o.amount
                                   FROM orders o JOIN customers c USING (customer_id)'
  ducklake-ivm sync            # whenever tables have changed: by cron, systemd, Airflow
  ducklake-ivm plan sales      # what the next sync would read, and what it would skip
  ducklake-ivm verify          # compare with a full recompute

  ducklake-ivm diff 2026-11-29.. sales --rows    # which rows of a view changed since
  ducklake-ivm history sales                     # by which refreshes, and how to see what they took in
";

/// Keeps materialized views over a DuckLake lakehouse up to date by reading only what changed.
///
/// A view is an ordinary table of the lake, kept equal to a SELECT. `create` registers and fills it; `sync` finds out
/// from the lake's snapshots which tables changed, derives from the SELECT what has to be read, and commits the view's
/// new rows in one transaction.
#[derive(Parser)]
#[command(name = "ducklake-ivm", version, max_term_width = 100, after_help = concat_help())]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: GlobalArguments,
}

#[derive(Subcommand)]
enum Command {
    Create(create::Create),
    Apply(apply::Apply),
    Sync(sync::Sync),
    Plan(plan::Plan),
    Status(status::StatusArguments),
    Verify(verify::Verify),
    History(history::History),
    Snapshots(snapshots::Snapshots),
    Diff(diff::Diff),
    Drop(drop::Drop),
    Demo(demo::Demo),
}

fn concat_help() -> String {
    format!("{EXAMPLES}\n{EXIT_CODES}")
}

impl Command {
    /// Can its results be written as rows?
    fn has_rows(&self) -> bool {
        matches!(
            self,
            Command::Status(_) | Command::Verify(_) | Command::History(_) | Command::Snapshots(_) | Command::Diff(_)
        )
    }

    fn run(&self, session: &Session) -> Result<Exit, Failure> {
        session.output.check(self.has_rows())?;
        match self {
            Command::History(history) => history.run(session),
            Command::Snapshots(snapshots) => snapshots.run(session),
            Command::Diff(diff) => diff.run(session),
            Command::Create(create) => create.run(session),
            Command::Apply(apply) => apply.run(session),
            Command::Sync(sync) => sync.run(session),
            Command::Plan(plan) => plan.run(session),
            Command::Status(status) => status.run(session),
            Command::Verify(verify) => verify.run(session),
            Command::Drop(drop) => drop.run(session),
            Command::Demo(demo) => demo.run(session),
        }
    }
}

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help and version are printed on stdout with code 0, everything else on stderr with code 2.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { Exit::Done.code() });
        }
    };
    output::start_log(arguments.global.quiet, arguments.global.verbose);
    #[cfg(feature = "failpoints")]
    let _scenario = failpoints::arm();
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            let message = format!("signals cannot be listened to: {error}");
            output::failure(&Failure::new(Exit::ViewFailed, message));
            return Exit::ViewFailed.into();
        }
    };
    let ended = Session::new(arguments.global, interrupts.clone()).and_then(|session| arguments.command.run(&session));
    let ended = match (ended, interrupts.signal()) {
        // Once a signal came, whatever went wrong afterwards went wrong because of it.
        (Err(_) | Ok(Exit::ViewFailed), Some(signal)) => {
            Err(Failure::new(Exit::Interrupted(signal), "interrupted; what was begun was rolled back"))
        }
        (ended, _) => ended,
    };
    ended
        .unwrap_or_else(|failure| {
            output::failure(&failure);
            failure.exit
        })
        .into()
}
