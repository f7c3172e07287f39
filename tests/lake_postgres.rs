//! Lakes whose catalog is a PostgreSQL database: several sessions at once, real conflicts, deletes dated back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/exact.rs"]
mod exact;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/random.rs"]
mod random;

use ducklake_ivm::lake::{Access, Guard, Lake, LakeError, Method, SnapshotId, Transaction, Tuning, Value};
use exact::{assert_every_window_exact, assert_exact};
use postgres::{PASSWORD, Postgres};
use random::Random;
use tempfile::TempDir;

/// A lake of its own on the server, and the options that open it once more.
struct PostgresLake {
    lake: Lake,
    options: ducklake_ivm::lake::LakeOptions,
    _folder: TempDir,
}

fn new_lake(server: &Postgres, database: &str, inlining: u32) -> PostgresLake {
    let folder = tempfile::tempdir().unwrap();
    let mut options = server.new_lake(database, folder.path());
    let lake = Lake::open(&options).unwrap();
    options.create = false;
    options.data_path = None;
    let made = PostgresLake { lake, options, _folder: folder };
    made.run(&[
        &format!("CALL lake.set_option('data_inlining_row_limit', {inlining})"),
        "CREATE TABLE t (k INT, v INT)",
    ]);
    made
}

impl PostgresLake {
    fn run(&self, statements: &[&str]) {
        for statement in statements {
            self.lake.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
    }

    fn another(&self) -> Lake {
        Lake::open(&self.options).unwrap()
    }

    fn current(&self) -> u64 {
        self.lake.current_snapshot().unwrap().0
    }
}

fn id_of(transaction: &Transaction<'_>) -> ducklake_ivm::lake::TableId {
    transaction.table_named("main", "t", transaction.snapshot()).unwrap().unwrap().id
}

// One server for all of them, so one test.
#[test]
fn lakes_on_postgres() {
    let Some(server) = Postgres::start() else { return };
    what_is_wrong_with_a_server_is_said_without_its_password(&server);
    every_window_is_exact(&server);
    a_transaction_keeps_to_its_snapshot_while_others_compact(&server);
    back_dated_deletes_are_noticed(&server);
    conflicts_are_retryable(&server);
    metadata_may_be_in_a_schema_of_its_own(&server);
}

fn what_is_wrong_with_a_server_is_said_without_its_password(server: &Postgres) {
    server.create_database("empty");
    let open = |uri: String| Lake::open(&ducklake_ivm::lake::LakeOptions::new(uri)).unwrap_err();
    let wrong_password = open(server.uri("empty", "not-the-password"));
    assert!(matches!(wrong_password, LakeError::Unreachable { .. }), "{wrong_password:?}");
    assert!(!format!("{wrong_password} {wrong_password:?}").contains("not-the-password"), "{wrong_password:?}");
    let no_database = open(server.uri("nowhere", PASSWORD));
    assert!(matches!(no_database, LakeError::Unreachable { .. }), "{no_database:?}");
    let no_lake = open(server.uri("empty", PASSWORD));
    assert!(matches!(no_lake, LakeError::NotFound { .. }), "{no_lake:?}");
    for error in [no_database, no_lake] {
        assert!(!format!("{error} {error:?} {:?}", error.hint()).contains(PASSWORD), "{error:?}");
    }
}

fn every_window_is_exact(server: &Postgres) {
    for (index, inlining) in [0, 10, 1000].into_iter().enumerate() {
        let lake = new_lake(server, &format!("windows_{inlining}"), inlining);
        let mut random = Random::new(7 + index as u64);
        lake.run(&["INSERT INTO t SELECT i, i % 5 FROM range(40) r(i)"]);
        for _ in 0..9 {
            let key = random.below(40);
            let statement = match random.below(8) {
                0 => format!("INSERT INTO t SELECT i + {key}, {key} FROM range(3) r(i)"),
                1 => format!("INSERT INTO t SELECT i, {key} FROM range(20) r(i)"),
                2 => format!("DELETE FROM t WHERE k = {key}"),
                3 => format!("DELETE FROM t WHERE k % 7 = {}", key % 7),
                4 => format!("UPDATE t SET v = {key} WHERE k % 3 = {}", key % 3),
                5 => "CALL ducklake_flush_inlined_data('lake')".to_owned(),
                6 => "CALL ducklake_merge_adjacent_files('lake')".to_owned(),
                _ => "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)".to_owned(),
            };
            lake.run(&[&statement]);
        }
        let transaction = lake.lake.begin().unwrap();
        let id = id_of(&transaction);
        assert!(assert_every_window_exact(&transaction, id, &Tuning::default()) > 10);
        let snapshots = transaction.snapshots(SnapshotId(0)..=transaction.snapshot()).unwrap();
        assert_eq!(snapshots.len() as u64, transaction.snapshot().0 + 1);
        assert!(!transaction.changed(id, transaction.snapshot(), transaction.snapshot()).unwrap());
        assert!(transaction.changed(id, SnapshotId(1), transaction.snapshot()).unwrap());
        assert_eq!(transaction.catalog_type().unwrap(), "postgres");
    }
}

fn a_transaction_keeps_to_its_snapshot_while_others_compact(server: &Postgres) {
    let lake = new_lake(server, "pinned", 0);
    lake.run(&["INSERT INTO t VALUES (1, 1)", "INSERT INTO t VALUES (2, 2)", "DELETE FROM t WHERE k = 1"]);
    let to = lake.current();
    let other = lake.another();
    let transaction = lake.lake.begin().unwrap();
    for statement in [
        "INSERT INTO t VALUES (9, 9)",
        "CALL ducklake_merge_adjacent_files('lake')",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
    ] {
        other.execute(statement).unwrap();
    }
    assert_eq!(transaction.snapshot(), SnapshotId(to));
    let id = id_of(&transaction);
    let change = assert_exact(&transaction, id, 1, to, &Tuning::default());
    assert_eq!((change.inserted, change.deleted, change.method), (1, 0, Method::PerFile));
    assert_every_window_exact(&transaction, id, &Tuning::default());
}

fn back_dated_deletes_are_noticed(server: &Postgres) {
    let lake = new_lake(server, "back_dated", 0);
    lake.run(&["INSERT INTO t SELECT i, i FROM range(100) r(i)", "DELETE FROM t WHERE k < 10"]);
    let other = lake.another();
    let straggler = other.begin().unwrap();
    straggler.execute("DELETE FROM t WHERE k >= 90").unwrap();
    lake.run(&["CREATE TABLE other (k INT)"]);
    let read = lake.current();
    straggler.commit().unwrap();
    let transaction = lake.lake.begin().unwrap();
    let failures =
        transaction.check_guards(id_of(&transaction), SnapshotId(read), transaction.snapshot(), Some(90)).unwrap();
    let guards: Vec<Guard> = failures.iter().map(|failure| failure.guard).collect();
    assert_eq!(guards, [Guard::BackDated], "{failures:?}");
}

fn conflicts_are_retryable(server: &Postgres) {
    let lake = new_lake(server, "conflicts", 10);
    lake.run(&["INSERT INTO t VALUES (1, 1)"]);
    let other = lake.another();
    let mine = lake.lake.begin().unwrap();
    mine.execute("UPDATE t SET v = 2").unwrap();
    other.execute("UPDATE t SET v = 3").unwrap();
    let error = mine.commit().unwrap_err();
    assert!(matches!(error, LakeError::Conflict { .. }) && error.retryable(), "{error:?}");
    assert_eq!(lake.lake.query_value("SELECT v FROM t").unwrap(), Value::Integer(3));
}

fn metadata_may_be_in_a_schema_of_its_own(server: &Postgres) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = server.new_lake("schemas", folder.path());
    options.metadata_schema = Some("my lake".to_owned());
    let lake = Lake::open(&options).unwrap();
    lake.execute("CREATE TABLE t AS SELECT 1 AS k, 2 AS v").unwrap();
    lake.execute("INSERT INTO t SELECT i, i FROM range(30) r(i)").unwrap();
    lake.execute("DELETE FROM t WHERE k = 1").unwrap();
    let transaction = lake.begin().unwrap();
    assert!(assert_every_window_exact(&transaction, id_of(&transaction), &Tuning::default()) > 2);
    drop(transaction);
    options.create = false;
    options.data_path = None;
    options.access = Access::ReadOnly;
    let reader = Lake::open(&options).unwrap();
    assert_eq!(reader.query_value("SELECT count(*) FROM t").unwrap(), Value::Integer(29));
    assert!(reader.execute("DELETE FROM t").is_err());
}
