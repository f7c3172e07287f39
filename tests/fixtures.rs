//! Plays every script of `catalog_fixtures/` on a lake.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/lakes.rs"]
mod lakes;

use std::{collections::BTreeMap, thread};

use ducklake_ivm::lake::{ColumnId, Lake, NetChangeRequest, Rows, SnapshotId, TableId, Transaction, Value, identifier};
use ducklake_ivm::{
    inspect::{Verification, verify},
    sync::{Event, SyncOptions, sync},
    view::{Creation, Strategy, ViewName, create},
};
use fixtures::Fixture;
use lakes::{Catalog, ScratchLake};

/// Every script runs to its end, each of its views can be bound at some time, and what a snapshot showed when it was
/// new is what it shows in the end, unless it has expired or DuckLake is known to read it wrongly.
#[test]
fn every_fixture_builds_and_keeps_its_past() {
    let fixtures = fixtures::all();
    assert!(fixtures.len() >= 20, "only {} fixtures", fixtures.len());
    let (even, odd): (Vec<_>, Vec<_>) = fixtures.iter().enumerate().partition(|(position, _)| position % 2 == 0);
    thread::scope(|scope| {
        for half in [even, odd] {
            scope.spawn(|| {
                for (_, fixture) in half {
                    build_and_compare(fixture, &ScratchLake::new(Catalog::DuckDb));
                }
            });
        }
    });
}

fn build_and_compare(fixture: &Fixture, scratch: &ScratchLake) {
    let name = &fixture.name;
    assert!(!fixture.views.is_empty(), "{name}: no view");
    let mut never_bound: Vec<_> = fixture.views.iter().collect();
    let mut past = BTreeMap::new();
    for step in &fixture.steps {
        step.run(&scratch.lake);
        never_bound.retain(|(_, sql)| scratch.lake.describe(sql).is_err());
        let tables = tables(&scratch.lake);
        let content = fingerprints(&scratch.lake, &tables, "");
        past.insert(scratch.current(), (tables, content));
    }
    assert!(never_bound.is_empty(), "{name}: views that were never bound: {never_bound:?}");
    let mut compared = 0;
    for (snapshot, (tables, content)) in past {
        let exists = format!("SELECT count(*) FROM ducklake_snapshots('lake') WHERE snapshot_id = {snapshot}");
        if scratch.integer(&exists) == 1 && !read_twice(scratch, snapshot) {
            let now = fingerprints(&scratch.lake, &tables, &format!("AT (VERSION => {snapshot})"));
            assert_eq!(now, content, "{name}: {tables:?} at snapshot {snapshot}");
            compared += tables.len();
        }
    }
    assert!(compared > 0, "{name}: nothing to compare");
}

/// Whether a file has two delete files at a snapshot, which happens when a flush follows a rewrite (DuckLake issue 1406,
/// seen with DuckDB 1.5.5): the file's rows are then read twice.
fn read_twice(scratch: &ScratchLake, snapshot: u64) -> bool {
    let files = format!("{}.ducklake_delete_file", scratch.lake.metadata());
    scratch.integer(&format!(
        "SELECT count(*) FROM (SELECT data_file_id FROM {files} WHERE begin_snapshot <= {snapshot} \
         AND (end_snapshot IS NULL OR {snapshot} < end_snapshot) GROUP BY 1 HAVING count(*) > 1)"
    )) > 0
}

/// The tables of the lake, as they are named in SQL.
fn tables(lake: &Lake) -> Vec<String> {
    let rows = lake.query(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake' AND NOT internal ORDER BY ALL",
    );
    let part = |value: &ducklake_ivm::lake::Value| identifier(value.as_str().unwrap());
    rows.unwrap().rows.iter().map(|row| format!("lake.{}.{}", part(&row[0]), part(&row[1]))).collect()
}

/// For each table the number of rows and the sum of their hashes: equal bags have equal ones.
fn fingerprints(lake: &Lake, tables: &[String], version: &str) -> Rows {
    let selects: Vec<String> =
        tables.iter().map(|table| format!("SELECT count(*), sum(hash(r)) FROM {table} AS r {version}")).collect();
    if selects.is_empty() {
        return Rows::default();
    }
    let sql = selects.join(" UNION ALL ");
    lake.query(&sql).unwrap_or_else(|error| panic!("{error}\n{sql}"))
}

/// The net change of each table over windows of several lengths is the difference of its rows at both ends.
#[test]
fn net_changes_of_every_fixture_are_exact() {
    let fixtures = fixtures::all();
    let (even, odd): (Vec<_>, Vec<_>) = fixtures.iter().enumerate().partition(|(position, _)| position % 2 == 0);
    thread::scope(|scope| {
        for half in [even, odd] {
            scope.spawn(|| {
                for (_, fixture) in half {
                    let scratch = ScratchLake::new(Catalog::DuckDb);
                    fixture.steps.iter().for_each(|step| step.run(&scratch.lake));
                    let compared = compare_windows(&fixture.name, &scratch.lake);
                    assert!(compared > 0, "{}: no window was compared", fixture.name);
                }
            });
        }
    });
}

