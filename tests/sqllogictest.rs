//! Runs the scripts under `tests/slt/` (see the README there).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/lakes.rs"]
mod lakes;

use std::path::{Path, PathBuf};

use ducklake_ivm::inspect::{Verification, verify};
use ducklake_ivm::lake::{Lake, LakeError, Value};
use ducklake_ivm::sync::{Event, Method, Report, SyncOptions, sync};
use ducklake_ivm::view::{self, Creation, ViewName, registry};
use lakes::{Catalog, ScratchLake};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};

#[test]
fn scripts_hold() {
    let scripts = scripts(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slt")));
    let wanted = std::env::var("DUCKLAKE_IVM_SCRIPTS").unwrap_or_default();
    let scripts: Vec<PathBuf> =
        scripts.into_iter().filter(|script| script.to_string_lossy().contains(&wanted)).collect();
    assert!(!scripts.is_empty());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let shares = scripts.chunks(scripts.len().div_ceil(workers));
        let running: Vec<_> = shares.map(|share| scope.spawn(|| share.iter().filter_map(run).collect())).collect();
        running.into_iter().flat_map(|worker| -> Vec<String> { worker.join().unwrap() }).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs a script on a lake of its own; says what is wrong with it.
fn run(script: &PathBuf) -> Option<String> {
    let mut runner = Runner::new(|| async { Ok(ScriptLake::new()) });
    runner.run_file(script).err().map(|error| error.to_string())
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A fresh lake, and the product on it.
struct ScriptLake {
    scratch: ScratchLake,
    last: Option<Report>,
}

type Answer = DBOutput<DefaultColumnType>;

/// Why a statement of a script failed.
#[derive(Debug, thiserror::Error)]
enum ScriptError {
    #[error(transparent)]
    Lake(#[from] LakeError),
    #[error("{0}")]
    Product(String),
}

fn product(error: impl std::fmt::Display) -> ScriptError {
    ScriptError::Product(error.to_string())
}

impl ScriptLake {
    fn new() -> ScriptLake {
        ScriptLake { scratch: ScratchLake::new(Catalog::DuckDb), last: None }
    }

    fn lake(&self) -> &Lake {
        &self.scratch.lake
    }

    fn drive(&mut self, command: &str) -> Result<Answer, ScriptError> {
        let (verb, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match verb {
            "create" => self.create(rest),
            "sync" => {
                let stale = rest.split_whitespace().any(|word| word == "stale");
                let names: Vec<&str> = rest.split_whitespace().filter(|word| *word != "stale").collect();
                let answer = self.sync(&names)?;
                if !stale {
                    self.compare(&names)?;
                }
                Ok(answer)
            }
            "explain" => {
                let views = self.last.iter().flat_map(|report| &report.views);
                let rows = views.map(|view| vec![view.view.clone(), view.reason.clone().unwrap_or("NULL".into())]);
                Ok(rows_of(rows.collect()))
            }
            other => Err(product(format!("IVM {other} is not known"))),
        }
    }

    fn create(&mut self, rest: &str) -> Result<Answer, ScriptError> {
        let (name, sql) = rest
            .split_once(|c: char| c.is_whitespace())
            .and_then(|(name, rest)| Some((name, rest.trim_start().strip_prefix("AS")?)))
            .ok_or_else(|| product("IVM create NAME AS SELECT …"))?;
        let creation = Creation {
            name: ViewName::parse(name).map_err(product)?,
            sql: sql.to_owned(),
            or_replace: false,
            if_not_exists: false,
            strategy: view::Strategy::Incremental,
            check: true,
        };
        // Small tables are cheaper to recompute: the scripts are about deltas wherever there is one.
        let created = match view::create(self.lake(), &creation) {
            Err(view::ViewError::NotIncremental { .. }) => {
                view::create(self.lake(), &Creation { strategy: view::Strategy::Auto, ..creation }).map_err(product)?
            }
            created => created.map_err(product)?,
        };
        self.compare(&[name])?;
        let class = created.view.class;
        let kind = if class.obstacle.is_none() { "incremental" } else { "recompute" };
        Ok(rows_of(vec![vec![kind.to_owned(), class.terms.to_string()]]))
    }

    fn sync(&mut self, names: &[&str]) -> Result<Answer, ScriptError> {
        let views = names.iter().map(|name| ViewName::parse(name).map_err(product)).collect::<Result<_, _>>()?;
        let report = sync(self.lake(), &SyncOptions { views, ..SyncOptions::default() }, &|_: &Event<'_>| ())
            .map_err(product)?;
        let mut rows = Vec::new();
        for view in &report.views {
            if let Some(error) = &view.error {
                return Err(product(error));
            }
            rows.push(vec![
                view.view.clone(),
                view.strategy.map_or("none", Method::word).to_owned(),
                view.terms.run.to_string(),
                view.terms.total.to_string(),
                view.rows_inserted.to_string(),
                view.rows_deleted.to_string(),
            ]);
        }
        self.last = Some(report);
        Ok(rows_of(rows))
    }

    /// Does the view differ from its SELECT in the last digits of floating-point numbers only?
    fn differs_in_rounding(&self, view: &ViewName) -> Result<bool, ScriptError> {
        let verified = verify(self.lake(), std::slice::from_ref(view), 0).map_err(product)?;
        Ok(verified.iter().all(Verification::holds))
    }

    /// Compares views with their SELECT, run by DuckDB, as bags.
    fn compare(&self, names: &[&str]) -> Result<(), ScriptError> {
        let names: Vec<ViewName> =
            names.iter().map(|name| ViewName::parse(name).map_err(product)).collect::<Result<_, _>>()?;
        let transaction = self.lake().begin()?;
        let views = registry::views(&transaction).map_err(product)?;
        drop(transaction);
        for view in views.iter().filter(|view| names.is_empty() || names.contains(&view.name)) {
            let table = format!("SELECT * FROM \"{}\".\"{}\"", view.name.schema, view.name.name);
            let own = &view.sql;
            let differing = self.lake().query_value(&format!(
                "SELECT count(*) FROM ((({own}) EXCEPT ALL ({table})) UNION ALL (({table}) EXCEPT ALL ({own})))"
            ))?;
            if differing != Value::Integer(0) && !self.differs_in_rounding(&view.name)? {
                return Err(product(format!("view {} differs from its SELECT in {differing:?} rows", view.name)));
            }
        }
        Ok(())
    }
}

impl DB for ScriptLake {
    type Error = ScriptError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<Answer, ScriptError> {
        if let Some(command) = sql.strip_prefix("IVM ") {
            return self.drive(command);
        }
        let first = sql.split_whitespace().next().unwrap_or_default();
        if first == "CALL" {
            // A rewrite that is prepared in one transaction and run in another is refused, so both get the same one.
            let statements = ["BEGIN", sql, "COMMIT"].map(|statement| self.lake().execute(statement));
            statements.into_iter().collect::<Result<Vec<_>, _>>()?;
            return Ok(DBOutput::StatementComplete(0));
        }
        if !["SELECT", "FROM", "WITH"].contains(&first) {
            return Ok(DBOutput::StatementComplete(self.lake().execute(sql)?));
        }
        let rows = self.lake().query(sql)?;
        Ok(rows_of(rows.rows.iter().map(|row| row.iter().map(text).collect()).collect()))
    }

    fn engine_name(&self) -> &'static str {
        "ducklake"
    }
}

fn rows_of(rows: Vec<Vec<String>>) -> Answer {
    let width = rows.first().map_or(0, Vec::len);
    DBOutput::Rows { types: vec![DefaultColumnType::Any; width], rows }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Text(text) if text.is_empty() => "(empty)".to_owned(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
