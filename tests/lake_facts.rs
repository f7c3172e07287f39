//! What DuckLake does that a reader of changes must know; each test is named after the fact that it pins down.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

#[path = "support/exact.rs"]
mod exact;
#[path = "support/lakes.rs"]
mod lakes;

use ducklake_ivm::lake::{
    ColumnId, Guard, Lake, LakeError, Method, NetChange, NetChangeRequest, SnapshotId, TableId, Transaction, Tuning,
    Value,
};
use exact::{assert_every_window_exact, assert_exact};
use lakes::{Catalog, ScratchLake};

/// A lake with the table `t (k INT, v INT)`, and up to `inlining` rows of a commit kept in the catalog.
fn lake_with_t(inlining: u32) -> ScratchLake {
    let scratch = ScratchLake::inlining(inlining);
    scratch.run("CREATE TABLE t (k INT, v INT)");
    scratch
}

fn id_of(transaction: &Transaction<'_>, name: &str) -> TableId {
    transaction.table_named("main", name, transaction.snapshot()).unwrap().unwrap().id
}

/// Checks the net change of `t` in one window.
fn exact_t(scratch: &ScratchLake, from: u64, to: u64) -> NetChange {
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    assert_exact(&transaction, id, from, to, &Tuning::default())
}

/// Checks every window of `t`.
fn exact_everywhere(scratch: &ScratchLake) {
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    assert!(assert_every_window_exact(&transaction, id, &Tuning::default()) > 0);
}

fn guards_of(scratch: &ScratchLake, from: u64, to: u64, recorded: Option<u64>) -> Vec<(Guard, bool)> {
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    let failures = transaction.check_guards(id, SnapshotId(from), SnapshotId(to), recorded).unwrap();
    failures.iter().map(|failure| (failure.guard, failure.past_readable)).collect()
}

// 1. Change functions and reads of old versions.

#[test]
fn fact_1_1_a_window_excludes_its_begin_and_includes_its_end() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2);\nINSERT INTO t VALUES (3, 3)");
    let change = exact_t(&scratch, 2, 3);
    assert_eq!((change.inserted, change.deleted, change.method), (1, 0, Method::PerFile));
    assert_eq!(scratch.current(), 4);
}

#[test]
fn fact_1_2_the_snapshot_after_the_begin_may_be_expired() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2);\nINSERT INTO t VALUES (3, 3)");
    scratch.run("CALL ducklake_expire_snapshots('lake', versions => [3])");
    let change = exact_t(&scratch, 2, 4);
    assert_eq!((change.inserted, change.deleted), (2, 0));
    let transaction = scratch.lake.begin().unwrap();
    assert!(!transaction.snapshot_exists(SnapshotId(3)).unwrap());
    assert_eq!(transaction.oldest_snapshot().unwrap(), SnapshotId(0));
}

#[test]
fn fact_1_4_rows_that_come_and_go_inside_the_window_are_no_change() {
    for inlining in [0, 10] {
        let scratch = lake_with_t(inlining);
        scratch.run("INSERT INTO t VALUES (1, 1)");
        let from = scratch.current();
        scratch.run("INSERT INTO t VALUES (2, 2);\nUPDATE t SET v = 5 WHERE k = 2;\nDELETE FROM t WHERE k = 2");
        scratch.run(
            "BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE v < 20 AND k <> 1;\nCOMMIT",
        );
        let to = scratch.current();
        let change = exact_t(&scratch, from, to);
        assert_eq!(
            i128::from(change.inserted) - i128::from(change.deleted),
            scratch.integer("SELECT count(*) - 1 FROM t")
        );
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_1_4_an_update_that_changes_nothing_cancels() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(30) r(i);\nUPDATE t SET v = v WHERE k < 5");
    let change = exact_t(&scratch, 2, 3);
    assert_eq!((change.rows, change.inserted, change.deleted), (0, 0, 0));
    assert_eq!(change.method, Method::PerFile);
}

#[test]
fn fact_1_5_equal_rows_are_counted() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT 1, 1 FROM range(5)");
    let from = scratch.current();
    scratch.run("DELETE FROM t WHERE rowid < 2;\nINSERT INTO t SELECT 2, 2 FROM range(3)");
    let change = exact_t(&scratch, from, scratch.current());
    assert_eq!((change.inserted, change.deleted, change.rows, change.consolidated), (3, 2, 2, true));
}

#[test]
fn fact_1_6_a_table_made_inside_the_window_is_all_new() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    let change = exact_t(&scratch, 0, 2);
    assert_eq!((change.inserted, change.deleted, change.method), (2, 0, Method::FullDifference));
    assert_eq!(guards_of(&scratch, 0, 2, None), [(Guard::Replaced, false)]);
}

#[test]
fn fact_1_7_a_column_with_a_default_changes_every_row() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(20) r(i);\nALTER TABLE t ADD COLUMN w INT DEFAULT 7");
    let change = exact_t(&scratch, 2, 3);
    assert_eq!((change.inserted, change.deleted, change.method), (20, 20, Method::FullDifference));
    scratch.run("INSERT INTO t VALUES (1, 1, 1)");
    assert_eq!(exact_t(&scratch, 3, 4).method, Method::PerFile);
    // Without the column nothing changed.
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    let columns = [(ColumnId(1), "k".to_owned())];
    let request = NetChangeRequest { table: id, from: SnapshotId(2), to: SnapshotId(3), columns: &columns, into: "d" };
    assert_eq!(transaction.stage_net_change(&request).unwrap().rows, 0);
}

