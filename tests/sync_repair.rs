//! Views whose table, state or history someone else laid hands on: a sync stops and says so, a repair rebuilds what is
//! damaged and leaves the rest alone.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::inspect::{status, verify};
use ducklake_ivm::sync::{Method, SyncOptions, ViewReport};
use ducklake_ivm::view::{Outcome, ViewName, create, drop_view};
use world::{World, creation, view_of};

const TABLES: &str = "
CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR);
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO t SELECT i, i % 4, 'v' || i FROM range(40) r(i);
INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, NULL);
";
const JOIN: &str = "SELECT t.id, t.v, u.w FROM t JOIN u ON t.k = u.k";
const ABOVE: &str = "SELECT w, count(*) AS n FROM v GROUP BY w";

/// A view, a view over it, and one that nobody touches.
fn world() -> World {
    let world = World::new(TABLES);
    world.create("v", JOIN);
    world.create("above", ABOVE);
    world.create("other", "SELECT id FROM t");
    world
}

fn state_of(world: &World, view: &str) -> String {
    let sql = format!("SELECT 'lake.ducklake_ivm.state_' || id FROM ducklake_ivm.views WHERE view_name = '{view}'");
    world.rows(&sql).pop().unwrap()
}

fn repair(world: &World) -> Vec<ViewReport> {
    let options = SyncOptions { repair: true, ..SyncOptions::default() };
    let report = world.sync_with(&options).unwrap();
    for view in &report.views {
        assert_eq!(view.error, None, "{view:?}");
    }
    report.views
}

/// `damage` stops the sync of `v` with an error that says `what`; a repair rebuilds it, and only it; afterwards it is
/// maintained from changes again.
fn damaged(damage: impl Fn(&World) -> String, what: &str) {
    let world = world();
    world.run(&damage(&world));
    world.run("INSERT INTO t VALUES (100, 1, 'new')");

    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let failed = view_of(&report, "v");
    let error = failed.error.unwrap();
    assert!(error.contains(what), "{error}");
    assert!(failed.hint.unwrap().contains("sync --repair"));
    assert_eq!(view_of(&report, "other").rows_inserted, 1);
    let found = status(&world.lake, &[ViewName::parse("v").unwrap()]).unwrap().pop().unwrap();
    assert!(found.error.as_ref().is_some_and(|error| error.contains(what)), "{found:?}");
    assert!(found.hint.as_ref().is_some_and(|hint| hint.contains("sync --repair")), "{found:?}");

    let views = repair(&world);
    let of = |name: &str| views.iter().find(|view| view.view == name).unwrap();
    assert_eq!(of("main.v").strategy, Some(Method::Full));
    assert!(of("main.v").repaired.iter().any(|damage| damage.contains(what)), "{:?}", of("main.v"));
    assert_eq!((of("main.other").strategy, of("main.other").repaired.len()), (Some(Method::Noop), 0));
    world.assert_holds("v", JOIN);
    world.assert_holds("above", ABOVE);
    assert!(verify(&world.lake, &[], 5).unwrap().iter().all(ducklake_ivm::inspect::Verification::holds));

    assert!(repair(&world).iter().all(|view| view.strategy == Some(Method::Noop) && view.repaired.is_empty()));
    world.run("INSERT INTO t VALUES (101, 3, 'newer');\nDELETE FROM t WHERE id < 3");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", JOIN);
    world.assert_holds("above", ABOVE);
}

#[test]
fn rows_of_someone_else() {
    damaged(|_| "DELETE FROM v WHERE id = 3".to_owned(), "someone else wrote to its table");
}

#[test]
fn a_dropped_table() {
    damaged(|_| "DROP TABLE v".to_owned(), "its table was dropped");
}

#[test]
fn a_replaced_table() {
    damaged(|_| "CREATE OR REPLACE TABLE v AS SELECT 1 AS one".to_owned(), "its table was replaced");
    damaged(|_| format!("CREATE OR REPLACE TABLE v AS {JOIN}"), "its table was replaced");
}

#[test]
fn other_columns() {
    damaged(|_| "ALTER TABLE v RENAME COLUMN w TO word".to_owned(), "\"w\" missing, \"word\" added");
    damaged(|_| "ALTER TABLE v DROP COLUMN v".to_owned(), "\"v\" missing");
    damaged(|_| "ALTER TABLE v ADD COLUMN more INTEGER".to_owned(), "\"more\" added");
    damaged(|_| "ALTER TABLE v ALTER COLUMN id SET DATA TYPE BIGINT".to_owned(), "\"id\" changed");
}

