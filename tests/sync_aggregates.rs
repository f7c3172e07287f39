//! Aggregates that are finished from accumulator tables: what stands in the tables, the traps of groups, and what
//! happens when the tables or the sources are not what they were.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::inspect::{Span, explain, verify};
use ducklake_ivm::sync::{Method, SyncOptions, ViewReport};
use ducklake_ivm::view::{Creation, Strategy, ViewName, create, drop_view};
use world::{World, creation, view_of};

const SALES: &str = "
CREATE TABLE sales (id INTEGER, region VARCHAR, kind INTEGER, amount DECIMAL(10, 2), pieces INTEGER, good BOOLEAN);
INSERT INTO sales SELECT i, CASE WHEN i % 6 = 0 THEN NULL ELSE 'r' || i % 4 END, i % 3,
  CASE WHEN i % 5 = 0 THEN NULL ELSE i / 3.0 END, i % 11 - 5, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 2 = 0 END FROM range(60) r(i);
";

const BY_REGION: &str = "SELECT region, count(*) AS n, count(amount) AS known, sum(amount) AS total, avg(amount) AS mean, \
    sum(pieces) AS pieces, avg(pieces) AS mean_pieces, min(amount) AS least, max(pieces) AS most, \
    bool_and(good) AS all_good, bool_or(good) AS some_good, sum(amount) FILTER (WHERE pieces > 0) AS positive, \
    count(*) FILTER (WHERE good) AS good_ones FROM sales GROUP BY region";

/// Syncs; the view was refreshed from changes, holds what its query returns, and its accumulators what they should.
fn synced(world: &World, view: &str) -> ViewReport {
    let report = world.sync_view(view);
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    assert_verified(world);
    world.accumulators(view);
    report
}

fn assert_verified(world: &World) {
    for verification in verify(&world.lake, &[], 10).unwrap() {
        assert!(verification.holds(), "{verification:?}");
    }
}

#[test]
fn groups_are_finished_from_their_accumulators() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    assert_eq!(world.accumulators("v").len(), 1);
    for change in [
        "INSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true), (101, 'new', 1, NULL, NULL, NULL), (102, NULL, NULL, 1, 9, false)",
        "DELETE FROM sales WHERE region = 'r2'",
        "UPDATE sales SET amount = NULL WHERE region = 'r3'",
        "UPDATE sales SET region = 'r3' WHERE region = 'r1';\nINSERT INTO sales VALUES (103, 'r1', 1, -5, -1, true), (104, 'r1', 1, 5, 1, false)",
        "INSERT INTO sales VALUES (105, 'passing', 1, 1, 1, true);\nDELETE FROM sales WHERE id = 105;\nDELETE FROM sales WHERE id % 4 = 1",
        "DELETE FROM sales WHERE region IS NULL AND id > 0",
        "DELETE FROM sales",
        "INSERT INTO sales VALUES (1, 'r1', 1, 7, 7, true)",
    ] {
        world.run(change);
        synced(&world, "v");
    }
    assert_verified(&world);
}

#[test]
fn only_groups_that_differ_are_written() {
    let world = World::new(SALES);
    let sql = "SELECT region, count(*) AS n, sum(pieces) AS pieces FROM sales GROUP BY region";
    world.create("v", sql);
    let before = world.current();
    // One group changes, one is touched without a difference, three are not touched.
    world.run(
        "INSERT INTO sales VALUES (100, 'r1', 0, 0, 1, true);\n\
         DELETE FROM sales WHERE id = 9;\n\
         INSERT INTO sales SELECT 9, 'r1', kind, amount, 4, good FROM sales WHERE id = 8;\n\
         UPDATE sales SET pieces = pieces + CASE WHEN id = 2 THEN 1 ELSE -1 END WHERE id IN (2, 10)",
    );
    let report = synced(&world, "v");
    assert_eq!((report.rows_inserted, report.rows_deleted, report.groups), (1, 1, 2), "{report:?}");
    let after = world.current();
    for table in std::iter::once("v".to_owned()).chain(world.accumulators("v")) {
        let differing = |one: u64, other: u64| {
            world.integer(&format!(
                "SELECT count(*) FROM (FROM {table} AT (VERSION => {one}) EXCEPT ALL FROM {table} AT (VERSION => {other}))"
            ))
        };
        assert_eq!((differing(after, before), differing(before, after)), (1, 1), "{table}");
        let feed = |kind: &str| {
            let (schema, name) = table.split_once('.').unwrap_or(("main", &table));
            world.integer(&format!(
                "SELECT count(*) FROM ducklake_table_{kind}('lake', '{schema}', '{name}', {}, {after})",
                before + 1
            ))
        };
        assert_eq!((feed("insertions"), feed("deletions")), (1, 1), "{table}");
    }
}