#[test]
fn fact_1_7_columns_are_followed_by_id() {
    for inlining in [0, 1000] {
        let scratch = lake_with_t(inlining);
        scratch.run(
            "INSERT INTO t SELECT i, i FROM range(20) r(i);\n\
             ALTER TABLE t RENAME COLUMN v TO \"the \"\"v\"\"\";\n\
             UPDATE t SET \"the \"\"v\"\"\" = 100 WHERE k < 3;\n\
             ALTER TABLE t ALTER COLUMN \"the \"\"v\"\"\" SET DATA TYPE BIGINT;\n\
             DELETE FROM t WHERE k > 15;\n\
             ALTER TABLE t DROP COLUMN \"the \"\"v\"\"\";\n\
             INSERT INTO t SELECT i FROM range(12) r(i);\n\
             ALTER TABLE t ADD COLUMN v INT;\n\
             UPDATE t SET v = 5 WHERE k < 7",
        );
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_1_7_an_update_of_a_column_that_is_not_asked_for_is_no_change() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(30) r(i);\nUPDATE t SET v = 99 WHERE k < 15");
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    for (columns, rows) in
        [(vec![(ColumnId(1), "k".to_owned())], 0), (vec![(ColumnId(2), "v".to_owned())], 16), (vec![], 0)]
    {
        let request =
            NetChangeRequest { table: id, from: SnapshotId(2), to: SnapshotId(3), columns: &columns, into: "d" };
        let change = transaction.stage_net_change(&request).unwrap();
        assert_eq!((change.rows, change.method), (rows, Method::PerFile), "{columns:?}");
    }
}

#[test]
fn fact_1_8_columns_named_like_virtual_ones_are_read_in_full() {
    for name in ["filename", "File_Row_Number", "snapshot_id", "rowid"] {
        let scratch = ScratchLake::inlining(0);
        scratch.run(&format!("CREATE TABLE t (k INT, {name} INT);\nINSERT INTO t SELECT i, i FROM range(9) r(i)"));
        let from = scratch.current();
        scratch.run("DELETE FROM t WHERE k = 3;\nINSERT INTO t VALUES (50, 50)");
        let change = exact_t(&scratch, from, scratch.current());
        assert_eq!((change.inserted, change.deleted, change.method), (1, 1, Method::FullDifference), "{name}");
        assert!(change.reason.unwrap().contains(name));
        assert_eq!(guards_of(&scratch, from, scratch.current(), Some(9)), [(Guard::VirtualColumnName, true)]);
    }
}

#[test]
fn fact_1_8_names_of_the_catalogs_own_columns_are_no_trap() {
    let scratch = ScratchLake::inlining(0);
    scratch.run("CREATE TABLE t (row_id INT, begin_snapshot INT, end_snapshot INT, change_type INT)");
    scratch.run("INSERT INTO t SELECT i, i, i, i FROM range(9) r(i);\nUPDATE t SET row_id = 3 WHERE row_id > 4");
    exact_everywhere(&scratch);
}

#[test]
fn fact_1_9_old_versions_read_right_after_a_rewrite() {
    let scratch = ScratchLake::inlining(10);
    scratch.run(
        "CREATE TABLE h (i INT, g INT);\n\
         INSERT INTO h SELECT CASE WHEN i = 0 THEN NULL ELSE i END, i % 20 + 1 FROM range(40) r(i);\n\
         DELETE FROM h WHERE i IS NULL OR i > 15;\n\
         CALL ducklake_rewrite_data_files('lake', 'h', delete_threshold => 0)",
    );
    for (sql, expected) in [
        ("SELECT count(*) FROM h AT (VERSION => 2) WHERE i > 15", 24),
        ("SELECT count(*) FROM h AT (VERSION => 2) WHERE i IS NULL", 1),
        ("SELECT count(*) FROM ducklake_table_deletions('lake', 'main', 'h', 3, 3) WHERE i > 15 OR i IS NULL", 25),
        ("SELECT count(*) FROM (SELECT g FROM h AT (VERSION => 2) GROUP BY g)", 20),
        ("SELECT max(g) FROM (FROM h AT (VERSION => 2) ORDER BY g DESC)", 20),
    ] {
        assert_eq!(scratch.integer(sql), expected, "{sql}");
    }
}

#[test]
fn fact_1_10_deletes_after_a_merge_are_in_their_own_window() {
    let scratch = lake_with_t(0);
    scratch.run(
        "INSERT INTO t VALUES (0, 0), (1, 1);\nINSERT INTO t VALUES (2, 0), (3, 1);\n\
         CALL ducklake_merge_adjacent_files('lake');\nUPDATE t SET v = v + 10 WHERE k % 2 = 0",
    );
    let to = scratch.current();
    let change = exact_t(&scratch, to - 1, to);
    assert_eq!((change.inserted, change.deleted), (2, 2));
    exact_everywhere(&scratch);
}

// 2. Did a table change?

#[test]
fn fact_2_1_maintenance_and_other_tables_leave_a_table_unchanged() {
    let scratch = lake_with_t(10);
    scratch
        .run("INSERT INTO t SELECT i, i FROM range(30) r(i);\nINSERT INTO t VALUES (1, 1);\nDELETE FROM t WHERE k = 5");
    let from = scratch.current();
    scratch
        .run("CREATE TABLE \"t,inserted_into_table:1\" (k INT);\nINSERT INTO \"t,inserted_into_table:1\" VALUES (1)");
    scratch.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)");
    let to = scratch.current();
    assert!(to >= from + 3);
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    assert!(!transaction.changed(id, SnapshotId(from), SnapshotId(to)).unwrap());
    let changed = transaction.changed_tables(SnapshotId(from), SnapshotId(to)).unwrap();
    assert!(changed.complete && changed.tables.len() == 1, "{changed:?}");
    for earlier in 1..from {
        assert!(transaction.changed(id, SnapshotId(earlier), SnapshotId(to)).unwrap(), "{earlier}");
    }
}