fn compare_windows(fixture: &str, lake: &Lake) -> usize {
    let transaction = lake.begin().unwrap();
    let newest = transaction.snapshot();
    let mut compared = 0;
    for table in transaction.tables(newest).unwrap() {
        let there: Vec<SnapshotId> = (1..=newest.0)
            .map(SnapshotId)
            .filter(|at| transaction.snapshot_exists(*at).unwrap())
            .filter(|at| transaction.table_by_id(table.id, *at).unwrap().is_some())
            .collect();
        for length in [1, 3, 8, there.len().saturating_sub(1)] {
            for ends in there.windows(length + 1).step_by(length.max(1)).filter(|ends| ends.len() > 1) {
                let (from, to) = (ends[0], ends[length]);
                let guards = transaction.check_guards(table.id, from, to, None).unwrap();
                if guards.iter().any(|failure| !failure.past_readable) {
                    continue;
                }
                compare_window(&transaction, table.id, from, to, &format!("{fixture}: {} ({from}, {to}]", table.name));
                compared += 1;
            }
        }
    }
    compared
}

fn compare_window(transaction: &Transaction<'_>, table: TableId, from: SnapshotId, to: SnapshotId, place: &str) {
    let wanted = transaction.columns(table, to).unwrap();
    let wanted: Vec<_> = wanted.iter().filter(|column| column.parent.is_none()).collect();
    let columns: Vec<(ColumnId, String)> =
        wanted.iter().enumerate().map(|(index, column)| (column.id, format!("o{index}"))).collect();
    let rows_at = |at: SnapshotId| {
        let live = transaction.columns(table, at).unwrap();
        let values: Vec<String> = wanted
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let found = live.iter().find(|live| live.id == column.id);
                let value = found.map_or("NULL".to_owned(), |live| identifier(&live.name));
                format!("{value}::{} AS o{index}", column.data_type)
            })
            .collect();
        let name = transaction.table_by_id(table, at).unwrap().unwrap();
        format!("SELECT {} FROM {}", values.join(", "), transaction.at(&name, at))
    };
    let request = NetChangeRequest { table, from, to, columns: &columns, into: "delta" };
    let change = transaction.stage_net_change(&request).unwrap_or_else(|error| panic!("{place}: {error}"));
    // Text tells values apart that compare as equal, such as 0.0 and -0.0.
    let wrong = transaction.query(&format!(
        "SELECT COLUMNS(* EXCLUDE __weight), sum(__weight) FROM (SELECT COLUMNS(* EXCLUDE __weight)::VARCHAR, __weight \
         FROM (SELECT *, 1 AS __weight FROM ({old}) UNION ALL SELECT *, -1 FROM ({new}) UNION ALL FROM delta)) \
         GROUP BY ALL HAVING sum(__weight) <> 0 LIMIT 5",
        old = rows_at(from),
        new = rows_at(to)
    ));
    assert_eq!(
        wrong.unwrap_or_else(|error| panic!("{place}: {error}")).rows,
        Vec::<Vec<Value>>::new(),
        "{place}: {change:#?}"
    );
}

