//! Lakes whose catalog is a PostgreSQL database, synced by several processes at once, and by one whose server goes away.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/program.rs"]
mod program;

use std::process::{Child, Output, Stdio};
use std::thread;

use ducklake_ivm::inspect::{Verification, verify};
use ducklake_ivm::lake::{Lake, LakeOptions, Value};
use postgres::Postgres;
use program::{Shop, run, transcript};

const SALES: &str = "SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON c.id = o.customer";
const CITIES: &str = "SELECT id, city FROM customers WHERE city IS NOT NULL";

/// Customers, orders and two views over them, on a database of their own.
fn shop(server: &Postgres, database: &str) -> (Shop, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let options = server.new_lake(database, &folder.path().join("data"));
    let (shop, lake) = Shop::of(&options, folder);
    run(&lake, program::CUSTOMERS_AND_ORDERS);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.succeed(&["create", "cities", "--sql", CITIES]);
    (shop, lake)
}

fn start(shop: &Shop, arguments: &[&str]) -> Child {
    shop.program().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn rows(lake: &Lake, sql: &str) -> Vec<Vec<Value>> {
    lake.query(&format!("SELECT * FROM ({sql}) ORDER BY ALL")).unwrap().rows
}

fn assert_holds(lake: &Lake) {
    for (view, sql) in [("sales", SALES), ("cities", CITIES)] {
        assert_eq!(rows(lake, &format!("FROM {view}")), rows(lake, sql), "{view}");
    }
    assert!(verify(lake, &[], 1).unwrap().iter().all(Verification::holds));
}

/// What a sync wrote into `sales`, from its JSON.
fn written(output: &Output) -> u64 {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let view = report["views"].as_array().unwrap().iter().find(|view| view["view"] == "main.sales").unwrap();
    assert_eq!(view["error"], serde_json::Value::Null, "{report}");
    view["rows_inserted"].as_u64().unwrap() + view["rows_deleted"].as_u64().unwrap()
}

// One server for all of them, so one test.
#[test]
fn syncs_on_postgres() {
    let Some(server) = Postgres::start() else { return };
    of_two_processes_exactly_one_applies(&server);
    processes_sync_while_others_write(&server);
    several_lakes_and_a_schema_for_the_metadata(&server);
    #[cfg(feature = "failpoints")]
    a_server_that_goes_away_leaves_the_view_whole(&server);
}

fn of_two_processes_exactly_one_applies(server: &Postgres) {
    let (shop, lake) = shop(server, "twice");
    for round in 0..2 {
        run(&lake, &format!("INSERT INTO orders SELECT 100 * {round} + i, 1, i FROM range(10, 30) r(i)"));
        let both = [start(&shop, &["--format", "json", "sync"]), start(&shop, &["--format", "json", "sync"])];
        let outputs = both.map(|child| child.wait_with_output().unwrap());
        for output in &outputs {
            assert!(output.status.success(), "{}", transcript(&["sync"], output));
        }
        assert_eq!(outputs.iter().map(written).sum::<u64>(), 20, "{outputs:?}");
        assert_holds(&lake);
    }
}

/// Two processes sync, two sessions write and maintain; what they leave is taken in by one sync more.
fn processes_sync_while_others_write(server: &Postgres) {
    let (shop, lake) = shop(server, "busy");
    let options = LakeOptions::new(&shop.uri);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let options = &options;
                scope.spawn(move || {
                    let lake = Lake::open(options).unwrap();
                    for round in 0..20 {
                        let change = match (round + 3 * writer) % 7 {
                            0 | 1 => format!("INSERT INTO orders SELECT {round} + i, 1 + i % 3, i FROM range(15) r(i)"),
                            2 => format!("DELETE FROM orders WHERE id % 11 = {round} % 11"),
                            3 => format!("UPDATE orders SET amount = {round} WHERE id % 5 = {round} % 5"),
                            4 => format!("UPDATE customers SET city = 'c{round}' WHERE id = 1 + {round} % 3"),
                            5 => "CALL ducklake_flush_inlined_data('lake')".to_owned(),
                            _ => "CALL ducklake_merge_adjacent_files('lake')".to_owned(),
                        };
                        // What loses a race is left out.
                        let _ = lake.execute(&change);
                    }
                })
            })
            .collect();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let both = [start(&shop, &["sync"]), start(&shop, &["sync"])];
            for output in both.map(|child| child.wait_with_output().unwrap()) {
                let overtaken = String::from_utf8_lossy(&output.stderr).contains("is corrupt");
                assert!(output.status.success() || overtaken, "{}", transcript(&["sync"], &output));
            }
        }
    });
    // Writers that race can leave DuckLake with a table that it reads twice, which the sync says; made anew, all is well.
    if !shop.run(&["sync"]).status.success() {
        run(&lake, "CREATE OR REPLACE TABLE orders AS SELECT DISTINCT * FROM orders");
        run(&lake, "CREATE OR REPLACE TABLE customers AS SELECT DISTINCT * FROM customers");
        shop.succeed(&["sync"]);
    }
    assert_holds(&lake);
}

