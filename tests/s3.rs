//! A lake whose files are in S3: an endpoint on loopback that signs, answers and fails as S3 does (`s3s-fs`), asked through
//! DuckDB's `httpfs` and by `diff --files --check`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/program.rs"]
mod program;
#[path = "support/store.rs"]
mod store;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use ducklake_ivm::lake::{Lake, LakeOptions, Value};
use program::{Shop, run, transcript};
use store::{BUCKET, KEY, SECRET, Store};

const SALES: &str = "SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON c.id = o.customer";
const CITIES: &str = "SELECT city, count(*) AS n, sum(amount) AS amount FROM orders o \
                      JOIN customers c ON c.id = o.customer GROUP BY city";

/// A secret for the endpoint, as DuckDB takes it.
fn secret(store: &Store, secret: &str) -> String {
    format!(
        "CREATE OR REPLACE SECRET bucket (TYPE s3, KEY_ID '{KEY}', SECRET '{secret}', ENDPOINT '{}', URL_STYLE 'path', \
         USE_SSL false)",
        store.endpoint()
    )
}

/// The configuration file that gives the program the same one, by way of the environment.
fn configure(shop: &Shop, store: &Store) {
    let text = format!(
        "setup = ['SET http_retries = 1']\n[secrets.bucket]\ntype = 's3'\nkey_id = {{ env = 'BUCKET_KEY' }}\n\
         secret = {{ env = 'BUCKET_SECRET' }}\nendpoint = '{}'\nurl_style = 'path'\nuse_ssl = false\n",
        store.endpoint()
    );
    fs::write(shop.path("ducklake-ivm.toml"), text).unwrap();
}

/// A lake in the bucket with customers and orders, all of it in files, and the program's configuration.
fn shop(store: &Store) -> (Shop, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = LakeOptions::new(format!("ducklake:sqlite:{}/shop.sqlite", folder.path().display()));
    options.data_path = Some(format!("s3://{BUCKET}/some/prefix/"));
    options.create = true;
    options.setup = vec![secret(store, SECRET)];
    let (shop, lake) = Shop::of(&options, folder);
    run(&lake, "CALL lake.set_option('data_inlining_row_limit', 0)");
    run(&lake, program::CUSTOMERS_AND_ORDERS);
    configure(&shop, store);
    (shop, lake)
}

/// Runs the program with these credentials.
fn run_with(shop: &Shop, secret: &str, arguments: &[&str]) -> Output {
    let mut program = shop.program();
    program.args(arguments).env("BUCKET_KEY", KEY).env("BUCKET_SECRET", secret);
    program.output().unwrap()
}

/// Runs the program, which must end with `code` and print no secret; what was typed and what came back.
fn ends(shop: &Shop, code: i32, arguments: &[&str]) -> String {
    let output = run_with(shop, SECRET, arguments);
    let shown = transcript(arguments, &output);
    assert_eq!(output.status.code(), Some(code), "{shown}");
    assert!(!shown.contains(SECRET) && !shown.contains(KEY), "{shown}");
    shown
}

fn rows(lake: &Lake, sql: &str) -> Vec<Vec<Value>> {
    lake.query(&format!("SELECT * FROM ({sql}) ORDER BY ALL")).unwrap().rows
}

fn assert_holds(lake: &Lake) {
    assert_eq!(rows(lake, "FROM sales"), rows(lake, SALES));
    assert_eq!(rows(lake, "FROM cities"), rows(lake, CITIES));
}

fn create_views(shop: &Shop) {
    ends(shop, 0, &["create", "sales", "--sql", SALES]);
    ends(shop, 0, &["create", "cities", "--sql", CITIES]);
}

/// The files of a table in the store, the newest last.
fn objects(store: &Store, table: &str) -> Vec<PathBuf> {
    let folder = store.object("some/prefix/main").join(table);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
    files
}

fn name(file: &std::path::Path) -> &str {
    file.file_name().unwrap().to_str().unwrap()
}

#[test]
fn views_follow_a_lake_in_s3() {
    let store = Store::start();
    let (shop, lake) = shop(&store);
    create_views(&shop);
    for change in [
        "INSERT INTO orders SELECT 10 + i, 1 + i % 3, i FROM range(30) r(i)",
        "DELETE FROM orders WHERE id % 4 = 1;\nUPDATE customers SET city = 'Faro' WHERE id = 3",
        "CALL ducklake_merge_adjacent_files('lake');\nUPDATE orders SET amount = 1.5 WHERE id = 12",
    ] {
        run(&lake, change);
        ends(&shop, 0, &["sync"]);
        assert_holds(&lake);
        ends(&shop, 0, &["verify"]);
    }
    assert!(objects(&store, "sales").len() > 1, "the view's rows are in the store");
}

