//! What bad input gets: an error that names the thing, a hint, the documented exit code, and an unchanged lake.

use crate::assert_transcript;
use crate::program::{Catalog, Shop, transcript};

/// Runs a command that must fail with `code` and leave the lake as it is. The error of a view is kept by the first sync that
/// meets it, and by no other.
fn refused(shop: &Shop, code: i32, arguments: &[&str]) -> String {
    if arguments[0] == "sync" {
        shop.run(arguments);
    }
    let before = shop.snapshot();
    let output = shop.run(arguments);
    let transcript = transcript(arguments, &output);
    assert_eq!(output.status.code(), Some(code), "{transcript}");
    assert!(transcript.contains("error: "), "{transcript}");
    assert_eq!(shop.snapshot(), before, "the lake changed: {transcript}");
    transcript
}

fn create<'a>(name: &'a str, sql: &'a str) -> [&'a str; 4] {
    ["create", name, "--sql", sql]
}

#[test]
fn sql_that_is_no_view() {
    let shop = Shop::new(Catalog::DuckDb);
    let refusals = [
        refused(&shop, 2, &create("v", "SELECT id\n  FRM orders")),
        refused(&shop, 2, &create("v", "SELECT id FROM oders")),
        refused(&shop, 2, &create("v", "SELECT id,\n  amuont FROM orders")),
        refused(&shop, 2, &create("v", "SELECT id + name FROM customers")),
        refused(&shop, 2, &create("v", "SELECT 1; SELECT 2")),
        refused(&shop, 2, &create("v", "DROP TABLE orders")),
        refused(&shop, 2, &create("v", "/* nothing */")),
        refused(&shop, 2, &create("v", "SELECT id FROM orders WHERE id = $1")),
        refused(&shop, 2, &create("v", "SELECT id FROM orders WHERE id = $least")),
        refused(&shop, 2, &create("v", "SUMMARIZE orders")),
        refused(&shop, 2, &create("v", "DESCRIBE SELECT id FROM orders")),
        refused(&shop, 2, &create("v", "SHOW TABLES")),
        refused(&shop, 2, &["create", "v", "--file", "missing.sql"]),
    ];
    assert_transcript!("refused_sql", refusals.join("\n"));
}

#[test]
fn names_that_are_taken_or_unknown() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.sql("CREATE VIEW recent AS SELECT * FROM orders");
    shop.succeed(&create("sales", "SELECT id, amount FROM orders"));
    shop.succeed(&create("dear", "SELECT id FROM sales WHERE amount > 20"));
    let refusals = [
        refused(&shop, 2, &create("sales", "SELECT id FROM orders")),
        refused(&shop, 2, &create("SALES", "SELECT id FROM orders")),
        refused(&shop, 2, &create("orders", "SELECT id FROM customers")),
        refused(&shop, 2, &["create", "orders", "--sql", "SELECT id FROM customers", "--or-replace"]),
        refused(&shop, 2, &create("recent", "SELECT id FROM customers")),
        refused(&shop, 2, &create("mart.sales", "SELECT id FROM customers")),
        refused(&shop, 2, &create("man.sales", "SELECT id FROM customers")),
        refused(&shop, 2, &create("ducklake_ivm.sales", "SELECT id FROM customers")),
        refused(&shop, 2, &create("a.b.c", "SELECT id FROM customers")),
        refused(&shop, 2, &create("\"open", "SELECT id FROM customers")),
        refused(&shop, 2, &["drop", "seles"]),
        refused(&shop, 2, &["drop", "sales"]),
        refused(&shop, 2, &["drop", "orders"]),
        refused(&shop, 2, &["sync", "sales", "seles"]),
        refused(&shop, 2, &["plan", "seles"]),
        refused(&shop, 2, &["status", "seles"]),
        refused(&shop, 2, &["history", "recent"]),
        refused(&shop, 2, &["diff", "@orders.."]),
        refused(&shop, 2, &["verify", "seles"]),
        refused(&shop, 2, &["create", "sales", "--or-replace", "--sql", "SELECT id, 1.5 AS amount FROM dear"]),
    ];
    assert_transcript!("refused_names", refusals.join("\n"));
}

