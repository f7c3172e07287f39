//! Lakes of every make through create, sync and verify: odd names, columns named like virtual ones, several schemas and
//! lakes, an encrypted one, metadata in a schema of its own; tables that change their identity; every type with its
//! nastiest values.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::inspect::{Verification, verify};
use ducklake_ivm::lake::{Lake, LakeOptions, identifier};
use ducklake_ivm::sync::{Event, Method, SyncOptions, sync};
use ducklake_ivm::view::{Creation, ViewName, create};
use world::{Catalog, World, run, view_of};

/// A view in a lake whatever its alias.
struct Followed<'a> {
    lake: &'a Lake,
    name: ViewName,
    sql: String,
}

impl<'a> Followed<'a> {
    fn new(lake: &'a Lake, name: ViewName, sql: &str) -> Self {
        let creation = Creation { check: true, ..Creation::new(name.clone(), sql) };
        create(lake, &creation).unwrap_or_else(|error| panic!("{error}\n{sql}"));
        let followed = Self { lake, name, sql: sql.to_owned() };
        followed.compare();
        followed
    }

    /// Compared as text, which tells values apart that compare as equal.
    fn compare(&self) {
        self.compare_as("COLUMNS(*)::VARCHAR");
    }

    fn compare_as(&self, columns: &str) {
        let held = [self.lake.alias(), &self.name.schema, &self.name.name].map(identifier).join(".");
        let texts = |from: &str| format!("SELECT {columns} FROM {from}");
        let (held, wanted) = (texts(&held), texts(&format!("({})", self.sql)));
        let rows = self.lake.query(&format!(
            "(SELECT 'too many', * FROM (({held}) EXCEPT ALL ({wanted}))) UNION ALL \
             (SELECT 'missing', * FROM (({wanted}) EXCEPT ALL ({held}))) LIMIT 5"
        ));
        let rows = rows.unwrap_or_else(|error| panic!("{}: {error}", self.sql)).rows;
        assert!(rows.is_empty(), "{}: {rows:?}", self.sql);
    }

