//! What can be asked of views without changing anything.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::inspect::{Span, explain, status, verify, verify_sample};
use ducklake_ivm::lake::{Access, Lake, SnapshotId};
use ducklake_ivm::sync::{Method, SyncOptions};
use ducklake_ivm::view::ViewName;
use world::World;

const TABLES: &str = "
CREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(10, 2));
CREATE TABLE customer (id INTEGER, name VARCHAR, nation INTEGER);
CREATE TABLE nation (id INTEGER, name VARCHAR);
INSERT INTO nation VALUES (1, 'NL'), (2, 'DE');
INSERT INTO customer SELECT i, 'c' || i, 1 + i % 2 FROM range(10) r(i);
INSERT INTO orders SELECT i, i % 10, i FROM range(50) r(i);
";
const JOIN: &str = "SELECT o.id, c.name, n.name AS nation FROM orders o JOIN customer c ON o.customer = c.id \
                    JOIN nation n ON c.nation = n.id";

fn world() -> World {
    let world = World::new(TABLES);
    world.create("v", JOIN);
    world
}

fn name() -> ViewName {
    ViewName::parse("v").unwrap()
}

#[test]
fn a_plan_names_its_legs_windows_and_terms() {
    let world = world();
    let from = world.current();
    world.run("INSERT INTO orders VALUES (100, 1, 1);\nUPDATE nation SET name = 'XX' WHERE id = 1");
    let to = world.current();
    let plan = explain(&world.lake, &name(), Span::default()).unwrap();
    assert_eq!((plan.rule, plan.join, plan.reason), (Some("product"), Some("telescoping"), None));
    let legs: Vec<_> = plan.legs.iter().map(|leg| (leg.table.as_str(), leg.changed)).collect();
    assert_eq!(legs, [("main.orders", true), ("main.customer", false), ("main.nation", true)]);
    assert_eq!((plan.legs[0].from, plan.legs[0].to), (Some(SnapshotId(from - 1)), Some(SnapshotId(to))));
    let terms: Vec<_> = plan.terms.iter().map(|term| (term.delta[0].as_str(), term.skipped)).collect();
    assert_eq!(terms, [("main.orders", false), ("main.customer", true), ("main.nation", false)]);
    let reads: Vec<_> = plan.terms[0].reads.iter().map(|read| (read.table.as_str(), read.at.0)).collect();
    assert_eq!(reads, [("main.customer", to), ("main.nation", from - 1)]);
    let reads: Vec<_> = plan.terms[2].reads.iter().map(|read| (read.table.as_str(), read.at.0)).collect();
    assert_eq!(reads, [("main.orders", to), ("main.customer", to)]);
    let again = explain(&world.lake, &name(), Span::default()).unwrap();
    assert_eq!(plan.sql, again.sql);
    assert!(plan.sql.unwrap().contains("ivm_orders_delta"));
    assert_eq!(world.current(), to);
}

#[test]
fn a_plan_can_be_asked_for_any_window() {
    let world = world();
    let from = world.current();
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    world.sync();
    let span = Span { from: Some(SnapshotId(from)), to: Some(SnapshotId(from + 1)) };
    let plan = explain(&world.lake, &name(), span).unwrap();
    assert_eq!(plan.legs.iter().filter(|leg| leg.changed).count(), 1);
    let none = explain(&world.lake, &name(), Span::default()).unwrap();
    assert!(none.terms.iter().all(|term| term.skipped));
    let error = explain(&world.lake, &name(), Span { from: None, to: Some(SnapshotId(999)) }).unwrap_err();
    assert!(error.to_string().starts_with("snapshot 999 does not exist"), "{error}");
    let error = explain(&world.lake, &ViewName::parse("w").unwrap(), Span::default()).unwrap_err();
    assert_eq!(error.to_string(), "view main.w does not exist");
    assert_eq!(error.hint().unwrap(), "the views are main.v");
}

