//! Histories in which a naive reader of DuckLake 1.0 goes wrong, each followed by views that are synced after every
//! commit and by views that are synced once; all equal a recompute. The numbers are those of a collection of facts
//! about DuckLake that was tested by hand: 1 the change functions, 2 whether a table changed, 3 where the change feed is
//! wrong, 4 identity, 5 writing, 6 several writers. `lake_facts.rs` tests the same below, on net changes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/world.rs"]
mod world;

use std::thread;

use ducklake_ivm::inspect::{Verification, verify};
use ducklake_ivm::lake::Lake;
use ducklake_ivm::sync::{Method, SyncOptions, ViewReport};
use ducklake_ivm::view::ViewName;
use world::{Catalog, World, run, view_of};

/// The views, by the stems of their names; only the last is synced after every commit.
const VIEWS: [(&str, &str); 2] = [
    ("filter", "SELECT k, v FROM t WHERE v > 2 OR k % 2 = 0"),
    ("join", "SELECT one.k, other.v, d.w FROM t one JOIN t other ON one.k = other.v JOIN d ON one.k % 3 = d.k"),
];

fn views(when: &str) -> &'static [(&'static str, &'static str)] {
    if when == "often" { &VIEWS[1..] } else { &VIEWS }
}

/// A history of the tables `t (k, v)` and `d (k, w)`.
struct Hazard {
    name: &'static str,
    /// `data_inlining_row_limit`.
    inlining: u32,
    /// Before the views are made, beyond the two tables.
    before: &'static str,
    /// Commits, separated by semicolons at line ends; `BEGIN` to `COMMIT` is one.
    history: &'static str,
    /// A guard and, where it has to give up on the delta, the strategy and the reason's beginning.
    guard: Option<(&'static str, Method)>,
}

const fn hazard(name: &'static str, inlining: u32, before: &'static str, history: &'static str) -> Hazard {
    Hazard { name, inlining, before, history, guard: None }
}

const HAZARDS: &[Hazard] = &[
    hazard(
        "1.2 the snapshot after the watermark is gone",
        0,
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO t VALUES (2, 2);\nINSERT INTO t VALUES (3, 3);\nEXPIRE -1;\nDELETE FROM t WHERE k = 2",
    ),
    hazard(
        "1.4 rows come and go in one window",
        10,
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO t VALUES (2, 2);\nUPDATE t SET v = 5 WHERE k = 2;\nDELETE FROM t WHERE k = 2;\n\
         BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE v < 20 AND k <> 1;\nCOMMIT",
    ),
    hazard(
        "1.4 an update changes nothing",
        0,
        "INSERT INTO t SELECT i, i FROM range(30) r(i)",
        "UPDATE t SET v = v WHERE k < 5",
    ),
    hazard(
        "1.5 equal rows are counted",
        0,
        "INSERT INTO t SELECT 3, 3 FROM range(5)",
        "DELETE FROM t WHERE rowid < 2;\nINSERT INTO t SELECT 2, 2 FROM range(3)",
    ),
    hazard(
        "1.7 a column with a default comes",
        0,
        "INSERT INTO t SELECT i, i FROM range(20) r(i)",
        "ALTER TABLE t ADD COLUMN e INT DEFAULT 7;\nUPDATE t SET e = 8 WHERE k < 3;\nALTER TABLE t DROP COLUMN e",
    ),
    hazard(
        "1.9 a rewrite narrows the statistics",
        0,
        "INSERT INTO t SELECT CASE WHEN i = 0 THEN NULL ELSE i END, i % 20 + 1 FROM range(40) r(i)",
        "DELETE FROM t WHERE k IS NULL OR k > 15;\nCALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\n\
         UPDATE t SET v = 3 WHERE k = 4",
    ),
    hazard(
        "1.10 deletes after a merge",
        0,
        "INSERT INTO t VALUES (0, 0), (1, 1);\nINSERT INTO t VALUES (2, 0), (3, 1)",
        "CALL ducklake_merge_adjacent_files('lake');\nUPDATE t SET v = v + 10 WHERE k % 2 = 0",
    ),
    hazard(
        "2.1 a table named like a token",
        10,
        "INSERT INTO t SELECT i, i FROM range(30) r(i)",
        "CREATE TABLE \"x,inserted_into_table:1\" (k INT);\nINSERT INTO \"x,inserted_into_table:1\" VALUES (1);\n\
         DELETE FROM t WHERE k = 5",
    ),
    hazard(
        "2.2 changes in snapshots that are gone",
        0,
        "INSERT INTO t SELECT i, i FROM range(20) r(i)",
        "DELETE FROM t WHERE k < 15;\nINSERT INTO d VALUES (1, 'more');\nEXPIRE -1;\nEXPIRE -2",
    ),
    hazard(
        "2.2 inlined changes in snapshots that are gone",
        10,
        "INSERT INTO t VALUES (1, 1), (2, 3), (3, 2)",
        "DELETE FROM t WHERE k = 1;\nUPDATE t SET v = 1 WHERE k = 2;\nINSERT INTO d VALUES (1, 'more');\nEXPIRE -1;\nEXPIRE -2",
    ),
    hazard(
        "3.A1 two deletes of one file in one transaction",
        0,
        "INSERT INTO t SELECT i, i FROM range(5) r(i)",
        "BEGIN;\nDELETE FROM t WHERE k = 2;\nDELETE FROM t;\nCOMMIT",
    ),
    hazard(
        "3.A2 two updates of one file in one transaction",
        0,
        "INSERT INTO t SELECT i, i FROM range(8) r(i)",
        "BEGIN;\nUPDATE t SET v = v + 1 WHERE k IN (2, 7);\nUPDATE t SET v = v + 1 WHERE k IN (2, 6);\nCOMMIT",
    ),
    hazard(
        "3.B an inlined row is updated twice and flushed",
        10,
        "INSERT INTO t VALUES (0, 0), (1, 1)",
        "UPDATE t SET v = v + 10 WHERE k = 1;\nUPDATE t SET v = v + 1;\nCALL ducklake_flush_inlined_data('lake')",
    ),
    hazard(
        "3.C update, merge, update again",
        0,
        "INSERT INTO t VALUES (0, 0)",
        "INSERT INTO t SELECT 4 + i, i FROM range(8) r(i);\nUPDATE t SET v = v + 1 WHERE k = 5;\n\
         CALL ducklake_merge_adjacent_files('lake');\nUPDATE t SET v = v + 10 WHERE k = 5",
    ),
    hazard(
        "3.D a small delete and a rewrite",
        10,
        "INSERT INTO t SELECT i, i FROM range(12) r(i)",
        "DELETE FROM t WHERE k = 1;\nCALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
    ),
    hazard(
        "3.E a large delete and a rewrite",
        0,
        "INSERT INTO t SELECT i, i % 9 FROM range(60) r(i)",
        "DELETE FROM t WHERE k < 20;\nCALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
    ),
    hazard(
        "3.F insert and delete in one transaction",
        0,
        "INSERT INTO t VALUES (9, 9)",
        "BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE k < 5;\nCOMMIT",
    ),
    Hazard {
        name: "3.H a flush after a rewrite doubles deletes of the past",
        inlining: 10,
        before: "INSERT INTO t SELECT i, i FROM range(12) r(i);\nUPDATE t SET v = v WHERE k = 9;\n\
                 CALL ducklake_flush_inlined_data('lake');\nDELETE FROM t WHERE k % 3 = 0",
        history: "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\n\
                  CALL ducklake_flush_inlined_data('lake');\nINSERT INTO t VALUES (50, 50)",
        guard: Some(("doubled-deletes", Method::Recompute)),
    },
    hazard(
        "3.J changes of snapshots that are gone",
        10,
        "INSERT INTO t SELECT i, i FROM range(20) r(i)",
        "DELETE FROM t WHERE k < 3;\nINSERT INTO t VALUES (50, 1);\nUPDATE t SET v = 3 WHERE k > 15;\n\
         INSERT INTO t VALUES (51, 1);\nEXPIRE -1;\nEXPIRE -2;\nEXPIRE -3",
    ),
    hazard(
        "3.1 files are cleaned up",
        0,
        "INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2)",
        "DELETE FROM t WHERE k = 2;\nINSERT INTO t VALUES (3, 3);\nCALL ducklake_merge_adjacent_files('lake');\n\
         CALL ducklake_cleanup_old_files('lake', cleanup_all => true);\nCHECKPOINT lake;\nDELETE FROM t WHERE k = 1;\n\
         CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
    ),
    Hazard {
        name: "3.6 bucket partitioning comes after the rows",
        inlining: 0,
        before: "INSERT INTO t SELECT i, i FROM range(12) r(i)",
        history: "ALTER TABLE t SET PARTITIONED BY (bucket(3, k));\nINSERT INTO t VALUES (50, 5);\n\
                  DELETE FROM t WHERE k BETWEEN 7 AND 8",
        guard: Some(("bucket-partitioning", Method::Incremental)),
    },
    Hazard {
        name: "3.I deletion vectors",
        inlining: 0,
        before: "CALL lake.set_option('write_deletion_vectors', true);\nINSERT INTO t SELECT i, i FROM range(12) r(i)",
        history: "DELETE FROM t WHERE k = 0;\nDELETE FROM t WHERE k % 5 = 0",
        guard: Some(("deletion-vectors", Method::Recompute)),
    },
    hazard(
        "4.2 renamed, and renamed back",
        10,
        "INSERT INTO t SELECT i, i FROM range(12) r(i)",
        "ALTER TABLE t RENAME TO away;\nDELETE FROM away WHERE k = 4;\nALTER TABLE away RENAME TO t;\nINSERT INTO t VALUES (6, 6)",
    ),
    hazard(
        "4.5 comments, partitions and sort orders change no row",
        10,
        "INSERT INTO t SELECT i, i FROM range(12) r(i)",
        "COMMENT ON TABLE t IS 'a comment';\nALTER TABLE t SET PARTITIONED BY (v);\nALTER TABLE t SET SORTED BY (k DESC);\n\
         INSERT INTO t SELECT i, i FROM range(20) r(i);\nALTER TABLE t RESET PARTITIONED BY;\nDELETE FROM t WHERE k = 3",
    ),
    hazard(
        "5.6 row ids repeat",
        0,
        "INSERT INTO t VALUES (1, 1)",
        "BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nUPDATE t SET v = 3 WHERE k < 4;\nCOMMIT;\n\
         BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nUPDATE t SET v = 4 WHERE k < 4;\nCOMMIT;\n\
         DELETE FROM t WHERE v = 3",
    ),
    hazard(
        "a sorted table is flushed after a rewrite",
        10,
        "ALTER TABLE t SET SORTED BY (k);\nINSERT INTO t SELECT i, i FROM range(40) r(i);\nINSERT INTO t VALUES (0, 1)",
        "DELETE FROM t WHERE k > 15;\nCALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\n\
         INSERT INTO t VALUES (2, 1);\nCALL ducklake_flush_inlined_data('lake');\nDELETE FROM t WHERE k < 2",
    ),
];

/// `EXPIRE -n` stands for the expiry of the n-th last snapshot at that time.
fn commit(world: &World, statement: &str) {
    match statement.strip_prefix("EXPIRE -") {
        Some(back) => {
            let gone = world.current() - back.parse::<u64>().unwrap();
            world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{gone}])"));
        }
        None => world.run(statement),
    }
}

