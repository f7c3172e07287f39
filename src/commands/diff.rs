//! `diff`: what changed between two snapshots.

use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::{OpenLake, Session};
use super::output::{Answer, ChangedRow, Format, NONE, Page, Records};
use super::status::obstacle;
use crate::inspect::rows::LEADING;
use crate::inspect::{
    ChangedFile, Diff as Changes, Impact, Range, RowOptions, RowTable, TableDiff, diff, files, impact, stage_rows,
};
use crate::lake::{Access, SnapshotId};
use crate::view::ViewName;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm diff 120..135                        # between two snapshots
  ducklake-ivm diff 135^!                           # what that commit changed
  ducklake-ivm diff HEAD~3.. orders                 # the last three commits, one table
  ducklake-ivm diff 2026-11-01..                    # since midnight, UTC
  ducklake-ivm diff 2026-11-01.. mart.sales --rows  # the rows of a view, before and after
  ducklake-ivm diff @mart.sales..                   # what a view has not taken in
  ducklake-ivm diff 120.. orders --rows --where 'amount > 100'
  ducklake-ivm diff 120.. orders --rows --format arrow | python load.py
  ducklake-ivm diff 120.. --impact                  # what it means for the views
  ducklake-ivm diff 0.. --files --check             # is every file of the lake there?

A snapshot is a number, HEAD, HEAD~3, a date or time (UTC, unless it has an offset), or @view: what a view stands for. \
A side that is left out is the newest; 135^! is 134..135. 0 is the empty lake: 0.. is all that is there, also when \
snapshot 0 has expired. A range that begins with @view is about the tables that this \
view reads, unless others are named. Changes are net: what came and went again in between is not there, and \
maintenance changes no row.";

/// Show what changed between two snapshots: rows, files, schema, and what it means for the views
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// The snapshots, as FROM..TO, or COMMIT^! for what one commit changed
    #[arg(value_name = "FROM..TO")]
    range: String,
    /// The tables [default: all that changed]
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    face: Face,
    /// With --files: ask the disk or the object store for each file that came; exit code 4 if one is missing or of another
    /// size
    #[arg(long, requires = "files")]
    check: bool,
    /// With --rows: how many rows of each table to show [default: 100 as a table, else all]
    #[arg(long, value_name = "ROWS", requires = "rows")]
    limit: Option<u64>,
    /// With --rows: only rows for which this holds, before or after
    #[arg(long = "where", value_name = "SQL", requires = "rows")]
    condition: Option<String>,
    /// With --rows: only these columns, separated by commas; changes of others do not count. A name that holds a comma
    /// stands in double quotes
    #[arg(long, value_name = "COLUMNS", requires = "rows")]
    columns: Vec<String>,
}

#[derive(Args)]
#[group(multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and clap lets only one be given"
)]
struct Face {
    /// Show per table how many rows and files came and went, and what happened to its schema [the default]
    #[arg(long)]
    stat: bool,
    /// Show the rows
    #[arg(long)]
    rows: bool,
    /// Show each data and delete file that came or went
    #[arg(long)]
    files: bool,
    /// Show what a refresh of each view over this range would do
    #[arg(long)]
    impact: bool,
}

