//! The only printer: results to stdout, everything else to stderr; colour on terminals only.

mod changed;
mod page;
mod progress;
mod rows;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use serde::{Deserialize, Serialize};

use super::failure::{Exit, Failure};
use crate::inspect::RowTable;
use crate::lake::{ExportError, Lake, SnapshotId};

pub(super) use changed::ChangedRow;
pub(super) use page::{NONE, Page, cell, seconds};
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
    /// One line per row: status, verify, history, snapshots, diff.
    Csv,
    /// The same rows as an Arrow IPC stream.
    Arrow,
    /// The same rows in a Parquet file, which --output names.
    Parquet,
}

impl Format {
    /// Is it about rows, without anything around them?
    pub(super) fn is_rows(self) -> bool {
        matches!(self, Format::Csv | Format::Arrow | Format::Parquet)
    }
}

/// What a command found out, in both of its forms.
pub(super) trait Answer: Serialize {
    /// The form for people.
    fn page(&self, page: &mut Page);

    /// The form in rows, of a command that has one.
    fn records(&self) -> Result<Option<Records>, Failure> {
        Ok(None)
    }
}

/// An answer in rows.
pub(super) struct Records {
    /// The columns: names, and types as DuckDB's `from_json` takes them.
    pub(super) columns: Vec<(&'static str, serde_json::Value)>,
    /// One object per row.
    pub(super) rows: serde_json::Value,
}

impl Records {
    /// Rows that serialise to objects with these columns.
    pub(super) fn new<T: Serialize>(
        columns: &[(&'static str, &str)],
        rows: impl IntoIterator<Item = T>,
    ) -> Result<Records, Failure> {
        let columns = columns.iter().map(|(name, data_type)| (*name, (*data_type).into())).collect();
        Records::of(columns, rows)
    }

    /// The same with columns of any type.
    pub(super) fn of<T: Serialize>(
        columns: Vec<(&'static str, serde_json::Value)>,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<Records, Failure> {
        let rows: serde_json::Result<Vec<_>> =
            rows.into_iter().map(|row| serde_json::to_value(row).map(flat)).collect();
        Ok(Records { columns, rows: rows.map_err(|error| not_json(&error))?.into() })
    }
}

impl Records {
    /// Makes JSON text of what is no single value: CSV has no other form that every program reads.
    fn nested_as_text(&mut self) {
        for (name, data_type) in &mut self.columns {
            if data_type.is_string() {
                continue;
            }
            *data_type = "VARCHAR".into();
            for row in self.rows.as_array_mut().into_iter().flatten() {
                if let Some(value) = row.get_mut(*name).filter(|value| !value.is_null()) {
                    *value = value.to_string().into();
                }
            }
        }
    }
}

/// An object with the members of the objects in it under names of both: a row has no rows in it.
fn flat(row: serde_json::Value) -> serde_json::Value {
    let serde_json::Value::Object(members) = row else { return row };
    let mut flat = serde_json::Map::new();
    for (name, value) in members {
        match value {
            serde_json::Value::Object(inner) => {
                flat.extend(inner.into_iter().map(|(member, value)| (format!("{name}_{member}"), value)));
            }
            value => {
                flat.insert(name, value);
            }
        }
    }
    flat.into()
}

fn not_json(error: &serde_json::Error) -> Failure {
    Failure::new(Exit::ViewFailed, format!("result is not JSON: {error}"))
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
#[derive(Debug, Clone)]
pub(super) struct Output {
    /// The form of results.
    pub(super) format: Format,
    /// The file that they are written to, instead of stdout.
    pub(super) file: Option<PathBuf>,
    /// How much is said beside them.
    pub(super) verbosity: Verbosity,
}

/// The temporary table of an answer in rows.
const ANSWER: &str = "ivm_answer";

impl Output {
    /// Prints the result of a command.
    pub(super) fn answer(&self, answer: &impl Answer) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                let mut page = Page::new(self.columns());
                answer.page(&mut page);
                self.text(page.as_str())
            }
            Format::Json => self.json(answer, serde_json::to_string_pretty),
            Format::Csv | Format::Arrow | Format::Parquet => Err(self.no_rows()),
        }
    }

    /// Prints the result of a command that has a form in rows, which DuckDB writes.
    pub(super) fn answer_rows(&self, lake: &Lake, answer: &impl Answer) -> Result<(), Failure> {
        if !self.format.is_rows() {
            return self.answer(answer);
        }
        let mut records = answer.records()?.ok_or_else(|| self.no_rows())?;
        if self.format == Format::Csv {
            records.nested_as_text();
        }
        lake.stage_records(ANSWER, &records.columns, &records.rows)?;
        self.table(lake, ANSWER)?;
        Ok(lake.execute(&format!("DROP TABLE IF EXISTS temp.main.{ANSWER}")).map(|_| ())?)
    }

    /// Prints the rows of a temporary table in one of the forms that are nothing but rows.
    pub(super) fn table(&self, lake: &Lake, table: &str) -> Result<(), Failure> {
        if let (Format::Parquet, Some(path)) = (self.format, &self.file) {
            let is_new = !path.exists();
            let written = rows::parquet(lake, table, path);
            return forget_part(path, is_new, written).map_err(|error| export_failure(&error));
        }
        self.write(|out| match self.format {
            Format::Csv => rows::csv(lake, table, out),
            Format::Arrow => rows::arrow(lake, table, out),
            _ => rows::json(lake, table, "", out),
        })
    }

    /// Prints the changed rows of several tables as one JSON object, row by row.
    pub(super) fn json_tables(
        &self,
        lake: &Lake,
        (from, to): (SnapshotId, SnapshotId),
        tables: &[RowTable],
    ) -> Result<(), Failure> {
        self.write(|out| {
            write!(out, "{{\n  \"from\": {from},\n  \"to\": {to},\n  \"tables\": [")?;
            for (position, table) in tables.iter().enumerate() {
                let comma = if position == 0 { "" } else { "," };
                let name = serde_json::Value::from(table.table.as_str());
                let fate = serde_json::Value::from(table.fate.as_deref());
                write!(out, "{comma}\n    {{\n      \"table\": {name},\n      \"fate\": {fate},\n")?;
                writeln!(out, "      \"total\": {},", table.rows)?;
                write!(out, "      \"rows\": ")?;
                rows::json(lake, &table.staged, "      ", out)?;
                write!(out, "\n    }}")?;
            }
            let end = if tables.is_empty() { "]" } else { "\n  ]" };
            Ok(writeln!(out, "{end}\n}}")?)
        })
    }

    /// Refuses a form that a command does not have, before it does anything.
    pub(super) fn check(&self, has_rows: bool) -> Result<(), Failure> {
        if self.format.is_rows() && !has_rows {
            return Err(self.no_rows());
        }
        if self.format == Format::Parquet && self.file.is_none() {
            return Err(Failure::usage("Parquet needs a file to be written to").hint("name it with --output FILE"));
        }
        Ok(())
    }

    fn no_rows(&self) -> Failure {
        let name = clap::ValueEnum::to_possible_value(&self.format)
            .map_or_else(String::new, |value| value.get_name().to_owned());
        Failure::usage(format!("this command has no rows to write as {name}")).hint(
            "take --format table or json; csv, arrow and parquet are for status, verify, history, snapshots and diff",
        )
    }

    /// Prints one of many results of a command that goes on: JSON takes one line.
    pub(super) fn one_of_many(&self, answer: &impl Answer) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(answer, serde_json::to_string),
            _ => self.answer(answer),
        }
    }

