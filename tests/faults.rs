//! Files that vanish or are cut off, a full disk, and what is left behind: an error that names the thing, a view that is
//! whole, and a next sync that goes on.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

#[path = "support/program.rs"]
mod program;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
#[cfg(feature = "failpoints")]
use std::process::Stdio;
use std::process::{Command, Output};

use ducklake_ivm::lake::{Lake, Value};
use program::{Catalog, Shop, run, transcript};

const SALES: &str = "SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON c.id = o.customer";

/// A view over tables of which every change makes files.
fn shop() -> Shop {
    let (shop, lake) = Shop::made(Catalog::Sqlite);
    run(&lake, &format!("CALL lake.set_option('data_inlining_row_limit', 0);\n{}", program::CUSTOMERS_AND_ORDERS));
    drop(lake);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop
}

fn rows(lake: &Lake, sql: &str) -> Vec<Vec<Value>> {
    lake.query(&format!("SELECT * FROM ({sql}) ORDER BY ALL")).unwrap().rows
}

fn assert_holds(shop: &Shop) {
    let lake = shop.open();
    assert_eq!(rows(&lake, "FROM sales"), rows(&lake, SALES));
}

/// The newest data file of a table.
fn newest_file(shop: &Shop, table: &str) -> PathBuf {
    let folder = shop.path("data/main").join(table);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
    files.pop().unwrap()
}

/// Cuts a file off.
fn cut_off(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    File::options().write(true).open(file).unwrap().set_len(length / 2).unwrap();
}

#[test]
fn a_file_that_is_gone_or_cut_off_is_named_with_its_table() {
    let gone = |file: &Path| fs::remove_file(file).unwrap();
    for (harm, says) in [(&gone as &dyn Fn(&Path), "is missing"), (&cut_off, "is damaged")] {
        let shop = shop();
        let old = rows(&shop.open(), "FROM sales");
        shop.sql("INSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
        let file = newest_file(&shop, "orders");
        let copy = shop.path("copy.parquet");
        fs::copy(&file, &copy).unwrap();
        harm(&file);
        for arguments in [["sync"].as_slice(), &["sync", "--full"]] {
            let output = shop.run(arguments);
            let shown = transcript(arguments, &output);
            assert_eq!(output.status.code(), Some(1), "{shown}");
            let name = file.file_name().unwrap().to_str().unwrap();
            for part in [name, "main.orders", says, "main.sales", "hint"] {
                assert!(shown.contains(part), "{part}: {shown}");
            }
        }
        assert_eq!(rows(&shop.open(), "FROM sales"), old);
        fs::copy(&copy, &file).unwrap();
        shop.succeed(&["sync"]);
        assert_holds(&shop);
    }
}

/// The file vanishes between the reads of a sync that has begun.
#[cfg(feature = "failpoints")]
#[test]
fn a_file_that_vanishes_under_a_running_sync_changes_nothing() {
    let shop = shop();
    let old = rows(&shop.open(), "FROM sales");
    shop.sql("DELETE FROM customers WHERE id = 2;\nINSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
    let file = newest_file(&shop, "orders");
    let mut program = shop.program();
    program.arg("sync").env("FAILPOINTS", "sync::after_windows=1*sleep(2500)");
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let kept = shop.path("kept.parquet");
    fs::rename(&file, &kept).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = transcript(&["sync"], &output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("main.orders") && shown.contains("is missing"), "{shown}");
    assert_eq!(rows(&shop.open(), "FROM sales"), old);
    fs::rename(&kept, &file).unwrap();
    shop.succeed(&["sync"]);
    assert_holds(&shop);
}

/// Maintenance that replaces and removes files while a sync reads them is no fault: the sync begins anew.
#[cfg(feature = "failpoints")]
#[test]
fn files_that_maintenance_removes_under_a_running_sync_are_read_anew() {
    let shop = shop();
    for batch in 0..4 {
        shop.sql(&format!("INSERT INTO orders SELECT 10 * {batch} + i, 1, i FROM range(10, 20) r(i)"));
    }
    let mut program = shop.program();
    program.arg("sync").env("FAILPOINTS", "sync::after_windows=1*sleep(3500)");
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    shop.sql(
        "CALL ducklake_merge_adjacent_files('lake');\nCALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    );
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", transcript(&["sync"], &output));
    assert_holds(&shop);
}

/// Runs a sync by a shell, after `limits`.
fn sync_under(shop: &Shop, limits: &str, temporary: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_ducklake-ivm");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec '{program}' sync")]).current_dir(shop.folder.path());
    shell.env("DUCKLAKE_IVM_LAKE", &shop.uri).env("TMPDIR", temporary).env_remove("RUST_LOG").output().unwrap()
}