#[test]
fn an_ungrouped_aggregate_never_leaves() {
    let world = World::new("CREATE TABLE t (x INTEGER, d DECIMAL(8, 3))");
    let sql = "SELECT count(*) AS n, count(x) AS c, sum(x) AS s, avg(d) AS a, min(x) AS l, bool_and(x > 0) AS b FROM t";
    world.create("v", sql);
    assert_eq!(world.rows("FROM v"), ["0|0|NULL|NULL|NULL|NULL"]);
    for change in [
        "INSERT INTO t VALUES (NULL, NULL)",
        "INSERT INTO t VALUES (3, 1.5), (-3, 2.5)",
        "DELETE FROM t WHERE x IS NOT NULL",
        "DELETE FROM t",
        "INSERT INTO t VALUES (5, 5)",
    ] {
        world.run(change);
        synced(&world, "v");
    }
    world.run("DELETE FROM t");
    synced(&world, "v");
    assert_eq!(world.rows("FROM v"), ["0|0|NULL|NULL|NULL|NULL"]);
}

#[test]
fn aggregates_below_other_operators_have_tables_of_their_own() {
    let world = World::new(SALES);
    let views = [
        (
            "of_groups",
            2,
            "SELECT n, count(*) AS regions, max(total) AS most FROM (SELECT region, count(*) AS n, sum(pieces) AS total FROM sales GROUP BY region) GROUP BY n",
        ),
        (
            "joined",
            1,
            "SELECT s.id, s.pieces, t.total FROM sales s JOIN (SELECT region, sum(pieces) AS total FROM sales GROUP BY region) t ON s.region IS NOT DISTINCT FROM t.region",
        ),
        (
            "twice",
            1,
            "WITH c AS (SELECT kind, sum(amount) AS total FROM sales GROUP BY kind) SELECT a.kind, a.total, b.total AS other FROM c a JOIN c b ON a.kind < b.kind",
        ),
        (
            "each_and_all",
            2,
            "SELECT region AS k, count(*) AS n FROM sales GROUP BY region UNION ALL SELECT NULL, count(*) FROM sales",
        ),
        (
            "share",
            2,
            "SELECT region, sum(pieces) AS own, (SELECT sum(pieces) FROM sales) AS all_pieces FROM sales GROUP BY region",
        ),
        ("above_average", 1, "SELECT id, pieces FROM sales WHERE pieces > (SELECT avg(pieces) FROM sales)"),
        (
            "ranked",
            1,
            "SELECT region, total, rank() OVER (ORDER BY total) AS place FROM (SELECT region, sum(pieces) AS total FROM sales GROUP BY region)",
        ),
        (
            "best",
            1,
            "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY total DESC, region LIMIT 2",
        ),
        ("having_rows", 1, "SELECT region FROM sales GROUP BY region HAVING sum(pieces) > 0 AND count(*) > 3"),
        (
            "rolled",
            3,
            "SELECT region, kind, count(*) AS n, sum(amount) AS s, grouping(region, kind) AS g FROM sales GROUP BY ROLLUP (region, kind)",
        ),
        (
            "keyed_by_text",
            1,
            "SELECT 'kind ' || kind AS k, sum(CASE WHEN good THEN pieces END) / count(*) AS s FROM sales GROUP BY ALL",
        ),
        ("keyed_by_nothing_seen", 1, "SELECT sum(pieces) AS s FROM sales GROUP BY region, kind"),
        (
            "mixed",
            1,
            "SELECT t.region, t.n, u.kinds FROM (SELECT region, count(*) AS n FROM sales GROUP BY region) t JOIN (SELECT region, count(DISTINCT kind) AS kinds FROM sales GROUP BY region) u ON t.region = u.region",
        ),
    ];
    for (name, _, sql) in views {
        world.create(name, sql);
    }
    for change in [
        "INSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true), (101, 'new', 7, NULL, NULL, NULL)",
        "DELETE FROM sales WHERE region = 'r2'",
        "UPDATE sales SET region = 'r3', pieces = pieces + 1 WHERE id % 8 = 1",
        "DELETE FROM sales",
        "INSERT INTO sales VALUES (1, 'r1', 1, 7, 7, true), (2, NULL, NULL, NULL, NULL, NULL)",
    ] {
        world.run(change);
        let report = world.sync();
        for (name, tables, _) in views {
            let view = view_of(&report, name);
            assert!(matches!(view.strategy, Some(Method::Incremental | Method::Noop)), "{view:?}");

            assert_eq!(world.accumulators(name).len(), tables, "{name}");
        }
        assert_verified(&world);
    }
}