/// Catches: an error that makes other views behind, takes the place of the refresh before it, or hides what others write.
#[test]
fn an_error_that_is_kept_changes_nothing_else() {
    let world = World::new("CREATE TABLE t (n VARCHAR);\nINSERT INTO t VALUES ('1');\nCREATE TABLE u AS SELECT 1 AS a");
    world.create("parsed", "SELECT n::INTEGER AS n FROM t");
    world.create("above", "SELECT n + 1 AS m FROM parsed");
    world.create("other", "SELECT a FROM u");
    world.run("INSERT INTO t VALUES ('two')");
    let before = world.current();
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    assert_eq!(report.views.iter().filter(|view| view.error.is_some()).count(), 2, "{report:?}");
    assert_eq!(world.current(), before + 1);
    for found in status(&world.lake, &[]).unwrap() {
        assert_eq!(found.stale, found.view != "main.other", "{found:?}");
        assert_eq!(found.lag_snapshots, u64::from(found.stale), "{found:?}");
        assert_eq!(found.last_refresh.unwrap().strategy, "full");
        assert_eq!(found.last_error.is_some(), found.view == "main.parsed");
    }
    // A write of somebody else between the error and the next sync is still found.
    world.run("DELETE FROM t WHERE n = 'two';\nINSERT INTO parsed VALUES (99)");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    assert!(world::view_of(&report, "parsed").error.unwrap().contains("someone else wrote to its table"));
    let repair = SyncOptions { repair: true, ..SyncOptions::default() };
    world.sync_with(&repair).unwrap();
    let found = status(&world.lake, &[]).unwrap();
    assert!(found.iter().all(|view| view.last_error.is_none() && !view.stale), "{found:?}");
}

/// Catches: a table that every sync reads again although what changed in it is nothing for the view.
#[test]
fn a_long_window_without_anything_for_the_view_is_taken_in() {
    let world = World::new("CREATE TABLE t (a INTEGER, b INTEGER);\nINSERT INTO t SELECT i, 0 FROM range(20) r(i)");
    world.create("v", "SELECT a FROM t");
    world.create("w", "SELECT a + 1 AS b FROM v");
    let stands = || status(&world.lake, &[]).unwrap()[0].snapshot.unwrap().0;
    let created = stands();
    world.run("UPDATE t SET b = 1 WHERE a < 3");
    let before = world.current();
    assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
    assert_eq!((world.current(), stands()), (before, created), "no snapshot for a short window");
    for i in 0..100 {
        world.run(&format!("UPDATE t SET b = {i} WHERE a = 4"));
    }
    let before = world.current();
    let report = world.sync_view("v");
    assert_eq!((report.strategy, report.rows_inserted), (Some(Method::Noop), 0), "{report:?}");
    assert_eq!((world.current(), stands()), (before + 1, before));
    world.sync();
    assert_eq!(world.current(), before + 1);
    // A single commit that rewrites much is not read twice either.
    world.run("INSERT INTO t SELECT i, 0 FROM range(100, 200000) r(i)");
    world.sync();
    world.run("UPDATE t SET b = 2");
    let before = world.current();
    assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
    assert_eq!((world.current(), stands()), (before + 1, before));
    world.sync();
    assert_eq!(world.current(), before + 1);
    world.run("INSERT INTO t VALUES (-1, 0)");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", "SELECT a FROM t");
    world.assert_holds("w", "SELECT a + 1 AS b FROM t");
}

#[test]
fn a_status_tells_how_far_behind_a_view_is() {
    let world = world();
    let found = status(&world.lake, &[]).unwrap();
    assert_eq!((found[0].stale, found[0].lag_snapshots, found[0].rows), (false, 0, Some(50)));
    assert_eq!(found[0].last_refresh.as_ref().unwrap().strategy, "full");
    world.run("CREATE TABLE other (x INTEGER);\nINSERT INTO other VALUES (1);\nDELETE FROM orders WHERE id = 1");
    let found = status(&world.lake, &[name()]).unwrap();
    assert!(found[0].stale && found[0].lag_snapshots > 0, "{found:?}");
    world.sync();
    let found = status(&world.lake, &[]).unwrap();
    assert_eq!((found[0].stale, found[0].rows), (false, Some(49)));
    let last = found[0].last_refresh.clone().unwrap();
    assert_eq!((last.strategy.as_str(), last.rows_deleted), ("incremental", 1));
    world.run("DROP TABLE nation");
    let found = status(&world.lake, &[]).unwrap();
    assert!(found[0].error.as_ref().unwrap().contains("its source main.nation was dropped"), "{found:?}");
}

