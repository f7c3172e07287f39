//! `history`: past refreshes of a view.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure, brief};
use super::global::Session;
use super::output::{Answer, NONE, Page, Records, seconds};
use crate::inspect::history::PastWindow;
use crate::inspect::{PastRefresh, history};
use crate::lake::Access;
use crate::view::ViewName;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm history mart.sales
  ducklake-ivm history mart.sales -n 1000 --format csv

The last lines are the commands that show, row by row, what the newest refresh changed and why. Refreshes that had \
nothing to do mostly write nothing, and are not here; of errors that repeat themselves only the first is. The history goes by the name: that of a view which was dropped or \
replaced stays, and one that takes its name goes on with it.";

/// Show past refreshes of a view, newest first: what they took in, how, and how long it took
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct History {
    /// The view's name: name or schema.name
    name: String,
    /// How many refreshes to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

impl History {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let name = ViewName::parse(&self.name)?;
        let lake = session.open(Access::ReadOnly)?;
        let refreshes = history(&lake, &name, self.limit)?;
        session.output.answer_rows(&lake, &HistoryAnswer { view: name.to_string(), refreshes })?;
        Ok(Exit::Done)
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct HistoryAnswer {
    view: String,
    refreshes: Vec<PastRefresh>,
}

impl Answer for HistoryAnswer {
    fn page(&self, page: &mut Page) {
        if self.refreshes.is_empty() {
            page.line(&format!("{} has no history: it was lost and made anew", self.view));
            return;
        }
        let rows: Vec<Vec<String>> = self.refreshes.iter().map(row).collect();
        page.table(&["commit", "when (UTC)", "strategy", "terms", "read", "written", "time"], &rows);
        let told = self.refreshes.iter().filter(|refresh| !remarks(refresh, &self.view).is_empty());
        for (position, refresh) in told.enumerate() {
            if position == 0 {
                page.gap();
            }
            page.paragraph(&format!("{}: ", refresh.committed), "  ", &remarks(refresh, &self.view));
        }
        let wrote = |refresh: &&PastRefresh| refresh.rows_inserted + refresh.rows_deleted > 0;
        let commands = self.refreshes.iter().find(wrote).map(|last| (last.committed, commands(&self.view, last)));
        if let Some((commit, commands)) = commands.filter(|(_, commands)| !commands.is_empty()) {
            page.gap();
            page.line(&format!("what commit {commit} changed, and the changes that it took in, row by row:"));
            for command in commands {
                page.line(&format!("  {command}"));
            }
        }
    }

    fn records(&self) -> Result<Option<Records>, Failure> {
        let columns = [
            ("committed", "BIGINT"),
            ("at", "TIMESTAMPTZ"),
            ("snapshot", "BIGINT"),
            ("strategy", "VARCHAR"),
            ("reason", "VARCHAR"),
            ("terms_total", "BIGINT"),
            ("terms_run", "BIGINT"),
            ("rows_read", "BIGINT"),
            ("rows_inserted", "BIGINT"),
            ("rows_deleted", "BIGINT"),
            ("elapsed_ms", "BIGINT"),
            ("error", "VARCHAR"),
        ];
        Records::new(&columns, &self.refreshes).map(Some)
    }
}

fn row(refresh: &PastRefresh) -> Vec<String> {
    let terms = match refresh.strategy.as_str() {
        "incremental" => format!("{} of {}", refresh.terms_run, refresh.terms_total),
        _ => NONE.to_owned(),
    };
    // Where the query was run, no changes were read, unless that was found out to be dearer only then.
    let read = match (refresh.strategy.as_str(), refresh.rows_read) {
        ("incremental" | "noop", read) | (_, read @ 1..) => read.to_string(),
        _ => NONE.to_owned(),
    };
    let written = match (refresh.rows_inserted, refresh.rows_deleted) {
        _ if refresh.error.is_some() => NONE.to_owned(),
        (0, 0) => "0".to_owned(),
        (inserted, 0) => format!("+{inserted}"),
        (0, deleted) => format!("-{deleted}"),
        (inserted, deleted) => format!("+{inserted} -{deleted}"),
    };
    vec![
        refresh.committed.to_string(),
        seconds(&refresh.at),
        refresh.strategy.clone(),
        terms,
        read,
        written,
        format!("{} ms", refresh.elapsed_ms),
    ]
}

/// The commands that show a refresh of `view` row by row: what it wrote, and what it took in.
fn commands(view: &str, refresh: &PastRefresh) -> Vec<String> {
    let mut commands = Vec::new();
    if refresh.is_visible {
        commands.push(format!("ducklake-ivm diff {}^! {} --rows", refresh.committed, argument(view)));
    }
    let mut ranges: Vec<((u64, u64), Vec<String>)> = Vec::new();
    let shown = |source: &&PastWindow| source.changed && source.is_visible && source.from < source.to;
    for source in refresh.sources.iter().filter(shown) {
        let (range, table) = ((source.from, source.to), argument(&source.table));
        match ranges.iter_mut().find(|(known, _)| *known == range) {
            Some((_, tables)) => tables.push(table),
            None => ranges.push((range, vec![table])),
        }
    }
    let taken =
        ranges.iter().map(|((from, to), tables)| format!("ducklake-ivm diff {from}..{to} {} --rows", tables.join(" ")));
    commands.extend(taken);
    commands
}

/// A name as `schema.name`, as an argument in a shell.
fn argument(name: &str) -> String {
    let is_plain =
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) && name.matches('.').count() == 1;
    if is_plain {
        return name.to_owned();
    }
    let (schema, table) = name.split_once('.').unwrap_or(("main", name));
    let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\"").replace('\'', "'\\''"));
    format!("'{}.{}'", quoted(schema), quoted(table))
}

/// What a line of the table has no room for.
fn remarks(refresh: &PastRefresh, view: &str) -> String {
    let changed = refresh.sources.iter().filter(|source| source.changed && source.from < source.to);
    let changed: Vec<String> =
        changed.map(|source| format!("{} ({}..{}]", source.table, source.from, source.to)).collect();
    let read = (!changed.is_empty()).then(|| changed.join(", "));
    let error = refresh.error.as_deref().map(|error| brief(error, view).to_owned());
    read.into_iter().chain(refresh.reason.clone()).chain(error).collect::<Vec<_>>().join("; ")
}
