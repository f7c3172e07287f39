//! The questions about a lake's past: `history`, `snapshots`, `diff`, in every form.

use std::io::Read;
use std::process::Stdio;

use arrow::array::{Array, Decimal128Array, Int32Array};
use arrow::ipc::reader::StreamReader;

use crate::assert_transcript;
use crate::program::{Catalog, Shop};

const SALES: &str = "SELECT o.id, c.name, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer";

/// A view, and what happened to its tables since.
fn shop() -> Shop {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00), (6, 2, 60.00);\nUPDATE customers SET city = '' WHERE id = 1");
    shop.succeed(&["sync"]);
    shop.sql("DELETE FROM orders WHERE id = 3;\nALTER TABLE customers ADD COLUMN note VARCHAR");
    shop.sql("CREATE TABLE stores (name VARCHAR);\nINSERT INTO stores VALUES ('a, \"b\"'), (NULL), ('')");
    shop
}

/// Asks, and makes sure that asking leaves no trace.
fn asked(shop: &Shop, arguments: &[&str]) -> String {
    let before = shop.snapshot();
    let transcript = shop.transcript(arguments);
    assert_eq!(shop.snapshot(), before, "the lake changed: {transcript}");
    transcript
}

#[test]
fn history() {
    let shop = shop();
    let mut story = vec![
        asked(&shop, &["history", "sales"]),
        asked(&shop, &["history", "sales", "-n", "1", "--format", "json"]),
        asked(&shop, &["history", "seles"]),
    ];
    let csv = asked(&shop, &["history", "sales", "--format", "csv"]);
    assert!(csv.contains("\ncommitted,at,snapshot,strategy,") && csv.contains(",7,incremental,,2,2,4,4,2,"), "{csv}");
    shop.succeed(&["drop", "sales"]);
    story.push(asked(&shop, &["history", "sales", "-n", "1"]));
    // The history goes by the name.
    shop.succeed(&["create", "sales", "--sql", "SELECT id FROM orders"]);
    story.push(asked(&shop, &["history", "sales"]));
    assert_transcript!("history", story.join("\n"));
}

