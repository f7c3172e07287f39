//! The only printer: results to stdout, everything else to stderr; colour on terminals only.

mod page;
mod progress;

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::{Deserialize, Serialize};

use super::failure::Failure;

pub(super) use page::{NONE, Page, cell};
pub(super) use progress::Progress;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// For people.
    #[default]
    Table,
    /// One object, for programs.
    Json,
}

/// What a command found out, in both of its forms.
pub(super) trait Answer: Serialize {
    /// The form for people.
    fn page(&self, page: &mut Page);
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Warnings and progress.
    Normal,
    /// What is done, step by step, too.
    Verbose,
}

/// Where results go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// The form of results.
    pub(super) format: Format,
    /// How much is said beside them.
    pub(super) verbosity: Verbosity,
}

impl Output {
    /// Prints the result of a command.
    pub(super) fn answer(self, answer: &impl Answer) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                let mut page = Page::new(columns());
                answer.page(&mut page);
                self.text(page.as_str())
            }
            Format::Json => self.json(answer, serde_json::to_string_pretty),
        }
    }

    /// Prints one of many results of a command that goes on: JSON takes one line.
    pub(super) fn one_of_many(self, answer: &impl Answer) -> Result<(), Failure> {
        match self.format {
            Format::Table => self.answer(answer),
            Format::Json => self.json(answer, serde_json::to_string),
        }
    }

    fn json<A: Serialize>(self, answer: &A, form: fn(&A) -> serde_json::Result<String>) -> Result<(), Failure> {
        let text = form(answer)
            .map_err(|error| Failure::new(super::failure::Exit::ViewFailed, format!("result is not JSON: {error}")))?;
        self.text(&format!("{text}\n"))
    }

    /// Prints a piece of text as a result.
    #[expect(clippy::unused_self, reason = "whoever prints must hold the printer")]
    pub(super) fn text(self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            // Whoever read our results has seen enough: no error of ours, and nobody to tell.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => {
                Err(Failure::new(super::failure::Exit::ViewFailed, format!("results cannot be written: {error}")))
            }
        }
    }
}

/// Prints why a command failed.
pub(super) fn failure(failure: &Failure) {
    say(Some(("error", AnsiColor::Red)), &failure.message);
    if let Some(excerpt) = &failure.excerpt {
        say(None, excerpt);
    }
    if let Some(hint) = &failure.hint {
        say(Some(("hint", AnsiColor::Cyan)), hint);
    }
}

fn say(label: Option<(&str, AnsiColor)>, text: &str) {
    let mut stderr = anstream::stderr().lock();
    let label = label.map_or(String::new(), |(label, color)| {
        let style = Style::new().bold().fg_color(Some(color.into()));
        format!("{style}{label}:{style:#} ")
    });
    // There is nobody left to tell when stderr itself is closed.
    let _ = writeln!(stderr, "{label}{text}");
}

/// Prepares the log of `tracing` on stderr: warnings, or with `-v` more of our own steps.
pub(super) fn start_log(quiet: bool, verbose: u8) {
    let level = match (quiet, verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "warn,ducklake_ivm=info",
        (false, 2) => "warn,ducklake_ivm=debug",
        (false, _) => "warn,ducklake_ivm=trace",
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(level))
        .with_writer(io::stderr)
        .with_ansi(anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never)
        .with_target(false)
        .without_time();
    // Only tests that call the program's parts in one process start it twice.
    let _ = log.try_init();
}

/// Whether a person watches stderr.
fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// How wide a line may be: the terminal's width, and 80 where there is none that is known and usable.
fn columns() -> usize {
    const USUAL: usize = 80;
    const NARROWEST: usize = 40;
    let terminal = if io::stdout().is_terminal() { comfy_table::Table::new().width() } else { None };
    terminal.map(usize::from).filter(|width| *width >= NARROWEST).unwrap_or(USUAL)
}