#[test]
fn a_lost_state() {
    damaged(|world| format!("DROP TABLE {}", state_of(world, "v")), "its state is lost");
    damaged(|world| format!("DELETE FROM {}", state_of(world, "v")), "its state is lost");
    damaged(
        |world| format!("ALTER TABLE {} RENAME COLUMN sources TO origins", state_of(world, "v")),
        "its state is lost",
    );
}

#[test]
fn a_state_of_someone_else() {
    damaged(|world| format!("UPDATE {} SET sources = 'rubbish'", state_of(world, "v")), "its state is lost or damaged");
    damaged(|world| format!("UPDATE {} SET snapshot = snapshot + 1", state_of(world, "v")), "someone else wrote to it");
}

#[test]
fn everything_at_once() {
    let ruin =
        |world: &World| format!("DROP TABLE {};\nCREATE OR REPLACE TABLE v AS SELECT 1 AS one", state_of(world, "v"));
    damaged(ruin, "its state is lost");
}

#[test]
fn a_lost_history_is_made_anew() {
    for damage in ["DROP TABLE ducklake_ivm.refreshes", "ALTER TABLE ducklake_ivm.refreshes DROP COLUMN reason"] {
        let world = world();
        world.run(damage);
        assert!(world.sync_with(&SyncOptions::default()).unwrap().views.iter().all(|view| view.error.is_none()));
        world.run("INSERT INTO t VALUES (100, 1, 'new')");
        let failed = view_of(&world.sync_with(&SyncOptions::default()).unwrap(), "v");
        assert!(failed.error.unwrap().contains("the history of refreshes is lost"));
        assert!(failed.hint.unwrap().contains("sync --repair"));
        let options = SyncOptions { repair: true, ..SyncOptions::default() };
        let report = world.sync_with(&options).unwrap();
        assert!(report.repaired.is_some());
        assert_eq!(view_of(&report, "v").strategy, Some(Method::Incremental));
        world.assert_holds("v", JOIN);
        assert_eq!(world.sync_with(&options).unwrap().repaired, None);
    }
}

#[test]
fn a_damaged_view_can_be_replaced_and_dropped() {
    let world = world();
    world.run(&format!("DROP TABLE {};\nALTER TABLE v RENAME COLUMN w TO word", state_of(&world, "v")));
    drop_view(&world.lake, &ViewName::parse("above").unwrap()).unwrap();
    let mut again = creation("v", JOIN);
    again.or_replace = true;
    assert_eq!(create(&world.lake, &again).unwrap().outcome, Outcome::Replaced);
    world.assert_holds("v", JOIN);
    world.run(&format!("DROP TABLE {};\nDROP TABLE v", state_of(&world, "v")));
    drop_view(&world.lake, &ViewName::parse("v").unwrap()).unwrap();
    assert_eq!(world.sync().views.len(), 1);
}

/// Catches: damage to an accumulator table that shows in no row of it.
#[test]
fn an_accumulator_table_with_other_columns() {
    let world = world();
    let table =
        world.rows("SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' AND table_name LIKE 'acc%'");
    world.run(&format!("ALTER TABLE lake.ducklake_ivm.{} RENAME COLUMN group_1 TO g", table[0]));
    world.run("INSERT INTO t VALUES (100, 1, 'new')");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    assert!(view_of(&report, "above").error.unwrap().contains("its columns changed"));
    repair(&world);
    world.assert_holds("above", ABOVE);
    world.run("INSERT INTO t VALUES (101, 2, 'newer')");
    assert_eq!(view_of(&world.sync(), "above").strategy, Some(Method::Incremental));
    world.assert_holds("above", ABOVE);
}

#[test]
fn a_view_of_the_lake_in_the_place_of_the_table() {
    damaged(
        |_| "DROP TABLE v;\nCREATE VIEW v AS SELECT 1 AS id, 'x' AS v, 'y' AS w".to_owned(),
        "someone else gave its name to a view of the lake",
    );
}

/// Catches: rows that went with a table that is made anew, and are not counted.
#[test]
fn rows_of_a_table_that_is_made_anew_are_counted() {
    let world = world();
    world.run("ALTER TABLE v ADD COLUMN mine INTEGER");
    let views = repair(&world);
    let of = views.iter().find(|view| view.view == "main.v").unwrap();
    assert_eq!((of.rows_inserted, of.rows_deleted), (40, 40), "{of:?}");
}
