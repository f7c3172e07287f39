//! A lake in a temporary folder, and what the tests of syncing do with it.

#![allow(dead_code, unreachable_pub, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "lakes.rs"]
mod lakes;

use std::ops::{Deref, DerefMut};

use ducklake_ivm::lake::{Lake, LakeOptions, Value};
use ducklake_ivm::sync::{Event, Report, SyncError, SyncOptions, ViewReport, sync};
use ducklake_ivm::view::{Created, Creation, Strategy, ViewError, ViewName, create, registry};

pub use lakes::Catalog;
use lakes::ScratchLake;

/// A lake with views on it.
pub struct World(ScratchLake);

impl Deref for World {
    type Target = ScratchLake;

    fn deref(&self) -> &ScratchLake {
        &self.0
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut ScratchLake {
        &mut self.0
    }
}

impl World {
    /// An empty lake with a DuckDB catalog, after `setup`.
    pub fn new(setup: &str) -> World {
        World::with(Catalog::DuckDb, setup)
    }

    /// An empty lake, after `setup`.
    pub fn with(catalog: Catalog, setup: &str) -> World {
        let world = World(ScratchLake::new(catalog));
        world.run(setup);
        world
    }

    /// How another session opens the lake.
    pub fn others(&self) -> LakeOptions {
        LakeOptions { create: false, ..self.options.clone() }
    }

    /// Ends the session, so that another process can take the lake.
    pub fn close(&mut self) {
        self.lake = ScratchLake::new(Catalog::DuckDb).lake;
    }

    /// Begins a new session after [`World::close`].
    pub fn open(&mut self) {
        self.lake = self.reopen();
    }

    /// Creates a view.
    pub fn create(&self, name: &str, sql: &str) -> Created {
        self.try_create(name, sql).unwrap()
    }

    /// Creates a view, or not.
    pub fn try_create(&self, name: &str, sql: &str) -> Result<Created, ViewError> {
        create(&self.lake, &creation(name, sql))
    }

    /// Syncs all views and expects no error.
    pub fn sync(&self) -> Report {
        let report = self.sync_with(&SyncOptions::default()).unwrap();
        for view in &report.views {
            assert_eq!(view.error, None, "{view:?}");
        }
        report
    }

    /// Syncs.
    pub fn sync_with(&self, options: &SyncOptions) -> Result<Report, SyncError> {
        sync(&self.lake, options, &|_: &Event<'_>| {})
    }

    /// Syncs, expects no error, and returns the report of one view.
    pub fn sync_view(&self, name: &str) -> ViewReport {
        view_of(&self.sync(), name)
    }

    /// The text of all rows of a query, in their order as text.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let rows = self.lake.query(sql).unwrap().rows;
        let mut texts: Vec<String> =
            rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect();
        texts.sort();
        texts
    }

    /// The view holds, as a bag, exactly what `sql` returns now.
    pub fn assert_holds(&self, view: &str, sql: &str) {
        let differing = self.integer(&format!(
            "SELECT count(*) FROM ((FROM {view} EXCEPT ALL ({sql})) UNION ALL (({sql}) EXCEPT ALL FROM {view}))"
        ));
        if differing != 0 {
            let (held, wanted) = (self.rows(&format!("FROM {view}")), self.rows(sql));
            panic!("{view} differs in {differing} rows\nheld   {held:?}\nwanted {wanted:?}");
        }
    }

    /// The names of a view's accumulator tables; each holds exactly what its query gives now.
    pub fn accumulators(&self, view: &str) -> Vec<String> {
        let transaction = self.lake.begin().unwrap();
        let name = ViewName::parse(view).unwrap();
        let views = registry::views(&transaction).unwrap();
        let view = views.into_iter().find(|known| known.name == name).unwrap();
        drop(transaction);
        let mut tables = Vec::new();
        for table in &view.class.accumulators {
            let name = format!("ducklake_ivm.acc_{}_{}", view.id.as_str(), table.name);
            let rounded = table.columns.iter().map(|column| match column.data_type.as_str() {
                "DOUBLE" => format!(
                    "(SELECT CASE WHEN isnan(x) THEN 'nan' WHEN abs(x) < 1e6 THEN CAST(round(x, 6) AS VARCHAR) \
                     ELSE format('{{:.9e}}', x) END \
                     FROM (SELECT CAST({} AS DOUBLE) AS x))",
                    column.name
                ),
                _ => format!("CAST({} AS {})", column.name, column.stored_type),
            });
            let columns = rounded.collect::<Vec<_>>().join(", ");
            let (held, wanted) =
                (format!("SELECT {columns} FROM {name}"), format!("SELECT {columns} FROM ({})", table.query));
            let differing = self.integer(&format!(
                "SELECT count(*) FROM (({held} EXCEPT ALL {wanted}) UNION ALL ({wanted} EXCEPT ALL {held}))"
            ));
            assert_eq!(differing, 0, "{name}\nheld   {:?}\nwanted {:?}", self.rows(&held), self.rows(&wanted));
            tables.push(name);
        }
        tables
    }
}

/// Runs statements, separated by semicolons at line ends, in another session.
pub fn run(lake: &Lake, statements: &str) {
    for statement in statements.split(";\n") {
        lake.execute(statement).unwrap();
    }
}

/// The creation of a view with no options.
pub fn creation(name: &str, sql: &str) -> Creation {
    Creation {
        name: ViewName::parse(name).unwrap(),
        sql: sql.to_owned(),
        or_replace: false,
        if_not_exists: false,
        strategy: Strategy::Auto,
        check: true,
    }
}

/// The report of one view.
pub fn view_of(report: &Report, name: &str) -> ViewReport {
    let found = report.views.iter().find(|view| view.view == name || view.view == format!("main.{name}"));
    found.unwrap_or_else(|| panic!("no report of {name} in {report:?}")).clone()
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