/// Views over the tables of every fixture equal a recompute whenever they were synced: after every second commit, and
/// once for the whole history; with the environment variable set, after every so many commits.
#[test]
fn views_follow_every_fixture() {
    let fixtures = fixtures::all();
    let chosen = std::env::var("DUCKLAKE_IVM_SYNC_EVERY").ok().and_then(|every| every.parse().ok());
    let problems: Vec<String> = thread::scope(|scope| {
        let runs = [(2, Catalog::DuckDb), (usize::MAX, Catalog::Sqlite)].map(|(every, catalog)| {
            let (fixtures, every) = (&fixtures, chosen.unwrap_or(every));
            scope.spawn(move || {
                let play = |fixture| {
                    Followed::play(fixture, &ScratchLake::new(catalog), every)
                        .map_err(|problem| format!("{catalog:?}, synced every {every}: {problem}"))
                };
                fixtures.iter().filter_map(|fixture| play(fixture).err()).collect::<Vec<_>>()
            })
        });
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// A fixture that is played while views follow it.
struct Followed<'a> {
    fixture: &'a Fixture,
    lake: &'a Lake,
    created: Vec<&'a (String, String)>,
    /// From here on a view's SQL may mean something else than the view, which stays with what it was created over.
    names_moved: bool,
}

impl<'a> Followed<'a> {
    fn play(fixture: &'a Fixture, scratch: &'a ScratchLake, every: usize) -> Result<(), String> {
        let mut followed = Followed { fixture, lake: &scratch.lake, created: Vec::new(), names_moved: false };
        for (position, step) in fixture.steps.iter().enumerate() {
            let place = format!("{}, after step {}, {step:?}", fixture.name, position + 1);
            step.run(&scratch.lake);
            let moves = |statement: &String| statement.contains("RENAME TO") || statement.contains("OR REPLACE VIEW");
            followed.names_moved |= step.statements.iter().any(moves);
            let last = position + 1 == fixture.steps.len();
            let mut go = || {
                followed.create_views()?;
                if (position + 1) % every == 0 || last { followed.sync_and_compare(last) } else { Ok(()) }
            };
            go().map_err(|problem| format!("{place}: {problem}"))?;
        }
        assert_eq!(followed.created.len(), fixture.views.len(), "{}", fixture.name);
        Ok(())
    }

    /// Creates each view as soon as its SQL binds.
    fn create_views(&mut self) -> Result<(), String> {
        for view in &self.fixture.views {
            let (name, sql) = view;
            if !self.created.contains(&view) && self.lake.describe(sql).is_ok() {
                let creation = Creation {
                    name: view_name(name),
                    sql: sql.clone(),
                    or_replace: false,
                    if_not_exists: false,
                    strategy: Strategy::Auto,
                    check: true,
                };
                create(self.lake, &creation).map_err(|error| format!("create {name}: {error}"))?;
                self.created.push(view);
            }
        }
        Ok(())
    }

    /// Verifies in the end, and wherever the view's SQL does not tell what it should hold.
    fn sync_and_compare(&self, last: bool) -> Result<(), String> {
        let report =
            sync(self.lake, &SyncOptions::default(), &|_: &Event<'_>| {}).map_err(|error| error.to_string())?;
        for report in &report.views {
            let (name, sql) = self
                .created
                .iter()
                .find(|(name, _)| view_name(name).to_string() == report.view)
                .ok_or("no such view")?;
            if let Some(error) = &report.error {
                if !error.contains("is broken") || self.lake.describe(sql).is_ok() {
                    return Err(format!("{error}: {report:?}"));
                }
                continue;
            }
            let comparable = !self.names_moved && self.lake.describe(sql).is_ok();
            if comparable {
                let held = format!("FROM {}", view_name(name));
                let _whole_reads = self.fixture.has_buckets().then(|| WholeReads::begin(self.lake));
                let differing =
                    format!("({held} EXCEPT ALL ({sql})) UNION ALL (({sql}) EXCEPT ALL {held}) ORDER BY ALL LIMIT 5");
                let differing = self.lake.query(&differing).map_err(|error| error.to_string())?.rows;
                if !differing.is_empty() {
                    return Err(format!("differing rows {differing:?}: {report:?}"));
                }
            }
            if !comparable || last {
                let verified = verify(self.lake, &[view_name(name)], 5).map_err(|error| error.to_string())?;
                if !verified.iter().all(Verification::holds) {
                    return Err(format!("not verified {verified:?}: {report:?}"));
                }
            }
        }
        Ok(())
    }
}

/// While this lives, no read skips files: with `bucket()` partitioning added later, DuckDB 1.5.5 skips too many.
struct WholeReads<'a> {
    lake: &'a Lake,
    optimizers: String,
}

impl<'a> WholeReads<'a> {
    fn begin(lake: &'a Lake) -> Self {
        let optimizers = lake.query_value("SELECT current_setting('disabled_optimizers')").unwrap();
        let optimizers = optimizers.as_str().unwrap().to_owned();
        lake.execute(&format!("SET GLOBAL disabled_optimizers = '{optimizers},filter_pushdown,join_filter_pushdown'"))
            .unwrap();
        Self { lake, optimizers }
    }
}

impl Drop for WholeReads<'_> {
    fn drop(&mut self) {
        self.lake.execute(&format!("SET GLOBAL disabled_optimizers = '{}'", self.optimizers)).unwrap();
    }
}

/// Views must not take the names of a fixture's tables.
fn view_name(name: &str) -> ViewName {
    ViewName::parse(&format!("view_{name}")).unwrap()
}

#[test]
fn scripts_are_split_at_semicolons_outside_quotes_and_grouped_by_transaction() {
    let script = "-- For a test.\n-- view one: SELECT 1\n\nSELECT ';' -- a; comment\n;\nBEGIN;\nSELECT \"a;b\";\nCOMMIT;\nSELECT 'it''s; so';\n";
    let fixture = fixtures::parse("test", script).unwrap();
    assert_eq!(fixture.purpose, "For a test.");
    assert_eq!(fixture.views, [("one".to_owned(), "SELECT 1".to_owned())]);
    let steps: Vec<Vec<String>> = fixture.steps.into_iter().map(|step| step.statements).collect();
    assert_eq!(steps, [vec!["SELECT ';'"], vec!["BEGIN", "SELECT \"a;b\"", "COMMIT"], vec!["SELECT 'it''s; so'"]]);
}

#[test]
fn scripts_that_are_not_whole_are_refused() {
    for script in ["SELECT 1;", "-- x\n-- view v SELECT 1\n", "-- x\nBEGIN;", "-- x\nCOMMIT;", "-- x\nBEGIN;BEGIN;"] {
        assert!(fixtures::parse("test", script).is_err(), "{script}");
    }
}

#[test]
fn the_readme_lists_every_fixture_with_its_purpose() {
    let readme = include_str!("../catalog_fixtures/README.md");
    let listed: Vec<&str> = readme.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> =
        fixtures::all().iter().map(|fixture| format!("| `{}` | {} |", fixture.name, fixture.purpose)).collect();
    assert_eq!(listed, expected);
}
