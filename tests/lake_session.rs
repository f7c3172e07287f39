//! Opening lakes, running statements, and what goes wrong with both.

#[path = "support/lakes.rs"]
mod lakes;

use ducklake_ivm::lake::{Access, Lake, LakeError, LakeOptions, SnapshotId, Value};
use lakes::{Catalog, ScratchLake, options_in};
use std::io::{BufRead, BufReader, Write};

#[test]
fn rows_come_back_from_both_file_catalogs() {
    for catalog in [Catalog::DuckDb, Catalog::Sqlite] {
        let scratch = ScratchLake::new(catalog);
        scratch.run("CREATE TABLE t (k INT, v VARCHAR)");
        assert_eq!(scratch.lake.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL)").unwrap(), 2, "{catalog:?}");
        let rows = scratch.lake.query("SELECT * FROM lake.main.t ORDER BY k").unwrap();
        assert_eq!(rows.columns, ["k", "v"]);
        assert_eq!(rows.rows, [[Value::Integer(1), Value::Text("a".into())], [Value::Integer(2), Value::Null]]);
        let transaction = scratch.lake.begin().unwrap();
        assert_eq!(transaction.snapshot(), SnapshotId(scratch.current()));
    }
}

#[test]
fn optimizers_that_lie_are_off_and_the_time_zone_is_utc() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    let row = scratch.lake.query_one("SELECT current_setting('disabled_optimizers'), current_setting('TimeZone')");
    let row = row.unwrap();
    for optimizer in ["statistics_propagation", "common_subplan", "deliminator"] {
        assert!(row[0].as_str().unwrap().contains(optimizer), "{row:?}");
    }
    assert_eq!(row[1].as_str().unwrap(), "UTC");
}

#[test]
fn a_missing_lake_is_an_error_and_stays_missing() {
    let folder = tempfile::tempdir().unwrap();
    for catalog in [Catalog::DuckDb, Catalog::Sqlite] {
        let mut options = options_in(&folder, catalog);
        options.create = false;
        let error = Lake::open(&options).unwrap_err();
        assert!(matches!(error, LakeError::NotFound { .. }), "{error:?}");
        assert!(error.hint().is_some());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a typing error must leave nothing behind");
}

#[test]
fn a_file_that_is_no_lake_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options_in(&folder, Catalog::DuckDb);
    options.create = false;
    let file = folder.path().join("catalog.ducklake");
    std::fs::write(&file, "no database").unwrap();
    let error = Lake::open(&options).unwrap_err();
    assert!(error.to_string().contains("not a valid DuckDB database file"), "{error}");
}

/// Not a test of its own: the other process of the test below, which starts this one by name.
#[test]
#[ignore = "holds a lake open for another test"]
fn hold_a_lake_open() {
    let Ok(uri) = std::env::var("HELD_LAKE") else { return };
    let _lake = Lake::open(&LakeOptions::new(uri)).unwrap();
    println!("held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_duckdb_file_catalog_is_held_by_one_process_and_the_error_says_so() {
    let ScratchLake { lake, mut options, folder: _folder } = ScratchLake::new(Catalog::DuckDb);
    options.create = false;
    // DuckDB's lock does not hold within one process, where a second handle would corrupt the file.
    let within = Lake::open(&options).unwrap_err();
    assert!(matches!(within, LakeError::Locked { .. }), "{within:?}");
    drop(lake);
    let mut holder = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["hold_a_lake_open", "--exact", "--ignored", "--nocapture"])
        .env("HELD_LAKE", &options.uri)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("held")));
    let error = Lake::open(&options).unwrap_err();
    assert!(matches!(error, LakeError::Locked { .. }), "{error:?}");
    assert!(error.retryable() && error.to_string().contains(&format!("PID {}", holder.id())), "{error}");
    assert!(error.hint().unwrap().contains("one process at a time"));
    holder.stdin.take().unwrap().write_all(b"\n").unwrap();
    holder.wait().unwrap();
    Lake::open(&options).unwrap();
}

#[test]
fn an_unreachable_postgres_is_named_without_its_password() {
    for uri in [
        "ducklake:postgres:host=127.0.0.1 port=1 user=x password=geheim99 dbname=y",
        "ducklake:postgres:postgresql://x:geheim99@127.0.0.1:1/y",
    ] {
        let error = Lake::open(&LakeOptions::new(uri)).unwrap_err();
        assert!(matches!(error, LakeError::Unreachable { .. }), "{error:?}");
        let printed = format!("{error} {error:?} {:?}", error.hint());
        assert!(!printed.contains("geheim99"), "{printed}");
        assert!(printed.contains("127.0.0.1"), "{printed}");
    }
}

