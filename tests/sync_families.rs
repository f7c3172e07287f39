//! One view per operator family, kept through the same history: whatever the strategy, each holds what its query returns.

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::sync::Method;
use ducklake_ivm::view::Strategy;
use world::{World, creation, view_of};

const TABLES: &str = "
CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR, x DECIMAL(10, 2), d DATE, l INTEGER[]);
CREATE TABLE u (k INTEGER, w VARCHAR, y DOUBLE);
INSERT INTO t SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 5 END, 'v' || i % 3, i / 3.0, DATE '2026-01-01' + i::INTEGER % 9, [i, i % 2] FROM range(40) r(i);
INSERT INTO u VALUES (0, 'zero', 0.5), (1, 'one', NULL), (1, 'uno', 2), (2, NULL, -1), (NULL, 'null', 3), (9, 'nine', 9);
";

const VIEWS: [(&str, &str); 22] = [
    ("filtered", "SELECT id, v, x + 1 AS x1 FROM t WHERE k > 1 OR v = 'v1'"),
    ("joined", "SELECT t.id, u.w, t.x * u.y AS xy FROM t JOIN u ON t.k = u.k AND t.x > u.y"),
    ("crossed", "SELECT t.v, u.w FROM t, u WHERE t.id < 6"),
    ("any_join", "SELECT t.id, u.w FROM t JOIN u ON t.k < u.k OR u.w = t.v"),
    ("unioned", "SELECT k, v FROM t UNION ALL SELECT k, w FROM u UNION ALL SELECT k, v FROM t WHERE id > 5"),
    ("unnested", "SELECT id, unnest(l) AS item FROM t WHERE v <> 'v0'"),
    (
        "with_cte",
        "WITH c AS (SELECT k, w FROM u WHERE y IS NOT NULL) SELECT a.w AS aw, b.w AS bw FROM c a JOIN c b USING (k)",
    ),
    ("lefted", "SELECT t.id, t.v, u.w FROM t LEFT JOIN u ON t.k = u.k"),
    ("fulled", "SELECT t.id, u.w FROM t FULL JOIN u ON t.k = u.k AND t.id % 2 = 0"),
    ("semi_rows", "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"),
    ("anti_rows", "SELECT id, k FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)"),
    ("scalar", "SELECT id, (SELECT max(y) FROM u WHERE u.k = t.k) AS m FROM t"),
    ("grouped", "SELECT k, count(*) AS n, sum(x) AS s, avg(id) AS a, max(d) AS latest FROM t GROUP BY k"),
    ("having_rows", "SELECT v, k, sum(id) AS s FROM t GROUP BY ALL HAVING count(*) > 1"),
    ("total", "SELECT count(*) AS n, sum(x) AS s FROM t WHERE k = 3"),
    ("grouped_join", "SELECT u.w, count(DISTINCT t.v) AS n, min(t.x) AS m FROM t JOIN u USING (k) GROUP BY u.w"),
    ("distinct_rows", "SELECT DISTINCT k, v FROM t"),
    ("sets", "SELECT k FROM t EXCEPT SELECT k FROM u WHERE y > 1"),
    (
        "windowed",
        "SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n, sum(x) OVER (PARTITION BY k) AS s FROM t",
    ),
    ("qualified", "SELECT id, k, x FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC, id) <= 2"),
    ("top", "SELECT id, x FROM t ORDER BY x DESC, id LIMIT 5"),
    ("rolled", "SELECT k, v, count(*) AS n FROM t GROUP BY ROLLUP (k, v)"),
];

const HISTORY: [&str; 9] = [
    "INSERT INTO t VALUES (100, 1, 'v1', 5, '2026-03-01', [7, 8]), (101, NULL, NULL, NULL, NULL, NULL), (102, 3, 'v9', 99, '2026-03-02', [])",
    "DELETE FROM t WHERE id % 4 = 1",
    "UPDATE u SET w = 'changed', y = y + 1 WHERE k = 1",
    "INSERT INTO u VALUES (3, 'three', 3), (3, 'drei', NULL), (NULL, NULL, NULL);\nUPDATE t SET k = 3 WHERE id IN (2, 3, 8)",
    "DELETE FROM u WHERE k = 1;\nINSERT INTO t SELECT id + 200, k, v, x, d, l FROM t WHERE id < 20",
    "DELETE FROM u",
    "INSERT INTO u VALUES (0, 'again', 1), (4, 'four', 4);\nDELETE FROM t WHERE k = 2;\nUPDATE t SET x = x * 2",
    "DELETE FROM t",
    "INSERT INTO t VALUES (1, 0, 'v0', 1, '2026-01-01', [1])",
];

