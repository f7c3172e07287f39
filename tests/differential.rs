//! The product against a full recompute: random tables, random views, random histories. After every sync each view
//! must hold exactly the rows that its SQL gives, as a bag.
//!
//! A case is a random lake with one view or two and a history of one batch of transactions or two. `DUCKLAKE_IVM_CASES`
//! sets the number of cases (default 320, in two halves side by side), `PROPTEST_RNG_SEED` replays a run; a failing case
//! is shrunk and printed as a script that can be pasted.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod differential_cases;

use std::fmt::Write as _;

use ducklake_ivm::lake::{Lake, LakeOptions};
use ducklake_ivm::sync::{Event, SyncOptions, sync};
use ducklake_ivm::view::{Creation, ViewName, create};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError};

use differential_cases::{Case, cases};

/// Half of the cases.
fn number_of_cases() -> u32 {
    std::env::var("DUCKLAKE_IVM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(320_u32).div_ceil(2)
}

/// The test command tries the same cases every time; more cases, or a seed of one's own, are others.
fn seed(half: u64) -> RngSeed {
    match std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()) {
        Some(seed) => RngSeed::Fixed(2 * seed + half),
        None if std::env::var_os("DUCKLAKE_IVM_CASES").is_some() => RngSeed::Random,
        None => RngSeed::Fixed(half),
    }
}

/// Runs a case; the script so far stands in every failure.
struct Run {
    lake: Lake,
    script: String,
    _directory: tempfile::TempDir,
}

impl Run {
    fn start(inline_rows: u32) -> Run {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let options = LakeOptions {
            data_path: Some(path("data/")),
            create: true,
            // One thread spares the others' waking up for a handful of rows, and meets rows that tie in one order.
            threads: Some(1),
            ..LakeOptions::new(format!("ducklake:{}", path("lake.ducklake")))
        };
        let lake = Lake::open(&options).unwrap();
        let mut run = Run { lake, script: String::new(), _directory: directory };
        run.must(&format!("CALL lake.set_option('data_inlining_row_limit', {inline_rows})")).unwrap();
        run
    }

    fn fail(&self, what: &str) -> TestCaseError {
        TestCaseError::fail(format!("{what}\n--- script ---\n{}", self.script))
    }

    fn must(&mut self, sql: &str) -> Result<(), TestCaseError> {
        let _ = writeln!(self.script, "{sql};");
        self.lake.execute(sql).map(|_| ()).map_err(|error| self.fail(&format!("{sql}: {error}")))
    }

    /// A statement that may fail (a division by zero in an update, say): its transaction is then rolled back.
    fn transaction(&mut self, statements: &[String]) {
        let mut made = String::from("BEGIN;\n");
        let outcome = self.lake.execute("BEGIN").and_then(|_| {
            for statement in statements {
                let _ = writeln!(made, "{statement};");
                self.lake.execute(statement)?;
            }
            self.lake.execute("COMMIT")
        });
        match outcome {
            Ok(_) => made.push_str("COMMIT;\n"),
            Err(error) => {
                let _ = self.lake.execute("ROLLBACK");
                let _ = writeln!(made, "ROLLBACK; -- {}", error.to_string().replace('\n', " "));
            }
        }
        self.script.push_str(&made);
    }

    fn create(&mut self, name: &str, sql: &str) -> Result<(), TestCaseError> {
        let _ = writeln!(self.script, "-- create {name} as\n{sql};");
        let creation = Creation::new(ViewName::new("main", name), sql);
        create(&self.lake, &creation).map(|_| ()).map_err(|error| self.fail(&format!("create {name}: {error}")))
    }

    fn sync(&mut self) -> Result<(), TestCaseError> {
        let _ = writeln!(self.script, "-- sync");
        let report = sync(&self.lake, &SyncOptions::default(), &|_: &Event<'_>| {})
            .map_err(|error| self.fail(&error.to_string()))?;
        for view in &report.views {
            let _ = writeln!(self.script, "-- {}: {:?} {:?}", view.view, view.strategy, view.reason);
            if let Some(error) = &view.error {
                return Err(self.fail(&format!("sync {}: {error}", view.view)));
            }
        }
        Ok(())
    }

    /// The judge: `EXCEPT ALL` both ways against the view's SQL, with the view's column types.
    fn compare(&self, name: &str, sql: &str) -> Result<(), TestCaseError> {
        let columns = self.lake.describe(&format!("FROM lake.main.{name}")).unwrap();
        let names: Vec<String> = (0..columns.len()).map(|position| format!("c{position}")).collect();
        let casts: Vec<String> =
            names.iter().zip(&columns).map(|(name, column)| format!("CAST({name} AS {})", column.data_type)).collect();
        let expected = format!("SELECT {} FROM ({sql}) v({})", casts.join(", "), names.join(", "));
        for (more, less, what) in [
            (expected.as_str(), format!("FROM lake.main.{name}").as_str(), "missing from"),
            (format!("FROM lake.main.{name}").as_str(), expected.as_str(), "too many in"),
        ] {
            let rows = self
                .lake
                .query(&format!("({more}) EXCEPT ALL ({less})"))
                .map_err(|error| self.fail(&error.to_string()))?;
            if let Some(row) = rows.rows.first() {
                return Err(self.fail(&format!("{} rows {what} {name}, first {row:?}", rows.rows.len())));
            }
        }
        Ok(())
    }
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let mut run = Run::start(case.inline_rows);
    for statement in &case.tables {
        run.must(statement)?;
    }
    for (position, sql) in case.views.iter().enumerate() {
        run.create(&format!("view_{position}"), sql)?;
    }
    for batch in &case.batches {
        for statements in batch {
            run.transaction(statements);
        }
        run.sync()?;
        for (position, sql) in case.views.iter().enumerate() {
            run.compare(&format!("view_{position}"), sql)?;
        }
    }
    Ok(())
}

fn config(half: u64) -> Config {
    let rng_seed = seed(half);
    // A step of shrinking takes as long as a case.
    let shrinking = std::env::var("PROPTEST_MAX_SHRINK_ITERS").ok().and_then(|steps| steps.parse().ok());
    let max_shrink_iters = shrinking.unwrap_or(60);
    Config { cases: number_of_cases(), max_shrink_iters, failure_persistence: None, rng_seed, ..Config::default() }
}

proptest! {
    #![proptest_config(config(0))]

    /// Catches any difference between a maintained view and its query.
    #[test]
    fn views_equal_their_recompute(case in cases()) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(config(1))]

    /// The other half of the cases.
    #[test]
    fn more_views_equal_their_recompute(case in cases()) {
        check(&case)?;
    }
}