#[test]
fn floats_are_added_for_inserts_and_anew_after_deletes() {
    let world = World::new(
        "CREATE TABLE t (k INTEGER, x DOUBLE, y FLOAT);\nINSERT INTO t VALUES (1, 0.1, 0.5), (1, 0.2, 1.5), (2, 1e300, 1), (3, 5, 5)",
    );
    let sql = "SELECT k, sum(x) AS s, avg(x) AS a, sum(y) AS sy, max(x) AS m, min(y) AS l FROM t GROUP BY k";
    world.create("v", sql);
    world.create("total", "SELECT sum(x) AS s, avg(y) AS a FROM t");
    for change in [
        "INSERT INTO t VALUES (1, 'nan', 'inf'), (2, 'inf', '-inf'), (3, 0.25, 0.25), (4, '-0.0', NULL)",
        "INSERT INTO t VALUES (2, '-inf', 'inf'), (4, NULL, NULL)",
        "DELETE FROM t WHERE isnan(x) OR isinf(x) OR isinf(y)",
        "UPDATE t SET x = x + 1e-3 WHERE k <> 2",
        "DELETE FROM t WHERE k = 2;\nINSERT INTO t VALUES (2, 1, 1)",
        "DELETE FROM t WHERE x = 1",
        "DELETE FROM t",
    ] {
        world.run(change);
        let report = world.sync();
        assert!(report.views.iter().all(|view| view.strategy == Some(Method::Incremental)), "{change}: {report:?}");
        assert_verified(&world);
        assert_eq!(world.accumulators("v").len(), 1);
        assert_eq!(
            world.integer(
                "SELECT count(*) FROM v WHERE isnan(s) AND NOT EXISTS (SELECT 1 FROM t WHERE isnan(x) OR isinf(x))"
            ),
            0
        );
    }
}

#[test]
fn tables_come_and_go_with_their_view() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    let tables = world.accumulators("v");
    world.run("ALTER TABLE v RENAME TO w;\nINSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true)");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    assert_verified(&world);
    world.run("ALTER TABLE w RENAME TO v");
    let kinds = "SELECT kind, sum(amount) AS total FROM sales GROUP BY kind";
    create(&world.lake, &Creation { or_replace: true, ..creation("v", kinds) }).unwrap();
    assert_eq!(world.accumulators("v"), tables, "the id stays, and with it the names");
    world.run("DELETE FROM sales WHERE kind = 1");
    synced(&world, "v");
    let count = "SELECT count(*) FROM ducklake_table_info('lake') WHERE table_name LIKE 'acc%'";
    assert_eq!(world.integer(count), 1);
    create(&world.lake, &Creation { or_replace: true, ..creation("v", "FROM sales") }).unwrap();
    assert_eq!(world.integer(count), 0);
    create(&world.lake, &Creation { or_replace: true, ..creation("v", BY_REGION) }).unwrap();
    assert_eq!(world.integer(count), 1);
    drop_view(&world.lake, &ViewName::parse("v").unwrap()).unwrap();
    assert_eq!(world.integer(count), 0);
}

#[test]
fn views_that_are_never_refreshed_from_changes_keep_none() {
    let world = World::new(SALES);
    for strategy in [Strategy::Recompute, Strategy::Full] {
        let name = format!("by_{}", strategy.word());
        create(&world.lake, &Creation { strategy, ..creation(&name, BY_REGION) }).unwrap();
        assert!(world.accumulators(&name).is_empty());
    }
    world.run("DELETE FROM sales WHERE id < 30");
    world.sync();
    assert_verified(&world);
}