#[test]
fn secrets_of_the_set_up_are_in_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options_in(&folder, Catalog::DuckDb);
    options.setup = vec!["CREATE SECRET (TYPE nonsense, SECRET 'geheim99')".to_owned()];
    let error = Lake::open(&options).unwrap_err();
    assert!(!format!("{error} {error:?} {options:?}").contains("geheim99"), "{error:?}");
}

#[test]
fn a_read_only_session_cannot_write() {
    for catalog in [Catalog::DuckDb, Catalog::Sqlite] {
        let ScratchLake { lake, mut options, folder: _folder } = ScratchLake::new(catalog);
        lake.execute("CREATE TABLE t AS SELECT 1 AS k").unwrap();
        drop(lake);
        options.create = false;
        options.access = Access::ReadOnly;
        let lake = Lake::open(&options).unwrap();
        assert_eq!(lake.query_value("SELECT k FROM t").unwrap(), Value::Integer(1));
        assert!(lake.execute("INSERT INTO t VALUES (2)").is_err());
        lake.execute("CREATE OR REPLACE TEMP TABLE staged AS FROM t").unwrap();
    }
}

#[test]
fn a_lake_can_be_attached_as_it_was() {
    let ScratchLake { lake, mut options, folder: _folder } = ScratchLake::new(Catalog::Sqlite);
    lake.execute("CREATE TABLE t AS SELECT 1 AS k").unwrap();
    lake.execute("INSERT INTO t VALUES (2)").unwrap();
    options.create = false;
    options.at = Some(SnapshotId(1));
    let past = Lake::open(&options).unwrap();
    let transaction = past.begin().unwrap();
    assert_eq!(transaction.snapshot(), SnapshotId(1));
    assert_eq!(transaction.query_value("SELECT count(*) FROM t").unwrap(), Value::Integer(1));
}

#[test]
fn a_moved_data_folder_is_followed() {
    let ScratchLake { lake, mut options, folder } = ScratchLake::new(Catalog::DuckDb);
    lake.execute("CREATE TABLE t AS FROM range(100)").unwrap();
    drop(lake);
    std::fs::rename(folder.path().join("data"), folder.path().join("moved")).unwrap();
    options.create = false;
    options.data_path = Some(format!("{}/moved/", folder.path().display()));
    let lake = Lake::open(&options).unwrap();
    assert_eq!(lake.query_value("SELECT count(range) FROM t").unwrap(), Value::Integer(100));
    assert_eq!(Some(lake.data_path().unwrap()), options.data_path);
}

#[test]
fn a_catalog_of_another_version_is_never_migrated_unasked() {
    let ScratchLake { lake, mut options, folder: _folder } = ScratchLake::new(Catalog::DuckDb);
    let metadata = lake.metadata().to_owned();
    lake.execute(&format!("UPDATE {metadata}.ducklake_metadata SET value = '0.3' WHERE key = 'version'")).unwrap();
    drop(lake);
    options.create = false;
    for access in [Access::ReadOnly, Access::ReadWrite] {
        options.access = access;
        let error = Lake::open(&options).unwrap_err();
        let LakeError::CatalogVersion { found, required, .. } = &error else { panic!("{error:?}") };
        assert_eq!((found.as_str(), required.as_str()), ("0.3", "1.0"));
        assert!(error.hint().unwrap().contains("--migrate"));
    }
}

#[test]
fn sessions_of_one_lake_have_transactions_of_their_own() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    scratch.run("CREATE TABLE t AS SELECT 1 AS k");
    let other = scratch.lake.another_session().unwrap();
    let mine = scratch.lake.begin().unwrap();
    mine.execute("CREATE TEMP TABLE staged AS SELECT 1 AS x").unwrap();
    other.execute("INSERT INTO t VALUES (2)").unwrap();
    assert!(other.query("FROM staged").is_err());
    assert_eq!(mine.query_value("SELECT count(*) FROM t").unwrap(), Value::Integer(1));
    drop(mine);
    assert_eq!(scratch.integer("SELECT count(*) FROM t"), 2);
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    {
        let transaction = scratch.lake.begin().unwrap();
        transaction.execute("CREATE TABLE t (k INT)").unwrap();
    }
    assert!(scratch.lake.query("FROM t").is_err());
    let transaction = scratch.lake.begin().unwrap();
    transaction.execute("CREATE TABLE t (k INT)").unwrap();
    transaction.set_commit_message("it's me", "make t", Some("{\"id\": 1}")).unwrap();
    transaction.commit().unwrap();
    let row = scratch.lake.query_one(
        "SELECT author, commit_message, commit_extra_info FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 1",
    );
    let texts: Vec<String> = row.unwrap().iter().map(|value| value.as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["it's me", "make t", "{\"id\": 1}"]);
}