/// A lake in a schema of a database that holds another one, attached beside a third in the same process.
fn several_lakes_and_a_schema_for_the_metadata(server: &Postgres) {
    let (first, _) = shop(server, "both");
    let folder = tempfile::tempdir().unwrap();
    let mut options = LakeOptions::new(&first.uri);
    options.metadata_schema = Some("my lake".to_owned());
    options.data_path = Some(format!("{}/", folder.path().join("data").display()));
    options.create = true;
    let (second, lake) = Shop::of(&options, folder);
    run(&lake, program::CUSTOMERS_AND_ORDERS);
    let schema = ["--metadata-schema", "my lake"];
    let with = |arguments: &[&str]| -> Vec<String> {
        schema.iter().chain(arguments).map(|argument| (*argument).to_owned()).collect()
    };
    let succeed = |arguments: &[&str]| {
        let arguments = with(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        second.succeed(&arguments)
    };
    succeed(&["create", "sales", "--sql", SALES]);
    succeed(&["create", "cities", "--sql", CITIES]);
    run(&lake, "DELETE FROM orders WHERE id = 1;\nUPDATE customers SET city = 'Porto' WHERE id = 3");
    first.succeed(&["sync"]);
    succeed(&["sync"]);
    succeed(&["verify"]);
    assert_holds(&lake);
    assert_holds(&first.open());
}

/// The points at which the server is lost: before anything is read, between reads, after writes, before the commit.
#[cfg(feature = "failpoints")]
const LOST_AT: [&str; 4] = ["sync::after_begin", "sync::after_net_change", "sync::after_insert", "sync::before_commit"];

/// Starts a sync that waits at a point, and returns once it waits.
#[cfg(feature = "failpoints")]
fn waiting_at(shop: &Shop, point: &str) -> Child {
    let mut program = shop.program();
    program.args(["sync", "sales"]).env("FAILPOINTS", format!("{point}=1*sleep(4500)"));
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(std::time::Duration::from_secs(2));
    child
}

#[cfg(feature = "failpoints")]
fn a_server_that_goes_away_leaves_the_view_whole(server: &Postgres) {
    for (position, point) in LOST_AT.into_iter().enumerate() {
        let (shop, lake) = shop(server, &format!("lost_{position}"));
        let old = rows(&lake, "FROM sales");
        run(&lake, "DELETE FROM orders WHERE id = 1;\nINSERT INTO orders VALUES (9, 2, 9.5)");
        drop(lake);
        let child = waiting_at(&shop, point);
        server.stop();
        let output = child.wait_with_output().unwrap();
        let shown = format!("{point}\n{}", transcript(&["sync", "sales"], &output));
        assert_eq!(output.status.code(), Some(3), "{shown}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // On a busy machine the server may be gone before the lake is attached.
        assert!(stderr.contains("cannot be reached") && stderr.contains("hint"), "{shown}");
        assert!(!shown.contains(postgres::PASSWORD), "{shown}");
        server.run();
        let lake = shop.open();
        assert_eq!(rows(&lake, "FROM sales"), old, "{shown}");
        shop.succeed(&["sync"]);
        assert_holds(&lake);
    }
}