impl Diff {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let range: Range = self.range.parse().map_err(crate::inspect::InspectError::from)?;
        let tables = super::names::parse(&self.tables)?;
        let lake = if self.check { session.open_for_files()? } else { session.open(Access::ReadOnly)? };
        if self.face.rows {
            return self.rows(session, &lake, &range, tables);
        }
        if self.face.files {
            let ((from, to), mut found) = files::of_range(&lake, &range, &tables)?;
            if self.check {
                files::check(&lake, &mut found, &|| session.interrupts.signal().is_some())?;
            }
            let is_wrong = |file: &ChangedFile| file.found.as_ref().is_some_and(|found| found != "ok");
            let wrong = found.iter().any(is_wrong);
            session.output.answer_rows(&lake, &FileList { from, to, files: found })?;
            return Ok(if wrong { Exit::Difference } else { Exit::Done });
        } else if self.face.impact {
            let ((from, to), views) = impact(&lake, &range, &tables)?;
            session.output.answer_rows(&lake, &Impacts { from, to, views })?;
        } else {
            let changes = diff(&lake, &range, &tables)?;
            session.output.answer_rows(&lake, &Stat { changes })?;
        }
        Ok(Exit::Done)
    }

    fn rows(
        &self,
        session: &Session,
        lake: &OpenLake<'_>,
        range: &Range,
        tables: Vec<ViewName>,
    ) -> Result<Exit, Failure> {
        const SHOWN: u64 = 100;
        let output = &session.output;
        let is_table = output.format == Format::Table;
        let limit = self.limit.or(is_table.then_some(SHOWN));
        if output.format.is_rows() && tables.len() != 1 {
            let message = if tables.is_empty() { "no table is named, and rows" } else { "rows" };
            return Err(Failure::usage(format!("{message} of several tables have no common columns"))
                .hint(format!("name one table: diff {} TABLE --rows; or take --format json", self.range)));
        }
        let columns = super::names::columns(&self.columns)?;
        let options = RowOptions { tables, columns, condition: self.condition.clone(), limit };
        let ((from, to), mut found) = stage_rows(lake, range, &options)?;
        let none =
            found.iter().all(|table| table.rows == 0).then(|| self.no_rows((from, to), &found, &options.columns));
        found.retain(|table| table.rows > 0 || !options.tables.is_empty());
        match output.format {
            Format::Table => {
                let mut page = Page::new(output.columns());
                if let Some(none) = none {
                    page.paragraph("", "  ", &none);
                }
                for (position, table) in found.iter().filter(|table| table.rows > 0).enumerate() {
                    if position > 0 {
                        page.gap();
                    }
                    show_rows(lake, table, &mut page)?;
                }
                output.text(page.as_str())?;
            }
            Format::Json => output.json_tables(lake, (from, to), &found)?,
            _ => {
                if let [one, other, ..] = found.as_slice() {
                    let fate = |table: &RowTable| table.fate.clone().unwrap_or_else(|| "there at both ends".to_owned());
                    let told = format!("{} ({}) and {} ({})", one.table, fate(one), other.table, fate(other));
                    return Err(Failure::usage(format!(
                        "that name was two tables, which have no common columns: {told}"
                    ))
                    .hint("let the range begin or end where there is one of them, or take --format json"));
                }
                for table in &found {
                    output.table(lake, &table.staged)?;
                }
            }
        }
        Ok(Exit::Done)
    }

    /// Why there are no rows to show.
    fn no_rows(&self, (from, to): (SnapshotId, SnapshotId), found: &[RowTable], columns: &[String]) -> String {
        let changed: u64 = found.iter().map(|table| table.changed).sum();
        let names: Vec<&str> = found.iter().map(|table| table.table.as_str()).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
        let span = format!("from snapshot {from} to {to}");
        match (&self.condition, columns) {
            (Some(condition), _) if changed > 0 => {
                format!("of {changed} rows{of} that changed {span}, none fulfils --where '{condition}'")
            }
            (_, []) => format!("no row{of} changed {span}"),
            (_, columns) => format!("no row{of} changed in {} {span}", columns.join(", ")),
        }
    }
}

/// One table's rows: a line each, an update two.
fn show_rows(lake: &OpenLake<'_>, table: &RowTable, page: &mut Page) -> Result<(), Failure> {
    let mut rows: Vec<ChangedRow> = Vec::new();
    let columns = lake.temporary_columns(&table.staged)?;
    let expressions: Vec<String> = columns.iter().map(|column| crate::lake::identifier(&column.name)).collect();
    let each = &mut |row: &[Option<&str>]| {
        if let [change, copies, _, values @ ..] = row {
            let values = values.iter().map(|value| value.map(str::to_owned)).collect();
            rows.push(ChangedRow::new(change.unwrap_or_default(), copies.unwrap_or("1"), values));
        }
        Ok(())
    };
    lake.each_row(&table.staged, &expressions, each)
        .map_err(|error| Failure::new(Exit::ViewFailed, error.to_string()))?;
    let shown = rows.len() as u64;
    let some = if shown < table.rows { format!(", {shown} of them here") } else { String::new() };
    let fate = table.fate.as_ref().map(|fate| format!(" ({fate})")).unwrap_or_default();
    page.heading(&format!("{}{fate}, rows changed: {}{some}", table.table, table.rows));
    let header: Vec<String> = columns.into_iter().skip(LEADING).map(|column| column.name).collect();
    page.changed_rows(&header, &rows);
    Ok(())
}

/// What `--stat` shows.
#[derive(Serialize)]
#[serde(transparent)]
struct Stat {
    changes: Changes,
}

