//! How a command ends: exit codes, and errors as people read them.

use std::process::ExitCode;

use super::interrupts::Signal;
use crate::inspect::InspectError;
use crate::lake::LakeError;
use crate::sync::SyncError;
use crate::view::{NameError, ViewError};

/// How a command ended. The numbers are a promise to scripts (`docs/operations.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// 0: done; also when there was nothing to do.
    Done,
    /// 1: a view failed; the others went on.
    ViewFailed,
    /// 2: what was asked for makes no sense, so asking again does not help: arguments, configuration, names, SQL.
    Usage,
    /// 3: the lake cannot be opened or reached.
    Lake,
    /// 4: `verify` found a difference, or `status --check` found lag.
    Difference,
    /// 130 or 143: a signal ended it, and what was begun was rolled back.
    Interrupted(Signal),
}

impl Exit {
    /// The number.
    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ViewFailed => 1,
            Exit::Usage => 2,
            Exit::Lake => 3,
            Exit::Difference => 4,
            Exit::Interrupted(signal) => signal.exit_code(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what it was asked for.
#[derive(Debug)]
pub(super) struct Failure {
    /// What the exit code says about it.
    pub(super) exit: Exit,
    /// A lowercase fragment that names the thing.
    pub(super) message: String,
    /// What to do next.
    pub(super) hint: Option<String>,
    /// The byte of the user's SQL that it is about.
    pub(super) position: Option<usize>,
    /// The line of the user's SQL that it is about, with a mark below.
    pub(super) excerpt: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: shortened(&message.into()), hint: None, position: None, excerpt: None }
    }

    /// What was asked for makes no sense.
    pub(super) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// Says what to do next.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Says in which place of which file it lies.
    pub(super) fn at(mut self, place: &str) -> Failure {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Shows the place in `sql`, if the failure is about one.
    pub(super) fn with_sql(mut self, sql: &str) -> Failure {
        self.excerpt = self.position.and_then(|position| excerpt(sql, position));
        self
    }
}

/// The first line of a message, where it is said beside it which view it is about.
pub(super) fn brief<'a>(message: &'a str, view: &str) -> &'a str {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix(&format!("view {view}: ")).unwrap_or(line)
}

/// A message without the long tail of a list: DuckDB names every overload of a function.
fn shortened(message: &str) -> String {
    const LINES: usize = 5;
    let lines: Vec<&str> = message.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let mut shown = lines[..lines.len().min(LINES)].to_vec();
    let more = format!("\t… and {} more", lines.len() - shown.len());
    if lines.len() > LINES {
        shown.push(&more);
    }
    shown.join("\n")
}

/// The line of `sql` that holds the byte at `position`, with its number, and a mark below that byte.
fn excerpt(sql: &str, position: usize) -> Option<String> {
    let before = sql.get(..position)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = sql[start..].lines().next().unwrap_or_default();
    let label = format!("  line {}: ", 1 + before.matches('\n').count());
    let indent = label.chars().count() + sql[start..position].chars().count();
    Some(format!("{label}{}\n{}^", line.replace('\t', " "), " ".repeat(indent)))
}

/// What a lake's error means for the program as a whole.
fn exit_of(error: &LakeError) -> Exit {
    match error {
        LakeError::NotFound { .. }
        | LakeError::Unreachable { .. }
        | LakeError::Disconnected { .. }
        | LakeError::Locked { .. }
        | LakeError::NoDataFolder { .. }
        | LakeError::CatalogVersion { .. }
        | LakeError::Store { .. }
        | LakeError::Refused { .. }
        | LakeError::UnknownType { .. }
        | LakeError::MissingExtension { .. } => Exit::Lake,
        LakeError::NoSnapshot { .. } | LakeError::Parse { .. } => Exit::Usage,
        _ => Exit::ViewFailed,
    }
}

/// Where in the user's SQL the lake's error lies.
fn position_of(error: &LakeError) -> Option<usize> {
    match error {
        LakeError::Parse { position, .. } | LakeError::Sql { position, .. } => *position,
        _ => None,
    }
}

impl From<LakeError> for Failure {
    fn from(error: LakeError) -> Failure {
        Failure {
            hint: error.hint(),
            position: position_of(&error),
            ..Failure::new(exit_of(&error), error.to_string())
        }
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Failure {
        ViewError::from(error).into()
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        let exit = match &error {
            ViewError::Lake(source) => exit_of(source),
            ViewError::Definition { source, .. } if is_refusal(source) => Exit::Usage,
            ViewError::Definition { source, .. } => exit_of(source),
            ViewError::Overflow { .. } | ViewError::Registry { .. } => Exit::ViewFailed,
            ViewError::CheckFailed { .. } => Exit::Difference,
            _ => Exit::Usage,
        };
        let position = match &error {
            ViewError::Definition { source, .. } => position_of(source),
            _ => None,
        };
        Failure { hint: error.hint(), position, ..Failure::new(exit, error.to_string()) }
    }
}

/// Whether DuckDB's class of an error says that the SQL itself is wrong, whatever the tables hold.
fn is_refusal(error: &LakeError) -> bool {
    const CLASSES: [&str; 5] = ["Binder", "Catalog", "Not implemented", "Syntax", "Parameter Not Resolved"];
    // Where a place in the SQL is named, the SQL itself names a file that is not there.
    matches!(error, LakeError::Sql { class, position, .. }
        if CLASSES.contains(&class.as_str()) || class.eq_ignore_ascii_case("IO") && position.is_some())
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Failure {
        let exit = match &error {
            SyncError::NoTarget { .. } | SyncError::SourceNotYet { .. } => Exit::Usage,
            SyncError::Lake(source) => exit_of(source),
            error if error.is_disconnection() => Exit::Lake,
            _ => Exit::ViewFailed,
        };
        match error {
            SyncError::View(error) => (*error).into(),
            error => Failure { hint: error.hint(), ..Failure::new(exit, error.to_string()) },
        }
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Failure {
        let hint = error.hint();
        match error {
            InspectError::Lake(error) => error.into(),
            InspectError::View(error) => error.into(),
            InspectError::Sync(error) => error.into(),
            error => Failure { hint, ..Failure::usage(error.to_string()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_the_sql_is_shown() {
        let sql = "SELECT a,\n  ü + x\nFROM t";
        let position = sql.find('x').unwrap();
        assert_eq!(excerpt(sql, position).unwrap(), "  line 2:   ü + x\n                ^");
        assert_eq!(excerpt(sql, sql.len()).unwrap(), "  line 3: FROM t\n                ^");
        assert_eq!(excerpt(sql, sql.len() + 1), None);
    }
}