    /// Syncs and compares; says how it was done.
    fn sync(&self) -> Method {
        let report = sync(self.lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
        let report = view_of(&report, &self.name.to_string());
        assert_eq!(report.error, None, "{}", self.sql);
        self.compare();
        let verified = verify(self.lake, std::slice::from_ref(&self.name), 3).unwrap();
        assert!(verified.iter().all(Verification::holds), "{}: {verified:?}", self.sql);
        report.strategy.unwrap()
    }
}

#[test]
fn odd_names_are_names_like_others() {
    let world = World::new("CREATE SCHEMA \"S \"\"x\"\" [y]\";\nCREATE SCHEMA \"views; of 'mine'\"");
    let table = "\"S \"\"x\"\" [y]\".\"select, 1\"";
    world.run(&format!(
        "CREATE TABLE {table} (\"group\" INTEGER, \"a.b\" VARCHAR, \"quo\"\"te\" INTEGER, \"naïve ☃\" DOUBLE, \
         \"it's; so\" DATE, weight INTEGER, \"ivm_t_delta\" INTEGER, ivm_delta INTEGER, \"?\" INTEGER, \"$1\" INTEGER)"
    ));
    let insert = |from: u32, to: u32| {
        format!(
            "INSERT INTO {table} SELECT i % 7, 'x;' || i % 3, i, i / 2, DATE '2026-01-01' + (i % 5)::INT, i % 2, 1, 2, i, i % 4 \
             FROM range({from}, {to}) r(i)"
        )
    };
    world.run(&insert(0, 30));
    let name = |name: &str| ViewName::new("views; of 'mine'", name);
    let queries = [
        (
            "where",
            format!(
                "SELECT \"group\", \"a.b\", \"quo\"\"te\", \"naïve ☃\", \"it's; so\" FROM {table} WHERE weight = 1"
            ),
        ),
        (
            "ü \"ö\" ä",
            format!(
                "SELECT a.weight, b.ivm_t_delta AS \"from\", a.ivm_delta, a.\"?\", b.\"$1\" FROM {table} a JOIN {table} b ON a.\"group\" = b.\"quo\"\"te\""
            ),
        ),
        ("TABLE", format!("SELECT \"a.b\" AS \"a.b\", count(*) AS \"count(*)\" FROM {table} GROUP BY \"a.b\"")),
    ];
    let views: Vec<_> = queries.iter().map(|(view, sql)| Followed::new(&world.lake, name(view), sql)).collect();
    for change in [
        insert(20, 34),
        format!("DELETE FROM {table} WHERE \"a.b\" = 'x;1'"),
        format!("UPDATE {table} SET \"naïve ☃\" = -1, \"group\" = \"group\" + 1 WHERE \"quo\"\"te\" < 9"),
    ] {
        world.run(&change);
        // The first sync brings all of them along.
        assert_eq!(views[0].sync(), Method::Incremental, "{change}");
        for view in &views {
            assert_eq!(view.sync(), Method::Noop, "{change}");
        }
    }
}

#[test]
fn the_name_of_the_weight_is_refused_wherever_it_stands() {
    let world = World::new("CREATE TABLE t (k INTEGER, \"__Weight\" INTEGER);\nCREATE TABLE u (k INTEGER)");
    for sql in [
        "SELECT k FROM t WHERE __weight > 1",
        "SELECT a.k FROM u a JOIN t b ON a.k = b.k",
        "SELECT k AS __weight FROM u",
        "SELECT k FROM (SELECT k, k + 1 AS __weight FROM u) WHERE __weight > 3",
    ] {
        let error = world.try_create("v", sql).unwrap_err().to_string();
        assert!(error.contains("\"__weight\" has a name that ducklake-ivm keeps for itself"), "{sql}: {error}");
    }
}

#[test]
fn columns_named_like_virtual_ones_are_the_users_own() {
    for inlining in [0, 10] {
        let world = World::new(&format!(
            "CALL lake.set_option('data_inlining_row_limit', {inlining});\n\
             CREATE TABLE t (rowid INTEGER, filename VARCHAR, file_row_number INTEGER, snapshot_id INTEGER, change_type VARCHAR);\n\
             CREATE TABLE u (snapshot_id INTEGER, v INTEGER);\n\
             INSERT INTO t SELECT i % 5, 'f' || i % 3, 100 - i, i, 'insert' FROM range(20) r(i);\n\
             INSERT INTO u SELECT i, i FROM range(20) r(i)"
        ));
        let views = [
            "SELECT rowid, filename, file_row_number, snapshot_id, change_type FROM t WHERE snapshot_id <> 3",
            "SELECT t.filename, t.rowid, u.v AS file_row_number FROM t JOIN u ON t.snapshot_id = u.snapshot_id",
            "SELECT v, snapshot_id AS filename FROM u",
        ];
        let views: Vec<_> = views
            .iter()
            .enumerate()
            .map(|(position, sql)| Followed::new(&world.lake, ViewName::new("main", format!("v{position}")), sql))
            .collect();
        for change in [
            "DELETE FROM t WHERE rowid = 2",
            "UPDATE t SET filename = 'other', rowid = 1 WHERE snapshot_id % 4 = 1",
            "INSERT INTO t SELECT * FROM t LIMIT 4;\nINSERT INTO u VALUES (3, 3), (3, 3)",
            "DELETE FROM u WHERE v = 3;\nCALL ducklake_flush_inlined_data('lake');\nUPDATE u SET v = 0 WHERE snapshot_id < 4",
            "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\nDELETE FROM t WHERE file_row_number = 95",
        ] {
            world.run(change);
            for view in &views {
                view.sync();
            }
        }
        let report = view_of(&world.sync(), "v0");
        assert_eq!(report.strategy, Some(Method::Noop));
    }
}

/// What is done to `t (k, v)` and `d (k, w)` in every kind of lake.
const CHANGES: [&str; 4] = [
    "INSERT INTO t SELECT i, i FROM range(100, 120) r(i)",
    "DELETE FROM t WHERE k % 7 = 0;\nUPDATE d SET w = 'new' WHERE k = 1",
    "CALL ducklake_flush_inlined_data(ALIAS);\nCALL ducklake_merge_adjacent_files(ALIAS);\nUPDATE t SET v = -1 WHERE k < 5",
    "CALL ducklake_rewrite_data_files(ALIAS, delete_threshold => 0);\nDELETE FROM t WHERE k = 101",
];

/// Follows a join across those changes.
fn follow(lake: &Lake) {
    run(
        lake,
        "CREATE TABLE t (k INTEGER, v INTEGER);\nCREATE TABLE d (k INTEGER, w VARCHAR);\n\
         INSERT INTO t SELECT i, i FROM range(40) r(i);\nINSERT INTO d VALUES (0, 'zero'), (1, 'one'), (2, NULL)",
    );
    let view =
        Followed::new(lake, ViewName::new("main", "joined"), "SELECT t.k, t.v, d.w FROM t JOIN d ON t.k % 3 = d.k");
    for change in CHANGES {
        run(lake, &change.replace("ALIAS", &format!("'{}'", lake.alias())));
        assert_eq!(view.sync(), Method::Incremental, "{change}");
    }
}

fn options_in(folder: &tempfile::TempDir, name: &str) -> LakeOptions {
    let path = folder.path().display();
    let mut options = LakeOptions::new(format!("ducklake:{path}/{name}.ducklake"));
    options.data_path = Some(format!("{path}/{name} data/"));
    options.create = true;
    options
}

#[test]
fn another_alias_and_metadata_in_a_schema_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = LakeOptions { alias: "my lake".to_owned(), ..options_in(&folder, "alias") };
    follow(&Lake::open(&options).unwrap());
    let options = LakeOptions { metadata_schema: Some("meta \"data\"".to_owned()), ..options_in(&folder, "schema") };
    follow(&Lake::open(&options).unwrap());
}

