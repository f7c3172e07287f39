//! `verify`: does each view hold what its SELECT returns?

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::names;
use super::output::{Answer, NONE, Page, Records, cell};
use crate::inspect::{Verification, verify_sample};
use crate::lake::Access;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm verify
  ducklake-ivm verify mart.sales --limit 100
  ducklake-ivm verify mart.sales --sample 1      # one row in a hundred

Each view is compared with its SELECT, run at the snapshot that the view stands for: changes that it has not taken in \
yet are no difference. Equal rows are counted. A view whose query gives other rows each time it runs (random(), now()) \
cannot be compared, and is said not to be. The exit code is 4 if a view differs, and 1 if none does but one is broken and so could \
not be compared.";

/// Compare views with a full recompute of their SELECT, and show the rows that differ
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    /// The views [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// How many differing rows of each view to show
    #[arg(long, value_name = "ROWS", default_value_t = 10)]
    limit: usize,
    /// Compare only so many per cent of the rows, chosen by their content: for views whose rows do not fit on this machine
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    sample: Option<f64>,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|number| *number > 0.0 && *number <= 100.0)
        .ok_or_else(|| "expected a number up to 100: 1 or 0.5%".to_owned())
}

impl Verify {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let names = names::parse(&self.names)?;
        let lake = session.open(Access::ReadOnly)?;
        let answer = VerifyAnswer { views: verify_sample(&lake, &names, self.limit, self.sample)? };
        session.output.answer_rows(&lake, &answer)?;
        Ok(answer.exit())
    }
}

/// What `verify` found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct VerifyAnswer {
    /// One per view.
    pub(super) views: Vec<Verification>,
}

impl VerifyAnswer {
    /// A difference weighs more than a view that could not be compared.
    pub(super) fn exit(&self) -> Exit {
        if self.views.iter().any(|view| view.compared && !view.holds()) {
            Exit::Difference
        } else if self.views.iter().any(|view| view.error.is_some()) {
            Exit::ViewFailed
        } else {
            Exit::Done
        }
    }
}

impl Answer for VerifyAnswer {
    fn records(&self) -> Result<Option<Records>, Failure> {
        let columns = [
            ("view", "VARCHAR"),
            ("snapshot", "BIGINT"),
            ("compared", "BOOLEAN"),
            ("sample", "DOUBLE"),
            ("rows", "BIGINT"),
            ("missing", "BIGINT"),
            ("unexpected", "BIGINT"),
            ("note", "VARCHAR"),
            ("error", "VARCHAR"),
            ("hint", "VARCHAR"),
        ];
        Records::new(&columns, &self.views).map(Some)
    }

    fn page(&self, page: &mut Page) {
        if self.views.is_empty() {
            page.line("the lake has no views");
            return;
        }
        let rows: Vec<Vec<String>> = self.views.iter().map(row).collect();
        page.table(&["view", "snapshot", "rows", "missing", "unexpected", "result"], &rows);
        for view in &self.views {
            if let Some(error) = &view.error {
                page.gap();
                page.paragraph("", "  ", error);
                if let Some(hint) = &view.hint {
                    page.paragraph("  what to do: ", "  ", hint);
                }
            }
            if let Some(note) = &view.note {
                page.gap();
                page.paragraph("", "  ", note);
            }
            if !view.differences.is_empty() {
                page.gap();
                differences(page, view);
            }
        }
    }
}

fn row(view: &Verification) -> Vec<String> {
    let sample = view.sample.map(|percent| format!(" (sample of {percent} %)")).unwrap_or_default();
    let result = match (view.compared, view.holds()) {
        (false, _) => "not compared".to_owned(),
        (true, true) => format!("equal{sample}"),
        (true, false) => format!("DIFFERS{sample}"),
    };
    let count = |count: u64| if view.compared { count.to_string() } else { NONE.to_owned() };
    vec![
        view.view.clone(),
        view.snapshot.map_or_else(|| NONE.to_owned(), |snapshot| snapshot.to_string()),
        count(view.rows),
        count(view.missing),
        count(view.unexpected),
        result,
    ]
}

fn differences(page: &mut Page, view: &Verification) {
    let shown: u64 = view.differences.iter().map(|difference| difference.missing.unsigned_abs()).sum();
    let all = view.missing + view.unexpected;
    let some = if shown < all { format!(", {shown} of them here") } else { String::new() };
    page.line(&format!("{}: {all} rows differ{some}", view.view));
    let mut header = vec!["view has", "copies"];
    header.extend(view.columns.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = view
        .differences
        .iter()
        .map(|difference| {
            let verdict = if difference.missing > 0 { "too few" } else { "too many" };
            let mut row = vec![verdict.to_owned(), difference.missing.unsigned_abs().to_string()];
            row.extend(difference.row.iter().map(|value| cell(value.as_deref())));
            row
        })
        .collect();
    page.values(&header, rows);
}
