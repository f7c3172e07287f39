//! `plan`: how a view is kept up to date, and what the next sync would read and skip.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{self, Answer, NONE, Page};
use crate::inspect::explain::ExplainedTerm;
use crate::inspect::nodes::ExplainedNode;
use crate::inspect::{Explanation, Span, explain};
use crate::lake::{Access, SnapshotId};
use crate::view::ViewName;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm plan mart.sales                    # what the next sync would do
  ducklake-ivm plan mart.sales --from 40 --to 42  # what it does for any window
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
    from: Option<u64>,
    /// End the window with this snapshot [default: the newest]
    #[arg(long, value_name = "SNAPSHOT")]
    to: Option<u64>,
    /// Show the SQL too; with --format json it is always there
    #[arg(long)]
    sql: bool,
}

impl Plan {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let name = ViewName::parse(&self.name)?;
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from > to
        {
            return Err(Failure::usage(format!("the window ends with snapshot {to}, before its begin {from}"))
                .hint("give the older snapshot as --from"));
        }
        let span = Span { from: self.from.map(SnapshotId), to: self.to.map(SnapshotId) };
        let lake = session.open(Access::ReadOnly)?;
        let explanation = explain(&lake, &name, span)?;
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
        let Explanation {
            view,
            rule,
            join,
            nodes,
            legs,
            terms,
            accumulators,
            sql,
            reason,
            next,
            next_reason,
            notes,
            ..
        } = self.explanation;
        let how = match reason {
            Some(reason) => format!("recomputed, and the difference written. {reason}"),
            None => "maintained from changes".to_owned(),
        };
        page.paragraph(&format!("view {view}: "), "  ", &how);
        page.line(&format!("rule: {}   join: {}", rule.unwrap_or(NONE), join.unwrap_or(NONE)));
        let why = next_reason.as_ref().filter(|why| Some(*why) != reason.as_ref());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let whose = if self.whole { "next sync: " } else { "a sync over this window: " };
        page.paragraph(whose, "  ", &format!("{}{why}", next.word()));
        for note in notes {
            page.paragraph("note: ", "  ", note);
        }
        page.gap();
        let snapshot = |snapshot: Option<SnapshotId>| snapshot.map_or_else(|| NONE.to_owned(), |id| id.to_string());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for leg in legs {
            let changed = if leg.changed { "yes" } else { "no" };
            let row = vec![leg.table.clone(), snapshot(leg.from), snapshot(leg.to), changed.to_owned()];
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
            page.line(&format!("terms: {run} of {} run", terms.len()));
            for (number, term) in terms.iter().enumerate() {
                page.paragraph(&format!("{:>3}  ", number + 1), "     ", &term_text(term));
            }
        }
        for accumulator in accumulators {
            page.gap();
            page.paragraph(
                &format!("accumulator {}: ", accumulator.table),
                "  ",
                &format!("per {}", accumulator.groups.join(", ")),
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
