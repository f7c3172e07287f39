//! `status`: how far each view has come.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure, brief};
use super::global::Session;
use super::output::{Answer, NONE, Page, Records, seconds};
use super::{duration, names};
use crate::inspect::{Status, status};
use crate::lake::Access;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm status
  ducklake-ivm status --check --max-lag 10m    # for monitors: exit code 4 if a view is older
  ducklake-ivm status mart.sales --format json

A view is behind if one of its tables changed since its last refresh; other commits to the lake do not count. The error \
of a refresh that failed is kept until one succeeds.";

/// Show how far each view has come, and how far behind its tables it is
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArguments {
    /// The views [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// End with exit code 4 if a view is behind, or cannot be refreshed, or failed to be the last time
    #[arg(long)]
    check: bool,
    /// With --check: how long a change may wait to be taken in
    #[arg(long, value_name = "TIME", value_parser = duration::parse, requires = "check")]
    max_lag: Option<Duration>,
}

impl StatusArguments {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let names = names::parse(&self.names)?;
        let lake = session.open(Access::ReadOnly)?;
        let answer = StatusAnswer { views: status(&lake, &names)?, are_all: names.is_empty() };
        session.output.answer_rows(&lake, &answer)?;
        let behind = answer.views.iter().any(|view| self.is_behind(view));
        Ok(if self.check && behind { Exit::Difference } else { Exit::Done })
    }

    fn is_behind(&self, view: &Status) -> bool {
        let waits = Duration::from_millis(view.lag_ms);
        view.condition != "ok" || view.stale && self.max_lag.is_none_or(|max_lag| waits > max_lag)
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StatusAnswer {
    views: Vec<Status>,
    /// Are these all views of the lake?
    #[serde(skip)]
    are_all: bool,
}

impl Answer for StatusAnswer {
    fn records(&self) -> Result<Option<Records>, Failure> {
        let columns = [
            ("view", "VARCHAR".into()),
            ("condition", "VARCHAR".into()),
            ("snapshot", "BIGINT".into()),
            ("stale", "BOOLEAN".into()),
            ("lag_snapshots", "BIGINT".into()),
            ("lag_ms", "BIGINT".into()),
            ("oldest_needed", "BIGINT".into()),
            ("rows", "BIGINT".into()),
            ("files", "BIGINT".into()),
            ("maintenance", "VARCHAR".into()),
            ("reason", "VARCHAR".into()),
            ("last_refresh_at", "TIMESTAMPTZ".into()),
            ("last_refresh_strategy", "VARCHAR".into()),
            ("last_refresh_rows_inserted", "BIGINT".into()),
            ("last_refresh_rows_deleted", "BIGINT".into()),
            ("last_refresh_elapsed_ms", "BIGINT".into()),
            ("notes", serde_json::json!(["VARCHAR"])),
            ("error", "VARCHAR".into()),
            ("hint", "VARCHAR".into()),
            ("last_error_at", "TIMESTAMPTZ".into()),
            ("last_error_message", "VARCHAR".into()),
        ];
        Records::of(columns.to_vec(), &self.views).map(Some)
    }

    fn page(&self, page: &mut Page) {
        if self.views.is_empty() {
            page.line("the lake has no views");
            return;
        }
        let rows: Vec<Vec<String>> = self.views.iter().map(row).collect();
        page.table(&["view", "rows", "snapshot", "behind", "last refresh (UTC)"], &rows);
        for view in self.views.iter().filter(|view| view.error.is_some()) {
            page.gap();
            page.paragraph("", "  ", view.error.as_deref().unwrap_or_default());
            if let Some(hint) = &view.hint {
                page.paragraph("  what to do: ", "  ", hint);
            }
        }
        for view in &self.views {
            let Some(last) = &view.last_error else { continue };
            page.gap();
            let since = format!("{}: refreshes fail since {} (UTC)", view.view, seconds(&last.at));
            if view.error.as_ref() == Some(&last.message) {
                page.line(&since);
            } else {
                page.paragraph(&format!("{since}: "), "  ", brief(&last.message, &view.view));
            }
        }
        for (view, note) in self.views.iter().flat_map(|view| view.notes.iter().map(move |note| (view, note))) {
            page.gap();
            page.paragraph(&format!("{}: ", view.view), "  ", note);
        }
        // Snapshots are expired by this line: the views that are not shown need theirs, too.
        if let Some(oldest) = self.views.iter().filter_map(|view| view.oldest_needed).min().filter(|_| self.are_all) {
            page.gap();
            page.line(&format!("no view needs a snapshot before {oldest}"));
        }
    }
}

/// What stands in the way of a refresh of a view in that condition, in a cell.
pub(super) fn obstacle(condition: &str) -> Option<&'static str> {
    match condition {
        "changed" => Some("written to by others"),
        "broken" => Some("broken"),
        _ => None,
    }
}

fn row(view: &Status) -> Vec<String> {
    let behind = match (obstacle(view.condition), view.stale) {
        (Some(obstacle), _) => obstacle.to_owned(),
        (None, false) => "no".to_owned(),
        (None, true) => {
            let snapshots = if view.lag_snapshots == 1 { "snapshot" } else { "snapshots" };
            format!("{} {snapshots}, {}", view.lag_snapshots, duration::readable(view.lag_ms / 1_000))
        }
    };
    let refresh = view
        .last_refresh
        .as_ref()
        .map_or_else(|| NONE.to_owned(), |last| format!("{} {}", seconds(&last.at), last.strategy));
    let known = |number: Option<String>| number.unwrap_or_else(|| NONE.to_owned());
    let rows = known(view.rows.map(|rows| rows.to_string()));
    let snapshot = known(view.snapshot.map(|snapshot| snapshot.to_string()));
    vec![view.view.clone(), rows, snapshot, behind, refresh]
}