/// The commits of a history.
fn commits(history: &str) -> Vec<String> {
    let mut commits: Vec<String> = Vec::new();
    let mut open = false;
    for statement in history.split(";\n") {
        match commits.last_mut().filter(|_| open) {
            Some(last) => *last = format!("{last};\n{statement}"),
            None => commits.push(statement.to_owned()),
        }
        open = (open || statement == "BEGIN") && statement != "COMMIT";
    }
    commits
}

fn world_with(inlining: u32, before: &str) -> World {
    let world = World::new(&format!(
        "CALL lake.set_option('data_inlining_row_limit', {inlining});\n\
         CREATE TABLE t (k INTEGER, v INTEGER);\nCREATE TABLE d (k INTEGER, w VARCHAR);\n\
         INSERT INTO d VALUES (0, 'zero'), (1, 'one'), (2, NULL);\n{before}"
    ));
    for when in ["often", "once"] {
        for (stem, sql) in views(when) {
            world.create(&format!("{when}_{stem}"), sql);
        }
    }
    world
}

/// Syncs the views of one kind, compares them, and returns their reports.
fn sync(world: &World, when: &str) -> Vec<ViewReport> {
    let names = views(when).iter().map(|(stem, _)| ViewName::new("main", format!("{when}_{stem}"))).collect();
    let report = world.sync_with(&SyncOptions { views: names, ..SyncOptions::default() }).unwrap();
    let failed = report.views.iter().find(|view| view.error.is_some());
    assert!(failed.is_none(), "{failed:?}");
    for (stem, sql) in views(when) {
        if world.lake.describe(sql).is_ok() {
            world.assert_holds(&format!("{when}_{stem}"), sql);
        } else {
            // The table has another name for a while.
            let found = verify(&world.lake, &[ViewName::new("main", format!("{when}_{stem}"))], 3).unwrap();
            assert!(found.iter().all(Verification::holds), "{found:?}");
        }
    }
    report.views
}