#[test]
fn an_encrypted_lake_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(&LakeOptions { encrypted: true, ..options_in(&folder, "secret") }).unwrap();
    if lake.execute("CREATE TABLE probe AS FROM range(20)").is_err() {
        println!("skipped: DuckDB writes encrypted files with the library of the extension httpfs only");
        return;
    }
    follow(&lake);
}

#[test]
fn a_lake_attached_beside_is_not_mistaken_for_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new("CREATE TABLE early (k INTEGER)");
    // The same names and ids with other rows, in a lake that is attached beside.
    let other = Lake::open(&options_in(&folder, "other")).unwrap();
    run(
        &other,
        "CREATE TABLE early (k INTEGER);\nCREATE TABLE t AS SELECT 7 AS k, 8 AS v;\nCREATE TABLE d AS SELECT 1 AS k, 'other' AS w",
    );
    drop(other);
    world.run(&format!("ATTACH 'ducklake:{}/other.ducklake' AS other", folder.path().display()));
    follow(&world.lake);
    // What comes from another lake can only be read again.
    let sql = "SELECT t.k, o.v FROM t JOIN other.main.t o ON t.k = o.k";
    let mixed = Followed::new(&world.lake, ViewName::new("main", "mixed"), sql);
    world.run("INSERT INTO other.main.t VALUES (8, 9), (9, 10)");
    assert_eq!(mixed.sync(), Method::Recompute);
}

// Identity.

#[test]
fn a_table_that_a_view_replaces_is_gone() {
    let world = World::new("CREATE TABLE base (k INTEGER);\nCREATE TABLE t (k INTEGER);\nINSERT INTO t VALUES (1)");
    world.create("v", "SELECT k FROM t");
    world.run("DROP TABLE t");
    let dropped = world.current();
    world.run("CREATE VIEW t AS SELECT k FROM base;\nINSERT INTO base VALUES (2)");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "v").error.unwrap();
    assert_eq!(error, format!("view main.v is broken: its source main.t was dropped at snapshot {dropped}"));
    let again = Creation { or_replace: true, ..Creation::new(ViewName::new("main", "v"), "SELECT k FROM t") };
    create(&world.lake, &again).unwrap();
    world.assert_holds("v", "SELECT 2");
}

#[test]
fn a_lake_view_that_a_table_replaces_goes_on_as_it_was_created() {
    let world =
        World::new("CREATE TABLE base (k INTEGER);\nINSERT INTO base VALUES (1);\nCREATE VIEW w AS SELECT k FROM base");
    world.create("v", "SELECT k FROM w");
    world.run("DROP VIEW w;\nCREATE TABLE w (k INTEGER);\nINSERT INTO w VALUES (99);\nINSERT INTO base VALUES (2)");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", "SELECT k FROM base");
    let full = world.sync_with(&SyncOptions { full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&full, "v").error, None);
    world.assert_holds("v", "SELECT k FROM base");
}

#[test]
fn a_dropped_schema_breaks_its_views_and_no_others() {
    let world = World::new(
        "CREATE SCHEMA s;\nCREATE TABLE s.t (k INTEGER);\nCREATE TABLE t (k INTEGER);\nINSERT INTO s.t VALUES (1)",
    );
    world.create("of_s", "SELECT k FROM s.t");
    world.create("of_main", "SELECT k FROM t");
    world.run("DROP SCHEMA s CASCADE");
    let dropped = world.current();
    world.run("INSERT INTO t VALUES (5)");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "of_s").error.unwrap();
    assert_eq!(error, format!("view main.of_s is broken: its source s.t was dropped at snapshot {dropped}"));
    assert_eq!(view_of(&report, "of_main").strategy, Some(Method::Incremental));
    world.run("CREATE SCHEMA s;\nCREATE TABLE s.t (k INTEGER);\nINSERT INTO s.t VALUES (3), (4)");
    let report = world.sync_view("of_s");
    assert_eq!(report.reason.unwrap(), "s.t was dropped and created again");
    world.assert_holds("of_s", "SELECT k FROM s.t");
}