#[test]
fn questions_need_no_right_to_write() {
    let mut world = world();
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    world.close();
    let mut options = world.others();
    options.access = Access::ReadOnly;
    let lake = Lake::open(&options).unwrap();
    assert_eq!(explain(&lake, &name(), Span::default()).unwrap().terms.len(), 3);
    assert!(status(&lake, &[]).unwrap()[0].stale);
    assert!(verify(&lake, &[], 5).unwrap()[0].holds());
    let dry = SyncOptions { dry_run: true, ..SyncOptions::default() };
    let report = ducklake_ivm::sync::sync(&lake, &dry, &|_: &ducklake_ivm::sync::Event<'_>| {}).unwrap();
    assert_eq!(report.views[0].rows_inserted, 1);
}

#[test]
fn a_lake_without_views_has_nothing_to_tell() {
    let world = World::new("CREATE TABLE t (a INTEGER)");
    assert!(status(&world.lake, &[]).unwrap().is_empty());
    assert!(verify(&world.lake, &[], 5).unwrap().is_empty());
    assert!(world.sync().views.is_empty());
    let error = explain(&world.lake, &name(), Span::default()).unwrap_err();
    assert_eq!(error.hint().unwrap(), "the lake has no views yet: create one");
}

#[test]
fn the_report_has_the_documented_shape() {
    let world = world();
    let from = world.current() - 1;
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    let to = world.current();
    let report = serde_json::to_value(world.sync()).unwrap();
    let view = &report["views"][0];
    assert_eq!(report["snapshot"], to);
    assert_eq!(view["view"], "main.v");
    assert_eq!(view["strategy"], "incremental");
    assert_eq!(view["reason"], serde_json::Value::Null);
    assert_eq!(
        view["sources"][0],
        serde_json::json!({"table": "main.orders", "from": from, "to": to, "changed": true})
    );
    assert_eq!(view["terms"], serde_json::json!({"total": 3, "run": 1, "skipped": 2}));
    assert_eq!((&view["rows_inserted"], &view["rows_deleted"]), (&1.into(), &0.into()));
    let keys: Vec<_> = view.as_object().unwrap().keys().take(9).map(String::as_str).collect();
    assert_eq!(
        keys,
        ["view", "strategy", "reason", "sources", "terms", "rows_inserted", "rows_deleted", "elapsed_ms", "error"]
    );
}

#[test]
fn sums_of_floats_are_compared_to_twelve_digits() {
    let world =
        World::new("CREATE TABLE t (k INTEGER, x DOUBLE);\nINSERT INTO t SELECT i % 3, i / 7.0 FROM range(9999) r(i)");
    world.create("v", "SELECT k, sum(x) AS s FROM t GROUP BY k");
    world.run("UPDATE v SET s = s * (1 + 1e-15) WHERE k = 1");
    assert!(verify(&world.lake, &[], 5).unwrap()[0].holds());
    world.run("UPDATE v SET s = s * (1 + 1e-9) WHERE k = 1");
    let found = verify(&world.lake, &[], 5).unwrap();
    assert_eq!((found[0].missing, found[0].unexpected), (1, 1));
}

/// Catches: NaN and infinity, which DuckDB calls as near to any number as to themselves, taken for any number; two rows
/// forgiven for one.
#[test]
fn no_other_difference_of_floats_is_forgiven() {
    let world = World::new(
        "CREATE TABLE t (k INTEGER, x DOUBLE, l DOUBLE[]);
         INSERT INTO t VALUES (1, 1, [1, NULL]), (2, 'nan', []), (3, 'inf', NULL), (4, 0, [0])",
    );
    world.create("v", "SELECT * FROM t");
    let differing = |statement: &str| {
        world.run("DELETE FROM v; INSERT INTO v SELECT * FROM t");
        world.run(statement);
        let found = verify(&world.lake, &[], 5).unwrap();
        assert!(found[0].compared, "{found:?}");
        (found[0].missing, found[0].unexpected)
    };
    assert_eq!(differing("UPDATE v SET x = x * (1 + 1e-15), l = [v.x * (1 + 1e-15), NULL] WHERE k = 1"), (0, 0));
    assert_eq!(differing("UPDATE v SET x = 'nan' WHERE k = 1"), (1, 1));
    assert_eq!(differing("UPDATE v SET x = 'inf' WHERE k = 4"), (1, 1));
    assert_eq!(differing("UPDATE v SET x = 5 WHERE k IN (2, 3)"), (2, 2));
    assert_eq!(differing("UPDATE v SET l = [1.001, NULL] WHERE k = 1"), (1, 1));
    assert_eq!(differing("INSERT INTO v VALUES (1, 1 + 1e-15, [1, NULL])"), (0, 1));
    assert_eq!(
        differing("UPDATE v SET x = 1 + 1e-15 WHERE k = 1; INSERT INTO v VALUES (1, 1 + 2e-15, [1, NULL])"),
        (1, 2)
    );
}

#[test]
fn a_difference_that_a_tie_can_make_is_told_as_one() {
    let world = World::new("CREATE TABLE t (k INTEGER, v VARCHAR);\nINSERT INTO t VALUES (1, 'a'), (1, 'b')");
    world.create("v", "SELECT k, mode(v) AS m FROM t GROUP BY k");
    world.create("w", "SELECT k, max(v) AS m FROM t GROUP BY k");
    world.run("UPDATE v SET m = CASE m WHEN 'a' THEN 'b' ELSE 'a' END;\nUPDATE w SET m = 'a'");
    let found = verify(&world.lake, &[], 5).unwrap();
    assert!(found.iter().all(|found| found.compared && !found.holds()), "{found:?}");
    let tie = "view main.v may hold another right answer of its query: rows may tie in GROUP BY";
    assert_eq!(found.iter().map(|found| found.note.as_deref()).collect::<Vec<_>>(), [Some(tie), None]);
}

#[test]
fn a_sample_is_the_same_on_both_sides() {
    let world =
        World::new("CREATE TABLE t (k INTEGER, x DOUBLE);\nINSERT INTO t SELECT i, i / 7 FROM range(20000) r(i)");
    world.create("v", "SELECT k, x FROM t");
    let found = verify_sample(&world.lake, &[], 5, Some(5.0)).unwrap().remove(0);
    assert!(found.holds() && (700..1300).contains(&found.rows), "{found:?}");
    world.run("DELETE FROM v WHERE k % 4 = 0");
    let found = verify_sample(&world.lake, &[], 5, Some(5.0)).unwrap().remove(0);
    assert!((100..400).contains(&found.missing) && found.unexpected == 0, "{found:?}");
    assert_eq!((found.sample, found.differences.len()), (Some(5.0), 5));
}

/// Catches: a view over a view that is said to be up to date while the one below it is not.
#[test]
fn a_view_is_as_far_behind_as_the_views_that_it_reads() {
    let world = World::new("CREATE TABLE t (k INTEGER); INSERT INTO t VALUES (1), (2)");
    world.create("below", "SELECT k FROM t WHERE k > 1");
    world.create("above", "SELECT count(*) AS n FROM below");
    let stale = || status(&world.lake, &[]).unwrap().into_iter().map(|status| status.stale).collect::<Vec<_>>();
    assert_eq!(stale(), [false, false]);
    world.run("INSERT INTO t VALUES (3)");
    assert_eq!(stale(), [true, true]);
    world.sync();
    assert_eq!(stale(), [false, false]);
}

/// Catches: a view that is said to be behind for ever, because a sync that finds nothing for it writes nothing.
#[test]
fn a_change_of_columns_that_a_view_does_not_read_is_none() {
    let world = world();
    world.create("above", "SELECT count(*) AS n FROM v");
    world.run("UPDATE orders SET amount = amount + 1;\nUPDATE customer SET id = id WHERE id = 1");
    world.run("ALTER TABLE nation ADD COLUMN note VARCHAR");
    let report = world.sync();
    assert!(report.views.iter().all(|view| view.strategy == Some(Method::Noop)), "{report:?}");
    for view in status(&world.lake, &[]).unwrap() {
        assert_eq!((view.stale, view.lag_snapshots, view.lag_ms), (false, 0, 0), "{view:?}");
    }
    // The lag counts from the first change that is one for the view.
    world.run("UPDATE orders SET customer = 3 WHERE id = 1;\nCREATE TABLE other (x INTEGER)");
    for view in status(&world.lake, &[]).unwrap() {
        assert_eq!((view.stale, view.lag_snapshots), (true, 2), "{view:?}");
    }
    world.sync();
    assert!(status(&world.lake, &[]).unwrap().iter().all(|view| !view.stale));
}

/// Catches: our own commits counted as ones that a view has not taken in.
#[test]
fn refreshes_of_other_views_are_no_lag() {
    let world = world();
    world.create("other", "SELECT id FROM orders");
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    let only = SyncOptions { views: vec![ViewName::parse("other").unwrap()], ..SyncOptions::default() };
    world.sync_with(&only).unwrap();
    let found = status(&world.lake, &[name()]).unwrap();
    assert_eq!((found[0].stale, found[0].lag_snapshots), (true, 1));
}

/// Catches: `plan` of a view over a view that says that nothing is to be done although the one below it is behind.
#[test]
fn a_plan_follows_the_views_below() {
    let world = world();
    world.create("above", "SELECT count(*) AS n FROM v");
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    let above = ViewName::parse("above").unwrap();
    let plan = explain(&world.lake, &above, Span::default()).unwrap();
    assert_eq!(plan.next, Method::Follows, "{plan:?}");
    assert!(plan.next_reason.unwrap().starts_with("it reads main.v, which would change first"));
    world.sync();
    assert_eq!(explain(&world.lake, &above, Span::default()).unwrap().next, Method::Noop);
}

#[test]
fn a_plan_without_changes_shows_the_sql_as_it_would_be() {
    let world = world();
    let sql = explain(&world.lake, &name(), Span::default()).unwrap().sql.unwrap();
    assert!(sql.starts_with("-- No table changed") && sql.matches("-- term ").count() == 3, "{sql}");
}

/// Catches: two runs of a volatile query compared as if they had to be equal.
#[test]
fn what_is_volatile_is_not_compared() {
    let world = world();
    world.create("rolled", "SELECT id, random() AS r FROM orders");
    let found = verify(&world.lake, &[ViewName::parse("rolled").unwrap()], 5).unwrap().remove(0);
    assert!(!found.compared && found.error.is_none(), "{found:?}");
    assert!(found.note.unwrap().starts_with("view main.rolled cannot be compared with its query: random()"));
}

/// Catches: the snapshot of a view's creation, and a hint about `sync --to`, in a verification that was not possible.
#[test]
fn what_cannot_be_compared_says_why() {
    let world = world();
    world.run("INSERT INTO orders VALUES (100, 1, 1)");
    let stands_for = world.sync().snapshot;
    world.run("DELETE FROM orders WHERE id = 2;\nDELETE FROM orders WHERE id = 3");
    world.run(
        "CALL ducklake_expire_snapshots('lake', versions => [STANDS])"
            .replace("STANDS", &stands_for.to_string())
            .as_str(),
    );
    let found = verify(&world.lake, &[], 5).unwrap().remove(0);
    assert_eq!((found.compared, found.snapshot), (false, Some(stands_for)), "{found:?}");
    assert!(found.error.unwrap().contains("has expired, and main.orders has changed since"));
    assert!(found.hint.unwrap().starts_with("sync it first"));
    world.sync();
    assert!(verify(&world.lake, &[], 5).unwrap()[0].holds());
}

/// Catches: a question about all views that one unreadable file leaves without an answer.
#[test]
fn a_status_goes_on_where_a_file_is_missing() {
    let world = World::new("CREATE TABLE t (a INTEGER, b INTEGER);\nCREATE TABLE u (a INTEGER)");
    world.run("CALL lake.set_option('data_inlining_row_limit', 0)");
    world.create("v", "SELECT a FROM t");
    world.create("w", "SELECT a FROM u");
    world.run("INSERT INTO t SELECT i, i FROM range(10) r(i);\nINSERT INTO u VALUES (1)");
    world.sync();
    world.run("BEGIN;\nDELETE FROM t WHERE a = 1;\nINSERT INTO t VALUES (11, 11);\nCOMMIT;\nINSERT INTO u VALUES (2)");
    for file in world.rows("SELECT data_file FROM ducklake_list_files('lake', 't')") {
        std::fs::remove_file(file).unwrap();
    }
    let found = status(&world.lake, &[]).unwrap();
    let error = found[0].error.as_ref().unwrap();
    assert!(error.contains("main.v") && error.contains("of main.t is missing"), "{error}");
    assert_eq!((found[0].stale, found[1].stale, found[1].condition), (true, true, "ok"));
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let errors: Vec<_> = report.views.iter().map(|view| view.error.is_some()).collect();
    assert_eq!(errors, [true, false], "{report:?}");
}

/// Catches: the old name of a table in a plan, which by now is that of another one.
#[test]
fn a_plan_names_tables_as_they_are_called_now() {
    let world = world();
    let from = world.current();
    world.run(
        "INSERT INTO orders VALUES (100, 1, 1);\nALTER TABLE orders RENAME TO kept;\nCREATE TABLE orders (id INTEGER)",
    );
    let plan = explain(&world.lake, &name(), Span::default()).unwrap();
    let leg = |plan: &ducklake_ivm::inspect::Explanation| (plan.legs[0].table.clone(), plan.legs[0].note.clone());
    assert_eq!(leg(&plan), ("main.kept".to_owned(), Some("renamed from main.orders".to_owned())));
    assert_eq!((plan.next, plan.terms[0].delta.as_slice()), (Method::Incremental, ["main.kept".to_owned()].as_slice()));
    assert!(plan.nodes.iter().any(|node| node.operator == "main.kept"), "{:?}", plan.nodes);
    assert!(!format!("{:?}{:?}", plan.nodes, plan.terms).contains("main.orders"), "{plan:?}");
    world.run("UPDATE nation SET name = 'XX' WHERE id = 1");
    let plan = explain(&world.lake, &name(), Span { from: Some(SnapshotId(from)), to: None }).unwrap();
    let reads: Vec<String> =
        plan.terms.iter().flat_map(|term| &term.reads).map(|read| format!("{}@{}", read.table, read.at.0)).collect();
    assert!(reads.contains(&format!("main.kept@{}", world.current())), "{reads:?}");
    // In place of a table that is gone, another one of its name is read, and all of it.
    world.run("DROP TABLE orders;\nDROP TABLE kept;\nCREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(10, 2))");
    let plan = explain(&world.lake, &name(), Span::default()).unwrap();
    assert_eq!(leg(&plan), ("main.orders".to_owned(), Some(format!("replaced at {}", world.current()))));
    assert_eq!((plan.next, plan.terms.len()), (Method::Recompute, 0));
    assert!(plan.nodes.iter().all(|node| node.change.is_none()), "{:?}", plan.nodes);
    assert!(plan.sql.unwrap().starts_with("SELECT o.id"));
}