fn play(hazard: &Hazard) {
    let world = world_with(hazard.inlining, hazard.before);
    let mut reports = Vec::new();
    for step in commits(hazard.history) {
        commit(&world, &step);
        reports.extend(sync(&world, "often"));
    }
    let at_once = sync(&world, "once");
    let expected = hazard.guard.map_or(Method::Incremental, |(_, method)| method);
    for report in &at_once {
        let unchanged = report.strategy == Some(Method::Noop);
        assert!(unchanged || report.strategy == Some(expected), "{expected:?} expected: {report:?}");
    }
    reports.extend(at_once);
    match hazard.guard {
        None => assert!(reports.iter().all(|report| report.guards.is_empty()), "{reports:#?}"),
        Some((guard, method)) => {
            let of_guard = |text: &String| text.starts_with(&format!("main.t: {guard}: "));
            let fell = reports.iter().filter(|report| report.guards.iter().any(of_guard));
            for report in fell.clone() {
                let reason = report.reason.clone().unwrap_or_default();
                assert!(method == Method::Incremental || reason.contains(guard), "{report:?}");
            }
            assert!(fell.count() > 1, "{guard} expected: {reports:#?}");
        }
    }
    for report in &reports {
        let silent = matches!(report.strategy, Some(Method::Full | Method::Recompute)) && report.reason.is_none();
        assert!(!silent, "{report:?}");
    }
    for view in sync(&world, "once") {
        assert_eq!(view.strategy, Some(Method::Noop), "{view:?}");
    }
    for verification in verify(&world.lake, &[], 3).unwrap() {
        assert!(verification.holds(), "{verification:?}");
    }
}

