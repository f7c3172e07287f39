//! The process dies at every step of a refresh: the lake is as before or as after, and the next sync goes on.
#![cfg(feature = "failpoints")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/program.rs"]
mod program;

use ducklake_ivm::inspect::{Verification, verify};
use ducklake_ivm::lake::{Lake, Value};
use ducklake_ivm::sync::{Event, POINTS, SyncOptions, sync};
use ducklake_ivm::view::{Creation, Strategy, ViewName, create};
use postgres::Postgres;
use program::{CUSTOMERS_AND_ORDERS, Catalog, Shop, run, transcript};

/// The variable that names the point at which a test build ends as if it were killed.
const ABORT_AT: &str = "DUCKLAKE_IVM_ABORT_AT";

const SALES: &str = "SELECT o.id, c.name, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer";
const GROUPED: &str = "SELECT city, count(*) AS customers FROM customers GROUP BY city";

#[test]
fn from_changes_on_a_duckdb_file() {
    assert_eq!(deaths(&|_| Shop::made(Catalog::DuckDb), SALES, Strategy::Incremental), POINTS);
}

#[test]
fn from_changes_on_sqlite() {
    assert_eq!(deaths(&|_| Shop::made(Catalog::Sqlite), SALES, Strategy::Incremental), POINTS);
}

#[test]
fn from_changes_on_postgres() {
    let Some(server) = Postgres::start() else { return };
    let make = |point: &str| {
        let folder = tempfile::tempdir().unwrap();
        let options = server.new_lake(&point.replace("::", "_"), &folder.path().join("data"));
        Shop::of(&options, folder)
    };
    assert_eq!(deaths(&make, SALES, Strategy::Incremental), POINTS);
}

#[test]
fn by_recompute() {
    let on_the_way: Vec<&str> = POINTS.into_iter().filter(|point| *point != "sync::after_net_change").collect();
    assert_eq!(deaths(&|_| Shop::made(Catalog::DuckDb), GROUPED, Strategy::Recompute), on_the_way);
}

/// An empty lake for the death at a point.
type MakeShop<'a> = dyn Fn(&str) -> (Shop, Lake) + 'a;

/// The points at which the process died; the others do not lie on its way.
fn deaths(make: &MakeShop<'_>, sql: &str, strategy: Strategy) -> Vec<&'static str> {
    POINTS.into_iter().filter(|point| dies_at(make, sql, strategy, point)).collect()
}

/// Whether the process died at the point; if it did, all is well afterwards.
fn dies_at(make: &MakeShop<'_>, sql: &str, strategy: Strategy, point: &str) -> bool {
    let (shop, lake) = make(point);
    let (old, before) = prepare(&lake, sql, strategy);
    drop(lake);
    let output = shop.program().arg("sync").env(ABORT_AT, point).output().unwrap();
    let shown = format!("{} {strategy:?} {point}\n{}", shop.uri, transcript(&["sync"], &output));
    if output.status.success() {
        return false;
    }
    assert_eq!(output.status.code(), None, "did not die: {shown}");
    let lake = shop.open();
    let new = rows(&lake, &format!("({sql})"));
    assert_ne!(old, new);
    let landed = point == "sync::after_commit";
    assert_eq!(lake.current_snapshot().unwrap().0, before + u64::from(landed), "{shown}");
    assert_eq!(&rows(&lake, "v"), if landed { &new } else { &old }, "{shown}");
    let report = sync(&lake, &SyncOptions::default(), &|_: &Event<'_>| ()).unwrap();
    assert!(report.succeeded(), "{shown}{report:?}");
    assert_eq!(rows(&lake, "v"), new, "{shown}");
    assert!(verify(&lake, &[], 1).unwrap().iter().all(Verification::holds), "{shown}");
    // The creation, and the refresh: once, however often it was begun.
    assert_eq!(rows(&lake, "ducklake_ivm.refreshes").len(), 2, "{shown}");
    true
}

/// Makes tables and a view, and changes the tables. Returns the view's rows and the lake's snapshot.
fn prepare(lake: &Lake, sql: &str, strategy: Strategy) -> (Vec<Vec<Value>>, u64) {
    run(lake, CUSTOMERS_AND_ORDERS);
    let creation = Creation {
        name: ViewName::parse("v").unwrap(),
        sql: sql.to_owned(),
        or_replace: false,
        if_not_exists: false,
        strategy,
        check: false,
    };
    create(lake, &creation).unwrap();
    run(
        lake,
        "INSERT INTO orders VALUES (5, 2, 50.00);
         UPDATE customers SET city = 'Oporto' WHERE id = 2;
         DELETE FROM orders WHERE id = 1;
         INSERT INTO customers VALUES (4, 'Di', 'Lyon'), (5, 'Ed', 'Ghent')",
    );
    (rows(lake, "v"), lake.current_snapshot().unwrap().0)
}

/// The rows of a table or query, in an order that depends on nothing but them.
fn rows(lake: &Lake, table: &str) -> Vec<Vec<Value>> {
    lake.query(&format!("SELECT * FROM {table} ORDER BY ALL")).unwrap().rows
}
