//! `sync`: brings views up to date.

use std::time::Duration;

use clap::Args;

use super::duration;
use super::failure::{Exit, Failure};
use super::global::Session;
use super::names;
use super::output::{self, Answer, NONE, Page, Progress};
use crate::inspect::revision;
use crate::lake::Access;
use crate::sync::{self, Event, Method, Report, Step, SyncOptions, ViewReport};

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm sync                        # all views
  ducklake-ivm sync mart.sales             # this one, and the views that it reads
  ducklake-ivm sync --dry-run              # what would be done, and why
  ducklake-ivm sync --to 42                # up to snapshot 42; as in diff, also HEAD~3, a date …
  ducklake-ivm sync --every 30s            # until Ctrl-C
  ducklake-ivm sync --format json | jq '.views[] | select(.error)'

Views that read views come after those, each in a transaction of its own. A view that fails does not stop the others; \
the exit code is then 1. A view whose tables did not change costs a few metadata queries and writes nothing.";

/// Bring views up to date by reading only what changed
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Sync {
    /// The views, with those that they read [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Bring them to this snapshot instead of the newest: 120, HEAD~3, a date or time, @view
    #[arg(long, value_name = "SNAPSHOT")]
    to: Option<String>,
    /// Replace all rows by those of the SELECT, run anew
    #[arg(long)]
    full: bool,
    /// Look for views whose table or state someone else changed, dropped or wrote to, and rebuild those
    #[arg(long)]
    repair: bool,
    /// Say what would be done and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on until a signal comes, with this pause between two syncs; with --format json, one line per sync
    #[arg(long, value_name = "TIME", value_parser = duration::parse, conflicts_with_all = ["to", "full", "dry_run"])]
    every: Option<Duration>,
}

impl Sync {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let options = SyncOptions {
            views: names::parse(&self.names)?,
            to: None,
            full: self.full,
            repair: self.repair,
            dry_run: self.dry_run,
        };
        match self.every {
            None => {
                let report = once(session, &options, self.to.as_deref())?;
                session.output.answer(&Synced { report: &report, dry_run: self.dry_run })?;
                Ok(say_errors(&report))
            }
            Some(pause) => every(session, &options, pause),
        }
    }
}

/// Syncs again and again. What goes wrong is said, and tried again next time: a lake that cannot be reached now may
/// come back.
fn every(session: &Session, options: &SyncOptions, pause: Duration) -> Result<Exit, Failure> {
    loop {
        match once(session, options, None) {
            Ok(report) => {
                session.output.one_of_many(&Synced { report: &report, dry_run: false })?;
                say_errors(&report);
            }
            Err(failure) if failure.exit == Exit::Usage => return Err(failure),
            Err(failure) => output::failure(&failure),
        }
        if let Some(signal) = session.interrupts.wait(pause) {
            return Ok(Exit::Interrupted(signal));
        }
    }
}

/// Opens the lake for one sync only: while it is open, a catalog in a DuckDB file is closed to everybody else.
fn once(session: &Session, options: &SyncOptions, to: Option<&str>) -> Result<Report, Failure> {
    let access = if options.dry_run { Access::ReadOnly } else { Access::ReadWrite };
    let lake = session.open(access)?;
    let to = to.map(|to| revision::named(&lake, to)).transpose()?;
    let options = SyncOptions { to, ..options.clone() };
    let progress = Progress::begin(&session.output);
    Ok(sync::sync(&lake, &options, &|event: &Event<'_>| show(&progress, event))?)
}

fn show(progress: &Progress, event: &Event<'_>) {
    match event {
        Event::Started { snapshot, views } => {
            tracing::info!(%snapshot, views, "sync begins");
            progress.total(*views);
        }
        Event::ViewStarted { view } => {
            tracing::info!(view, "refresh begins");
            progress.view(view);
        }
        Event::Step { view, step } => {
            let step = step_text(step);
            tracing::debug!(view, step);
            progress.step(&step);
        }
        Event::Retry { view, attempt, error } => {
            tracing::info!(view, attempt, error, "beginning anew");
            progress.step(&format!("beginning anew ({attempt}): {error}"));
        }
        Event::ViewFinished { report } => {
            let strategy = report.strategy.map_or("failed", Method::word);
            let (inserted, deleted, elapsed_ms) = (report.rows_inserted, report.rows_deleted, report.elapsed_ms);
            tracing::info!(view = report.view, strategy, inserted, deleted, elapsed_ms, "refresh ended");
            progress.advance();
        }
    }
}

fn step_text(step: &Step<'_>) -> String {
    match step {
        Step::NetChange { table } => format!("reading what changed in {table}"),
        Step::Stage { table } => format!("reading {table}"),
        Step::Term { number, of } => format!("term {number} of {of}"),
        Step::Recompute => "running the SELECT".to_owned(),
        Step::Apply => "writing".to_owned(),
        Step::Commit => "committing".to_owned(),
    }
}

/// Says on stderr which views failed.
fn say_errors(report: &Report) -> Exit {
    for view in &report.views {
        if let Some(error) = &view.error {
            output::failure(&Failure { hint: view.hint.clone(), ..Failure::new(Exit::ViewFailed, error) });
        }
    }
    if report.succeeded() { Exit::Done } else { Exit::ViewFailed }
}

/// A report to print.
struct Synced<'a> {
    report: &'a Report,
    dry_run: bool,
}

impl serde::Serialize for Synced<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.report.serialize(serializer)
    }
}