#[test]
fn names_that_are_swapped_and_lent_do_not_matter() {
    let world = World::new(
        "CREATE TABLE one (k INTEGER);\nCREATE TABLE two (k INTEGER);\nINSERT INTO one VALUES (1), (2);\nINSERT INTO two VALUES (3)",
    );
    world.create("v", "SELECT k FROM one");
    world.run("ALTER TABLE one RENAME TO x;\nALTER TABLE two RENAME TO one;\nALTER TABLE x RENAME TO two");
    world.run("INSERT INTO one VALUES (30);\nINSERT INTO two VALUES (10)");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", "SELECT k FROM two");
    // Lent to another table, and back, in one window.
    world.run(
        "ALTER TABLE one RENAME TO other;\nCREATE TABLE one AS SELECT 77 AS k;\nDROP TABLE one;\n\
         ALTER TABLE two RENAME TO one;\nDELETE FROM one WHERE k = 1",
    );
    let report = world.sync_view("v");
    assert_eq!((report.strategy, report.rows_deleted), (Some(Method::Incremental), 1));
    world.assert_holds("v", "SELECT k FROM one");
}

#[test]
fn fields_of_a_struct_come_and_go() {
    let world = World::new(
        "CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));\nINSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}), (2, NULL)",
    );
    world.create("field", "SELECT k, s.a AS a FROM t");
    world.create("key", "SELECT k FROM t");
    world.run("ALTER TABLE t ADD COLUMN s.c INTEGER;\nINSERT INTO t VALUES (3, {'a': 3, 'b': 'z', 'c': 9})");
    let report = world.sync();
    assert_eq!(view_of(&report, "key").strategy, Some(Method::Incremental));
    world.assert_holds("field", "SELECT k, s.a AS a FROM t");
    world.run("ALTER TABLE t DROP COLUMN s.a;\nINSERT INTO t VALUES (4, {'b': 'w', 'c': 1})");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "field").error.unwrap();
    assert!(error.starts_with("view main.field is broken: column s of main.t changed its type"), "{error}");
    assert_eq!(view_of(&report, "key").strategy, Some(Method::Incremental));
    world.assert_holds("key", "SELECT k FROM t");
}

// Types.

