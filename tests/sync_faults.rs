//! A refresh that dies at any of its steps leaves the lake as it was before or as it is after.
//!
//! Each point is tried by a process of its own: this test binary starts itself again with the name of the point, and
//! the process aborts there.

#![cfg(feature = "failpoints")]
#[path = "support/world.rs"]
mod world;

use std::process::Command;

use ducklake_ivm::lake::{Lake, LakeOptions};
use ducklake_ivm::sync::{Event, Method, POINTS, SyncOptions, sync};
use world::{Catalog, World, view_of};

const TABLES: &str = "
CREATE TABLE t (id INTEGER, k INTEGER);
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO t SELECT i, i % 4 FROM range(200) r(i);
INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, NULL);
";
const JOIN: &str = "SELECT t.id, u.w FROM t JOIN u ON t.k = u.k";
const CATALOG: &str = "DUCKLAKE_IVM_TEST_CATALOG";

/// Not a test of its own: the process that dies.
#[test]
fn dying_process() {
    let Ok(uri) = std::env::var(CATALOG) else { return };
    let scenario = fail::FailScenario::setup();
    fail::cfg_callback(std::env::var("DUCKLAKE_IVM_TEST_POINT").unwrap(), || std::process::abort()).unwrap();
    let lake = Lake::open(&LakeOptions::new(uri)).unwrap();
    sync(&lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
    scenario.teardown();
}

#[test]
fn a_crash_leaves_the_lake_as_before_or_as_after() {
    // Points are global to a process: the two tests must not meet.
    let scenario = fail::FailScenario::setup();
    for catalog in [Catalog::DuckDb, Catalog::Sqlite] {
        // One catalog is enough for the points before anything is written.
        let written = POINTS.iter().position(|point| *point == "sync::after_match").unwrap();
        for point in &POINTS[if matches!(catalog, Catalog::DuckDb) { 0 } else { written }..] {
            let mut world = World::with(catalog, TABLES);
            world.create("v", JOIN);
            world.run("DELETE FROM t WHERE id % 3 = 0;\nINSERT INTO t SELECT 1000 + i, i % 4 FROM range(30) r(i)");
            let (before, rows) = (world.current(), world.rows("FROM v"));
            world.close();
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "dying_process", "--nocapture"])
                .env(CATALOG, world.others().uri)
                .env("DUCKLAKE_IVM_TEST_POINT", point)
                .output()
                .unwrap();
            assert!(!status.status.success(), "{point} was not passed");
            world.open();
            if *point == "sync::after_commit" {
                assert_eq!(world.current(), before + 1, "{point}");
                world.assert_holds("v", JOIN);
                assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
            } else {
                assert_eq!((world.current(), world.rows("FROM v")), (before, rows), "{point}");
                assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
            }
            world.assert_holds("v", JOIN);
        }
    }
    scenario.teardown();
}

#[test]
fn an_error_at_any_step_writes_nothing() {
    let scenario = fail::FailScenario::setup();
    let world = World::new(TABLES);
    world.create("v", JOIN);
    world.run("DELETE FROM t WHERE id % 3 = 0;\nINSERT INTO t SELECT 1000 + i, i % 4 FROM range(30) r(i)");
    let before = world.current();
    for point in POINTS.iter().filter(|point| **point != "sync::after_commit") {
        fail::cfg(*point, "1*panic").unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            sync(&world.lake, &SyncOptions::default(), &|_: &Event<'_>| {})
        }));
        assert!(outcome.is_err(), "{point} was not passed");
        fail::remove(*point);
        assert_eq!(world.current(), before, "{point}");
    }
    let report = sync(&world.lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
    assert_eq!(view_of(&report, "v").strategy, Some(Method::Incremental));
    world.assert_holds("v", JOIN);
    scenario.teardown();
}