#[test]
fn a_foreign_write_to_an_accumulator_is_refused_and_repaired() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    let table = world.accumulators("v").remove(0);
    for (deed, detail) in [
        (format!("UPDATE {table} SET row_count = row_count + 1 WHERE group_1 = 'r1'"), "1 rows inserted, 1 deleted"),
        (format!("DELETE FROM {table} WHERE group_1 IS NULL"), "0 rows inserted, 1 deleted"),
        (format!("CREATE OR REPLACE TABLE {table} AS FROM {table}"), "it was made anew"),
        (format!("DROP TABLE {table}"), "it is gone"),
        (format!("CREATE TABLE {table} (x INTEGER)"), "it was made anew"),
    ] {
        world.run(&format!("{deed};\nINSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true)"));
        let report = world.sync_with(&SyncOptions::default()).unwrap();
        let view = view_of(&report, "v");
        let error = view.error.unwrap();
        assert!(
            error.contains("someone else changed its table ducklake_ivm.acc_") && error.ends_with(detail),
            "{error}"
        );
        assert_eq!(view.hint.unwrap(), "rebuild it with sync --repair");
        if deed.starts_with("DROP") {
            continue;
        }
        let report = world.sync_with(&SyncOptions { repair: true, ..SyncOptions::default() }).unwrap();
        assert_eq!(view_of(&report, "v").error, None, "{report:?}");
        assert_verified(&world);
        world.accumulators("v");
        world.run("DELETE FROM sales WHERE id = 100");
        synced(&world, "v");
    }
}

#[test]
fn a_full_refresh_and_a_recompute_bring_the_tables_along() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    world.run("DELETE FROM sales WHERE id % 3 = 0");
    let report = world.sync_with(&SyncOptions { full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&report, "v").strategy, Some(Method::Full));
    assert_verified(&world);
    world.accumulators("v");
    world.run("INSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true)");
    synced(&world, "v");
    // The source is replaced: its past is of no use.
    world.run("CREATE OR REPLACE TABLE sales AS FROM sales WHERE id % 2 = 0");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Recompute), "{report:?}");
    assert_verified(&world);
    world.accumulators("v");
    world.run("UPDATE sales SET pieces = 7 WHERE id = 2");
    synced(&world, "v");
    // A column of another type.
    world.run("ALTER TABLE sales ALTER COLUMN pieces SET DATA TYPE BIGINT;\nUPDATE sales SET pieces = 5000000000 WHERE id = 4");
    let report = world.sync_view("v");
    assert_eq!(report.error, None, "{report:?}");
    assert_verified(&world);
    world.accumulators("v");
    world.run("UPDATE sales SET pieces = 1 WHERE id = 4;\nDELETE FROM sales WHERE id = 6");
    synced(&world, "v");
}

#[test]
fn a_view_without_accumulators_goes_on_until_it_is_recomputed() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    let table = world.accumulators("v").remove(0);
    world.run(&format!(
        "UPDATE ducklake_ivm.views SET class = json_merge_patch(class, '{{\"accumulators\": null}}');\nDROP TABLE {table}"
    ));
    world.run("DELETE FROM sales WHERE id % 4 = 1;\nINSERT INTO sales VALUES (100, 'r1', 1, 5, 1, true)");
    synced(&world, "v");
    assert!(world.accumulators("v").is_empty());
    world.run("DELETE FROM sales WHERE id = 100");
    world.sync_with(&SyncOptions { full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(world.accumulators("v").len(), 1);
    world.run("DELETE FROM sales WHERE id % 4 = 2");
    synced(&world, "v");
}

#[test]
fn tables_of_another_layout_are_made_anew() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    world.run("UPDATE ducklake_ivm.views SET class = replace(class, '\"count_2\"', '\"counted_2\"')");
    world.run("DELETE FROM sales WHERE id % 4 = 1");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Recompute));
    assert_eq!(report.reason.as_deref(), Some("its accumulator tables were made by another version"));
    assert_verified(&world);
    assert_eq!(world.accumulators("v").len(), 1);
    world.run("DELETE FROM sales WHERE id % 4 = 2");
    synced(&world, "v");
}