#[test]
fn fact_2_1_a_flush_is_no_change() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    let from = scratch.current();
    scratch.run("CALL ducklake_flush_inlined_data('lake')");
    let to = scratch.current();
    assert_eq!(to, from + 1);
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    assert!(!transaction.changed(id, SnapshotId(from), SnapshotId(to)).unwrap());
    assert_eq!(assert_exact(&transaction, id, from, to, &Tuning::default()).rows, 0);
}

#[test]
fn fact_2_2_expired_snapshots_hide_no_change() {
    for inlining in [0, 10] {
        for statement in [
            "INSERT INTO t VALUES (7, 7)",
            "DELETE FROM t WHERE k = 3",
            "DELETE FROM t WHERE k < 15",
            "UPDATE t SET v = 0 WHERE k = 3",
            "ALTER TABLE t ADD COLUMN x INT DEFAULT 3",
            "ALTER TABLE t RENAME COLUMN v TO w",
        ] {
            let scratch = lake_with_t(inlining);
            scratch.run("INSERT INTO t SELECT i, i FROM range(20) r(i)");
            let from = scratch.current();
            scratch.run(statement);
            scratch.run("CREATE TABLE other (k INT);\nINSERT INTO other VALUES (1)");
            scratch.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", from + 1));
            let to = scratch.current();
            let transaction = scratch.lake.begin().unwrap();
            let changed = |name: &str, from: u64| {
                transaction.changed(id_of(&transaction, name), SnapshotId(from), SnapshotId(to)).unwrap()
            };
            assert!(!transaction.changed_tables(SnapshotId(from), SnapshotId(to)).unwrap().complete);
            assert!(changed("t", from), "{statement}");
            assert!(!changed("t", from + 2), "{statement}");
            drop(transaction);
            exact_t(&scratch, from, to);
        }
    }
}

#[test]
fn fact_2_2_a_hole_alone_is_no_change() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t SELECT i, i FROM range(20) r(i)");
    let from = scratch.current();
    scratch.run("CREATE TABLE other (k INT);\nINSERT INTO other VALUES (1)");
    scratch.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", from + 1));
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    assert!(!transaction.changed(id, SnapshotId(from), transaction.snapshot()).unwrap());
}

#[test]
fn fact_2_5_a_transaction_keeps_to_its_snapshot_while_others_commit_and_compact() {
    let scratch = ScratchLake::new(Catalog::Sqlite);
    scratch.run("CALL lake.set_option('data_inlining_row_limit', 0);\nCREATE TABLE t (k INT, v INT)");
    scratch.run("INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2);\nDELETE FROM t WHERE k = 1");
    let to = scratch.current();
    let other = scratch.reopen();
    let transaction = scratch.lake.begin().unwrap();
    other.execute("INSERT INTO t VALUES (9, 9)").unwrap();
    other.execute("CALL ducklake_merge_adjacent_files('lake')").unwrap();
    other.execute("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)").unwrap();
    assert_eq!(transaction.snapshot(), SnapshotId(to));
    let id = id_of(&transaction, "t");
    let change = assert_exact(&transaction, id, 1, to, &Tuning::default());
    assert_eq!((change.inserted, change.deleted, change.count_at_to, change.method), (1, 0, 1, Method::PerFile));
    assert_every_window_exact(&transaction, id, &Tuning::default());
    drop(transaction);
    let later = scratch.lake.begin().unwrap();
    assert_eq!(later.query_value("SELECT count(k) FROM t").unwrap(), Value::Integer(2));
    assert_every_window_exact(&later, id, &Tuning::default());
}

// 3. Histories in which DuckLake's own change feed is wrong.

#[test]
fn fact_3_a1_two_deletes_of_one_file_in_one_transaction() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(5) r(i)");
    scratch.run("BEGIN;\nDELETE FROM t WHERE k = 2;\nDELETE FROM t;\nCOMMIT");
    assert_eq!(exact_t(&scratch, 2, 3).deleted, 5);
}

#[test]
fn fact_3_a2_two_updates_of_one_file_in_one_transaction() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(8) r(i)");
    scratch.run("BEGIN;\nUPDATE t SET v = v + 1 WHERE k IN (2, 7);\nUPDATE t SET v = v + 1 WHERE k IN (2, 6);\nCOMMIT");
    let change = exact_t(&scratch, 2, 3);
    assert_eq!((change.inserted, change.deleted), (3, 3));
}