#[test]
fn snapshots_that_do_not_exist() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&create("v", "SELECT id FROM orders"));
    let refusals = [
        refused(&shop, 2, &["sync", "--to", "99"]),
        refused(&shop, 2, &["plan", "v", "--from", "98", "--to", "99"]),
        refused(&shop, 2, &["plan", "v", "--from", "4", "--to", "3"]),
        refused(&shop, 2, &["plan", "v", "--from", "HEAD", "--to", "HEAD~1"]),
        refused(&shop, 2, &["sync", "--to", "yesterday"]),
        refused(&shop, 2, &["history", "v", "-n", "0"]),
    ];
    assert_transcript!("refused_snapshots", refusals.join("\n"));
}

#[test]
fn types_that_the_lake_cannot_hold() {
    let shop = Shop::new(Catalog::DuckDb);
    let refusals = [
        refused(&shop, 2, &create("v", "SELECT id, '12:00:00+02'::TIMETZ AS at FROM orders")),
        refused(&shop, 2, &create("v", "SELECT id, union_value(k := id) AS either FROM orders")),
        refused(&shop, 2, &create("v", "SELECT id AS begin_snapshot FROM orders")),
        refused(&shop, 1, &create("v", "SELECT 100000000000000000000000000000000000000::HUGEINT AS huge FROM orders")),
    ];
    assert_transcript!("refused_types", refusals.join("\n"));
}

/// Catches: a view that means another file when it is synced from another directory.
#[test]
fn files_that_a_view_cannot_read_for_ever() {
    let shop = Shop::new(Catalog::DuckDb);
    std::fs::write(shop.path("some.csv"), "a,b\n1,2\n").unwrap();
    std::fs::write(shop.path("some.json"), "{\"a\": 1}\n").unwrap();
    shop.sql(&format!("COPY (SELECT 1 AS a) TO '{}'", shop.path("some.parquet").display()));
    for (sql, what, hint) in [
        ("FROM 'some.parquet'", "the path \"some.parquet\" is not a whole one", "/some.parquet'"),
        ("FROM read_text('./some.csv')", "the path \"./some.csv\" is not a whole one", "some.csv'"),
        ("FROM read_blob(['some.csv'])", "the path \"some.csv\" is not a whole one", "some.csv'"),
        ("FROM 'some.csv'", "a view cannot read CSV files", "load them into a table"),
        ("FROM 'some.json'", "a view cannot read JSON files", "load them into a table"),
        ("FROM read_csv('none.csv')", "No files found", "none.csv"),
    ] {
        let shown = refused(&shop, 2, &create("v", sql));
        assert!(shown.contains(what) && shown.contains(hint), "{shown}");
    }
    let whole = format!("FROM '{}'", shop.path("some.parquet").display());
    shop.succeed(&create("v", &whole));
    std::fs::remove_file(shop.path("some.parquet")).unwrap();
    let shown = refused(&shop, 1, &["sync"]);
    assert!(shown.contains("view main.v is broken: its query no longer binds: No files found that match"), "{shown}");
}

#[test]
fn asking_for_incremental_where_there_is_no_delta() {
    let shop = Shop::new(Catalog::DuckDb);
    let arguments = ["create", "v", "--strategy", "incremental", "--sql", "SELECT id, random() AS r FROM orders"];
    assert_transcript!("refused_incremental", refused(&shop, 2, &arguments));
}

#[test]
fn a_lake_that_does_not_exist_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    for uri in
        ["ducklake:shop.ducklake", "ducklake:sqlite:shop.sqlite", "shop.ducklake", "ducklake:no/such/shop.ducklake"]
    {
        for command in ["sync", "status", "verify"] {
            let output = crate::program::program().current_dir(folder.path()).args(["--lake", uri, command]).output();
            let output = output.unwrap();
            let shown = transcript(&["--lake", uri, command], &output);
            assert_eq!(output.status.code(), Some(3), "{shown}");
            assert!(shown.contains("does not exist") && shown.contains("hint: "), "{shown}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_kind_of_catalog_that_there_is_not() {
    let output = crate::program::program().args(["--lake", "foo:bar", "status"]).output().unwrap();
    let shown = transcript(&["--lake", "foo:bar", "status"], &output);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("hint: what stands before the colon is no kind of catalog"), "{shown}");
}

#[test]
fn a_server_that_does_not_answer() {
    let arguments = ["--lake", "ducklake:postgres:host=127.0.0.1 port=1 dbname=lake", "sync"];
    let output = crate::program::program().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_transcript!("unreachable", transcript(&arguments, &output));
}

#[test]
fn a_catalog_of_another_format_is_not_migrated() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.sql("UPDATE __ducklake_metadata_lake.ducklake_metadata SET value = '0.3' WHERE key = 'version'");
    let before = std::fs::read(shop.path("shop.ducklake")).unwrap();
    let transcript = shop.transcript(&["sync"]);
    assert!(transcript.ends_with("[exit code 3]\n"), "{transcript}");
    assert_eq!(std::fs::read(shop.path("shop.ducklake")).unwrap(), before);
    assert_transcript!("catalog_version", transcript);
}