#[test]
fn variances_follow_from_sums_of_squares() {
    // `year` deviates little from its mean, `big` and `wide` have digits that no square is kept for, `far` less
    // than a thousandth of it.
    let world = World::new(
        "CREATE TABLE t (k INTEGER, i INTEGER, c DECIMAL(10, 2), year SMALLINT, big BIGINT, wide DECIMAL(18, 4), far BIGINT, d DOUBLE, w DECIMAL(38, 9));\n\
         INSERT INTO t SELECT r % 4, CASE WHEN r % 5 > 0 THEN r % 7 - 3 END, r / 7.0, 2000 + r % 9, r * 100000000000000000, \
         r * 77777777777.1234, 2000 + r % 3, r / 3.0, r FROM range(60) s(r)",
    );
    let of = |argument: &str| {
        let calls = ["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "sem"];
        calls.map(|call| format!("{call}({argument}) AS {call}_{argument}")).join(", ")
    };
    let all = ["i", "c", "year", "big", "wide", "far", "d", "w"].map(of).join(", ");
    world.create("v", &format!("SELECT k, {all}, avg(i) AS a, sum(c) FILTER (WHERE i > 0) AS s FROM t GROUP BY k"));
    world.create("total", &format!("SELECT {all} FROM t"));
    world.create("positive", "SELECT k, stddev(i) FILTER (WHERE i > 0) AS s, var_pop(i) AS v FROM t GROUP BY k");
    world.create(
        "joined",
        "SELECT t.k, t.i, g.s FROM t JOIN (SELECT k, stddev_pop(i) AS s FROM t GROUP BY k) g ON t.k = g.k",
    );
    for change in [
        "INSERT INTO t VALUES (1, 100, 5, 1900, 7, 1, 3, 0.5, 1), (9, 1, 1, 1, 1, 1, 1, 1, 1), (9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO t FROM t WHERE k = 1",
        "DELETE FROM t WHERE k = 2 AND i > -3",
        "UPDATE t SET i = 0, c = 0, year = 0, big = 0, wide = 0, far = 0, d = 0, w = 0 WHERE k = 3",
        "UPDATE t SET i = 7, c = 7, year = 7, big = 7, wide = 7, far = 7, d = 7, w = 7 WHERE k = 3",
        "UPDATE t SET k = 9 WHERE i = 1;\nDELETE FROM t WHERE k = 0",
        "DELETE FROM t WHERE i IS NOT NULL",
        "DELETE FROM t",
        "INSERT INTO t VALUES (1, 1, 1, 1, 1, 1, 1, 1, 1), (1, 2, 2, 2, 2, 2, 2, 2, 2)",
    ] {
        world.run(change);
        let report = world.sync();
        assert!(report.views.iter().all(|view| view.strategy == Some(Method::Incremental)), "{change}: {report:?}");
        assert_verified(&world);
        for view in ["v", "total", "positive", "joined"] {
            assert_eq!(world.accumulators(view).len(), 1, "{view}");
        }
    }
}

#[test]
fn aggregates_that_need_the_same_share_it() {
    let world = World::new(SALES);
    let created = world.create(
        "v",
        "SELECT region, count(*) AS n, count(pieces) AS c, sum(pieces) AS s, avg(pieces) AS a, stddev(pieces) AS d, \
         var_pop(pieces) AS v, sum(pieces) FILTER (WHERE good) AS g, bool_and(good) AS b, count_if(good) AS i FROM sales GROUP BY region",
    );
    let [table] = created.view.class.accumulators.as_slice() else { panic!("one table is enough") };
    let columns: Vec<String> =
        table.columns.iter().zip(&table.keeps).map(|(column, keeps)| format!("{}: {keeps}", column.name)).collect();
    let pieces =
        "count(pieces), sum(pieces), avg(pieces), stddev(CAST(pieces AS DOUBLE)), var_pop(CAST(pieces AS DOUBLE))";
    let expected = [
        "group_1: region".to_owned(),
        "row_count: count(*)".to_owned(),
        format!("count_2: {pieces}"),
        format!("sum_2: {pieces}"),
        format!("squares_2: {pieces}"),
        format!("spread_2: {pieces}"),
        "count_7: sum(pieces) FILTER (WHERE good)".to_owned(),
        "sum_7: sum(pieces) FILTER (WHERE good)".to_owned(),
        "true_8: bool_and(good), count_if(good)".to_owned(),
        "false_8: bool_and(good), count_if(good)".to_owned(),
    ];
    assert_eq!(columns, expected);
    world.run("DELETE FROM sales WHERE id % 3 = 0;\nUPDATE sales SET pieces = NULL WHERE id % 5 = 0");
    synced(&world, "v");
}

#[test]
fn the_chosen_row_of_a_group_follows_its_changes() {
    let world = World::new(
        "CREATE TABLE t (k INTEGER, name VARCHAR, price DECIMAL(8, 2), weight DOUBLE);\n\
         INSERT INTO t SELECT r % 5, 'n' || r, r * 7 % 41, r * 5 % 43 FROM range(40) s(r)",
    );
    let calls = "arg_min(name, price) AS least, arg_max(name, price) AS most, arg_max(price, weight) AS heavy, \
                 arg_min_null(name, price) AS least_or_null, max_by(name, price) FILTER (WHERE weight > 9) AS f";
    world.create("v", &format!("SELECT k, {calls} FROM t GROUP BY k"));
    world.create("total", &format!("SELECT {calls} FROM t"));
    world.create("named", "SELECT t.k, t.name FROM t JOIN (SELECT k, arg_max(name, price) AS most FROM t GROUP BY k) g ON t.k = g.k AND t.name = g.most");
    for change in [
        "INSERT INTO t VALUES (1, 'cheap', -1, 0.25), (2, NULL, -2, 99), (3, 'no price', NULL, 100), (7, 'new', 1.5, 1.5)",
        "DELETE FROM t WHERE price = (SELECT max(price) FROM t)",
        "UPDATE t SET price = NULL WHERE name IN ('cheap', 'new')",
        "DELETE FROM t WHERE k = 2;\nINSERT INTO t VALUES (2, 'only', 5.5, 5.5)",
        "UPDATE t SET k = 7 WHERE k = 3",
        "DELETE FROM t",
        "INSERT INTO t VALUES (1, 'a', 1, 1)",
    ] {
        world.run(change);
        let report = world.sync();
        for view in &report.views {
            assert!(matches!(view.strategy, Some(Method::Incremental | Method::Noop)), "{change}: {view:?}");
        }
        assert_verified(&world);
        for view in ["v", "total", "named"] {
            assert_eq!(world.accumulators(view).len(), 1, "{view}");
        }
    }
}

#[test]
fn rows_that_tie_for_the_chosen_one_are_left_to_the_query() {
    let world = World::new(
        "CREATE TABLE t (k INTEGER, name VARCHAR, price INTEGER);\nINSERT INTO t VALUES (1, 'a', 5), (1, 'b', 7)",
    );
    world.create("v", "SELECT k, arg_min(name, price) AS name FROM t GROUP BY k");
    world.create("total", "SELECT arg_min(name, price) AS name FROM t");
    world.run("INSERT INTO t VALUES (1, 'c', 5)");
    let report = world.sync();
    assert_eq!(view_of(&report, "v").strategy, Some(Method::Incremental), "only its group is computed again");
    let total = view_of(&report, "total");
    assert_eq!(total.strategy, Some(Method::Recompute));
    assert_eq!(total.reason.as_deref(), Some("rows tie in arg_min"));
    assert_verified(&world);
    // As long as no other row comes forward, what was chosen stands.
    world.run("INSERT INTO t VALUES (1, 'd', 9)");
    let report = world.sync();
    assert_eq!(view_of(&report, "total").strategy, Some(Method::Incremental));
    assert_verified(&world);
}

/// A refresh that failed after snapshot `before` wrote one row to the history, and nothing else.
fn assert_only_its_error_is_kept(world: &World, before: u64) {
    let changes = world.rows(&format!(
        "SELECT c.changes_made, t.table_name FROM __ducklake_metadata_lake.ducklake_snapshot_changes c \
         LEFT JOIN __ducklake_metadata_lake.ducklake_table t \
         ON c.changes_made = 'inlined_insert:' || t.table_id WHERE c.snapshot_id > {before}"
    ));
    assert!(matches!(changes.as_slice(), [change] if change.ends_with("|refreshes")), "{changes:?}");
}

#[test]
fn an_overflow_of_a_sum_names_it_and_changes_nothing() {
    let nines = "9".repeat(38);
    let world = World::new("CREATE TABLE t (k INTEGER, x DECIMAL(38, 0));\nINSERT INTO t VALUES (1, 5)");
    let sql = "SELECT k, sum(x) > 0 AS positive FROM t GROUP BY k";
    world.create("v", sql);
    world.run(&format!("INSERT INTO t VALUES (1, {nines})"));
    let before = world.current();
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "v").error.unwrap();
    assert!(
        error.starts_with("view main.v: a value of column \"sum(x)\" does not fit its type DECIMAL(38, 0)"),
        "{error}"
    );
    assert_only_its_error_is_kept(&world, before);
    world.run("DELETE FROM t WHERE x > 5");
    world.sync();
    world.assert_holds("v", sql);
    world.accumulators("v");
    world.run(&format!("INSERT INTO t VALUES (2, {nines}), (2, {nines})"));
    let before = world.current();
    let error = world.try_create("w", sql).unwrap_err().to_string();
    assert!(error.contains("main.w") && error.contains("sum(x)"), "{error}");
    assert_eq!(world.current(), before);
}