#[test]
fn a_failed_statement_does_not_lock_the_session_up() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    {
        let transaction = scratch.lake.begin().unwrap();
        let error = transaction.query("SELECT 1 / CAST('x' AS INT)").unwrap_err();
        assert!(!error.retryable(), "{error:?}");
    }
    scratch.lake.begin().unwrap();
}

#[test]
fn bound_plans_and_their_errors() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    scratch.run("CREATE TABLE t (k INT)");
    let plan = scratch.lake.bound_plan("SELECT k + 1 FROM t WHERE k > 'it''s'::VARCHAR::INT").unwrap();
    assert_eq!(plan["type"], "LOGICAL_PROJECTION");
    let error = scratch.lake.bound_plan("SELECT x FROM t").unwrap_err();
    assert!(matches!(&error, LakeError::Sql { class, position: Some(7), .. } if class == "Binder"), "{error:?}");
    let error = scratch.lake.bound_plan("SELEC x FROM t").unwrap_err();
    assert!(matches!(error, LakeError::Parse { position: Some(0), .. }), "{error:?}");
    assert!(scratch.lake.bound_plan("SELECT 1; SELECT 2").is_err());
    assert!(scratch.lake.bound_plan("").is_err());
    assert_eq!(scratch.lake.syntax("SELECT 1; SELECT 2").unwrap().statements, 2);
    assert!(scratch.lake.syntax("CREATE TABLE x (i INT)").is_err());
    let columns = scratch.lake.describe("WITH a AS (SELECT 1::HUGEINT AS x, 'a' AS \"y y\") FROM a").unwrap();
    let columns: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.data_type.as_str())).collect();
    assert_eq!(columns, [("x", "HUGEINT"), ("y y", "VARCHAR")]);
    let unstable = scratch.lake.unstable_functions().unwrap();
    assert!(unstable.contains_key("random") && unstable.contains_key("now") && !unstable.contains_key("upper"));
}

#[test]
fn every_type_of_duckdb_is_read_or_refused_by_name() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    let types = scratch.lake.describe("SELECT * FROM test_all_types()").unwrap();
    for column in types {
        let result = scratch.lake.query(&format!("SELECT \"{}\" FROM test_all_types()", column.name));
        match result {
            Ok(rows) => assert_eq!(rows.rows.len(), 3),
            Err(LakeError::UnreadableType { column: name, .. }) => assert_eq!(name, column.name),
            Err(error) => assert!(error.hint().is_some() || !error.to_string().is_empty(), "{}: {error}", column.name),
        }
    }
}

#[test]
fn dates_and_numbers_read_as_duckdb_prints_them() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    for expression in [
        "DATE '2024-02-29'",
        "DATE '0044-03-15 (BC)'",
        "DATE 'infinity'",
        "TIMESTAMP '1969-12-31 23:59:59.999999'",
        "TIMESTAMP '-infinity'",
        "TIMESTAMP_NS '2024-01-01 00:00:00.000000001'",
        "TIME '12:34:56.7'",
        "INTERVAL '14 months -3 days 4.5 seconds'",
        "INTERVAL '-13 months'",
        "-1.50::DECIMAL(4, 2)",
        "12345678901234567890::DECIMAL(38, 0)::VARCHAR",
        "uuid '00000000-0000-0000-0000-00000000000f'",
    ] {
        let row = scratch.lake.query_one(&format!("SELECT {expression}, ({expression})::VARCHAR")).unwrap();
        assert_eq!(row[0], row[1], "{expression}");
    }
}

#[test]
fn a_running_statement_can_be_interrupted() {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    let interrupt = scratch.lake.interrupt_handle();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        while stopped.recv_timeout(std::time::Duration::from_millis(20)).is_err() {
            interrupt();
        }
    });
    let error = scratch.lake.query("SELECT count(*) FROM range(100000000000) a WHERE hash(a) = 1").unwrap_err();
    stop.send(()).unwrap();
    thread.join().unwrap();
    assert!(matches!(error, LakeError::Interrupted), "{error:?}");
}

#[test]
fn two_sessions_of_one_sqlite_catalog_conflict_retryably() {
    let scratch = ScratchLake::new(Catalog::Sqlite);
    scratch.run("CREATE TABLE t AS SELECT 1 AS k");
    let other = scratch.reopen();
    let mine = scratch.lake.begin().unwrap();
    mine.execute("UPDATE t SET k = 2").unwrap();
    other.execute("UPDATE t SET k = 3").unwrap();
    let error = mine.commit().unwrap_err();
    assert!(error.retryable(), "{error:?}");
    assert_eq!(scratch.lake.query_value("SELECT k FROM t").unwrap(), Value::Integer(3));
}