#[test]
fn views_follow_every_hazard() {
    let problems: Vec<String> = thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                let mine = HAZARDS.iter().skip(half).step_by(2);
                let fails = |hazard: &&Hazard| std::panic::catch_unwind(|| play(hazard)).is_err();
                mine.filter(fails).map(|hazard| hazard.name.to_owned()).collect::<Vec<_>>()
            })
        });
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

// Several writers.

/// Views over `t`, and another session.
fn with_another_writer(inlining: u32, before: &str) -> (World, Lake) {
    let world = world_with(inlining, before);
    let other = world.lake.another_session().unwrap();
    (world, other)
}

#[test]
fn fact_6_3_a_back_dated_delete_is_taken_in_by_the_next_sync() {
    let (world, other) =
        with_another_writer(0, "INSERT INTO t SELECT i, i FROM range(40) r(i);\nDELETE FROM t WHERE k < 10");
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k >= 30").unwrap();
    world.run("INSERT INTO d VALUES (1, 'uno')");
    sync(&world, "often");
    late.commit().unwrap();
    for when in ["often", "once"] {
        for report in sync(&world, when) {
            if when == "often" {
                assert_eq!(report.strategy, Some(Method::Recompute), "{report:?}");
                assert!(report.guards.iter().any(|guard| guard.contains("back-dated")), "{report:?}");
                assert!(report.reason.is_some_and(|reason| reason.contains("back-dated")));
            }
        }
    }
}

#[test]
fn fact_6_4_a_small_delete_that_compaction_loses() {
    for call in
        ["ducklake_merge_adjacent_files('lake')", "ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)"]
    {
        let (world, other) = with_another_writer(
            10,
            "INSERT INTO t SELECT i, i FROM range(20) r(i);\nINSERT INTO t SELECT i, i FROM range(20, 40) r(i);\n\
             DELETE FROM t WHERE k = 39",
        );
        let late = other.begin().unwrap();
        late.execute("UPDATE t SET v = 0 WHERE k = 1").unwrap();
        world.run(&format!("CALL {call}"));
        sync(&world, "often");
        if late.commit().is_err() {
            continue;
        }
        // DuckLake may show the row twice now; a view shows what DuckLake shows.
        sync(&world, "often");
        sync(&world, "once");
    }
}