impl Answer for Stat {
    fn page(&self, page: &mut Page) {
        let Changes { from, to, snapshots, maintenance, view, tables } = &self.changes;
        let mut rows: Vec<Vec<String>> = tables.iter().map(stat_row).collect();
        if !rows.is_empty() {
            let header = ["table", "inserted", "deleted", "updated", "rows now", "files", ""];
            // The bars take what is left of the line.
            let room = page.room(&header[..header.len() - 1], &rows).saturating_sub(1).clamp(SHORTEST_BAR, LONGEST_BAR);
            for (row, table) in rows.iter_mut().zip(tables) {
                row.push(bar(table, tables, room as u64));
            }
            page.table(&header, &rows);
            let mut told = tables.iter().filter_map(|table| Some((table, remarks(table)?))).peekable();
            if told.peek().is_some() {
                page.gap();
            }
            for (table, remarks) in told {
                page.paragraph(&format!("{}: ", table.table), "  ", &remarks);
            }
            page.gap();
        }
        let commits = if *snapshots == 1 { "1 commit".to_owned() } else { format!("{snapshots} commits") };
        let only = match maintenance.as_slice() {
            [] => String::new(),
            some => format!(", only maintenance in {}", listed(some)),
        };
        let of = view.as_ref().map(|view| format!(" of what {view} reads")).unwrap_or_default();
        page.paragraph("", "  ", &format!("{}{of}; {commits} from snapshot {from} to {to}{only}", summary(tables)));
    }