#[test]
fn fact_3_b_an_inlined_row_updated_twice_and_flushed() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t VALUES (0, 0), (1, 1);\nUPDATE t SET v = v + 10 WHERE k = 1;\nUPDATE t SET v = v + 1");
    exact_everywhere(&scratch);
    scratch.run("CALL ducklake_flush_inlined_data('lake')");
    exact_everywhere(&scratch);
}

#[test]
fn fact_3_c2_update_merge_and_update_again() {
    let scratch = lake_with_t(0);
    scratch.run(
        "INSERT INTO t VALUES (0, 0);\nINSERT INTO t SELECT 4 + i, i FROM range(8) r(i);\n\
         UPDATE t SET v = v + 1 WHERE k = 5;\nCALL ducklake_merge_adjacent_files('lake');\n\
         UPDATE t SET v = v + 10 WHERE k = 5",
    );
    exact_everywhere(&scratch);
}

#[test]
fn fact_3_d_a_small_delete_and_a_rewrite() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t SELECT i, i FROM range(12) r(i);\nDELETE FROM t WHERE k = 1");
    scratch.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)");
    let to = scratch.current();
    let change = exact_t(&scratch, 2, to);
    assert_eq!((change.inserted, change.deleted), (0, 1));
    exact_everywhere(&scratch);
}

#[test]
fn fact_3_e_a_rewrite_reads_nothing() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(1000) r(i);\nDELETE FROM t WHERE k < 300");
    scratch.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)");
    let to = scratch.current();
    let change = exact_t(&scratch, to - 1, to);
    assert_eq!((change.rows, change.method, change.files_read), (0, Method::Unchanged, 0));
    // Across the rewrite the deleted rows are read, and not the whole file twice.
    let change = exact_t(&scratch, to - 2, to);
    assert_eq!((change.inserted, change.deleted, change.rows, change.files_read), (0, 300, 300, 1));
}

#[test]
fn fact_3_f_insert_and_delete_in_one_transaction() {
    let scratch = lake_with_t(0);
    scratch.run("BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE k < 5;\nCOMMIT");
    let change = exact_t(&scratch, 1, 2);
    assert_eq!((change.inserted, change.deleted), (15, 0));
}

/// DuckLake issue 1406: a read of an old version takes a file twice.
fn doubled_history() -> (ScratchLake, u64, u64) {
    let scratch = lake_with_t(10);
    scratch.run(
        "INSERT INTO t SELECT i, i FROM range(12) r(i);\nUPDATE t SET v = v WHERE k = 9;\n\
         CALL ducklake_flush_inlined_data('lake');\nDELETE FROM t WHERE k % 3 = 0",
    );
    let deleted = scratch.current();
    let rows = u64::try_from(scratch.integer("SELECT count(k) FROM t")).unwrap();
    scratch.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\nCALL ducklake_flush_inlined_data('lake')");
    (scratch, deleted, rows)
}

#[test]
fn fact_3_h_a_file_with_two_delete_files_is_noticed() {
    let (scratch, deleted, rows) = doubled_history();
    let wrong = scratch.integer(&format!("SELECT count(k) FROM t AT (VERSION => {deleted})"));
    assert_ne!(u64::try_from(wrong).unwrap(), rows, "the issue is mended: the guard can go");
    let to = scratch.current();
    let failures = guards_of(&scratch, deleted, to, Some(rows));
    assert!(failures.contains(&(Guard::DoubledDeletes, false)), "{failures:?}");
    assert!(failures.contains(&(Guard::BackDated, false)), "{failures:?}");
    let failures = guards_of(&scratch, 2, deleted, None);
    assert!(failures.contains(&(Guard::DoubledDeletes, true)), "{failures:?}");
    assert_eq!(guards_of(&scratch, 2, to, Some(12)), []);
    assert_eq!(exact_t(&scratch, 2, to).method, Method::PerFile);
}

#[test]
fn fact_3_i_deletion_vectors_are_refused() {
    let scratch = lake_with_t(0);
    scratch.run(
        "CALL lake.set_option('write_deletion_vectors', true);\nINSERT INTO t SELECT i, i FROM range(12) r(i);\n\
         DELETE FROM t WHERE k = 0;\nDELETE FROM t WHERE k % 5 = 0",
    );
    let to = scratch.current();
    assert!(guards_of(&scratch, to - 2, to, None).contains(&(Guard::DeletionVectors, false)));
    let transaction = scratch.lake.begin().unwrap();
    let columns = [(ColumnId(1), "k".to_owned())];
    let request = NetChangeRequest {
        table: id_of(&transaction, "t"),
        from: SnapshotId(to - 1),
        to: SnapshotId(to),
        columns: &columns,
        into: "d",
    };
    let error = transaction.stage_net_change(&request).unwrap_err();
    assert!(matches!(error, LakeError::UnreadablePast { .. }) && error.hint().is_some(), "{error:?}");
}

#[test]
fn fact_3_j_changes_of_expired_snapshots_are_found() {
    for inlining in [0, 10] {
        let scratch = lake_with_t(inlining);
        scratch.run(
            "INSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE k < 3;\nINSERT INTO t VALUES (50, 1);\n\
             UPDATE t SET v = 3 WHERE k > 15;\nINSERT INTO t VALUES (51, 1)",
        );
        scratch.run("CALL ducklake_expire_snapshots('lake', versions => [3, 4, 5])");
        let change = exact_t(&scratch, 2, 6);
        assert!(change.inserted > 0 && change.deleted > 0);
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_3_1_cleaned_up_files_are_not_missed() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2);\nINSERT INTO t VALUES (3, 3)");
    scratch.run("DELETE FROM t WHERE k = 2;\nCALL ducklake_merge_adjacent_files('lake')");
    scratch.run("CALL ducklake_cleanup_old_files('lake', cleanup_all => true);\nCHECKPOINT lake");
    exact_everywhere(&scratch);
}