#[test]
fn every_overflow_names_view_and_column_and_changes_nothing() {
    let nines = "9".repeat(38);
    for (column_type, value, sql, column, says) in [
        (
            "DECIMAL(38, 2)",
            "9".repeat(36).as_str(),
            "SELECT k, sum(x) AS s FROM t GROUP BY k",
            "sum(x)",
            "does not fit its type DECIMAL(38, 2)",
        ),
        (
            "DECIMAL(38, 0)",
            nines.as_str(),
            "SELECT count(*) AS n, sum(x) AS s FROM t",
            "sum(x)",
            "does not fit its type DECIMAL(38, 0)",
        ),
        (
            "DECIMAL(38, 0)",
            nines.as_str(),
            "SELECT k, avg(x) AS a FROM t GROUP BY k",
            "avg(x)",
            "does not fit its type DECIMAL(38, 0)",
        ),
        (
            "INTEGER",
            "2000000000",
            "SELECT k, count(*) AS n, sum(x * 2) AS s FROM t GROUP BY k",
            "sum(x * 2)",
            "Overflow in multiplication of INT32",
        ),
        (
            "INTEGER",
            "2000000000",
            "SELECT k, median(x * 2) AS m FROM t GROUP BY k",
            "m",
            "Overflow in multiplication of INT32",
        ),
        (
            "INTEGER",
            "2000000000",
            "SELECT k, stddev(x * 2) AS d FROM t GROUP BY k",
            "stddev(CAST(x * 2 AS DOUBLE))",
            "Overflow in multiplication of INT32",
        ),
        ("DOUBLE", "1e308", "SELECT k, stddev(x) AS d FROM t GROUP BY k", "stddev(x)", "out of range"),
        ("INTEGER", "2000000000", "SELECT k, x * 2 AS y FROM t", "y", "Overflow in multiplication of INT32"),
    ] {
        let world =
            World::new(&format!("CREATE TABLE t (k INTEGER, x {column_type});\nINSERT INTO t VALUES (1, 5), (1, -5)"));
        let assert_named = |error: &str, view: &str| {
            let named = error.contains(&format!("view main.{view}")) && error.contains(&format!("column {column:?}"));
            assert!(named && error.contains(says), "{sql}: {error}");
        };
        world.create("v", sql);
        world.run(&format!("INSERT INTO t VALUES (1, {value}), (1, {value})"));
        let before = world.current();
        let report = world.sync_with(&SyncOptions::default()).unwrap();
        assert_named(&view_of(&report, "v").error.unwrap_or_default(), "v");
        assert_named(&world.try_create("w", sql).unwrap_err().to_string(), "w");
        assert_only_its_error_is_kept(&world, before);
        world.run("DELETE FROM t WHERE x > 5;\nINSERT INTO t VALUES (1, 1)");
        assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
        assert_verified(&world);
    }
}