    fn records(&self) -> Result<Option<Records>, Failure> {
        let mut columns: Vec<(&'static str, serde_json::Value)> =
            ["table", "view", "change"].map(|name| (name, "VARCHAR".into())).to_vec();
        let counts = ["rows_before", "rows_after", "inserted", "deleted", "updated", "net"];
        columns.extend(counts.map(|name| (name, "BIGINT".into())));
        let files = ["files_added", "files_bytes_added", "files_removed", "files_bytes_removed"];
        columns.extend(files.map(|name| (name, "BIGINT".into())));
        columns.extend([("schema", serde_json::json!(["VARCHAR"])), ("note", "VARCHAR".into())]);
        Records::of(columns, &self.changes.tables).map(Some)
    }
}

fn listed(snapshots: &[SnapshotId]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = snapshots.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = snapshots.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// How long the longest bar is.
const LONGEST_BAR: usize = 20;
/// How long it is at least.
const SHORTEST_BAR: usize = 5;

fn stat_row(table: &TableDiff) -> Vec<String> {
    let count = |sign: &str, rows: u64| if rows == 0 { "0".to_owned() } else { format!("{sign}{rows}") };
    let files = match (table.files.added, table.files.removed) {
        (0, 0) => NONE.to_owned(),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("-{removed}"),
        (added, removed) => format!("+{added} -{removed}"),
    };
    let name = if table.view.is_some() { format!("{} (view)", table.table) } else { table.table.clone() };
    vec![
        name,
        count("+", table.inserted),
        count("-", table.deleted),
        count("~", table.updated),
        table.rows_after.map_or_else(|| NONE.to_owned(), |rows| rows.to_string()),
        files,
    ]
}

/// A bar of `+`, `~` and `-`, as long as the table's changes beside the most changed one's; each sign that occurs is seen.
fn bar(table: &TableDiff, all: &[TableDiff], longest: u64) -> String {
    let changed = |table: &TableDiff| table.inserted + table.updated + table.deleted;
    let most = all.iter().map(changed).max().unwrap_or(0);
    let length = |rows: u64| if most <= longest { rows } else { (rows * longest / most).max(u64::from(rows > 0)) };
    let part = |sign: &str, rows: u64| sign.repeat(usize::try_from(length(rows)).unwrap_or(0));
    format!("{}{}{}", part("+", table.inserted), part("~", table.updated), part("-", table.deleted))
}

/// What a line of the table has no room for.
fn remarks(table: &TableDiff) -> Option<String> {
    let mut remarks = Vec::new();
    if let Some(view) = table.view.as_ref().filter(|view| **view != table.table) {
        remarks.push(format!("holds the view {view}"));
    }
    if table.change == "compacted" {
        remarks.push("only its files changed".to_owned());
    }
    remarks.extend(table.schema.iter().cloned());
    remarks.extend(table.note.clone());
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

fn summary(tables: &[TableDiff]) -> String {
    if tables.is_empty() {
        return "nothing changed".to_owned();
    }
    let sum = |of: fn(&TableDiff) -> u64| tables.iter().map(of).sum::<u64>();
    let count = if tables.len() == 1 { "1 table".to_owned() } else { format!("{} tables", tables.len()) };
    let rows = format!(
        "rows: {} inserted, {} deleted, {} updated",
        sum(|t| t.inserted),
        sum(|t| t.deleted),
        sum(|t| t.updated)
    );
    let files = format!(
        "files: {} added ({}), {} removed ({})",
        sum(|t| t.files.added),
        HumanBytes(sum(|t| t.files.bytes_added)),
        sum(|t| t.files.removed),
        HumanBytes(sum(|t| t.files.bytes_removed))
    );
    format!("{count}; {rows}; {files}")
}

/// What `--files` shows.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FileList {
    from: SnapshotId,
    to: SnapshotId,
    files: Vec<ChangedFile>,
}

impl Answer for FileList {
    fn page(&self, page: &mut Page) {
        if self.files.is_empty() {
            page.line(&format!("no file came or went from snapshot {} to {}", self.from, self.to));
            return;
        }
        let mut last = None;
        for file in &self.files {
            if last != Some(&file.table) {
                if last.is_some() {
                    page.gap();
                }
                page.heading(&file.table);
                last = Some(&file.table);
            }
            page.line(&file_line(file));
        }
    }

    fn records(&self) -> Result<Option<Records>, Failure> {
        let columns = [
            ("table", "VARCHAR"),
            ("change", "VARCHAR"),
            ("kind", "VARCHAR"),
            ("path", "VARCHAR"),
            ("rows", "BIGINT"),
            ("bytes", "BIGINT"),
            ("found", "VARCHAR"),
        ];
        Records::new(&columns, &self.files).map(Some)
    }
}

fn file_line(file: &ChangedFile) -> String {
    let sign = if file.change == "added" { '+' } else { '-' };
    let found = file.found.as_ref().map(|found| format!(": {found}")).unwrap_or_default();
    let (path, rows, bytes) = (&file.path, file.rows, HumanBytes(file.bytes));
    match file.kind.as_str() {
        "data" => format!("{sign} {path} (rows: {rows}, {bytes}){found}"),
        "delete" => format!("{sign} {path} (deletes: {rows}, {bytes}){found}"),
        "inlined" => format!("{sign} in the catalog itself (rows: {rows})"),
        _ => format!("{sign} in the catalog itself (deletes: {rows})"),
    }
}

/// What `--impact` shows.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Impacts {
    from: SnapshotId,
    to: SnapshotId,
    views: Vec<Impact>,
}

impl Answer for Impacts {
    fn page(&self, page: &mut Page) {
        if self.views.is_empty() {
            page.line("the lake has no views");
            return;
        }
        let row = |view: &Impact| {
            let strategy =
                view.strategy.map_or_else(|| obstacle(view.condition).unwrap_or("fails"), crate::sync::Method::word);
            let terms = match view.strategy {
                Some(crate::sync::Method::Incremental) => format!("{} of {}", view.terms_run, view.terms_total),
                _ => NONE.to_owned(),
            };
            let or_none = |tables: &[String]| if tables.is_empty() { NONE.to_owned() } else { tables.join(", ") };
            vec![view.view.clone(), strategy.to_owned(), terms, or_none(&view.reads), or_none(&view.skipped)]
        };
        let rows: Vec<Vec<String>> = self.views.iter().map(row).collect();
        page.table(&["view", "would be", "terms run", "reads changes of", "skips"], &rows);
        for view in &self.views {
            let why = view.error.iter().chain(&view.reason).chain(&view.notes);
            for (position, why) in why.enumerate() {
                if position == 0 {
                    page.gap();
                }
                page.paragraph(&format!("{}: ", view.view), "  ", why);
            }
            if let Some(hint) = &view.hint {
                page.paragraph("  what to do: ", "  ", hint);
            }
        }
    }

    fn records(&self) -> Result<Option<Records>, Failure> {
        let list = serde_json::json!(["VARCHAR"]);
        let columns = [
            ("view", "VARCHAR".into()),
            ("condition", "VARCHAR".into()),
            ("reads", list.clone()),
            ("strategy", "VARCHAR".into()),
            ("reason", "VARCHAR".into()),
            ("terms_total", "BIGINT".into()),
            ("terms_run", "BIGINT".into()),
            ("skipped", list.clone()),
            ("notes", list),
            ("error", "VARCHAR".into()),
            ("hint", "VARCHAR".into()),
        ];
        Records::of(columns.to_vec(), &self.views).map(Some)
    }
}