/// Catches: a view that cannot be refreshed from changes because what it stands for expired, of which one command says this
/// and another one that.
#[test]
fn an_expired_watermark_is_told_alike() {
    let shop = shop();
    shop.sql("INSERT INTO orders VALUES (7, 1, 70.00);\nINSERT INTO orders VALUES (8, 2, 80.00)");
    let newest = shop.snapshot();
    let old: Vec<String> = (1..newest).map(|snapshot| snapshot.to_string()).collect();
    shop.sql(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", old.join(", ")));
    let story = [
        asked(&shop, &["status"]),
        asked(&shop, &["plan", "sales", "--sql"]),
        asked(&shop, &["sync", "--dry-run"]),
        shop.transcript(&["sync"]),
        asked(&shop, &["history", "sales"]),
    ];
    assert_transcript!("expired_watermark", story.join("\n"));
}

/// Catches: changes before a moment shown as changes after it, because the snapshots between have expired.
#[test]
fn a_moment_among_expired_snapshots_is_told() {
    let shop = shop();
    for id in 20..23 {
        shop.sql(&format!("INSERT INTO orders VALUES ({id}, 1, 1)"));
    }
    let newest = shop.snapshot();
    let (first, last) = (newest - 2, newest - 1);
    let time = format!(
        "SELECT strftime(snapshot_time AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%f') \
         FROM __ducklake_metadata_lake.ducklake_snapshot WHERE snapshot_id = {last}"
    );
    let time = shop.open().query_value(&time).unwrap().as_str().unwrap().to_owned();
    let range = format!("{time}..");
    assert!(!asked(&shop, &["diff", &range, "orders"]).contains("expired"));
    shop.sql(&format!("CALL ducklake_expire_snapshots('lake', versions => [{first}, {last}])"));
    let shown = asked(&shop, &["diff", &range, "orders"]);
    assert!(shown.contains(&format!("snapshots {first} to {last} have expired, so nobody knows")), "{shown}");
    let shown = asked(&shop, &["diff", &format!("{last}.."), "orders"]);
    assert!(shown.contains(&format!("snapshot {last} does not exist any more: the lake has ")), "{shown}");
}

/// Catches: an error that is gone with the output of the sync that met it, or that is kept once per sync, or for good.
#[test]
fn the_last_error_is_kept() {
    let shop = shop();
    shop.sql("CREATE TABLE numbers (n VARCHAR);\nINSERT INTO numbers VALUES ('1')");
    shop.succeed(&["sync"]);
    shop.succeed(&["create", "parsed", "--sql", "SELECT n::INTEGER AS n FROM numbers"]);
    shop.sql("INSERT INTO numbers VALUES ('two')");
    let before = shop.snapshot();
    let mut story = vec![shop.transcript(&["sync"])];
    assert_eq!(shop.snapshot(), before + 1);
    shop.run(&["sync"]);
    shop.run(&["sync", "--dry-run"]);
    assert_eq!(shop.snapshot(), before + 1, "the same error is kept once");
    story.push(asked(&shop, &["status", "parsed"]));
    story.push(asked(&shop, &["status", "parsed", "--check", "--max-lag", "1d"]));
    story.push(asked(&shop, &["status", "parsed", "--format", "json"]));
    assert!(!shop.transcript(&["status", "parsed"]).contains("no view needs"));
    assert!(shop.transcript(&["status"]).contains("no view needs a snapshot before "));
    let csv = asked(&shop, &["status", "parsed", "--format", "csv"]);
    assert!(csv.contains(",last_error_at,last_error_message\n"), "{csv}");
    story.push(asked(&shop, &["history", "parsed"]));
    story.push(asked(&shop, &["history", "parsed", "-n", "1", "--format", "json"]));
    story.push(asked(&shop, &["snapshots", "-n", "1"]));
    // What is wrong goes away without leaving a change: that nothing has to be done is a success.
    shop.sql("DELETE FROM numbers WHERE n = 'two'");
    let before = shop.snapshot();
    story.push(shop.transcript(&["sync"]));
    shop.run(&["sync"]);
    assert_eq!(shop.snapshot(), before + 1);
    story.push(asked(&shop, &["status", "parsed"]));
    story.push(asked(&shop, &["history", "parsed"]));
    assert_transcript!("last_error", story.join("\n"));
}

#[test]
fn snapshots() {
    let shop = shop();
    shop.sql("CALL ducklake_flush_inlined_data('lake')");
    let story = [
        asked(&shop, &["snapshots"]),
        asked(&shop, &["snapshots", "--view", "sales", "-n", "1", "--format", "json"]),
        asked(&shop, &["snapshots", "--table", "orders", "--since", "5", "--no-counts"]),
        asked(&shop, &["snapshots", "-n", "2", "--format", "csv"]),
        asked(&shop, &["snapshots", "--table", "order"]),
        asked(&shop, &["snapshots", "--since", "99"]),
    ];
    assert_transcript!("snapshots", story.join("\n"));
    // Of what was replaced in one commit, both are told: what went and what came.
    shop.succeed(&["create", "sales", "--or-replace", "--sql", "SELECT id FROM orders"]);
    shop.sql("CREATE OR REPLACE TABLE stores AS SELECT 1 AS id");
    let shown = asked(&shop, &["snapshots", "-n", "2"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("dropped main.stores -3, created main.stores +1"), "{shown}");
    assert!(words.contains("refresh of main.sales (full): dropped main.sales -6, created"), "{shown}");
}

#[test]
fn diff() {
    let shop = shop();
    let story = [
        asked(&shop, &["diff", "4.."]),
        asked(&shop, &["diff", "HEAD~1..", "--format", "json"]),
        asked(&shop, &["diff", "@sales..", "orders", "--format", "csv"]),
        asked(&shop, &["diff", "4..", "--impact"]),
        asked(&shop, &["diff", "4..", "--impact", "--format", "json"]),
        asked(&shop, &["diff", "4..", "orders", "--files", "--format", "json"]),
        asked(&shop, &["diff", ".."]),
        asked(&shop, &["diff", "1..2", "--files"]),
    ];
    assert_transcript!("diff", story.join("\n"));
}

#[test]
fn diff_in_rows() {
    let shop = shop();
    let story = [
        asked(&shop, &["diff", "4..", "customers", "orders", "stores", "--rows"]),
        asked(&shop, &["diff", "4..", "orders", "--rows", "--limit", "1", "--columns", "id,amount"]),
        asked(&shop, &["diff", "4..", "--rows", "orders", "--where", "amount >= 50", "--format", "json"]),
        asked(&shop, &["diff", "4..", "stores", "--rows", "--format", "csv"]),
        asked(&shop, &["diff", "8..8", "stores", "--rows"]),
        asked(&shop, &["diff", "0..1", "--rows"]),
        asked(&shop, &["diff", "4..", "orders", "--rows", "--where", "amount < 0"]),
        asked(&shop, &["diff", "8..8", "orders", "--rows", "--columns", "id,amount"]),
    ];
    assert_transcript!("diff_rows", story.join("\n"));
}

#[test]
fn questions_that_make_no_sense() {
    let shop = shop();
    shop.sql("CREATE VIEW recent AS SELECT * FROM orders");
    let story = [
        asked(&shop, &["diff", "120"]),
        asked(&shop, &["diff", "5..4"]),
        asked(&shop, &["diff", "99.."]),
        asked(&shop, &["diff", "HEAD~99.."]),
        asked(&shop, &["diff", "2026-02-30.."]),
        asked(&shop, &["diff", "soon.."]),
        asked(&shop, &["diff", "@seles.."]),
        asked(&shop, &["diff", "4..", "order"]),
        asked(&shop, &["diff", "4..", "recent"]),
        asked(&shop, &["diff", "4..", "orders", "--rows", "--columns", "idd"]),
        asked(&shop, &["diff", "4..", "orders", "--rows", "--where", "amuont > 1"]),
        asked(&shop, &["diff", "4..", "--rows", "--format", "csv"]),
        asked(&shop, &["diff", "4..", "orders", "stores", "--rows", "--format", "csv"]),
        asked(&shop, &["diff", "4..", "--format", "parquet"]),
        asked(&shop, &["sync", "--format", "csv"]),
        asked(&shop, &["diff", "4..", "--rows", "--files"]),
    ];
    assert_transcript!("refused_questions", story.join("\n"));
    // A lake with its first snapshot only.
    let empty = Shop::empty(Catalog::DuckDb);
    assert!(asked(&empty, &["diff", "0.."]).contains("nothing changed"));
    assert!(asked(&empty, &["snapshots"]).contains("created schema main"));
    let shown = asked(&empty, &["diff", "1999-12-31.."]);
    assert!(shown.contains("nothing changed") && shown.contains("is before the lake's first snapshot"), "{shown}");
}

/// Catches: the rows of one of two tables that had the name, as if they were all.
#[test]
fn a_name_that_was_two_tables() {
    let shop = shop();
    let before = shop.snapshot();
    shop.sql("DROP TABLE stores;\nCREATE TABLE stores (id INTEGER);\nINSERT INTO stores VALUES (1)");
    let range = format!("{before}..");
    let shown = asked(&shop, &["diff", &range, "stores", "--rows"]);
    let (dropped, created) = (format!("dropped at {}", before + 1), format!("created at {}", before + 2));
    for heading in
        [format!("main.stores ({dropped}), rows changed: 3"), format!("main.stores ({created}), rows changed: 1")]
    {
        assert!(shown.contains(&heading), "{shown}");
    }
    let shown = asked(&shop, &["diff", &range, "stores"]);
    assert!(shown.contains(&format!("main.stores: {dropped}\nmain.stores: {created}\n")), "{shown}");
    let shown = asked(&shop, &["diff", &range, "stores", "--rows", "--format", "csv"]);
    assert!(shown.contains("that name was two tables") && shown.ends_with("[exit code 2]\n"), "{shown}");
}

#[test]
fn rows_are_read_back_by_arrow() {
    let shop = shop();
    let output = shop.succeed(&["diff", "4..", "orders", "--rows", "--format", "arrow"]);
    let reader = StreamReader::try_new(output.stdout.as_slice(), None).unwrap();
    let (mut ids, mut amounts) = (Vec::new(), Vec::new());
    for batch in reader {
        let batch = batch.unwrap();
        let id = batch.column_by_name("id").unwrap().as_any().downcast_ref::<Int32Array>().unwrap();
        let amount = batch.column_by_name("amount").unwrap().as_any().downcast_ref::<Decimal128Array>().unwrap();
        ids.extend(id.values().iter().copied());
        amounts.extend((0..amount.len()).map(|row| amount.value_as_string(row)));
    }
    assert_eq!((ids, amounts), (vec![3, 5, 6], vec!["30.00".to_owned(), "50.00".to_owned(), "60.00".to_owned()]));
    let output = shop.succeed(&["status", "--format", "arrow"]);
    let batches: Vec<_> = StreamReader::try_new(output.stdout.as_slice(), None).unwrap().collect();
    assert_eq!(batches[0].as_ref().unwrap().num_rows(), 1);
    // No rows are a stream all the same.
    let output = shop.succeed(&["diff", "8..8", "orders", "--rows", "--format", "arrow"]);
    let reader = StreamReader::try_new(output.stdout.as_slice(), None).unwrap();
    assert_eq!(reader.schema().fields().len(), 6);
    assert_eq!(reader.count(), 0);
}

#[test]
fn rows_are_read_back_from_parquet() {
    let shop = shop();
    let file = shop.path("rows.parquet");
    let file = file.to_str().unwrap();
    shop.succeed(&["diff", "4..", "orders", "--rows", "--format", "parquet", "--output", file]);
    let sum = shop.open().query_value(&format!("SELECT sum(amount)::VARCHAR FROM read_parquet('{file}')")).unwrap();
    assert_eq!(sum.as_str().unwrap(), "140.00");
    shop.succeed(&["snapshots", "--format", "parquet", "-o", file]);
    let names = format!(
        "SELECT list_distinct(flatten(list(list_transform(tables, lambda t: t.table)))) FROM read_parquet('{file}')"
    );
    assert_eq!(shop.open().query_value(&names).unwrap().as_list().unwrap().len(), 4);
}

#[test]
fn numbers_and_nulls_are_lossless() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (big BIGINT, exact DECIMAL(38, 3), x DOUBLE, s VARCHAR, l DECIMAL(38, 2)[])");
    shop.sql(
        "INSERT INTO t VALUES (9007199254740993, 12345678901234567890123456789012345.678, 'nan', '', [1.10]), \
         (NULL, NULL, 1e300, NULL, NULL)",
    );
    let output = shop.succeed(&["diff", "1..", "t", "--rows", "--format", "json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "\"big\": 9007199254740993",
        "\"exact\": 12345678901234567890123456789012345.678",
        "\"x\": \"nan\"",
        "\"s\": \"\"",
        "\"s\": null",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let output = shop.succeed(&["diff", "1..", "t", "--rows", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("9007199254740993,12345678901234567890123456789012345.678,nan,\"\",[1.10]\n"), "{text}");
    assert!(text.contains(",,1e+300,,\n"), "{text}");
    shop.sql("CREATE TABLE n (f DOUBLE[], s STRUCT(x FLOAT, t VARCHAR))");
    shop.sql("INSERT INTO n VALUES (['nan'::DOUBLE, 1.5], {'x': '-inf'::FLOAT, 't': 'NaN'})");
    let output = shop.succeed(&["diff", "HEAD^!", "n", "--rows", "--format", "json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(r#""f": ["nan",1.5], "s": {"x":"-inf","t":"NaN"}"#), "{text}");
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

/// Catches: a column of the user's under another name, because one of ours has its own.
#[test]
fn columns_that_are_called_as_ours_are() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (_change INTEGER, _COPIES INTEGER, _row_id INTEGER);\nINSERT INTO t VALUES (1, 2, 3)");
    let output = shop.succeed(&["diff", "1..", "t", "--rows", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("__change,__copies,__row_id,_change,_COPIES,_row_id\ninsert,1,0,1,2,3\n"), "{text}");
}

/// Catches: lines wider than 80 columns.
#[test]
fn rows_of_many_columns_stay_readable() {
    let shop = Shop::empty(Catalog::DuckDb);
    let columns: Vec<String> = (0..12).map(|column| format!("'a value {column}' AS column_{column}")).collect();
    shop.sql(&format!("CREATE TABLE t AS SELECT {}", columns.join(", ")));
    shop.sql("UPDATE t SET column_3 = repeat('wide ', 50), column_4 = '東京' || repeat('都', 60)");
    let shown = asked(&shop, &["diff", "1..", "t", "--rows"]);
    assert!(shown.contains("\n-  column_3   a value 3\n+  column_3   'wide wide"), "{shown}");
    assert!(shown.contains("\n   column_11  a value 11\n"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn a_reader_that_goes_away_in_the_middle_is_no_error() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (a BIGINT, b VARCHAR);\nINSERT INTO t SELECT i, 'some text ' || i FROM range(60000) r(i)");
    for format in ["csv", "json", "arrow"] {
        let mut program = shop.program();
        program.args(["diff", "1..", "t", "--rows", "--format", format]);
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut begin = [0; 16];
        stdout.read_exact(&mut begin).unwrap();
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn files_are_looked_for() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (a BIGINT);\nINSERT INTO t SELECT i FROM range(1000) r(i);\nINSERT INTO t SELECT i FROM range(999) r(i)");
    let arguments = ["diff", "1..", "--files", "--check"];
    assert!(asked(&shop, &arguments).ends_with("[exit code 0]\n"));
    let mut files: Vec<_> =
        std::fs::read_dir(shop.path("data/main/t")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    std::fs::remove_file(&files[0]).unwrap();
    std::fs::write(&files[1], "short").unwrap();
    let shown = asked(&shop, &["diff", "1..", "--rows"]);
    assert!(shown.contains(".parquet of main.t is ") && shown.contains("hint: the lake has lost data"), "{shown}");
    let shown = asked(&shop, &arguments);
    assert!(shown.contains("): missing\n") && shown.contains("): has 5 bytes\n"), "{shown}");
    assert!(shown.ends_with("[exit code 4]\n"), "{shown}");
}

#[test]
fn questions_are_answered_while_others_write() {
    let shop = Shop::new(Catalog::Sqlite);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    let writer = shop.open();
    writer.execute("BEGIN").unwrap();
    writer.execute("INSERT INTO orders VALUES (7, 1, 1.00)").unwrap();
    for arguments in
        [&["diff", "1.."][..], &["snapshots"], &["history", "sales"], &["status"], &["verify"], &["plan", "sales"]]
    {
        let shown = shop.transcript(arguments);
        assert!(shown.ends_with("[exit code 0]\n"), "{shown}");
    }
    writer.execute("COMMIT").unwrap();
    assert!(shop.transcript(&["diff", "HEAD~1.."]).contains("rows: 1 inserted"));
}

/// Catches: a check that passes though files are gone, because DuckLake dates what a merge or a second delete writes back to
/// the rows in it; the same where the commit that wrote it has expired.
#[test]
fn files_that_are_dated_back_came_when_they_were_written() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql(
        "CREATE TABLE t (a BIGINT);\nINSERT INTO t SELECT i FROM range(2000) r(i);\n\
         INSERT INTO t SELECT i FROM range(3000) r(i)",
    );
    shop.sql("CALL ducklake_merge_adjacent_files('lake')");
    shop.sql("DELETE FROM t WHERE a BETWEEN 10 AND 500;\nDELETE FROM t WHERE a BETWEEN 600 AND 900");
    // The second delete wrote one file, with the positions of the first in it.
    let listed = |range: &str| {
        let shown = asked(&shop, &["diff", range, "--files", "--check"]);
        let lines = shown.lines().filter(|line| line.ends_with(": ok") || line.ends_with(": missing"));
        let words = |line: &str| line.split(['(', ',']).nth(1).unwrap_or_default().to_owned();
        (lines.map(words).collect::<Vec<_>>(), shown.ends_with("[exit code 0]\n"))
    };
    let newest = shop.open().begin().unwrap().snapshot().0;
    let commit = |back: u64| format!("{}..{}", newest - back - 1, newest - back);
    let (data, deletes) = ("rows: 5000".to_owned(), "deletes: 1584".to_owned());
    assert_eq!(listed(&commit(0)), (vec![deletes.clone()], true));
    assert_eq!(listed(&commit(1)), (vec![], true));
    assert_eq!(listed(&commit(2)), (vec![data.clone()], true));
    assert_eq!(listed(&commit(3)), (vec![], true));
    assert_eq!(listed("0.."), (vec![data, deletes], true));
    for file in std::fs::read_dir(shop.path("data/main/t")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    assert!(!listed(&commit(0)).1 && !listed(&commit(2)).1 && listed(&commit(3)).1);
    shop.sql(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", newest - 2));
    assert!(!listed(&format!("{}..{}", newest - 3, newest - 1)).1);
}

/// Catches: a HUGEINT rounded to a DOUBLE in Parquet, or one of 39 digits in a decimal of 38 in Arrow; a file that holds
/// nothing.
#[test]
fn numbers_that_are_too_long_are_refused_and_leave_no_file() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (h HUGEINT, s STRUCT(u HUGEINT[]))");
    shop.sql("INSERT INTO t VALUES (1, {'u': [170141183460469231731687303715884105727]})");
    for format in ["parquet", "arrow"] {
        let shown = asked(&shop, &["diff", "1..", "t", "--rows", "--format", format, "--output", "rows"]);
        assert!(shown.contains("column s holds {'u': [170141183460469231731687303715884105727]}"), "{shown}");
        assert!(shown.contains("hint: take --format csv or json") && shown.ends_with("[exit code 1]\n"), "{shown}");
        assert!(!shop.path("rows").exists(), "{format}");
    }
    std::fs::write(shop.path("rows"), "of before").unwrap();
    asked(&shop, &["diff", "1..", "t", "--rows", "--format", "parquet", "--output", "rows"]);
    assert_eq!(std::fs::read_to_string(shop.path("rows")).unwrap(), "of before");
}

/// Catches: lists in CSV that only DuckDB reads, and an object of JSON that its schema does not know.
#[test]
fn nested_values_of_answers_are_json() {
    let shop = shop();
    let file = shop.path("log.csv");
    let file = file.to_str().unwrap();
    shop.succeed(&["snapshots", "--format", "csv", "-o", file]);
    let named = format!("SELECT count(DISTINCT tables::JSON->>'$[0].table') FROM read_csv('{file}')");
    assert!(shop.open().query_value(&named).unwrap().as_u64().unwrap() > 1);

    let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema/diff-rows.json");
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    let output = shop.succeed(&["diff", "4..", "--rows", "--format", "json"]);
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&printed), keys(&schema["properties"]));
    let table =
        printed["tables"].as_array().unwrap().iter().find(|table| !table["rows"].as_array().unwrap().is_empty());
    assert_eq!(keys(table.unwrap()), keys(&schema["$defs"]["RowsOfTable"]["properties"]));
}

#[test]
fn columns_are_found_in_quotes_and_in_the_past() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE t (\"x, y\" BIGINT, old BIGINT, gone BIGINT);\nINSERT INTO t VALUES (1, 2, 3)");
    shop.sql("ALTER TABLE t RENAME old TO new;\nALTER TABLE t DROP gone;\nALTER TABLE t ADD late BIGINT");
    let columns = |range: &str, columns: &str| {
        asked(&shop, &["diff", range, "t", "--rows", "--columns", columns, "--format", "csv"])
    };
    let shown = columns("1..", "\"x, y\",new");
    assert!(shown.contains("_row_id,\"x, y\",new\ninsert,1,0,1,2\n"), "{shown}");
    for (range, name, hint) in [
        ("1..", "OLD", "hint: it was renamed: at snapshot 5 it is called new\n"),
        ("1..", "gone", "hint: it was dropped at 4: let the range end before\n"),
        ("1..3", "late", "hint: it was added at 5\n"),
        ("1..2", "new", "hint: it was renamed: at snapshot 2 it is called old\n"),
    ] {
        let shown = columns(range, name);
        assert!(shown.contains("has no column") && shown.contains(hint), "{shown}");
    }
}