#[test]
fn no_huge_integer_reaches_the_lake() {
    let world = World::new(SALES);
    world.create("v", "SELECT s, count(*) AS n, sum(s) AS t FROM (SELECT region, sum(pieces) AS s FROM sales GROUP BY region) GROUP BY s");
    assert_eq!(world.accumulators("v").len(), 2);
    let metadata = "__ducklake_metadata_lake";
    let huge = world.integer(&format!(
        "SELECT count(*) FROM {metadata}.ducklake_column WHERE column_type IN ('int128', 'uint128')"
    ));
    assert_eq!(huge, 0);
    world.run("UPDATE sales SET pieces = pieces + 1000000 WHERE id < 20");
    synced(&world, "v");
}

#[test]
fn keys_that_a_lake_holds_in_another_type_come_back() {
    let world = World::new(
        "CREATE TABLE t (a VARCHAR, l INTEGER[], s STRUCT(x INTEGER, y VARCHAR), d DATE, n INTEGER);\nINSERT INTO t VALUES ('x', [1, 2], {'x': 1, 'y': 'b'}, DATE '2026-01-01', 1), ('y', [], NULL, NULL, 2), ('x', [1, 2], {'x': 1, 'y': NULL}, DATE '2026-01-01', 3)",
    );
    let views = [
        ("by_enum", "SELECT CAST(a AS ENUM ('y', 'x')) AS e, sum(n) AS s FROM t GROUP BY e"),
        ("by_list", "SELECT l, s, d, count(*) AS n, max(s) AS m FROM t GROUP BY ALL"),
        ("by_array", "SELECT array_value(n % 2, 1) AS p, count(*) AS n FROM t GROUP BY p"),
        ("by_float", "SELECT n / 2 AS h, count(*) AS c FROM t GROUP BY h"),
    ];
    for (name, sql) in views {
        world.create(name, sql);
    }
    assert_eq!(world.accumulators("by_enum").len(), 1);
    assert!(world.accumulators("by_float").is_empty(), "0.0 and -0.0 are one group");
    for change in [
        "INSERT INTO t VALUES ('y', [NULL], {'x': 1, 'y': 'b'}, NULL, 4), ('y', [], NULL, NULL, 2)",
        "DELETE FROM t WHERE n = 3",
        "UPDATE t SET a = 'x', l = [1, 2] WHERE n = 2",
    ] {
        world.run(change);
        let report = world.sync();
        assert!(report.views.iter().all(|view| view.strategy != Some(Method::Recompute)), "{report:?}");
        for (name, sql) in views {
            world.assert_holds(name, sql);
            world.accumulators(name);
        }
    }
}