#[test]
fn fact_6_5_a_table_that_ducklake_reads_twice_is_named_and_not_taken_in() {
    let (world, other) =
        with_another_writer(10, "INSERT INTO t SELECT i, i FROM range(40) r(i);\nDELETE FROM t WHERE k < 5");
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k BETWEEN 10 AND 24").unwrap();
    world.run("CALL ducklake_flush_inlined_data('lake')");
    late.commit().unwrap();
    let keys = world.integer("SELECT count(DISTINCT k) FROM t");
    assert!(world.integer("SELECT count(k) FROM t") > keys, "the issue is mended: the guard can go");
    let corrupt = || format!("table main.t is corrupt at snapshot {}: data file ", world.current());
    let held = world.rows("FROM once_filter");
    for options in [SyncOptions::default(), SyncOptions { full: true, ..SyncOptions::default() }] {
        let corrupt = corrupt();
        let report = world.sync_with(&options).unwrap();
        for (stem, _) in VIEWS {
            let report = view_of(&report, &format!("once_{stem}"));
            let error = report.error.unwrap();
            assert!(error.contains(&corrupt) && error.contains("twice"), "{error}");
            assert!(report.hint.unwrap().contains("from rows that you trust"));
        }
    }
    assert_eq!(world.rows("FROM once_filter"), held);
    let error = world.try_create("more", "SELECT k FROM t").unwrap_err();
    assert!(error.to_string().contains(&corrupt()), "{error}");
    // Filled anew, the table is as good as any.
    world.run("CREATE OR REPLACE TABLE t AS SELECT DISTINCT k, v FROM t");
    sync(&world, "often");
    sync(&world, "once");
}

#[test]
fn fact_6_5_deletes_of_both_kinds_of_one_row() {
    let (world, other) = with_another_writer(10, "INSERT INTO t SELECT i, i FROM range(40) r(i)");
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k < 15").unwrap();
    world.run("DELETE FROM t WHERE k IN (3, 4)");
    sync(&world, "often");
    if late.commit().is_ok() {
        sync(&world, "often");
        sync(&world, "once");
        world.run("INSERT INTO t VALUES (3, 100)");
        sync(&world, "often");
    }
}

#[test]
fn fact_6_6_snapshots_expire_under_an_open_transaction() {
    let (world, other) = with_another_writer(0, "INSERT INTO t SELECT i, i FROM range(40) r(i)");
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k < 5").unwrap();
    world.run("DELETE FROM t WHERE k BETWEEN 3 AND 8");
    sync(&world, "often");
    world.run("INSERT INTO d VALUES (1, 'uno')");
    let gone: Vec<String> = (1..world.current()).map(|snapshot| snapshot.to_string()).collect();
    world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", gone.join(", ")));
    if late.commit().is_ok() {
        // Without its snapshots DuckLake sees no conflict, and gives the file a second delete file.
        let report = world.sync_with(&SyncOptions::default()).unwrap();
        let corrupt = |view: &ViewReport| view.error.as_ref().is_some_and(|error| error.contains("main.t is corrupt"));
        assert!(report.views.iter().all(corrupt), "{report:?}");
        world.run("CREATE OR REPLACE TABLE t AS SELECT DISTINCT k, v FROM t");
    }
    sync(&world, "often");
    sync(&world, "once");
}

#[test]
fn fact_6_7_a_second_process_on_sqlite_writes_while_views_are_synced() {
    let world = World::with(
        Catalog::Sqlite,
        "CREATE TABLE t (k INTEGER, v INTEGER);\nCREATE TABLE d (k INTEGER, w VARCHAR);\nINSERT INTO d VALUES (0, 'zero')",
    );
    for when in ["often", "once"] {
        for (stem, sql) in views(when) {
            world.create(&format!("{when}_{stem}"), sql);
        }
    }
    let options = world.others();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let other = Lake::open(&options).unwrap();
            for round in 0..30 {
                let change = match round % 5 {
                    0 | 1 => format!("INSERT INTO t SELECT i, {round} FROM range(15) r(i)"),
                    2 => format!("DELETE FROM t WHERE k = {round} % 7"),
                    3 => format!("UPDATE t SET v = v + 1 WHERE k % 5 = {round} % 5"),
                    _ => "CALL ducklake_merge_adjacent_files('lake')".to_owned(),
                };
                // A commit that loses a race is begun again, as a user would.
                for _ in 0..20 {
                    if other.execute(&change).is_ok() {
                        break;
                    }
                }
            }
        });
        while !writer.is_finished() {
            let report = world.sync_with(&SyncOptions::default()).unwrap();
            assert!(report.views.iter().all(|view| view.error.is_none()), "{report:?}");
        }
    });
    sync(&world, "often");
    sync(&world, "once");
    let other = world.reopen();
    run(&other, "DELETE FROM t WHERE k = 1");
    sync(&world, "once");
}