#[test]
fn a_file_that_is_no_lake() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.ducklake"), "not a database, by any means").unwrap();
    let arguments = ["--lake", "ducklake:notes.ducklake", "sync"];
    let output = crate::program::program().current_dir(folder.path()).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_transcript!("no_lake", transcript(&arguments, &output));
}

#[test]
fn a_catalog_that_another_process_holds() {
    let shop = Shop::new(Catalog::DuckDb);
    let holder = shop.open();
    let transcript = shop.transcript(&["sync"]);
    drop(holder);
    assert!(transcript.ends_with("[exit code 3]\n"), "{transcript}");
    assert!(transcript.contains("held by another process") && transcript.contains("PID"), "{transcript}");
}

#[test]
fn a_data_file_that_is_gone() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE numbers (n INTEGER)");
    shop.succeed(&create("v", "SELECT n FROM numbers WHERE n % 2 = 0"));
    shop.succeed(&create("w", "SELECT 1 AS one"));
    shop.sql("INSERT INTO numbers SELECT i FROM range(1000) r(i)");
    for file in std::fs::read_dir(shop.path("data/main/numbers")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let begun = std::time::Instant::now();
    let shown = refused(&shop, 1, &["sync"]);
    assert!(shown.contains("main.v") && shown.contains(".parquet of main.numbers is missing"), "{shown}");
    // No waiting brings it back. Eight attempts would take ten seconds and more.
    assert!(begun.elapsed() < std::time::Duration::from_secs(8), "{:?}", begun.elapsed());
    let shown = refused(&shop, 1, &create("u", "SELECT n + 1 AS m FROM numbers"));
    assert!(shown.contains("main.u") && shown.contains(".parquet"), "{shown}");
}

/// Catches: lost files blamed, or a second data folder begun, where the lake's folder is elsewhere.
#[test]
fn a_data_folder_that_is_elsewhere() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE numbers AS SELECT i AS n FROM range(1000) r(i)");
    shop.succeed(&create("v", "SELECT n FROM numbers WHERE n % 2 = 0"));
    std::fs::rename(shop.path("data"), shop.path("moved")).unwrap();
    let one = create("w", "SELECT 1 AS one");
    let files = ["diff", "0..", "--files", "--check"];
    for (code, arguments) in
        [(3, &["sync"][..]), (1, &["verify"]), (3, &["diff", "0..", "--rows"]), (3, &files), (3, &one)]
    {
        let output = shop.run(arguments);
        let shown = transcript(arguments, &output);
        assert_eq!(output.status.code(), Some(code), "{shown}");
        assert!(shown.contains("the lake's data folder ") && shown.contains("--data-path"), "{shown}");
    }
    assert!(!shop.path("data").exists());
    let moved = format!("{}/", shop.path("moved").display());
    shop.succeed(&["--data-path", &moved, "verify"]);
}

#[test]
fn a_data_file_that_is_damaged() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE numbers (n INTEGER)");
    shop.succeed(&create("v", "SELECT n FROM numbers WHERE n % 2 = 0"));
    shop.sql("INSERT INTO numbers SELECT i FROM range(1000) r(i)");
    for file in std::fs::read_dir(shop.path("data/main/numbers")).unwrap() {
        let path = file.unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&whole[..0], &whole[..8], &whole[..12], &whole[..100], &whole[..whole.len() - 1]] {
            std::fs::write(&path, damaged).unwrap();
            let shown = refused(&shop, 1, &["sync"]);
            assert!(
                shown.contains("main.v") && shown.contains(".parquet of main.numbers is damaged: it is cut"),
                "{shown}"
            );
            assert!(shown.contains("hint: the lake has lost data"), "{shown}");
        }
        std::fs::write(&path, "PAR1 and nothing that belongs to it PAR1").unwrap();
        let shown = refused(&shop, 1, &["sync"]);
        assert!(shown.contains("main.v") && shown.contains(".parquet of main.numbers is damaged: "), "{shown}");
    }
}

