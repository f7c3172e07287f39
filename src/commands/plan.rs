//! `plan`: how a view is kept up to date, and what the next sync would read and skip.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{self, Answer, NONE, Page};
use crate::inspect::explain::ExplainedTerm;
use crate::inspect::nodes::ExplainedNode;
use crate::inspect::{Explanation, Span, explain, revision};
use crate::lake::{Access, SnapshotId};
use crate::sync::Method;
use crate::view::ViewName;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm plan mart.sales                    # what the next sync would do
  ducklake-ivm plan mart.sales --from 40 --to 42  # what it does for any window
  ducklake-ivm plan mart.sales --from HEAD~3      # as in diff: HEAD~3, dates and times, @view
  ducklake-ivm plan mart.sales --sql              # with the SQL that DuckDB runs

The operators are shown as a tree, each with its kind of rule, what is read and what is done. A join of N tables has N \
terms. Each has the change (Δ) of one table and the other tables as they were before the window \
or are after it. A table that did not change has no change to join, so its term is skipped.";

/// Show how a view is kept up to date: what the next sync reads, what it skips, and the SQL
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Plan {
    /// The view's name: name or schema.name
    name: String,
    /// Begin the window after this snapshot [default: what the view has taken in]
    #[arg(long, value_name = "SNAPSHOT")]
    from: Option<String>,
    /// End the window with this snapshot [default: the newest]
    #[arg(long, value_name = "SNAPSHOT")]
    to: Option<String>,
    /// Show the SQL too; with --format json it is always there
    #[arg(long)]
    sql: bool,
}

impl Plan {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let name = ViewName::parse(&self.name)?;
        let lake = session.open(Access::ReadOnly)?;
        let named = |text: &Option<String>| text.as_ref().map(|text| revision::named(&lake, text)).transpose();
        let span = Span { from: named(&self.from)?, to: named(&self.to)? };
        if let (Some(from), Some(to)) = (span.from, span.to)
            && from > to
        {
            return Err(Failure::usage(format!("the window ends with snapshot {to}, before its begin {from}"))
                .hint("give the older snapshot as --from"));
        }
        let explanation = explain(&lake, &name, span).map_err(|error| error.about(&name))?;
        session.output.answer(&Explained {
            explanation: &explanation,
            sql: self.sql,
            whole: span.from.is_none() && span.to.is_none(),
        })?;
        let Some(error) = &explanation.error else { return Ok(Exit::Done) };
        let hint = explanation.hint.clone();
        output::failure(&Failure { hint, ..Failure::new(Exit::ViewFailed, format!("the next sync fails: {error}")) });
        Ok(Exit::ViewFailed)
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Explained<'a> {
    explanation: &'a Explanation,
    #[serde(skip)]
    sql: bool,
    /// The window is that of the next sync.
    #[serde(skip)]
    whole: bool,
}