#[test]
fn fact_3_4_a_vanished_file_is_named() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES (2, 2);\nDELETE FROM t WHERE k = 2");
    let data = scratch.folder.path().join("data/main/t");
    for file in std::fs::read_dir(data).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let transaction = scratch.lake.begin().unwrap();
    let columns = [(ColumnId(1), "k".to_owned())];
    let table = id_of(&transaction, "t");
    let request = NetChangeRequest { table, from: SnapshotId(1), to: SnapshotId(3), columns: &columns, into: "d" };
    let error = transaction.stage_net_change(&request).unwrap_err();
    assert!(matches!(&error, LakeError::VanishedFile { file, .. } if file.ends_with(".parquet")), "{error:?}");
}

#[test]
fn fact_3_6_late_bucket_partitioning_is_noticed_and_read_exactly() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(12) r(i)");
    let from = scratch.current();
    assert_eq!(guards_of(&scratch, from, from, Some(12)), []);
    scratch.run("ALTER TABLE t SET PARTITIONED BY (bucket(3, k));\nINSERT INTO t VALUES (50, 50)");
    scratch.run("DELETE FROM t WHERE k BETWEEN 7 AND 8");
    let to = scratch.current();
    assert_eq!(guards_of(&scratch, from, to, Some(12)), [(Guard::BucketPartitioning, true)]);
    for prune_from_files in [0, 1000] {
        let transaction = scratch.lake.begin().unwrap();
        let id = id_of(&transaction, "t");
        assert_every_window_exact(&transaction, id, &Tuning { prune_from_files, ..Tuning::default() });
    }
}

// 4. Identity and columns.

#[test]
fn fact_4_1_a_replaced_table_is_another_one() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t VALUES (1, 1)");
    let from = scratch.current();
    let transaction = scratch.lake.begin().unwrap();
    let old = transaction.table_named("main", "t", SnapshotId(from)).unwrap().unwrap();
    drop(transaction);
    scratch.run("CREATE OR REPLACE TABLE t (k INT, v INT)");
    let transaction = scratch.lake.begin().unwrap();
    let to = transaction.snapshot();
    let new = transaction.table_named("MAIN", "T", to).unwrap().unwrap();
    assert!(new.id != old.id && new.uuid != old.uuid);
    assert_eq!(transaction.table_by_id(old.id, to).unwrap(), None);
    assert_eq!(transaction.table_by_id(old.id, SnapshotId(from)).unwrap(), Some(old.clone()));
    let failures = transaction.check_guards(old.id, SnapshotId(from), to, Some(1)).unwrap();
    assert_eq!(failures.iter().map(|failure| failure.guard).collect::<Vec<_>>(), [Guard::Replaced]);
    assert!(transaction.changed(old.id, SnapshotId(from), to).unwrap());
}

