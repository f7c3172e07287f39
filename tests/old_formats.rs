//! Lakes of older catalog formats: refused with their version, migrated when told to, and as good as any other then.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/program.rs"]
mod program;

use std::{fs, path::Path};

use ducklake_ivm::lake::{Lake, LakeOptions, SnapshotId, Value};
use program::{Catalog, Shop, run, transcript};

const FORMATS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];

const BY_CUSTOMER: &str = "SELECT id, amount, note FROM sales WHERE customer <> 'c0'";

/// A lake of a format, made by its script.
fn old_lake(format: &str) -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    for below in ["data/main/sales", "data"] {
        fs::create_dir_all(folder.path().join(below)).unwrap();
    }
    let script = format!("catalog_fixtures/old_formats/format_{}.sql", format.replace('.', "_"));
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(script)).unwrap();
    let (_other, session) = Shop::made(Catalog::DuckDb);
    for statement in fixtures::statements(&script.replace("{folder}", &place)) {
        session.execute(&statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
    }
    drop(session);
    let uri = format!("ducklake:{place}/catalog.ducklake");
    Shop { folder, uri }
}

/// The format that the catalog says it has.
fn format_of(shop: &Shop) -> String {
    let (_other, session) = Shop::made(Catalog::DuckDb);
    session.execute(&format!("ATTACH '{}' AS old (READ_ONLY)", shop.path("catalog.ducklake").display())).unwrap();
    let version = session.query_value("SELECT value FROM old.ducklake_metadata WHERE key = 'version'").unwrap();
    version.as_str().unwrap().to_owned()
}

fn count(lake: &Lake, sql: &str) -> i128 {
    lake.query_value(&format!("SELECT count(*) FROM ({sql})")).unwrap().as_i128().unwrap()
}

#[test]
fn an_old_lake_is_refused_by_its_version_and_left_alone() {
    for format in FORMATS {
        let shop = old_lake(format);
        for arguments in [["sync"].as_slice(), &["status"], &["create", "v", "--sql", BY_CUSTOMER], &["verify"]] {
            let output = shop.run(arguments);
            let shown = transcript(arguments, &output);
            assert_eq!(output.status.code(), Some(3), "{shown}");
            assert!(shown.contains(&format!("has catalog format {format}, this DuckLake reads 1.0")), "{shown}");
            assert!(shown.contains("--migrate"), "{shown}");
        }
        assert_eq!(format_of(&shop), format, "migrated unasked");
    }
}

#[test]
fn an_old_lake_is_migrated_when_told_to_and_followed_from_there() {
    for format in FORMATS {
        let shop = old_lake(format);
        shop.succeed(&["--migrate", "create", "v", "--sql", BY_CUSTOMER]);
        assert_eq!(format_of(&shop), "1.0");
        let lake = shop.open();
        // 12 rows, three of them deleted, three inserted; the past can be read as well.
        assert_eq!(count(&lake, "FROM sales"), 12, "{format}");
        assert_eq!(count(&lake, "FROM sales AT (VERSION => 3)"), 9, "{format}");
        assert_eq!(count(&lake, "FROM sales WHERE id = 3 AND amount = 0"), 1, "{format}");
        run(
            &lake,
            "DELETE FROM sales WHERE id = 4;\nUPDATE sales SET note = 'seen' WHERE id = 7;\n\
             INSERT INTO sales VALUES (300, 'c1', 3, NULL);\nCALL ducklake_flush_inlined_data('lake');\n\
             CALL ducklake_merge_adjacent_files('lake');\n\
             CALL ducklake_rewrite_data_files('lake', 'sales', delete_threshold => 0);\nDELETE FROM sales WHERE id = 100",
        );
        drop(lake);
        let output = shop.succeed(&["--format", "json", "sync"]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("\"strategy\": \"incremental\""), "{output:?}");
        shop.succeed(&["verify"]);
        let lake = shop.open();
        let difference = format!("(FROM v EXCEPT ALL ({BY_CUSTOMER})) UNION ALL (({BY_CUSTOMER}) EXCEPT ALL FROM v)");
        assert_eq!(count(&lake, &difference), 0, "{format}");
    }
}

/// Windows over the commits that the older DuckLake made.
#[test]
fn the_commits_of_an_older_ducklake_are_read_exactly() {
    for format in FORMATS {
        let shop = old_lake(format);
        let lake = Lake::open(&LakeOptions { migrate: true, ..LakeOptions::new(&shop.uri) }).unwrap();
        let transaction = lake.begin().unwrap();
        let newest = transaction.snapshot();
        let table = transaction.table_named("main", "sales", newest).unwrap().unwrap();
        let columns = transaction.columns(table.id, SnapshotId(1)).unwrap();
        let columns: Vec<_> = columns.into_iter().map(|column| (column.id, column.name)).collect();
        for from in 1..newest.0 {
            for to in from + 1..=newest.0 {
                let (from, to) = (SnapshotId(from), SnapshotId(to));
                let request = ducklake_ivm::lake::NetChangeRequest {
                    table: table.id,
                    from,
                    to,
                    columns: &columns,
                    into: "delta",
                };
                transaction
                    .stage_net_change(&request)
                    .unwrap_or_else(|error| panic!("{format} ({from}, {to}]: {error}"));
                let rows = |at| format!("SELECT id, customer, amount FROM sales AT (VERSION => {at})");
                let wrong = transaction.query_value(&format!(
                    "SELECT count(*) FROM (SELECT id, customer, amount, sum(w) AS w FROM (SELECT *, 1 AS w FROM ({}) \
                     UNION ALL SELECT *, -1 FROM ({}) UNION ALL FROM delta) GROUP BY ALL HAVING sum(w) <> 0)",
                    rows(from),
                    rows(to)
                ));
                assert_eq!(wrong.unwrap(), Value::Integer(0), "{format} ({from}, {to}]");
            }
        }
    }
}