    fn json<A: Serialize>(&self, answer: &A, form: fn(&A) -> serde_json::Result<String>) -> Result<(), Failure> {
        let text = form(answer).map_err(|error| not_json(&error))?;
        self.text(&format!("{text}\n"))
    }

    /// Prints a piece of text as a result.
    pub(super) fn text(&self, text: &str) -> Result<(), Failure> {
        if self.file.is_some() {
            let text = anstream::adapter::strip_str(text).to_string();
            return self.write(|out| Ok(out.write_all(text.as_bytes())?));
        }
        let mut stdout = anstream::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        written.map_err(ExportError::from).or_else(forgive_closed_pipe)
    }

    /// Writes a result, which may be no text, to where results go.
    pub(super) fn write(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), Failure> {
        let written = match &self.file {
            Some(path) => {
                let is_new = !path.exists();
                let file = std::fs::File::create(path)
                    .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))?;
                let mut out = io::BufWriter::new(file);
                let written = write(&mut out).and_then(|()| Ok(out.flush()?));
                forget_part(path, is_new, written)
            }
            None => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                let written = write(&mut out).and_then(|()| Ok(out.flush()?));
                if written.is_err() {
                    // What is left would be written once more when it goes, to a reader that is gone.
                    let _ = out.into_parts();
                }
                written
            }
        };
        written.or_else(forgive_closed_pipe)
    }

    /// How wide a line may be.
    pub(super) fn columns(&self) -> usize {
        if self.file.is_some() { USUAL_WIDTH } else { columns() }
    }
}

/// Whoever read our results has seen enough: no error of ours, and nobody to tell.
fn forgive_closed_pipe(error: ExportError) -> Result<(), Failure> {
    match error {
        ExportError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        error => Err(export_failure(&error)),
    }
}

fn export_failure(error: &ExportError) -> Failure {
    let failure = Failure::new(Exit::ViewFailed, format!("results cannot be written: {error}"));
    match error {
        ExportError::TooLong { .. } => failure.hint("take --format csv or json, which have all digits"),
        _ => failure,
    }
}

/// Removes a file that was begun and holds no result, unless there was one of that name before.
fn forget_part(path: &Path, is_new: bool, written: Result<(), ExportError>) -> Result<(), ExportError> {
    if written.is_err() && is_new {
        // Where it cannot be removed, the error says why it is not whole.
        let _ = std::fs::remove_file(path);
    }
    written
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

/// The width of lines where nobody tells another.
const USUAL_WIDTH: usize = 80;

/// How wide a line may be: the terminal's width, and 80 where there is none that is known and usable.
fn columns() -> usize {
    const NARROWEST: usize = 40;
    let terminal = if io::stdout().is_terminal() { comfy_table::Table::new().width() } else { None };
    terminal.map(usize::from).filter(|width| *width >= NARROWEST).unwrap_or(USUAL_WIDTH)
}