#[test]
fn fact_4_2_a_renamed_table_is_followed() {
    for inlining in [0, 10] {
        let scratch = lake_with_t(inlining);
        scratch.run(
            "INSERT INTO t SELECT i, i FROM range(20) r(i);\nDELETE FROM t WHERE k = 1;\n\
             ALTER TABLE t RENAME TO \"a \"\"new\"\" name\";\nDELETE FROM \"a \"\"new\"\" name\" WHERE k = 2;\n\
             INSERT INTO \"a \"\"new\"\" name\" VALUES (3, 3);\nALTER TABLE \"a \"\"new\"\" name\" RENAME TO t;\n\
             UPDATE t SET v = 1 WHERE k < 12",
        );
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_4_3_names_are_found_without_regard_to_case() {
    let scratch = ScratchLake::inlining(10);
    scratch.run("CREATE SCHEMA \"My Schema\";\nCREATE TABLE \"My Schema\".\"T Q\" (\"A b\" INT)");
    let transaction = scratch.lake.begin().unwrap();
    let at = transaction.snapshot();
    let identity = transaction.table_named("my schema", "t q", at).unwrap().unwrap();
    assert_eq!((identity.schema.as_str(), identity.name.as_str()), ("My Schema", "T Q"));
    assert_eq!(transaction.tables(at).unwrap(), std::slice::from_ref(&identity));
    assert_eq!(transaction.table_named("my schema", "t", at).unwrap(), None);
    assert_eq!(transaction.table_by_id(identity.id, SnapshotId(1)).unwrap(), None);
}

#[test]
fn fact_4_5_types_are_told_as_duckdb_tells_them() {
    let scratch = ScratchLake::inlining(0);
    scratch.run(
        "CREATE TABLE t (a TINYINT, b SMALLINT, c INT, d BIGINT, e HUGEINT, f UTINYINT, g USMALLINT, h UINTEGER, \
         i UBIGINT, j UHUGEINT, k FLOAT, l DOUBLE, m DECIMAL(4, 1), n DECIMAL(38, 10), o VARCHAR, p BLOB, q BOOLEAN, \
         r DATE, s TIME, t TIMETZ, u TIMESTAMP, v TIMESTAMPTZ, w TIMESTAMP_S, x TIMESTAMP_MS, y TIMESTAMP_NS, \
         z INTERVAL, aa UUID, ab JSON, ac INT[], ad STRUCT(x INT, y STRUCT(z VARCHAR)[]), ae MAP(VARCHAR, INT[]), \
         af VARIANT, ag GEOMETRY, ah TIME_NS)",
    );
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    let columns = exact::columns(&transaction, id, transaction.snapshot());
    let described = transaction.describe("SELECT * FROM t").unwrap();
    assert_eq!(columns.len(), described.len());
    for (column, described) in columns.iter().zip(&described) {
        let null = format!("SELECT CAST(NULL AS {}) AS x", column.data_type);
        let bound = &transaction.describe(&null).unwrap()[0];
        assert_eq!((&column.name, &bound.data_type), (&described.name, &described.data_type));
        assert!(column.nulls_allowed && column.parent.is_none());
    }
}

#[test]
fn fact_4_6_parts_of_a_struct_that_come_and_go_are_read_in_full() {
    let scratch = ScratchLake::inlining(0);
    scratch.run(
        "CREATE TABLE t (k INT, s STRUCT(a INT, b INT));\nINSERT INTO t SELECT i, {a: i, b: i} FROM range(20) r(i);\n\
         DELETE FROM t WHERE k = 1;\nALTER TABLE t ADD COLUMN s.c INT;\nINSERT INTO t VALUES (2, {a: 1, b: 2, c: 3});\n\
         ALTER TABLE t DROP COLUMN s.b",
    );
    let to = scratch.current();
    assert_eq!(exact_t(&scratch, 2, 3).method, Method::PerFile);
    assert_eq!(exact_t(&scratch, 2, to).method, Method::FullDifference);
    assert_eq!(exact_t(&scratch, 4, 5).method, Method::PerFile);
    exact_everywhere(&scratch);
}

// 5. Writing.

#[test]
fn fact_5_3_counts_taken_before_a_write_stay_right() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(32) r(i)");
    let transaction = scratch.lake.begin().unwrap();
    let at = transaction.snapshot();
    let table = transaction.table_named("main", "t", at).unwrap().unwrap();
    assert_eq!(transaction.count_at(&table, at).unwrap(), 32);
    transaction.execute("DELETE FROM t WHERE k < 2").unwrap();
    let leaking = format!("SELECT count(*) FROM {}", transaction.at(&table, at));
    assert_eq!(transaction.query_value(&leaking).unwrap(), Value::Integer(30), "old versions show own writes");
    assert_eq!(transaction.count_at(&table, at).unwrap(), 32);
}

#[test]
fn fact_5_5_one_delete_and_one_insert_in_a_transaction() {
    for inlining in [0, 10] {
        let scratch = lake_with_t(inlining);
        scratch.run("INSERT INTO t SELECT i, i FROM range(20) r(i)");
        for round in 0..4 {
            scratch.run(&format!(
                "BEGIN;\nDELETE FROM t WHERE k % 5 = {round};\nINSERT INTO t SELECT i, {round} FROM range(6) r(i);\nCOMMIT"
            ));
        }
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_5_6_repeated_rowids_do_not_matter() {
    let scratch = lake_with_t(0);
    for _ in 0..2 {
        scratch.run("BEGIN;\nINSERT INTO t SELECT i, i FROM range(20) r(i);\nUPDATE t SET v = -1 WHERE k < 4;\nCOMMIT");
    }
    assert!(scratch.integer("SELECT count(*) - count(DISTINCT rowid) FROM t") > 0, "rowids are unique now");
    scratch.run("DELETE FROM t WHERE k = 1");
    exact_everywhere(&scratch);
}

// 6. Other writers.

#[test]
fn fact_6_3_back_dated_deletes_are_noticed_by_the_count() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(100) r(i);\nDELETE FROM t WHERE k < 10");
    let other = scratch.lake.another_session().unwrap();
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k >= 90").unwrap();
    scratch.run("CREATE TABLE other (k INT)");
    let read = scratch.current();
    let recorded = u64::try_from(scratch.integer("SELECT count(k) FROM t")).unwrap();
    assert_eq!(recorded, 90);
    late.commit().unwrap();
    let to = scratch.current();
    assert_eq!(scratch.integer("SELECT count(k) FROM t"), 80);
    let failures = guards_of(&scratch, read, to, Some(recorded));
    assert_eq!(failures, [(Guard::BackDated, false)], "the delete is in a snapshot that was already read");
    // Relative to what can be read now the net change is exact all the same.
    exact_everywhere(&scratch);
}

#[test]
fn fact_6_5_a_flush_during_a_large_delete_is_noticed() {
    let scratch = lake_with_t(10);
    scratch.run("INSERT INTO t SELECT i, i FROM range(40) r(i);\nDELETE FROM t WHERE k < 5");
    let other = scratch.lake.another_session().unwrap();
    let late = other.begin().unwrap();
    late.execute("DELETE FROM t WHERE k BETWEEN 10 AND 24").unwrap();
    scratch.run("CALL ducklake_flush_inlined_data('lake')");
    let read = scratch.current();
    if late.commit().is_err() {
        return; // a conflict is the right answer
    }
    let to = scratch.current();
    let failures = guards_of(&scratch, read, to, Some(35));
    assert!(failures.iter().any(|(guard, _)| *guard == Guard::DoubledDeletes), "{failures:?}");
}

#[test]
fn fact_6_8_a_transaction_cannot_read_what_came_later() {
    let scratch = ScratchLake::new(Catalog::Sqlite);
    scratch.run("CREATE TABLE t AS SELECT 1 AS k");
    let other = scratch.reopen();
    let transaction = scratch.lake.begin().unwrap();
    other.execute("INSERT INTO t VALUES (2)").unwrap();
    let error = transaction.query("FROM t AT (VERSION => 2)").unwrap_err();
    assert!(matches!(error, LakeError::NoSnapshot { .. }), "{error:?}");
}

// 8. Types and names.

/// A table of all types that DuckLake keeps without loss.
const ALL_TYPES: &str = "CREATE TABLE t (k INT, a TINYINT, b SMALLINT, d BIGINT, f UTINYINT, g USMALLINT, h UINTEGER, \
    i UBIGINT, r FLOAT, l DOUBLE, m DECIMAL(4, 1), n DECIMAL(38, 10), o VARCHAR, p BLOB, q BOOLEAN, rr DATE, s TIME, \
    u TIMESTAMP, v TIMESTAMPTZ, w TIMESTAMP_S, x TIMESTAMP_MS, y TIMESTAMP_NS, z INTERVAL, aa UUID, ab JSON, ac INT[], \
    ad STRUCT(x INT, y STRUCT(z VARCHAR)[]), ae MAP(VARCHAR, INT[]))";

const ALL_VALUES: &str = "INSERT INTO t SELECT i, i, i, i, i, i, i, 18446744073709551615 - i, \
    [0.0, -0.0, 'nan'::FLOAT, 'inf'::FLOAT][i % 4 + 1], [-0.0, 'nan'::DOUBLE, 1e300, 0][i % 4 + 1], i / 2, \
    1234567890123456789012345678.0123456789, ['it''s', E'a\\nb', '🦆', '', NULL][i % 5 + 1], \
    encode('x' || i), i % 2 = 0, ['infinity'::DATE, '2024-02-29', NULL][i % 3 + 1], TIME '12:34:56.789', \
    ['-infinity'::TIMESTAMP, '2024-01-01 00:00:00.000001', NULL][i % 3 + 1], TIMESTAMPTZ '2024-01-01 00:00:00+03', \
    TIMESTAMP_S '2024-01-01 00:00:01', TIMESTAMP_MS '2024-01-01 00:00:00.001', \
    TIMESTAMP_NS '2024-01-01 00:00:00.000000001', [INTERVAL '1 month', INTERVAL '30 days', NULL][i % 3 + 1], \
    uuid '00000000-0000-0000-0000-00000000000f', '{\"a\": 1}', [i, NULL], {x: i, y: [{z: 'a'}]}, \
    MAP {'a': [i::INT], 'b': []} FROM range(12) r(i)";

#[test]
fn fact_8_1_every_type_comes_through_exactly() {
    for inlining in [0, 1000] {
        let scratch = ScratchLake::inlining(inlining);
        scratch.run(ALL_TYPES);
        scratch.run(ALL_VALUES);
        scratch.run("DELETE FROM t WHERE k % 3 = 0;\nUPDATE t SET a = a + 1 WHERE k % 2 = 0");
        scratch.run("CALL ducklake_flush_inlined_data('lake')");
        scratch.run(ALL_VALUES);
        exact_everywhere(&scratch);
    }
}

#[test]
fn fact_8_5_values_that_are_equal_but_not_the_same_do_not_cancel() {
    for inlining in [0, 10] {
        let scratch = ScratchLake::inlining(inlining);
        scratch.run("CREATE TABLE t (x DOUBLE, y INTERVAL, l DOUBLE[])");
        scratch.run("INSERT INTO t VALUES (0.0, INTERVAL '1 month', [0.0])");
        scratch.run("UPDATE t SET x = -0.0;\nUPDATE t SET y = INTERVAL '30 days';\nUPDATE t SET l = [-0.0]");
        let change = exact_t(&scratch, 2, scratch.current());
        assert_eq!((change.inserted, change.deleted, change.rows), (1, 1, 2));
        let transaction = scratch.lake.begin().unwrap();
        let id = id_of(&transaction, "t");
        let columns: Vec<_> = exact::columns(&transaction, id, transaction.snapshot())
            .into_iter()
            .map(|column| (column.id, column.name))
            .collect();
        let to = transaction.snapshot();
        let request = NetChangeRequest { table: id, from: SnapshotId(2), to, columns: &columns, into: "d" };
        let change = transaction.full_difference(&request).unwrap();
        assert_eq!((change.inserted, change.deleted, change.method), (1, 1, Method::FullDifference));
    }
}

#[test]
fn fact_8_6_odd_names_are_quoted_everywhere() {
    let scratch = ScratchLake::inlining(0);
    scratch.run("CREATE SCHEMA \"s.\"\"1'\"");
    scratch.run(
        "CREATE TABLE \"s.\"\"1'\".\"t:2,'*[x]\" (\"select\" INT, \"a\"\"b\" INT, \"ü 🦆\" VARCHAR);\n\
         INSERT INTO \"s.\"\"1'\".\"t:2,'*[x]\" SELECT i, i, 'x' FROM range(20) r(i);\n\
         DELETE FROM \"s.\"\"1'\".\"t:2,'*[x]\" WHERE \"select\" = 3;\n\
         UPDATE \"s.\"\"1'\".\"t:2,'*[x]\" SET \"ü 🦆\" = 'y' WHERE \"a\"\"b\" < 5",
    );
    let transaction = scratch.lake.begin().unwrap();
    let id = transaction.table_named("s.\"1'", "t:2,'*[x]", transaction.snapshot()).unwrap().unwrap().id;
    assert_eq!(assert_every_window_exact(&transaction, id, &Tuning::default()), 6);
    assert!(transaction.changed(id, SnapshotId(2), transaction.snapshot()).unwrap());
}

// Paths, encryption, many files.

#[test]
fn paths_of_a_lake_that_was_attached_otherwise() {
    let ScratchLake { lake, mut options, folder } = lake_with_t(0);
    lake.execute("CREATE SCHEMA s").unwrap();
    lake.execute("CREATE TABLE s.t AS SELECT i AS k FROM range(20) r(i)").unwrap();
    lake.execute("DELETE FROM s.t WHERE k = 3").unwrap();
    lake.execute("INSERT INTO t SELECT i, i FROM range(20) r(i)").unwrap();
    drop(lake);
    // Another spelling of the same folder, and then another folder.
    options.create = false;
    let path = folder.path().display().to_string();
    for data_path in [format!("{path}/./data/"), format!("{path}//data/"), format!("{path}/data")] {
        options.data_path = Some(data_path.clone());
        let lake = Lake::open(&options).unwrap();
        let transaction = lake.begin().unwrap();
        let id = transaction.table_named("s", "t", transaction.snapshot()).unwrap().unwrap().id;
        assert_every_window_exact(&transaction, id, &Tuning::default());
        let change = assert_exact(&transaction, id, 3, 4, &Tuning::default());
        assert_eq!((change.deleted, change.method), (1, Method::PerFile), "{data_path}");
    }
}

#[test]
fn encrypted_lakes_are_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = lakes::options_in(&folder, Catalog::DuckDb);
    options.encrypted = true;
    let lake = Lake::open(&options).unwrap();
    if lake.load_extension("httpfs").is_err() {
        println!("skipped: DuckDB writes encrypted files with the library of the extension httpfs only");
        return;
    }
    lake.execute("CALL lake.set_option('data_inlining_row_limit', 0)").unwrap();
    for statement in [
        "CREATE TABLE t (k INT, v INT)",
        "INSERT INTO t SELECT i, i FROM range(30) r(i)",
        "INSERT INTO t SELECT i, i FROM range(30) r(i)",
        "DELETE FROM t WHERE k % 7 = 0",
        "DELETE FROM t WHERE k % 5 = 0",
        "CALL ducklake_merge_adjacent_files('lake')",
        "UPDATE t SET v = 0 WHERE k < 6",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
        "DELETE FROM t WHERE k = 8",
    ] {
        lake.execute(statement).unwrap();
    }
    let transaction = lake.begin().unwrap();
    assert!(transaction.is_encrypted().unwrap());
    let id = id_of(&transaction, "t");
    assert_every_window_exact(&transaction, id, &Tuning::default());
    assert_every_window_exact(&transaction, id, &Tuning { read_delete_files: false, ..Tuning::default() });
}

#[test]
fn many_files_are_pruned_by_a_column() {
    let scratch = lake_with_t(0);
    for file in 0..40 {
        scratch.run(&format!("INSERT INTO t SELECT {file} * 100 + i, i FROM range(20) r(i)"));
    }
    let from = scratch.current();
    scratch.run("DELETE FROM t WHERE k = 1703");
    let transaction = scratch.lake.begin().unwrap();
    let id = id_of(&transaction, "t");
    let tuning = Tuning { prune_from_files: 10, ..Tuning::default() };
    let change = assert_exact(&transaction, id, from, from + 1, &tuning);
    assert_eq!((change.deleted, change.files_read), (1, 1));
    assert!(change.statements[0].contains("\"k\" BETWEEN 1700 AND 1719"), "{:?}", change.statements);
    let change = assert_exact(&transaction, id, from - 3, from, &tuning);
    assert_eq!((change.inserted, change.files_read), (60, 3));
}

#[test]
fn rows_are_read_only_from_files_of_the_window() {
    let scratch = lake_with_t(0);
    scratch.run("INSERT INTO t SELECT i, i FROM range(20) r(i);\nINSERT INTO t SELECT 100 + i, i FROM range(20) r(i)");
    let from = scratch.current();
    scratch.run("INSERT INTO t SELECT 200 + i, i FROM range(20) r(i)");
    // What must not be opened is gone.
    let files = scratch
        .lake
        .query(&format!("SELECT data_file FROM ducklake_list_files('lake', 't', snapshot_version => {from})"));
    for row in files.unwrap().rows {
        std::fs::remove_file(row[0].as_str().unwrap()).unwrap();
    }
    let transaction = scratch.lake.begin().unwrap();
    let columns = [(ColumnId(1), "k".to_owned())];
    let (table, from) = (id_of(&transaction, "t"), SnapshotId(from));
    let request = NetChangeRequest { table, from, to: transaction.snapshot(), columns: &columns, into: "d" };
    let change = transaction.stage_net_change(&request).unwrap();
    assert_eq!((change.inserted, change.method, change.files_read), (20, Method::PerFile, 1));
}