/// A type that a lake can hold and literals of it, the first two of which differ.
const TYPES: &[(&str, &[&str])] = &[
    ("BOOLEAN", &["true", "false"]),
    ("TINYINT", &["-128", "127"]),
    ("SMALLINT", &["-32768", "32767"]),
    ("INTEGER", &["-2147483648", "2147483647"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807"]),
    ("UTINYINT", &["255", "0"]),
    ("USMALLINT", &["65535", "0"]),
    ("UINTEGER", &["4294967295", "0"]),
    ("UBIGINT", &["18446744073709551615", "0"]),
    ("FLOAT", &["nan", "0.0", "-0.0", "inf", "-inf", "1.17e-38"]),
    ("DOUBLE", &["nan", "0.0", "-0.0", "inf", "-inf", "4.9e-324", "0.1"]),
    ("DECIMAL(4,1)", &["999.9", "-999.9"]),
    ("DECIMAL(18,6)", &["123456789012.123456", "-0.000001"]),
    ("DECIMAL(38,10)", &["1234567890123456789012345678.0123456789", "-0.0000000001"]),
    ("VARCHAR", &["", "it's \"so\"; -- 'x'", "ü😀\n\t", "NULL", " ", "a\\b"]),
    ("BLOB", &["", "\\x00\\xFF", "abc"]),
    ("DATE", &["infinity", "-infinity", "0001-01-01", "5874897-12-31"]),
    ("TIME", &["23:59:59.999999", "00:00:00"]),
    ("TIMESTAMP", &["infinity", "-infinity", "2026-01-01 12:00:00.123456", "0001-01-01 00:00:00"]),
    ("TIMESTAMP_S", &["2026-01-01 12:00:00", "1900-01-01 00:00:00"]),
    ("TIMESTAMP_MS", &["2026-01-01 12:00:00.123", "1900-01-01 00:00:00"]),
    ("TIMESTAMP_NS", &["2026-01-01 12:00:00.123456789", "1900-01-01 00:00:00.000000001"]),
    ("TIMESTAMPTZ", &["2026-01-01 12:00:00+02", "2026-01-01 10:00:00.000001+00", "infinity"]),
    ("INTERVAL", &["1 day 3 seconds", "1 month", "30 days", "720 hours", "1 year"]),
    ("UUID", &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("JSON", &["{\"a\": [1, null]}", "null", "[]", "{\"a\":[1,null]}"]),
    ("INTEGER[]", &["[1, NULL, 3]", "[]", "[NULL]"]),
    ("VARCHAR[][]", &["[[a, NULL], [], NULL]", "[]"]),
    ("STRUCT(x INTEGER, y VARCHAR[])", &["{'x': 1, 'y': [a, NULL]}", "{'x': NULL, 'y': NULL}", "{'x': 1, 'y': []}"]),
    ("MAP(VARCHAR, INTEGER)", &["{a=1, b=NULL}", "{}"]),
    ("GEOMETRY", &["POINT (1 2)", "LINESTRING (0 0, 1 1)", "POINT EMPTY"]),
    ("VARIANT", &["text", "other"]),
];

/// One table with a column of each type; its rows hold the values in turn. They stay in the catalog until the end, for
/// Parquet's dictionary keeps one of several equal values (DuckDB 1.5.5).
#[test]
fn every_type_travels_through_delta_apply_and_verify() {
    // Rows with a column of these are never kept in the catalog.
    let in_files = |data_type: &str| matches!(data_type, "GEOMETRY" | "VARIANT");
    for (catalog, files) in [(Catalog::DuckDb, false), (Catalog::Sqlite, false), (Catalog::DuckDb, true)] {
        let types: Vec<_> = TYPES.iter().filter(|(data_type, _)| in_files(data_type) == files).collect();
        let columns: Vec<String> = (0..types.len()).map(|position| format!("c{position}")).collect();
        let defined: Vec<String> =
            types.iter().zip(&columns).map(|((data_type, _), column)| format!("{column} {data_type}")).collect();
        let world = World::with(catalog, "CALL lake.set_option('data_inlining_row_limit', 1000)");
        world.run(&format!("CREATE TABLE t (id INTEGER, {})", defined.join(", ")));
        let row = |id: usize| {
            let values = types.iter().map(|(data_type, values)| {
                format!("CAST('{}' AS {data_type})", values[id % values.len()].replace('\'', "''"))
            });
            values.collect::<Vec<_>>()
        };
        let insert = |ids: std::ops::Range<usize>| {
            let rows: Vec<String> = ids.map(|id| format!("({id}, {})", row(id).join(", "))).collect();
            format!("INSERT INTO t VALUES {}", rows.join(", "))
        };
        world.run(&format!("{};\nINSERT INTO t (id) VALUES (50)", insert(0..7)));
        let list = |relation: &str| columns.iter().map(|column| format!("{relation}.{column}")).collect::<Vec<_>>();
        let queries = [
            format!("SELECT t.id, {} FROM t WHERE t.id <> 1", list("t").join(", ")),
            format!("SELECT a.id, {} FROM t a JOIN t b ON a.id = b.id", list("b").join(", ")),
            format!("SELECT {0} FROM t UNION ALL SELECT {0} FROM t WHERE t.id = 0", list("t").join(", ")),
        ];
        let views: Vec<_> = queries
            .iter()
            .enumerate()
            .map(|(position, sql)| Followed::new(&world.lake, ViewName::new("main", format!("v{position}")), sql))
            .collect();
        let to = |id: usize| {
            let pairs = columns.iter().zip(row(id)).map(|(column, value)| format!("{column} = {value}"));
            pairs.collect::<Vec<_>>().join(", ")
        };
        for change in [
            insert(0..4),
            "DELETE FROM t WHERE id = 1".to_owned(),
            format!("UPDATE t SET {} WHERE id = 0", to(2)),
            format!("UPDATE t SET {} WHERE id = 2", to(1)),
            format!(
                "INSERT INTO t SELECT 100 + i, {} FROM range(15) r(i);\nUPDATE t SET c0 = NULL WHERE id = 103",
                row(0).join(", ")
            ),
            "CALL ducklake_flush_inlined_data('lake');\nDELETE FROM t WHERE id IN (0, 104, 50)".to_owned(),
        ] {
            world.run(&change);
            let report = world.sync();
            for view in &views {
                view.compare_as(if change.contains("flush") && !files { "*" } else { "COLUMNS(*)::VARCHAR" });
                let report = view_of(&report, &view.name.to_string());
                assert_eq!(report.strategy, Some(Method::Incremental), "{change}: {report:?}");
            }
        }
        let verified = verify(&world.lake, &[], 3).unwrap();
        assert!(verified.iter().all(Verification::holds), "{verified:?}");
    }
}