impl Answer for Synced<'_> {
    fn page(&self, page: &mut Page) {
        let Report { snapshot, views, repaired } = self.report;
        if views.is_empty() {
            page.line(&format!("snapshot {snapshot}: the lake has no views"));
            return;
        }
        let doing = if self.dry_run { " (dry run: nothing is written)" } else { "" };
        page.line(&format!("snapshot {snapshot}{doing}"));
        page.gap();
        views_table(page, views, true);
        if let Some(repaired) = repaired {
            page.gap();
            page.paragraph("", "  ", repaired);
        }
        let told: Vec<_> = views.iter().filter_map(|view| Some((view, remarks(view)?))).collect();
        if !told.is_empty() {
            page.gap();
        }
        for (view, remarks) in told {
            page.paragraph(&format!("{}: ", view.view), "  ", &remarks);
        }
    }
}

/// One line per view.
pub(super) fn views_table(page: &mut Page, views: &[ViewReport], timed: bool) {
    let mut header = vec!["view", "strategy", "terms run", "inserted", "deleted"];
    if timed {
        header.push("time");
    }
    let rows: Vec<Vec<String>> = views.iter().map(|view| row(view, timed)).collect();
    page.table(&header, &rows);
}

fn row(view: &ViewReport, timed: bool) -> Vec<String> {
    let wrote = !matches!(view.strategy, None | Some(Method::Noop | Method::Follows));
    let terms = match view.strategy {
        Some(Method::Incremental) => format!("{} of {}", view.terms.run, view.terms.total),
        _ => NONE.to_owned(),
    };
    let count = |sign: &str, rows: u64| match (wrote, rows) {
        (false, _) => NONE.to_owned(),
        (true, 0) => "0".to_owned(),
        (true, rows) => format!("{sign}{rows}"),
    };
    let strategy = view.strategy.map_or("failed", Method::word).to_owned();
    let mut row =
        vec![view.view.clone(), strategy, terms, count("+", view.rows_inserted), count("-", view.rows_deleted)];
    if timed {
        row.push(format!("{} ms", view.elapsed_ms));
    }
    row
}

/// What a line of the table has no room for.
fn remarks(view: &ViewReport) -> Option<String> {
    let changed: Vec<String> = view
        .sources
        .iter()
        .filter(|source| source.changed)
        .map(|source| format!("{} ({}..{}]", source.table, source.from, source.to))
        .collect();
    let mut remarks: Vec<String> = view.repaired.iter().map(|damage| format!("rebuilt because {damage}")).collect();
    if !changed.is_empty() {
        // A query that is run reads the tables as they are; sometimes that it is run is found out from the changes only.
        let is_read = matches!(view.strategy, Some(Method::Incremental | Method::Noop)) || view.rows_read > 0;
        remarks.push(format!(
            "{} {}",
            if is_read { "read changes of" } else { "ran the SELECT after changes of" },
            changed.join(", ")
        ));
    }
    // That it was a repair is said by what was found.
    remarks.extend(view.reason.clone().filter(|_| view.repaired.is_empty()));
    remarks.extend(view.notes.iter().cloned());
    remarks.extend(view.guards.iter().cloned());
    (!remarks.is_empty()).then(|| remarks.join("; "))
}