#[test]
fn the_plan_shows_what_is_kept() {
    let world = World::new(SALES);
    world.create(
        "v",
        "SELECT lower(region) AS r, sum(amount) FILTER (WHERE good) AS s, max(pieces) AS m FROM sales GROUP BY r",
    );
    world.run("DELETE FROM sales WHERE id = 3");
    let plan = explain(&world.lake, &ViewName::parse("v").unwrap(), Span::default()).unwrap();
    let [accumulator] = plan.accumulators.as_slice() else { panic!("{plan:?}") };
    assert!(accumulator.table.starts_with("ducklake_ivm.acc_"));
    assert_eq!(accumulator.groups, ["lower(region)"]);
    let measures: Vec<String> =
        accumulator.measures.iter().map(|it| format!("{} {}: {}", it.column, it.data_type, it.aggregate)).collect();
    assert_eq!(
        measures,
        [
            "row_count BIGINT: count(*)",
            "count_1 BIGINT: sum(amount) FILTER (WHERE good)",
            "sum_1 DECIMAL(38, 2): sum(amount) FILTER (WHERE good)",
            "max_2 INTEGER: max(pieces)"
        ]
    );
    let sql = plan.sql.unwrap();
    assert!(sql.contains("-- step folded_groups_"), "{sql}");
    assert!(sql.contains(accumulator.table.split_once('.').unwrap().1), "{sql}");
}

#[test]
fn a_dry_run_leaves_the_tables() {
    let world = World::new(SALES);
    world.create("v", BY_REGION);
    world.run("DELETE FROM sales WHERE id % 3 = 0");
    let before = world.current();
    world.sync_with(&SyncOptions { dry_run: true, ..SyncOptions::default() }).unwrap();
    world.sync_with(&SyncOptions { dry_run: true, full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(world.current(), before);
    synced(&world, "v");
}