#[test]
fn the_store_is_asked_for_every_file_at_once() {
    let store = Store::start();
    let (shop, lake) = shop(&store);
    // DuckLake encodes what such a value holds, and the key of the object holds the code.
    run(&lake, "CREATE TABLE parts (k INTEGER, part VARCHAR);\nALTER TABLE parts SET PARTITIONED BY (part)");
    run(&lake, "INSERT INTO parts SELECT i, 'a b/ä%+' || i FROM range(40) r(i)");
    store.delay(Duration::from_millis(40));
    store.heads();
    let shown = ends(&shop, 0, &["diff", "0..", "--files", "--check"]);
    assert_eq!(shown.matches(": ok").count(), 42, "{shown}");
    let (heads, most) = store.heads();
    assert!(heads >= 42 && (8..=16).contains(&most), "{heads} requests, {most} at the same time\n{shown}");
}

#[test]
fn what_is_missing_or_cut_off_in_the_store_is_found() {
    let store = Store::start();
    let (shop, lake) = shop(&store);
    create_views(&shop);
    let before = lake.current_snapshot().unwrap().0;
    run(&lake, "INSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
    run(&lake, "INSERT INTO customers SELECT 10 + i, 'x', 'y' FROM range(30) r(i)");
    ends(&shop, 0, &["diff", "0..", "--files", "--check"]);
    let [gone, cut] = ["orders", "customers"].map(|table| objects(&store, table).pop().unwrap());
    let copies = [&gone, &cut].map(|file| fs::read(file).unwrap());
    fs::remove_file(&gone).unwrap();
    File::options().write(true).open(&cut).unwrap().set_len(100).unwrap();
    let shown = ends(&shop, 4, &["diff", &format!("{before}.."), "--files", "--check"]);
    let line = |file: &PathBuf| shown.lines().find(|line| line.contains(name(file))).unwrap().to_owned();
    assert!(line(&gone).ends_with(": missing"), "{shown}");
    assert!(line(&cut).ends_with(": has 100 bytes"), "{shown}");

    let old = rows(&lake, "FROM sales");
    let shown = ends(&shop, 1, &["sync", "sales"]);
    for part in ["main.sales", "main.orders", name(&gone), "is missing", "hint"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    fs::write(&gone, &copies[0]).unwrap();
    let shown = ends(&shop, 1, &["sync", "sales"]);
    for part in ["main.sales", "main.customers", name(&cut), "hint"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(rows(&lake, "FROM sales"), old);
    fs::write(&cut, &copies[1]).unwrap();
    ends(&shop, 0, &["sync"]);
    assert_holds(&lake);
}

#[test]
fn wrong_credentials_are_named_and_never_printed() {
    const WRONG: &str = "wrong+secret/of/the+lake";
    let store = Store::start();
    let (shop, lake) = shop(&store);
    create_views(&shop);
    run(&lake, "INSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
    let snapshot = lake.current_snapshot().unwrap();
    for arguments in [
        ["-vvv", "sync"].as_slice(),
        &["-vvv", "diff", "0..", "--files", "--check"],
        &["-vvv", "diff", "1..", "--rows"],
    ] {
        let output = run_with(&shop, WRONG, arguments);
        let shown = transcript(arguments, &output);
        assert_eq!(output.status.code(), Some(3), "{shown}");
        assert!(shown.contains(&format!("s3://{BUCKET}/some/prefix/")) && shown.contains("hint: "), "{shown}");
        assert!(shown.contains("refuses the credentials"), "{shown}");
        for hidden in [WRONG, SECRET, KEY] {
            assert!(!shown.contains(hidden), "{hidden}: {shown}");
        }
    }
    assert_eq!(lake.current_snapshot().unwrap(), snapshot);
    for arguments in [["-vvv", "sync"].as_slice(), &["-vvv", "diff", "0..", "--files", "--check"]] {
        ends(&shop, 0, arguments);
    }
    assert_holds(&lake);
}

#[test]
fn an_endpoint_that_is_down_harms_nothing() {
    let mut store = Store::start();
    let (shop, lake) = shop(&store);
    create_views(&shop);
    run(&lake, "INSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
    let (snapshot, old) = (lake.current_snapshot().unwrap(), rows(&lake, "FROM sales"));
    store.stop();
    for arguments in [["sync"].as_slice(), &["diff", "0..", "--files", "--check"], &["verify"]] {
        let shown = ends(&shop, 3, arguments);
        assert!(shown.contains(&format!("s3://{BUCKET}/some/prefix/")) && shown.contains("hint: "), "{shown}");
    }
    store.resume();
    assert_eq!(lake.current_snapshot().unwrap(), snapshot);
    assert_eq!(rows(&lake, "FROM sales"), old);
    ends(&shop, 0, &["sync"]);
    assert_holds(&lake);
}

#[test]
fn a_slow_endpoint_is_waited_for() {
    let store = Store::start();
    let (shop, lake) = shop(&store);
    create_views(&shop);
    run(&lake, "DELETE FROM orders WHERE id = 2;\nINSERT INTO orders SELECT 10 + i, 1, i FROM range(30) r(i)");
    store.delay(Duration::from_millis(400));
    ends(&shop, 0, &["sync"]);
    store.delay(Duration::ZERO);
    assert_holds(&lake);
}
