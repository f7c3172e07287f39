//! What the demo tells. Nothing in it is made up: numbers and reasons come from the plan and the report of each sync.

use std::path::Path;

use super::{Chapter, DemoView, run_all};
use crate::commands::create::CreateAnswer;
use crate::commands::failure::{Exit, Failure};
use crate::commands::global::Session;
use crate::commands::output::{Answer, Page};
use crate::commands::plan::term_text;
use crate::commands::sync::views_table;
use crate::commands::verify::VerifyAnswer;
use crate::inspect::{Explanation, Span, explain, verify};
use crate::lake::Lake;
use crate::sync::{Event, Report, SyncOptions, sync};
use crate::view::{self, Creation, Strategy, ViewName};

/// Lines have at most this many columns: the story reads the same everywhere.
const WIDTH: usize = 78;

/// A story that is being told.
pub(super) struct Story<'a> {
    lake: &'a Lake,
    session: &'a Session,
    views: Vec<ViewName>,
    chapters: usize,
}

impl<'a> Story<'a> {
    /// About `lake`.
    pub(super) fn new(lake: &'a Lake, session: &'a Session) -> Story<'a> {
        Story { lake, session, views: Vec::new(), chapters: 0 }
    }

    fn page(&mut self, title: &str) -> Page {
        let mut page = Page::new(WIDTH);
        if self.chapters > 0 {
            page.gap();
        }
        self.chapters += 1;
        page.heading(&format!("{}. {title}", self.chapters));
        page.gap();
        page
    }

    fn tell(&self, page: &Page) -> Result<(), Failure> {
        self.session.output.text(page.as_str())
    }

    /// The tables and their past.
    pub(super) fn the_lake(&mut self) -> Result<(), Failure> {
        let snapshot = self.lake.current_snapshot()?;
        let tables = ["orders", "customers", "products", "stores"];
        let mut rows = Vec::new();
        for table in tables {
            let count = self.lake.query_value(&format!("SELECT count(*) FROM {table}"))?.as_u64()?;
            rows.push(vec![format!("main.{table}"), count.to_string()]);
        }
        let mut page = self.page("A lake with a past");
        page.paragraph(
            "",
            "",
            &format!(
                "A small retailer's four tables, made by {snapshot} commits: orders came, prices rose, orders were \
                 cancelled, customers moved. Each commit is a snapshot of the lake that can still be read."
            ),
        );
        page.gap();
        page.table(&["table", "rows"], &rows);
        self.tell(&page)
    }

    /// Creates the views.
    pub(super) fn the_views(&mut self, views: &[DemoView]) -> Result<(), Failure> {
        let mut page = self.page("Three views");
        page.paragraph(
            "",
            "",
            "A view is an ordinary table of the lake that is kept equal to a SELECT. Creating it runs the SELECT once.",
        );
        for view in views {
            let creation = Creation {
                name: ViewName::parse(view.name)?,
                sql: view.sql.to_owned(),
                or_replace: false,
                if_not_exists: false,
                strategy: Strategy::Auto,
                check: true,
            };
            let created = view::create(self.lake, &creation)?;
            page.gap();
            page.line(&format!("$ ducklake-ivm create {} --sql \"…\"    # {}", view.name, view.about));
            for line in view.sql.lines() {
                page.line(&format!("    {line}"));
            }
            CreateAnswer::of(&created).page(&mut page);
            self.views.push(created.view.name);
        }
        self.tell(&page)
    }

    /// Tables change, and the views follow.
    pub(super) fn chapter(&mut self, chapter: &Chapter) -> Result<(), Failure> {
        let mut page = self.page(chapter.title);
        run_all(self.lake, chapter.statements.iter().copied())?;
        for statement in chapter.statements {
            page.paragraph("> ", "    ", statement);
        }
        page.gap();
        let plans: Vec<Explanation> = self
            .views
            .iter()
            .map(|view| Ok(explain(self.lake, view, Span::default())?))
            .collect::<Result<_, Failure>>()?;
        let report = self.sync()?;
        page.line("$ ducklake-ivm sync");
        views_table(&mut page, &report.views, false);
        page.gap();
        page.paragraph("", "", chapter.lesson);
        for plan in &plans {
            page.gap();
            let run = report.views.iter().find(|view| view.view == plan.view).map_or(0, |view| view.terms.run);
            why(&mut page, plan, run);
        }
        self.tell(&page)
    }

    /// Nothing changes, and nothing is done.
    pub(super) fn nothing(&mut self) -> Result<(), Failure> {
        let before = self.lake.current_snapshot()?;
        let report = self.sync()?;
        let after = self.lake.current_snapshot()?;
        let mut page = self.page("Nothing changes");
        page.line("$ ducklake-ivm sync");
        views_table(&mut page, &report.views, false);
        page.gap();
        let written = if before == after { "no snapshot was made" } else { "a snapshot was made" };
        page.paragraph(
            "",
            "",
            &format!(
                "The views' own refreshes are no news either. A few metadata queries tell that, whatever the tables' \
                 size; nothing was written, {written}: the newest is still {after}."
            ),
        );
        self.tell(&page)
    }

    /// Compares every view with a recompute.
    pub(super) fn the_end(&mut self, kept: Option<&Path>) -> Result<Exit, Failure> {
        let answer = VerifyAnswer { views: verify(self.lake, &self.views, 10)? };
        let mut page = self.page("Are they right?");
        page.line("$ ducklake-ivm verify");
        answer.page(&mut page);
        page.gap();
        page.paragraph(
            "",
            "",
            match answer.exit() {
                Exit::Done => "Every view holds exactly the rows of its SELECT, counted with their copies.",
                _ => "A view does not hold the rows of its SELECT. That must not be: please report it.",
            },
        );
        page.gap();
        let next = match kept {
            Some(folder) => {
                let lake = folder.join("retail.ducklake");
                format!("Look around: ducklake-ivm --lake ducklake:{} plan order_lines --sql", lake.display())
            }
            None => "The lake is gone now; ducklake-ivm demo --keep DIR keeps it to look around in.".to_owned(),
        };
        page.line(&next);
        self.tell(&page)?;
        Ok(answer.exit())
    }

    fn sync(&self) -> Result<Report, Failure> {
        let report = sync(self.lake, &SyncOptions::default(), &|_: &Event<'_>| ())?;
        match report.views.iter().find_map(|view| view.error.clone()) {
            Some(error) => Err(Failure::new(Exit::ViewFailed, error)),
            None => Ok(report),
        }
    }
}

/// Why a view's sync, which ran `run` terms, read what it read.
fn why(page: &mut Page, plan: &Explanation, run: usize) {
    let Explanation { view, terms, legs, .. } = plan;
    let planned = terms.iter().filter(|term| !term.skipped).count();
    if planned == 0 {
        let tables: Vec<&str> = legs.iter().map(|leg| leg.table.as_str()).collect();
        let words = format!("reads {}; none changed, so nothing was read or written", tables.join(", "));
        page.paragraph(&format!("{view} "), "  ", &words);
        return;
    }
    page.line(view);
    for term in terms {
        page.paragraph("    ", "      ", &term_text(term));
    }
    if run < planned {
        let words = format!(
            "{run} of these {planned} ran: where a table changed only in columns that the view does not read, its Δ turned \
             out empty"
        );
        page.paragraph("    ", "    ", &words);
    }
}