impl Answer for Explained<'_> {
    fn page(&self, page: &mut Page) {
        let Explanation { view, rule, nodes, legs, terms, accumulators, sql, reason, next, next_reason, notes, .. } =
            self.explanation;
        let how = match reason {
            Some(reason) => format!("recomputed, and the difference written. {reason}"),
            None => format!("maintained from the rows that changed{}", beside(*rule)),
        };
        page.paragraph(&format!("view {view}: "), "  ", &how);
        let why = next_reason.as_ref().filter(|why| Some(*why) != reason.as_ref());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let whose = if self.whole { "next sync: " } else { "a sync over this window: " };
        page.paragraph(whose, "  ", &format!("{}{}{why}", next.word(), meaning(*next)));
        for note in notes {
            page.paragraph("note: ", "  ", note);
        }
        page.gap();
        let snapshot = |snapshot: Option<SnapshotId>| snapshot.map_or_else(|| NONE.to_owned(), |id| id.to_string());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for leg in legs {
            let changed = if leg.changed { "yes" } else { "no" };
            let table = leg.note.as_ref().map_or_else(|| leg.table.clone(), |note| format!("{} ({note})", leg.table));
            let row = vec![table, snapshot(leg.from), snapshot(leg.to), changed.to_owned()];
            // A table that is joined with itself is several legs and one table.
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        page.table(&["reads", "after", "up to", "changed"], &rows);
        if !nodes.is_empty() {
            page.gap();
            let rows: Vec<Vec<String>> = nodes.iter().map(node_row).collect();
            page.table(&["operator", "rule", "changed", "what is read and done"], &rows);
        }
        if !terms.is_empty() {
            page.gap();
            let run = terms.iter().filter(|term| !term.skipped).count();
            let legend = "(Δ: what changed in a table; @: the table at that snapshot)";
            page.line(&format!("terms: {run} of {} run   {legend}", terms.len()));
            for (number, term) in terms.iter().enumerate() {
                page.paragraph(&format!("{:>3}  ", number + 1), "     ", &term_text(term));
            }
        }
        for accumulator in accumulators {
            page.gap();
            page.paragraph(
                "kept for its aggregates: ",
                "  ",
                &format!("{}, a row {}", accumulator.table, per(&accumulator.groups)),
            );
            let rows: Vec<Vec<String>> = accumulator
                .measures
                .iter()
                .map(|it| vec![it.column.clone(), it.data_type.clone(), it.aggregate.clone()])
                .collect();
            page.table(&["column", "type", "kept for"], &rows);
        }
        if let (true, Some(sql)) = (self.sql, sql) {
            page.gap();
            page.line(sql);
        }
    }
}

/// A node in one line, indented by how deep it stands.
fn node_row(node: &ExplainedNode) -> Vec<String> {
    let mut reads: Vec<String> = node.change.iter().map(|[from, to]| format!("change {from}..{to}")).collect();
    reads.extend(node.rows_at.iter().map(|at| format!("rows at {at}")));
    vec![
        format!("{}{}", "  ".repeat(node.depth), node.operator),
        node.rule.to_owned(),
        if node.changed { "yes" } else { "no" }.to_owned(),
        reads.into_iter().chain(node.done.clone()).collect::<Vec<_>>().join(", "),
    ]
}

/// What a view is made of beside the rows that changed.
fn beside(rule: Option<&str>) -> &'static str {
    match rule {
        Some("product") => ", joined with the other tables",
        Some("stateful") => " and the groups that they are in",
        Some("non_linear") => " and those that depend on them",
        _ => "",
    }
}

/// What a way to refresh comes to, where the word does not say it.
fn meaning(method: Method) -> &'static str {
    match method {
        Method::Noop => " (nothing to do)",
        Method::Recompute => " (the SELECT runs anew, and the difference is written)",
        Method::Full => " (the SELECT runs anew, and replaces all rows)",
        Method::Incremental | Method::Follows => "",
    }
}

fn per(groups: &[String]) -> String {
    if groups.is_empty() { "in all".to_owned() } else { format!("per {}", groups.join(", ")) }
}

/// A term in one line: whose change it is, and what it reads beside.
pub(super) fn term_text(term: &ExplainedTerm) -> String {
    let deltas: Vec<String> = term.delta.iter().map(|table| format!("Δ{table}")).collect();
    let deltas = deltas.join(", ");
    if term.skipped {
        let unchanged =
            if term.delta.is_empty() { "constants never change".to_owned() } else { "no change".to_owned() };
        return format!("{deltas} skipped: {unchanged}").trim_start().to_owned();
    }
    let reads: Vec<String> = term.reads.iter().map(|read| format!("{}@{}", read.table, read.at)).collect();
    match (deltas.is_empty(), reads.is_empty()) {
        (_, true) => deltas,
        (true, false) => format!("{} as a whole", reads.join(", ")),
        (false, false) => format!("{deltas} with {}", reads.join(", ")),
    }
}