#[test]
fn every_family_holds_through_its_history() {
    let world = World::new(TABLES);
    for (name, sql) in VIEWS {
        let created = world.try_create(name, sql).unwrap_or_else(|error| panic!("{name}: {error}"));
        let obstacle = created.view.class.obstacle;
        assert!(obstacle.is_none(), "{name}: {obstacle:?}");
        world.assert_holds(name, sql);
    }
    for change in HISTORY {
        world.run(change);
        let report = world.sync();
        for (name, sql) in VIEWS {
            let view = view_of(&report, name);
            assert!(
                matches!(view.strategy, Some(Method::Incremental | Method::Noop)),
                "{name} after {change}: {view:?}"
            );
            world.assert_holds(name, sql);
        }
    }
}

#[test]
fn a_strategy_never_changes_the_result() {
    let world = World::new(TABLES);
    for (name, sql) in VIEWS {
        for strategy in [Strategy::Incremental, Strategy::Recompute, Strategy::Full] {
            let mut creation = creation(&format!("{name}_{}", strategy.word()), sql);
            creation.strategy = strategy;
            ducklake_ivm::view::create(&world.lake, &creation).unwrap();
        }
    }
    for change in [HISTORY[1], HISTORY[3], HISTORY[6]] {
        world.run(change);
        let report = world.sync();
        for (name, sql) in VIEWS {
            for strategy in ["incremental", "recompute", "full"] {
                world.assert_holds(&format!("{name}_{strategy}"), sql);
                let method = view_of(&report, &format!("{name}_{strategy}")).strategy.unwrap().word();
                assert!(method == strategy || method == "noop", "{name}: {method} for {strategy}");
            }
        }
    }
}

#[test]
fn a_scalar_subquery_that_comes_to_find_two_rows_is_an_error_that_names_its_view() {
    let world = World::new(TABLES);
    world.run("DELETE FROM u WHERE k = 1 AND w = 'uno'");
    let sql = "SELECT id, (SELECT w FROM u WHERE u.k = t.k) AS w, (SELECT y FROM u WHERE w = 'nine') AS nine FROM t";
    world.create("named", sql);
    world.run("INSERT INTO u VALUES (1, 'uno', 2);\nUPDATE t SET x = x + 1 WHERE id = 1");
    let refused = |also: &str| {
        let report = world.sync_with(&ducklake_ivm::sync::SyncOptions::default()).unwrap();
        let error = view_of(&report, "named").error.unwrap();
        assert!(error.contains("main.named") && error.contains("More than one row"), "{also}: {error}");
    };
    refused("a correlated one");
    world.run("DELETE FROM u WHERE w = 'uno';\nINSERT INTO u VALUES (7, 'nine', 1)");
    refused("one for all rows");
    world.run("DELETE FROM u WHERE k = 7");
    world.sync();
    world.assert_holds("named", sql);
}

/// What the rows of the tables do not decide is recomputed when a table changed, and said to be.
#[test]
fn a_result_that_the_rows_do_not_decide_is_full_only() {
    let world = World::new(TABLES);
    let views = [
        ("paired", "SELECT t.id, u.w FROM t POSITIONAL JOIN u", "POSITIONAL JOIN: "),
        ("any_rows", "SELECT id FROM t LIMIT 3", "LIMIT: "),
    ];
    for (name, sql, operator) in views {
        let class = world.create(name, sql).view.class;
        assert!(class.full_only && !class.untracked, "{name}: {class:?}");
        let obstacle = class.obstacle.unwrap().to_string();
        assert!(obstacle.starts_with(operator) && obstacle.contains("full_only"), "{obstacle}");
        let mut incremental = creation("refused", sql);
        incremental.strategy = Strategy::Incremental;
        let error = ducklake_ivm::view::create(&world.lake, &incremental).unwrap_err().to_string();
        assert!(error.contains("main.refused") && error.contains(operator), "{error}");
    }
    assert!(world.sync().views.iter().all(|view| view.strategy == Some(Method::Noop)));
    world.run("INSERT INTO t (id) VALUES (500)");
    for view in world.sync().views {
        assert_eq!(view.strategy, Some(Method::Recompute), "{view:?}");
        assert!(view.reason.as_ref().unwrap().contains("full_only"), "{view:?}");
    }
    let name = ducklake_ivm::view::ViewName::new("main", "paired");
    let plan = ducklake_ivm::inspect::explain(&world.lake, &name, ducklake_ivm::inspect::Span::default()).unwrap();
    assert_eq!((plan.rule, plan.nodes[0].rule), (Some("full_only"), "full_only"), "{plan:?}");
    assert!(plan.reason.unwrap().contains("full_only"));
}
