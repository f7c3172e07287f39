//! What the program writes as Arrow and Parquet, read back by pyarrow and polars: names, types and values.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{Catalog, Shop, run, transcript};

/// What Python says of files. A missing Python is no reason to pass.
fn read_back(files: &[PathBuf]) -> String {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = clone.join(".duckdb/python");
    let interpreter = fs::read_to_string(packages.join("interpreter"))
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask setup --tests`", packages.display()));
    let mut python = Command::new(interpreter);
    python.arg(clone.join("tests/python/read_back.py")).args(files).env("PYTHONPATH", &packages);
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the program, which writes into a file: Arrow by stdout, as in a pipe, Parquet by `--output`.
fn written(shop: &Shop, name: &str, arguments: &[&str]) -> PathBuf {
    let file = shop.path(name);
    if name.ends_with(".parquet") {
        shop.succeed(&[arguments, &["--format", "parquet", "--output", name]].concat());
    } else {
        let arguments = [arguments, &["--format", "arrow"]].concat();
        let output = shop.run(&arguments);
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        fs::write(&file, output.stdout).unwrap();
    }
    file
}

/// Rows of every type that has a form of its own in Arrow, the second one NULL throughout.
const VALUES: &str = "
    CREATE TABLE kinds (
        b BOOLEAN, i8 TINYINT, i64 BIGINT, u64 UBIGINT, small DECIMAL(4,1), wide DECIMAL(38,10), f FLOAT, d DOUBLE,
        v VARCHAR, blob BLOB, day DATE, moment TIMESTAMP, zoned TIMESTAMPTZ, clock TIME, huge HUGEINT, id UUID,
        list INTEGER[], pair STRUCT(x INTEGER, y VARCHAR[]), map MAP(VARCHAR, DECIMAL(9,2)));
    INSERT INTO kinds VALUES
        (true, -128, -9223372036854775808, 18446744073709551615, 123.4, 1234567890123456789012345678.0123456789, 1.5, '-0.0',
         'ä''\"', '\\x00\\xFF'::BLOB, '2026-11-30', '2026-11-30 08:30:15.123456', '2026-11-30 08:30:15+01', '23:59:59.999999',
         -99999999999999999999999999999999999999, '123e4567-e89b-12d3-a456-426614174000', [1, NULL, 3], {'x': 7, 'y': ['a', NULL]}, MAP {'k': 1.25, 'l': NULL}),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (false, 127, 9223372036854775807, 0, -0.1, -0.0000000001, 'inf', 'nan', '', '', '0001-01-01',
         '1969-12-31 23:59:59.999999', '1900-01-01 00:00:00+00', '00:00:00', 9007199254740993,
         '00000000-0000-0000-0000-000000000000', [],
         {'x': NULL, 'y': []}, MAP {})";

#[test]
fn rows_of_every_type_are_the_same_in_arrow_and_parquet() {
    let (shop, lake) = Shop::made(Catalog::Sqlite);
    run(&lake, &VALUES.replace(";\n    INSERT", ";\nINSERT"));
    drop(lake);
    let rows = ["diff", "0..", "kinds", "--rows"];
    let files = [written(&shop, "kinds.arrow", &rows), written(&shop, "kinds.parquet", &rows)];
    let [arrow, parquet] = files.map(|file| read_back(&[file]));
    insta::assert_snapshot!("kinds", arrow);
    // Parquet has a type for UUIDs, and other names for the parts of lists.
    let mut alike = parquet.replace(".parquet:", ".arrow:").replace("id: extension<arrow.uuid>", "id: string");
    for (theirs, ours) in [("<element:", "<l:"), (" ('map')", ""), ("UUID('", "'"), ("'), [", "', [")] {
        alike = alike.replace(theirs, ours);
    }
    assert_eq!(alike, arrow);
}

#[test]
fn intervals_and_updates_are_read_by_pyarrow() {
    let (shop, lake) = Shop::made(Catalog::Sqlite);
    run(
        &lake,
        "CREATE TABLE periods (k INTEGER, period INTERVAL);
INSERT INTO periods VALUES (1, INTERVAL '14 months 3 days 4 microseconds'), (2, NULL)",
    );
    run(&lake, "UPDATE periods SET period = INTERVAL '1 day' WHERE k = 2;\nDELETE FROM periods WHERE k = 1");
    drop(lake);
    // polars has no intervals.
    let file = written(&shop, "arrow_only.arrow", &["diff", "2..", "periods", "--rows"]);
    insta::assert_snapshot!("periods", read_back(&[file]));
}

#[test]
fn every_answer_is_read() {
    let shop = Shop::new(Catalog::Sqlite);
    shop.succeed(&["create", "cities", "--sql", "SELECT city, count(*) AS n FROM customers GROUP BY city"]);
    shop.sql("INSERT INTO customers VALUES (4, 'Di', 'Lyon');\nDELETE FROM orders WHERE id = 1");
    shop.succeed(&["sync"]);
    shop.sql(
        "UPDATE customers SET city = 'Faro' WHERE id = 2;\nINSERT INTO orders SELECT i, 1, i FROM range(10, 40) r(i)",
    );
    for form in ["arrow", "parquet"] {
        let questions = [
            ("diff", ["diff", "4.."].as_slice()),
            ("files", &["diff", "4..", "--files", "--check"]),
            ("impact", &["diff", "4..", "--impact"]),
            ("snapshots", &["snapshots"]),
            ("history", &["history", "cities"]),
            ("status", &["status"]),
            ("verify", &["verify"]),
        ];
        let files = questions.map(|(name, arguments)| written(&shop, &format!("{name}.{form}"), arguments));
        let found = read_back(&files).replace("<element:", "<l:").replace(&format!(".{form}:"), ":");
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"datetime\.datetime\((?:[^()]|\([^()]*\))*\)", "[moment]");
        settings.add_filter(r"'[^']*/ducklake-[0-9a-f-]{36}", "'[file]");
        settings.add_filter(r"30, \d+, 'ok'", "30, [bytes], 'ok'");
        settings.add_filter(r"(?m)^(  \[\d+, \[moment\], .*, )\d+, None\]$", "$1[ms], None]");
        settings.add_filter(r"('ok', \d+, True, \d+, )\d+", "$1[ms]");
        settings.add_filter(r"(, \d+, \d+, )\d+(, \[\], None, None, None, None\])", "$1[ms]$2");
        settings.bind(|| insta::assert_snapshot!("answers", found));
    }
}