/// Rows that do not compress, so that the view's file is larger than the limit.
const MANY: &str =
    "INSERT INTO orders SELECT 1000 + i, 1 + hash(i) % 3, (hash(i * 7) % 10000)::INT / 100 FROM range(60000) r(i)";

#[test]
fn a_full_disk_is_an_error_and_nothing_else() {
    let shop = shop();
    let temporary = tempfile::tempdir().unwrap();
    let old = rows(&shop.open(), "FROM sales");
    shop.sql(MANY);
    let files = parquet_files(&shop);
    // No file may grow beyond 100 blocks of 512 bytes, which is less than the view's new rows need.
    let output = sync_under(&shop, "trap '' XFSZ; ulimit -f 100", temporary.path());
    let shown = transcript(&["sync"], &output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("the disk is full") && shown.contains("make room"), "{shown}");
    assert_eq!(rows(&shop.open(), "FROM sales"), old);
    // What DuckLake itself had begun to write belongs to no table, and goes with its own maintenance.
    shop.sql("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)");
    assert_eq!(parquet_files(&shop), files, "files of the refresh that failed were left behind");
    assert_empty(temporary.path());
    let output = sync_under(&shop, "true", temporary.path());
    assert!(output.status.success(), "{}", transcript(&["sync"], &output));
    assert_empty(temporary.path());
    assert_holds(&shop);
}

/// A file system of its own that really is full.
#[test]
fn a_full_file_system_is_an_error_and_nothing_else() {
    let (shop, lake) = Shop::made(Catalog::Sqlite);
    let data = shop.path("data");
    fs::create_dir_all(&data).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1200k", "tmpfs"]).arg(&data).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: no file system may be mounted here");
        return;
    }
    run(&lake, program::CUSTOMERS_AND_ORDERS);
    drop(lake);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.sql(MANY);
    let filler = data.join("filler");
    let full = fs::write(&filler, vec![7_u8; 4_000_000]).is_err();
    let old = rows(&shop.open(), "FROM sales");
    let output = shop.run(&["sync"]);
    let shown = transcript(&["sync"], &output);
    let held = rows(&shop.open(), "FROM sales");
    fs::remove_file(&filler).unwrap();
    let again = shop.run(&["sync"]);
    let repaired = rows(&shop.open(), "FROM sales") == rows(&shop.open(), SALES);
    let unmounted = Command::new("umount").arg(&data).status().unwrap();
    assert!(full && unmounted.success());
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("the disk is full"), "{shown}");
    assert!(held == old && again.status.success() && repaired, "{}", transcript(&["sync"], &again));
}

fn parquet_files(shop: &Shop) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![shop.path("data")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn assert_empty(folder: &Path) {
    let left: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Work that spills leaves nothing behind, and what a killed process left goes with the next run.
#[test]
fn temporary_files_are_removed() {
    let shop = shop();
    shop.sql(MANY);
    let temporary = tempfile::tempdir().unwrap();
    let dead = temporary.path().join("ducklake-ivm-spill-4194999");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("duckdb_temp_storage-0.tmp"), "x").unwrap();
    let mut program = shop.program();
    program.args(["--memory-limit", "40MB", "sync"]).env("TMPDIR", temporary.path());
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", transcript(&["sync"], &output));
    assert_empty(temporary.path());
    assert_holds(&shop);
}