/// Catches: a bare message of DuckLake's about a type, for a table that no view has to do with.
#[test]
fn a_type_that_this_ducklake_does_not_know() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&create("v", "SELECT id FROM orders"));
    shop.sql("UPDATE __ducklake_metadata_lake.ducklake_column SET column_type = 'money' WHERE column_name = 'city'");
    for command in ["sync", "status", "verify"] {
        let shown = shop.transcript(&[command]);
        assert!(shown.contains("main.customers.city has the type \"money\"") && shown.contains("hint: "), "{shown}");
        assert!(shown.ends_with("[exit code 3]\n"), "{shown}");
    }
}

#[test]
fn a_source_that_was_dropped_breaks_its_view_only() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&create("by_city", "SELECT city FROM customers"));
    shop.succeed(&create("amounts", "SELECT amount FROM orders"));
    shop.succeed(&create("names", "SELECT name FROM customers WHERE id > 1"));
    shop.sql("ALTER TABLE customers DROP COLUMN city;\nDROP TABLE orders;\nDELETE FROM customers WHERE id = 2");
    let output = shop.run(&["sync"]);
    assert_eq!(output.status.code(), Some(1));
    let story = [
        transcript(&["sync"], &output),
        shop.transcript(&["status", "--check"]),
        refused(&shop, 1, &["plan", "amounts"]),
        shop.transcript(&["verify"]),
    ];
    assert_transcript!("broken_views", story.join("\n"));
    // What could be refreshed was, and what could not is refused again without a trace.
    let shown = refused(&shop, 1, &["sync", "--format", "json"]);
    assert_transcript!("broken_views_json", shown);
}

#[test]
fn a_view_that_someone_else_changed() {
    let shop = Shop::new(Catalog::DuckDb);
    for name in ["written", "renamed", "dropped", "fine"] {
        shop.succeed(&create(name, "SELECT id, city FROM customers"));
    }
    shop.sql("DELETE FROM written WHERE id = 1;\nALTER TABLE renamed RENAME COLUMN id TO key;\nDROP TABLE dropped");
    let story = [
        shop.transcript(&["status", "--check"]),
        refused(&shop, 1, &["plan", "written"]),
        shop.transcript(&["verify"]),
        shop.transcript(&["sync", "--repair"]),
        shop.transcript(&["status", "--check"]),
    ];
    assert_transcript!("changed_views", story.join("\n"));
}

/// Writes of the view's rows meet a file system of one megabyte, in a mount namespace of the program's own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE numbers (n BIGINT)");
    shop.succeed(&create("v", "SELECT n, md5(n::VARCHAR) AS digest FROM numbers"));
    shop.sql("INSERT INTO numbers SELECT i FROM range(200000) r(i)");
    let before = shop.snapshot();
    std::fs::create_dir_all(shop.path("data/main/v")).unwrap();
    let mount = "mount -t tmpfs -o size=1m none data/main/v || exit 99; exec \"$0\" sync";
    let output = std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", mount, env!("CARGO_BIN_EXE_ducklake-ivm")])
        .current_dir(shop.folder.path())
        .env("DUCKLAKE_IVM_LAKE", &shop.uri)
        .output();
    let Some(output) = output.ok().filter(|output| output.status.code() != Some(99)) else {
        println!("left out: this machine lets no mount namespace be made");
        return;
    };
    let shown = transcript(&["sync"], &output);
    if shown.contains("unshare") {
        println!("left out: this machine lets no mount namespace be made");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("main.v") && shown.contains("the disk is full") && shown.contains("hint: "), "{shown}");
    assert_eq!(shop.snapshot(), before + 1, "only the error is kept");
    assert!(shop.transcript(&["status"]).contains("main.v: refreshes fail since "));
    shop.succeed(&["sync"]);
    shop.succeed(&["verify"]);
}
