//! `snapshots`: the lake's log.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{Answer, NONE, Page, Records, seconds};
use crate::inspect::log::TouchedTable;
use crate::inspect::{LogOptions, LoggedSnapshot, log, revision};
use crate::lake::Access;
use crate::view::ViewName;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm snapshots
  ducklake-ivm snapshots -n 100 --table orders
  ducklake-ivm snapshots --view mart.sales          # the refreshes of a view
  ducklake-ivm snapshots --since 2026-11-01 --no-counts --format csv

Rows are counted net: what a commit did and undid does not count, and maintenance has none. Counting reads the changes; \
--no-counts leaves it out. Dates are in UTC.";

/// Show the lake's commits, newest first: who, when, which tables, and which of them are refreshes or maintenance
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Snapshots {
    /// How many commits to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Only commits from this snapshot or moment on: 120, HEAD~50, 2026-11-01, @view
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
    /// Only commits that touched this table
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Only refreshes of this view
    #[arg(long, value_name = "VIEW")]
    view: Option<String>,
    /// Do not count rows
    #[arg(long)]
    no_counts: bool,
}

impl Snapshots {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let name = |text: &Option<String>| text.as_deref().map(ViewName::parse).transpose();
        let mut options = LogOptions {
            limit: self.limit,
            since: None,
            table: name(&self.table)?,
            view: name(&self.view)?,
            counts: !self.no_counts,
        };
        let lake = session.open(Access::ReadOnly)?;
        if let Some(since) = &self.since {
            let transaction = lake.begin()?;
            options.since = Some(revision::since(&transaction, since)?);
        }
        let snapshots = log(&lake, &options)?;
        session.output.answer_rows(&lake, &Log { snapshots })?;
        Ok(Exit::Done)
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Log {
    snapshots: Vec<LoggedSnapshot>,
}

impl Answer for Log {
    fn page(&self, page: &mut Page) {
        if self.snapshots.is_empty() {
            page.line("no such commit");
            return;
        }
        let rows: Vec<Vec<String>> = self.snapshots.iter().map(row).collect();
        page.table(&["snapshot", "when (UTC)", "who", "what"], &rows);
    }

    fn records(&self) -> Result<Option<Records>, Failure> {
        let tables = serde_json::json!([{
            "table": "VARCHAR", "change": "VARCHAR", "renamed_from": "VARCHAR", "rows_inserted": "BIGINT",
            "rows_deleted": "BIGINT", "rows_updated": "BIGINT"
        }]);
        let columns = [
            ("snapshot", "BIGINT".into()),
            ("at", "TIMESTAMPTZ".into()),
            ("author", "VARCHAR".into()),
            ("message", "VARCHAR".into()),
            ("maintenance", "BOOLEAN".into()),
            ("tables", tables),
            ("other", serde_json::json!(["VARCHAR"])),
            ("refresh_view", "VARCHAR".into()),
            ("refresh_strategy", "VARCHAR".into()),
        ];
        Records::of(columns.to_vec(), &self.snapshots).map(Some)
    }
}

fn row(snapshot: &LoggedSnapshot) -> Vec<String> {
    // A refresh names its view once, with the rows of the table of that name, unless that one took the place of another.
    let is_own = |table: &&TouchedTable| snapshot.refresh.as_ref().is_some_and(|refresh| refresh.view == table.table);
    let own = match snapshot.tables.iter().filter(is_own).collect::<Vec<_>>().as_slice() {
        [own] => Some(*own),
        _ => None,
    };
    let others = snapshot.tables.iter().filter(|table| own.is_none_or(|own| own.table != table.table));
    let mut what: Vec<String> = others.map(table_text).collect();
    what.extend(snapshot.other.iter().cloned());
    let label = match (&snapshot.refresh, snapshot.maintenance) {
        (Some(refresh), _) => {
            let counts = own.map(counts).unwrap_or_default();
            Some(format!("refresh of {} ({}){counts}", refresh.view, refresh.strategy))
        }
        (None, true) => Some("maintenance".to_owned()),
        (None, false) => snapshot.message.clone(),
    };
    let label = label.map(|label| if what.is_empty() { label } else { format!("{label}: ") }).unwrap_or_default();
    let what = format!("{label}{}", what.join(", "));
    vec![
        snapshot.snapshot.to_string(),
        seconds(&snapshot.at),
        snapshot.author.clone().unwrap_or_else(|| NONE.to_owned()),
        if what.is_empty() { NONE.to_owned() } else { what },
    ]
}

/// `main.orders +3 -1 ~2`
fn table_text(table: &TouchedTable) -> String {
    let name = &table.table;
    let counts = counts(table);
    match (table.change, &table.renamed_from) {
        ("changed" | "compacted", _) => format!("{name}{counts}"),
        ("renamed", Some(old)) => format!("renamed {old} to {name}{counts}"),
        (change, _) => format!("{change} {name}{counts}"),
    }
}

/// ` +3 -1 ~2`
fn counts(table: &TouchedTable) -> String {
    let count = |(sign, rows): (&str, Option<u64>)| match rows {
        None | Some(0) => String::new(),
        Some(rows) => format!(" {sign}{rows}"),
    };
    [("+", table.rows_inserted), ("-", table.rows_deleted), ("~", table.rows_updated)].into_iter().map(count).collect()
}