/// Catches: DuckLake, which keeps the schema of the snapshot that made a table under the version of rows that the catalog
/// got later, and so reads `e` as it was before `o` was dropped and added (wrong rows).
#[test]
fn rows_that_the_catalog_got_late_bring_no_earlier_schema() {
    let mut world = World::new(
        "CALL lake.set_option('data_inlining_row_limit', 0);
         BEGIN;
         CREATE TABLE a (k INTEGER, w INTEGER);
         INSERT INTO a SELECT i % 7, i FROM range(50) r(i);
         CREATE TABLE e (k INTEGER, o INTEGER);
         INSERT INTO e SELECT i % 7, i FROM range(300) r(i);
         COMMIT;
         ALTER TABLE e DROP COLUMN o;
         ALTER TABLE e ADD COLUMN o INTEGER;
         UPDATE e SET o = k * 10;
         CALL lake.set_option('data_inlining_row_limit', 1000);
         INSERT INTO a VALUES (3, 1000)",
    );
    let sums = "SELECT a.k, a.w, sum(e.o) AS s, count(*) AS c FROM a JOIN e USING (k) GROUP BY ALL";
    world.create("v", sums);
    world.run("INSERT INTO a VALUES (4, 5); CREATE TABLE other (i INTEGER)");
    // Synced before `v`, from a snapshot of another schema.
    world.create("b", "SELECT k, count(*) AS c FROM a GROUP BY k");
    commit(
        &world,
        "BEGIN; UPDATE a SET w = w + 1 WHERE k = 3; DELETE FROM e WHERE k = 5; INSERT INTO e VALUES (3, 77); COMMIT",
    );
    world.close();
    world.open();
    let report = world.sync();
    assert_eq!(view_of(&report, "v").strategy, Some(Method::Incremental), "{report:?}");
    world.assert_holds("v", sums);
    assert!(verify(&world.lake, &[], 5).unwrap().iter().all(Verification::holds));
}

/// Catches: a table of bookkeeping that gets its first rows in the catalog without a schema version of their own; and the
/// past of a table that is therefore not found.
#[test]
fn bookkeeping_has_a_schema_version_for_its_rows_in_the_catalog() {
    let mut world = World::new(
        "CALL lake.set_option('data_inlining_row_limit', 0);
         CREATE TABLE t (k INTEGER, v INTEGER);
         INSERT INTO t SELECT i % 4, i FROM range(100) r(i)",
    );
    let views = [
        ("first", "SELECT sum(v) AS s FROM t"),
        ("second", "SELECT k, max(v) AS m FROM late GROUP BY k"),
        ("third", "SELECT *, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM late"),
    ];
    world.create(views[0].0, views[0].1);
    world.run("CREATE TABLE late (k INTEGER, v INTEGER); INSERT INTO late SELECT i % 3, i FROM range(200) r(i)");
    for (name, sql) in &views[1..] {
        world.create(name, sql);
    }
    for round in 0..3 {
        world.run(&format!("UPDATE late SET v = v + 1000 WHERE v % 20 = {round}; INSERT INTO t VALUES ({round}, 1)"));
        world.close();
        world.open();
        for view in world.sync().views {
            assert_eq!((view.strategy, view.reason.as_deref()), (Some(Method::Incremental), None), "{view:?}");
        }
        for (name, sql) in views {
            world.assert_holds(name, sql);
        }
    }
    let late = "FROM __ducklake_metadata_lake.ducklake_inlined_data_tables \
                ANTI JOIN __ducklake_metadata_lake.ducklake_schema_versions USING (table_id, schema_version)";
    assert_eq!(world.integer(&format!("SELECT count(*) {late}")), 0, "{:?}", world.rows(late));
}
