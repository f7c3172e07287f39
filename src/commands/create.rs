//! `create`: registers a view and fills it.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{Answer, Page};
use crate::lake::Access;
use crate::view::{self, Created, Creation, Obstacle, Outcome, Strategy, ViewError, ViewName};

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm create sales --sql 'SELECT o.id, c.city FROM orders o JOIN customers c USING (cid)'
  ducklake-ivm create mart.sales --file sales.sql --or-replace
  ducklake-ivm create totals --file totals.sql --strategy recompute --check

The view becomes a table of the lake that any DuckLake reader can read. A table that ducklake-ivm did not make is never \
touched. A SELECT without a delta rule is accepted too: it is run anew by every sync, and only the difference is written.";

/// Register a view and fill it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Create {
    /// The view's name: name or schema.name
    name: String,
    #[command(flatten)]
    query: Query,
    /// Replace a view of that name
    #[arg(long, conflicts_with = "if_not_exists")]
    or_replace: bool,
    /// Leave a view of that name as it is
    #[arg(long)]
    if_not_exists: bool,
    /// How sync is to bring the view up to date
    #[arg(long, value_enum, default_value_t)]
    strategy: StrategyArgument,
    /// Compare the rows of the query that maintains the view with those of the SELECT before anything is written
    #[arg(long)]
    check: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Query {
    /// The view's SELECT
    #[arg(long, value_name = "SQL")]
    sql: Option<String>,
    /// A file that holds the view's SELECT; - is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// How a view is brought up to date.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum StrategyArgument {
    /// Whichever of incremental and recompute reads and writes less
    #[default]
    Auto,
    /// From the changes whenever that is possible; a SELECT without a delta rule is refused
    Incremental,
    /// Run the SELECT, write the difference
    Recompute,
    /// Run the SELECT, replace all rows
    Full,
}

impl From<StrategyArgument> for Strategy {
    fn from(argument: StrategyArgument) -> Strategy {
        match argument {
            StrategyArgument::Auto => Strategy::Auto,
            StrategyArgument::Incremental => Strategy::Incremental,
            StrategyArgument::Recompute => Strategy::Recompute,
            StrategyArgument::Full => Strategy::Full,
        }
    }
}

impl Create {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let creation = Creation {
            name: ViewName::parse(&self.name)?,
            sql: self.query.text()?,
            or_replace: self.or_replace,
            if_not_exists: self.if_not_exists,
            strategy: self.strategy.into(),
            check: self.check,
        };
        let lake = session.open(Access::ReadWrite)?;
        let created = view::create(&lake, &creation).map_err(|error| refusal(error, &creation))?;
        session.output.answer(&CreateAnswer::of(&created))?;
        Ok(Exit::Done)
    }
}

impl Query {
    fn text(&self) -> Result<String, Failure> {
        match (&self.sql, &self.file) {
            (Some(sql), _) => Ok(sql.clone()),
            (None, Some(file)) => read(file),
            (None, None) => Err(Failure::usage("neither --sql nor --file is given")),
        }
    }
}

/// What is said when a view cannot be created.
pub(super) fn refusal(error: ViewError, creation: &Creation) -> Failure {
    match error {
        ViewError::Lake(error) => Failure::from(error).at(&format!("view {}", creation.name)),
        error => Failure::from(error).with_sql(&creation.sql),
    }
}

/// The text of a file, or of stdin.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    text.map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))
}

/// What became of a creation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CreateAnswer {
    view: String,
    outcome: &'static str,
    snapshot: u64,
    rows: u64,
    /// `incremental` or `recompute`: what the definition allows, within what was asked for.
    maintenance: &'static str,
    /// Why the view is not maintained from changes.
    obstacle: Option<Obstacle>,
    /// How many terms a delta has when every source changed.
    terms: usize,
    columns: Vec<Column>,
    notes: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Column {
    name: String,
    #[serde(rename = "type")]
    data_type: String,
}

impl CreateAnswer {
    /// Of what the view room says.
    pub(super) fn of(created: &Created) -> CreateAnswer {
        let view = &created.view;
        let by_wish = matches!(view.strategy, Strategy::Recompute | Strategy::Full);
        let incremental = view.class.obstacle.is_none() && !by_wish;
        let mut notes = Vec::new();
        if created.order_dropped {
            notes.push("ORDER BY is dropped: a table has no order".to_owned());
        }
        for (name, column) in &created.renamed {
            notes.push(format!("another column called {name:?} is called {column:?} in the view"));
        }
        for column in view.columns.iter().filter(|column| column.is_cast()) {
            let (name, from, to) = (&column.name, &column.data_type, &column.stored_type);
            notes.push(format!("column {name:?} is stored as {to}: the lake cannot hold {from}"));
        }
        CreateAnswer {
            view: view.name.to_string(),
            outcome: match created.outcome {
                Outcome::Created => "created",
                Outcome::Replaced => "replaced",
                Outcome::Kept => "kept",
            },
            snapshot: view.created.0,
            rows: created.rows,
            maintenance: match view.strategy {
                Strategy::Full => "full",
                _ if incremental => "incremental",
                _ => "recompute",
            },
            obstacle: view.class.obstacle.clone(),
            terms: view.class.terms,
            columns: view
                .columns
                .iter()
                .map(|column| Column { name: column.name.clone(), data_type: column.stored_type.clone() })
                .collect(),
            notes,
        }
    }
}

impl CreateAnswer {
    /// What is not as one may expect of a view.
    pub(super) fn remarks(&self) -> Vec<String> {
        let obstacle = self.obstacle.as_ref().map(|obstacle| format!("{RECOMPUTED}. {obstacle}"));
        obstacle.into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

/// How a view without a delta is maintained.
const RECOMPUTED: &str = "recomputed, and the difference written";

impl Answer for CreateAnswer {
    fn page(&self, page: &mut Page) {
        let CreateAnswer { view, outcome, snapshot, rows, .. } = self;
        match *outcome {
            "kept" => page.line(&format!("view {view} exists already and was left as it is: {rows} rows")),
            _ => page.line(&format!("view {view} {outcome}: {rows} rows at snapshot {snapshot}")),
        }
        let maintenance = match (self.maintenance, &self.obstacle) {
            ("incremental", _) if self.terms == 1 => "maintained from changes".to_owned(),
            ("incremental", _) => {
                format!("maintained from changes: up to {} terms, none for unchanged tables", self.terms)
            }
            ("full", _) => "recomputed after changes, and all rows replaced, as asked for".to_owned(),
            (_, Some(obstacle)) => format!("{RECOMPUTED}. {obstacle}"),
            (_, None) => "recomputed after changes, and the difference written, as asked for".to_owned(),
        };
        page.paragraph("  ", "  ", &maintenance);
        for note in &self.notes {
            page.paragraph("  ", "  ", note);
        }
    }
}
