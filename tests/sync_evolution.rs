//! Sources that change their names, their columns, their identity or their past between two syncs.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::inspect::{Span, explain, status, verify};
use ducklake_ivm::lake::SnapshotId;
use ducklake_ivm::sync::{Method, SyncOptions};
use ducklake_ivm::view::{ViewName, create};
use world::{World, creation, view_of};

const TABLES: &str = "
CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR);
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO t SELECT i, i % 4, 'v' || i FROM range(40) r(i);
INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, NULL);
";
const JOIN: &str = "SELECT t.id, t.v, u.w FROM t JOIN u ON t.k = u.k";

fn world() -> World {
    let world = World::new(TABLES);
    world.create("v", JOIN);
    world
}

fn assert_verified(world: &World) {
    for verification in verify(&world.lake, &[], 10).unwrap() {
        assert!(verification.holds(), "{verification:?}");
    }
}

#[test]
fn a_renamed_source_is_followed_by_its_id() {
    let world = world();
    world.run("DELETE FROM t WHERE id = 1;\nALTER TABLE t RENAME TO tt;\nINSERT INTO tt VALUES (100, 2, 'new')");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    let now = "SELECT t.id, t.v, u.w FROM tt t JOIN u ON t.k = u.k";
    world.assert_holds("v", now);
    // Another table takes the name; the view goes on with the one it knows.
    world.run("CREATE TABLE t AS SELECT 1 AS id, 1 AS k, 'x' AS v;\nDELETE FROM tt WHERE id < 5");
    world.sync();
    world.assert_holds("v", now);
    let report = world.sync_with(&SyncOptions { full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&report, "v").error, None);
    world.assert_holds("v", now);
    assert_verified(&world);
}

#[test]
fn another_table_of_the_old_name_is_never_taken_for_the_source() {
    let world = world();
    world.run("ALTER TABLE t RENAME TO away;\nCREATE TABLE t AS SELECT 7 AS id, 1 AS k, 'other' AS v");
    // A promoted column makes the view bind its text anew, which knows only names.
    world.run("ALTER TABLE u ALTER COLUMN k SET DATA TYPE BIGINT;\nDELETE FROM away WHERE id < 5");
    let report = world.sync_view("v");
    assert_eq!(report.reason.unwrap(), "column k of main.u changed its type from INTEGER to BIGINT");
    let joined = |sql: &str| world.assert_holds("v", sql);
    joined("SELECT away.id, away.v, u.w FROM away JOIN u ON away.k = u.k");
    world.run("DROP TABLE t;\nALTER TABLE away RENAME TO t");
    assert_eq!(world.sync_view("v").error, None);
    joined(JOIN);
    // The same with columns that swap their names.
    world.run("ALTER TABLE t RENAME COLUMN id TO other;\nALTER TABLE t ADD COLUMN id INTEGER");
    world.run("ALTER TABLE t ALTER COLUMN k SET DATA TYPE BIGINT;\nINSERT INTO t VALUES (700, 1, 'new', NULL)");
    assert_eq!(world.sync_view("v").error, None);
    joined("SELECT t.other AS id, t.v, u.w FROM t JOIN u ON t.k = u.k");
    assert_verified(&world);
}

/// Catches: tables that have exchanged their names and are taken for each other when a view is bound anew.
#[test]
fn tables_that_exchange_their_names_are_told_apart() {
    let world = World::new(
        "CREATE TABLE a (k INTEGER, n INTEGER);\nINSERT INTO a VALUES (1, 10), (2, 20);\n\
         CREATE TABLE b (k INTEGER, n INTEGER);\nINSERT INTO b VALUES (1, 100), (3, 300)",
    );
    world.create("named", "SELECT x.k, x.n AS one, y.n AS two FROM lake.main.a x LEFT JOIN lake.main.b y ON x.k = y.k");
    world.create("bare", "SELECT a.k, a.n AS one, b.n AS two FROM a LEFT JOIN b ON a.k = b.k");
    world.run("ALTER TABLE a RENAME TO c;\nALTER TABLE b RENAME TO a;\nALTER TABLE c RENAME TO b");
    world.run("ALTER TABLE a ALTER COLUMN n SET DATA TYPE BIGINT;\nALTER TABLE b ALTER COLUMN n SET DATA TYPE BIGINT");
    world.run("INSERT INTO a VALUES (2, 5000000000)");
    world.sync();
    let meant = "SELECT b.k, b.n AS one, a.n AS two FROM b LEFT JOIN a ON a.k = b.k";
    world.assert_holds("named", meant);
    world.assert_holds("bare", meant);
    assert_verified(&world);
}

#[test]
fn a_renamed_column_is_followed_by_its_id() {
    let world = world();
    world.run("ALTER TABLE u RENAME COLUMN w TO word;\nUPDATE u SET word = 'uno' WHERE k = 1");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    world.assert_holds("v", "SELECT t.id, t.v, u.word AS w FROM t JOIN u ON t.k = u.k");
    assert_verified(&world);
}

#[test]
fn a_star_keeps_the_columns_of_its_creation() {
    let world = World::new(TABLES);
    world.create("all_t", "SELECT * FROM t");
    world.run("ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 7;\nINSERT INTO t VALUES (100, 1, 'new', 8)");
    let report = world.sync_view("all_t");
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    world.assert_holds("all_t", "SELECT id, k, v FROM t");
    let report = world.sync_with(&SyncOptions { full: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&report, "all_t").error, None);
    world.assert_holds("all_t", "SELECT id, k, v FROM t");
    assert_verified(&world);
}

#[test]
fn an_unused_column_may_come_and_go() {
    let world = world();
    world.run("ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 7");
    let before = world.current();
    assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
    assert_eq!(world.current(), before);
    world.run("UPDATE t SET extra = 8 WHERE id < 5;\nALTER TABLE t DROP COLUMN extra;\nDELETE FROM t WHERE id = 3");
    let report = world.sync_view("v");
    assert_eq!((report.rows_inserted, report.rows_deleted), (0, 1), "{report:?}");
    world.assert_holds("v", JOIN);
}

#[test]
fn a_used_column_that_is_gone_breaks_the_view_and_no_other() {
    let world = world();
    world.create("other", "SELECT id FROM t");
    world.run("ALTER TABLE u DROP COLUMN w");
    let dropped = world.current();
    world.run("DELETE FROM t WHERE id = 3");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "v").error.unwrap();
    assert_eq!(
        error,
        format!("view main.v is broken: column \"w\" of its source main.u was dropped at snapshot {dropped}")
    );
    assert_eq!(view_of(&report, "other").rows_deleted, 1);
    // A new column of the old name is another column.
    world.run("ALTER TABLE u ADD COLUMN w VARCHAR");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    assert!(view_of(&report, "v").error.unwrap().contains("was dropped"));
    let mut again = creation("v", JOIN);
    again.or_replace = true;
    create(&world.lake, &again).unwrap();
    world.assert_holds("v", JOIN);
}

#[test]
fn a_dropped_source_breaks_the_view() {
    let world = world();
    world.create("above", "SELECT * FROM v");
    world.run("DROP TABLE u");
    let dropped = world.current();
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "v").error.unwrap();
    assert_eq!(error, format!("view main.v is broken: its source main.u was dropped at snapshot {dropped}"));
    let error = view_of(&report, "above").error.unwrap();
    assert_eq!(error, "view main.above was not refreshed because main.v, which it reads, was not");
    assert_eq!(world.integer("SELECT count(*) FROM v"), 40);
}

#[test]
fn a_replaced_source_is_taken_in_as_a_whole() {
    let world = world();
    world.run("CREATE OR REPLACE TABLE u AS SELECT * FROM (VALUES (1, 'eins'), (2, 'zwei')) r(k, w)");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Recompute), "{report:?}");
    assert_eq!(report.reason.unwrap(), "main.u was dropped and created again");
    world.assert_holds("v", JOIN);
    world.run("INSERT INTO u VALUES (3, 'drei')");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", JOIN);
}

#[test]
fn a_promoted_column_widens_the_view() {
    let world = world();
    world.run("ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT;\nINSERT INTO t VALUES (5000000000, 1, 'large')");
    let reason = "column id of main.t changed its type from INTEGER to BIGINT".to_owned();
    let plan = explain(&world.lake, &ViewName::parse("v").unwrap(), Span::default()).unwrap();
    assert_eq!((plan.next, plan.next_reason.as_ref()), (Method::Recompute, Some(&reason)));
    assert_eq!((plan.terms.len(), plan.sql.as_deref()), (0, Some(JOIN)), "what is shown is what is run");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Full), "{report:?}");
    assert_eq!(report.reason, Some(reason));
    world.assert_holds("v", JOIN);
    world.run("INSERT INTO t VALUES (6000000000, 2, 'larger');\nDELETE FROM t WHERE id < 3");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Incremental), "{report:?}");
    world.assert_holds("v", JOIN);
    assert_verified(&world);
}

#[test]
fn an_expired_watermark_means_a_recompute() {
    let world = world();
    world.run("INSERT INTO t VALUES (100, 1, 'x');\nDELETE FROM u WHERE k = 2;\nINSERT INTO t VALUES (101, 1, 'y')");
    let newest = world.current();
    world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", list(1..newest)));
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Recompute), "{report:?}");
    assert!(report.reason.unwrap().contains("can no longer be read"));
    assert_eq!(report.rows_inserted, 2);
    world.assert_holds("v", JOIN);
}

/// Catches: a plan from changes where the sync recomputes, because nobody can tell what became of the accumulator tables.
#[test]
fn an_expired_refresh_is_foreseen() {
    let world = World::new(TABLES);
    world.create("sums", "SELECT k, sum(id) AS s FROM t GROUP BY k");
    let landed = world.current();
    world.run("INSERT INTO t VALUES (100, 1, 'x');\nINSERT INTO u VALUES (9, 'nine')");
    world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{landed}, {}])", landed + 1));
    let reason = format!("snapshot {landed} expired, by which its accumulator tables are checked");
    let plan = explain(&world.lake, &ViewName::parse("sums").unwrap(), Span::default()).unwrap();
    assert_eq!((plan.next, plan.next_reason.as_ref()), (Method::Recompute, Some(&reason)));
    assert_eq!(status(&world.lake, &[]).unwrap()[0].notes, [format!("{reason}: the next sync recomputes it")]);
    let report = world.sync_view("sums");
    assert_eq!((report.strategy, report.reason), (Some(Method::Recompute), Some(reason)));
    assert_verified(&world);
}

#[test]
fn an_unchanged_source_is_known_by_its_files_when_its_watermark_is_gone() {
    for inlining in [0, 10] {
        let world = World::new(&format!("CALL lake.set_option('data_inlining_row_limit', {inlining});\n{TABLES}"));
        world.create("v", JOIN);
        world.run("CREATE TABLE other (x INTEGER);\nINSERT INTO other VALUES (1);\nINSERT INTO other VALUES (2)");
        expire_all_but_newest(&world);
        let before = world.current();
        let report = world.sync_view("v");
        assert_eq!(report.strategy, Some(Method::Noop), "{report:?}");
        assert_eq!(world.current(), before);
        assert_verified(&world);
        // Rows that went leave no trace in the files, but there are fewer of them.
        world.run("DELETE FROM t WHERE id >= 0;\nINSERT INTO other VALUES (3)");
        expire_all_but_newest(&world);
        let report = world.sync_view("v");
        assert!(report.reason.is_some_and(|reason| reason.contains("can no longer be read")));
        assert_eq!(report.rows_deleted, 40);
        world.assert_holds("v", JOIN);
        // As many come as go.
        world.run("INSERT INTO t VALUES (1, 1, 'one')");
        world.sync();
        world.run("DELETE FROM t;\nINSERT INTO t VALUES (2, 1, 'two');\nINSERT INTO other VALUES (4)");
        expire_all_but_newest(&world);
        assert_eq!(world.sync_view("v").rows_inserted, 1);
        world.assert_holds("v", JOIN);
    }
}

#[test]
fn a_delete_is_not_lost_with_the_snapshots_that_show_it() {
    let world = World::new("CREATE TABLE t (a INTEGER)");
    world.run("CALL lake.set_option('data_inlining_row_limit', 0);\nINSERT INTO t VALUES (1), (2)");
    world.create("w", "SELECT a FROM t");
    world.run("DELETE FROM t;\nCREATE TABLE other (x INTEGER)");
    let newest = world.current();
    world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", list(1..newest)));
    let report = world.sync_view("w");
    assert_eq!(report.strategy, Some(Method::Recompute));
    world.assert_holds("w", "SELECT a FROM t");
}

#[test]
fn an_at_clause_that_names_the_newest_snapshot_is_refused() {
    let world = World::new("CREATE TABLE t (a INTEGER);\nINSERT INTO t VALUES (1)");
    let sql = format!("SELECT a FROM t AT (VERSION => {})", world.current());
    assert!(world.try_create("w", &sql).unwrap_err().to_string().contains("names the newest snapshot"));
    world.run("INSERT INTO t VALUES (2)");
    world.create("w", &sql);
    world.run("DELETE FROM t");
    world.sync();
    world.assert_holds("w", "SELECT 1");
}

#[test]
fn maintenance_alone_is_a_noop() {
    let world = World::new(TABLES);
    world.run("CALL lake.set_option('data_inlining_row_limit', 0)");
    world.create("v", JOIN);
    for batch in 0..4 {
        world.run(&format!("INSERT INTO t SELECT 100 * {batch} + i, i % 4, 'b' FROM range(20) r(i)"));
    }
    world.run("DELETE FROM t WHERE id % 2 = 0");
    world.sync();
    world.assert_holds("v", JOIN);
    for call in [
        "CALL ducklake_merge_adjacent_files('lake')",
        // A prepared call plans in a transaction of its own, so this one needs a transaction around both.
        "BEGIN;\nCALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);\nCOMMIT",
        "CALL ducklake_flush_inlined_data('lake')",
        "CHECKPOINT lake",
    ] {
        world.run(call);
        let before = world.current();
        assert_eq!(world.sync_view("v").strategy, Some(Method::Noop), "{call}");
        assert_eq!(world.current(), before);
        world.assert_holds("v", JOIN);
    }
}

#[test]
fn somebody_elses_writes_are_noticed_and_repaired() {
    let world = world();
    world.run("DELETE FROM v WHERE id = 3");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let report = view_of(&report, "v");
    let error = report.error.unwrap();
    assert!(error.ends_with("(0 rows inserted, 1 deleted)"), "{error}");
    let first = format!("diff {}^! main.v --rows shows what came first", world.current() - 1);
    assert_eq!(report.hint.unwrap(), format!("rebuild it with sync --repair; {first}"));
    let options = SyncOptions { repair: true, views: vec![ViewName::parse("v").unwrap()], ..SyncOptions::default() };
    assert_eq!(view_of(&world.sync_with(&options).unwrap(), "v").strategy, Some(Method::Full));
    world.assert_holds("v", JOIN);
    assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
    world.run("DROP TABLE v");
    let report = world.sync_with(&SyncOptions::default()).unwrap();
    let error = view_of(&report, "v").error.unwrap();
    assert_eq!(error, "view main.v is broken: its table was dropped by someone else");
    assert_eq!(view_of(&world.sync_with(&options).unwrap(), "v").error, None);
    world.assert_holds("v", JOIN);
    world.run("INSERT INTO t VALUES (300, 1, 'x')");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", JOIN);
}

#[test]
fn verification_finds_each_differing_row() {
    let world = world();
    world.run("DELETE FROM v WHERE id = 3;\nINSERT INTO v VALUES (1, 'v1', 'one'), (1, 'v1', 'one')");
    let found = verify(&world.lake, &[], 10).unwrap();
    assert_eq!((found[0].missing, found[0].unexpected), (1, 2));
    let differences: Vec<_> = found[0].differences.iter().map(|row| (row.missing, row.row.clone())).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(differences, [(-2, vec![text("1"), text("v1"), text("one")]), (1, vec![text("3"), text("v3"), None])]);
}

#[test]
fn our_tables_are_left_alone_by_maintenance() {
    let world = world();
    let set = world.rows(
        "SELECT count(*) || ' ' || scope, key, value FROM __ducklake_metadata_lake.ducklake_metadata \
         WHERE scope IS NOT NULL GROUP BY scope, key, value",
    );
    assert_eq!(
        set,
        ["1 schema|auto_compact|false", "1 table|auto_compact|false", "3 table|data_inlining_row_limit|1000"]
    );
}

#[test]
fn bookkeeping_leaves_no_small_files() {
    let world = World::new(TABLES);
    world.run("CALL lake.set_option('data_inlining_row_limit', 0)");
    world.create("v", JOIN);
    let files = "SELECT count(*) FROM __ducklake_metadata_lake.ducklake_data_file f \
                 JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id) \
                 JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id) \
                 WHERE s.schema_name = 'ducklake_ivm' AND f.end_snapshot IS NULL";
    world.create("second", JOIN);
    world.sync();
    let before = world.integer(files);
    for id in 100..105 {
        world.run(&format!("INSERT INTO t VALUES ({id}, 1, 'x')"));
        assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    }
    assert!(world.integer(files) <= before);
    world.assert_holds("v", JOIN);
}

#[test]
fn a_source_of_narrower_types_is_taken_in() {
    let world = World::new("CREATE TABLE t (id BIGINT, v VARCHAR);\nINSERT INTO t VALUES (1, 'a'), (2, 'b')");
    world.create("v", "SELECT id, v FROM t");
    world.create("above", "SELECT max(id) AS newest FROM v");
    world.run("CREATE OR REPLACE TABLE t AS SELECT i::SMALLINT AS id, 'x' AS v FROM range(5) r(i)");
    let report = world.sync_view("v");
    assert_eq!(report.strategy, Some(Method::Full), "{report:?}");
    world.assert_holds("v", "SELECT id, v FROM t");
    world.assert_holds("above", "SELECT max(id) AS newest FROM v");
    world.run("INSERT INTO t VALUES (7, 'y');\nDELETE FROM t WHERE id = 2");
    assert_eq!(world.sync_view("v").strategy, Some(Method::Incremental));
    world.assert_holds("v", "SELECT id, v FROM t");
    world.assert_holds("above", "SELECT max(id) AS newest FROM v");
    assert_verified(&world);
}

#[test]
fn a_target_before_the_birth_of_a_source_breaks_nothing() {
    let world = world();
    let born = world.current();
    world.run("CREATE TABLE late (id INTEGER);\nINSERT INTO late VALUES (1)");
    world.create("over_late", "SELECT id FROM late");
    let report = world.sync_with(&SyncOptions { to: Some(SnapshotId(born)), ..SyncOptions::default() }).unwrap();
    let report = view_of(&report, "over_late");
    assert_eq!((report.strategy, report.error), (Some(Method::Noop), None));
    assert!(report.reason.unwrap().contains("already"));
    let span = Span { from: Some(SnapshotId(2)), to: Some(SnapshotId(born)) };
    let error = explain(&world.lake, &ViewName::parse("over_late").unwrap(), span).unwrap_err();
    assert!(error.to_string().contains(&format!("was made at snapshot {}", born + 1)), "{error}");
}

#[test]
fn a_changed_meaning_is_told() {
    let world = World::new(TABLES);
    world.run("CREATE MACRO f(x) AS x + 1;\nCREATE VIEW inner_view AS SELECT id, k FROM t WHERE k > 0");
    world.run("CREATE VIEW outer_view AS SELECT id, lake.f(k) AS k FROM inner_view");
    world.create("by_macro", "SELECT id, lake.f(k) AS k FROM t");
    world.create("by_view", "SELECT id FROM inner_view");
    world.create("by_both", "SELECT id, k FROM outer_view");
    world.create("by_neither", "SELECT id, k FROM t");
    let notes = |world: &World, name: &str| view_of(&world.sync(), name).notes;
    assert!(world.sync().views.iter().all(|view| view.notes.is_empty()));
    world.run("CREATE OR REPLACE MACRO f(x) AS x + 2");
    let at = world.current();
    let told = format!(
        "the macro f was defined anew or dropped at snapshot {at}; the view keeps the old; create --or-replace takes the new one"
    );
    for name in ["by_macro", "by_both"] {
        assert_eq!(notes(&world, name), [told.as_str()]);
        let name = ViewName::parse(name).unwrap();
        assert_eq!(status(&world.lake, std::slice::from_ref(&name)).unwrap()[0].notes, [told.as_str()]);
        assert_eq!(explain(&world.lake, &name, Span::default()).unwrap().notes, [told.as_str()]);
    }
    world.run("CREATE OR REPLACE VIEW inner_view AS SELECT id, k FROM t WHERE k > 1");
    assert!(notes(&world, "by_view")[0].starts_with("the view inner_view was defined anew"));
    assert_eq!(notes(&world, "by_both").len(), 2);
    assert!(notes(&world, "by_neither").is_empty());
    world.run("ALTER TABLE t RENAME TO tt;\nCREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)");
    let told = &notes(&world, "by_neither")[0];
    assert!(told.starts_with("t is another table since snapshot") && told.contains("now called tt"), "{told}");
    let mut again = creation("by_neither", "SELECT id, k FROM t");
    again.or_replace = true;
    create(&world.lake, &again).unwrap();
    assert!(notes(&world, "by_neither").is_empty());
}

#[test]
fn a_plan_and_a_sync_agree_on_what_is_skipped() {
    let world = World::new(TABLES);
    world.create("v", "SELECT t.id, u.w FROM t JOIN u ON t.k = u.k");
    world.run("UPDATE t SET v = v || '!' WHERE id < 5;\nINSERT INTO u VALUES (9, 'nine')");
    let plan = explain(&world.lake, &ViewName::parse("v").unwrap(), Span::default()).unwrap();
    let run = plan.terms.iter().filter(|term| !term.skipped).count();
    let report = world.sync_view("v");
    assert_eq!((plan.next, plan.terms.len(), run), (report.strategy.unwrap(), report.terms.total, report.terms.run));
    assert_eq!(run, 1);
    world.run("UPDATE t SET v = v || '?' WHERE id < 5");
    let plan = explain(&world.lake, &ViewName::parse("v").unwrap(), Span::default()).unwrap();
    assert_eq!((plan.next, world.sync_view("v").strategy), (Method::Noop, Some(Method::Noop)));
    assert!(plan.terms.iter().all(|term| term.skipped));
}

#[test]
fn a_dry_run_tells_what_would_follow() {
    let world = world();
    world.create("above", "SELECT w, count(*) AS n FROM v GROUP BY w");
    world.create("aside", "SELECT k FROM u");
    world.run("INSERT INTO t VALUES (100, 1, 'x')");
    let report = world.sync_with(&SyncOptions { dry_run: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&report, "above").strategy, Some(Method::Follows));
    assert!(view_of(&report, "above").reason.unwrap().starts_with("it reads main.v, which would change first"));
    assert_eq!(view_of(&report, "aside").strategy, Some(Method::Noop));
    world.sync();
    let report = world.sync_with(&SyncOptions { dry_run: true, ..SyncOptions::default() }).unwrap();
    assert_eq!(view_of(&report, "above").strategy, Some(Method::Noop));
}

fn expire_all_but_newest(world: &World) {
    world.run(&format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", list(1..world.current())));
}

fn list(range: std::ops::Range<u64>) -> String {
    range.map(|snapshot| snapshot.to_string()).collect::<Vec<_>>().join(", ")
}

/// Catches: a view of `SELECT *` that is broken for good once its table has both a new column and a wider one.
#[test]
fn a_wider_column_of_a_table_that_grew_is_followed() {
    let world = world();
    world.create("stars", "SELECT * FROM t");
    world.create("sums", "SELECT k, sum(id) AS s FROM (SELECT * FROM t) GROUP BY k");
    world.run("ALTER TABLE t ADD COLUMN z INTEGER;\nALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT");
    world.run("INSERT INTO t VALUES (5000000000, 1, 'wide', 7)");
    let report = world.sync();
    assert_eq!(view_of(&report, "stars").strategy, Some(Method::Full), "{report:?}");
    let (stars, sums) = ("SELECT id, k, v FROM t", "SELECT k, sum(id)::DECIMAL(38,0) AS s FROM t GROUP BY k");
    world.assert_holds("stars", stars);
    world.assert_holds("sums", sums);
    world.run("INSERT INTO t VALUES (6000000000, 2, 'wider', 8);\nDELETE FROM t WHERE id = 3");
    let report = world.sync();
    assert_eq!(view_of(&report, "stars").strategy, Some(Method::Incremental), "{report:?}");
    assert_eq!(view_of(&report, "sums").strategy, Some(Method::Incremental), "{report:?}");
    world.assert_holds("stars", stars);
    world.assert_holds("sums", sums);
    assert_verified(&world);
}

/// Catches: a view that is broken for good once one of its columns was renamed and another one widened.
#[test]
fn a_renamed_column_beside_a_wider_one_is_followed() {
    let rename = "ALTER TABLE t RENAME COLUMN k TO grp";
    let widen = "ALTER TABLE t ALTER COLUMN n SET DATA TYPE BIGINT";
    let at_once = format!("BEGIN;\n{rename};\n{widen};\nCOMMIT");
    let orders: [(&[&str], bool); 5] = [
        (&[rename, widen], false),
        (&[widen, rename], false),
        (&[rename, widen], true),
        (&[widen, rename], true),
        (&[&at_once], false),
    ];
    for (statements, synced_between) in orders {
        let setup = "CREATE TABLE t (k INTEGER, n SMALLINT, i INTEGER, x INTEGER);\n\
                     INSERT INTO t SELECT i % 4, i, i, 0 FROM range(40) r(i);\n\
                     CREATE TABLE u AS SELECT i AS k, 'u' || i AS w FROM range(4) r(i)";
        let world = World::new(setup);
        // The second adds in INTEGER at first, for which the wider column's values are too large; the third names its
        // table in a way that nothing can stand in for.
        let views = [
            ("plain", "SELECT k, n, w FROM t JOIN u USING (k)", "SELECT grp AS k, n, w FROM t JOIN u ON grp = u.k"),
            (
                "sums",
                "SELECT k, sum(n + i) AS s, count(*) AS c FROM t GROUP BY k",
                "SELECT grp AS k, sum(n + i) AS s, count(*) AS c FROM t GROUP BY grp",
            ),
            ("spelled", "SELECT x.k, x.n * 2 AS d FROM lake.main.t AS x", "SELECT grp AS k, n * 2 AS d FROM t"),
        ];
        for (name, sql, _) in views {
            world.create(name, sql);
        }
        for statement in statements {
            world.run(statement);
            if synced_between {
                world.sync();
            }
        }
        world.run("INSERT INTO t VALUES (1, 5000000000, 1, 0);\nDELETE FROM t WHERE i = 3");
        world.sync();
        for (name, _, meant) in views {
            world.assert_holds(name, meant);
        }
        world.run("INSERT INTO t VALUES (2, 6000000000, 1, 0);\nDELETE FROM t WHERE i = 7");
        let report = world.sync();
        for (name, _, meant) in views {
            world.assert_holds(name, meant);
            assert_eq!(view_of(&report, name).strategy, Some(Method::Incremental), "{report:?}");
        }
        world.run("ALTER TABLE t RENAME COLUMN n TO number;\nALTER TABLE t RENAME TO away");
        world.sync();
        assert_verified(&world);
    }
}

/// Catches: the text of a view, bound again after its names had come to mean other columns or tables (wrong rows).
#[test]
fn a_view_that_was_bound_under_other_names_keeps_its_meaning() {
    let world = World::new(
        "CREATE TABLE t (g TINYINT, b TINYINT);
         INSERT INTO t VALUES (1, 50), (1, 60), (2, 70);
         CREATE TABLE one (k INTEGER, x TINYINT);
         CREATE TABLE two (k INTEGER, x TINYINT);
         INSERT INTO one VALUES (1, 1), (2, 2);
         INSERT INTO two VALUES (1, 10), (2, 20)",
    );
    world.create("columns", "SELECT g, max(b) AS m FROM t GROUP BY g");
    world.create("tables", "SELECT one.x AS a, two.x - 1 AS b FROM one JOIN two USING (k)");
    let swap =
        "ALTER TABLE t RENAME COLUMN g TO z; ALTER TABLE t RENAME COLUMN b TO g; ALTER TABLE t RENAME COLUMN z TO b;
                ALTER TABLE one RENAME TO z; ALTER TABLE two RENAME TO one; ALTER TABLE z RENAME TO two";
    let widen = |data_type: &str| {
        format!("ALTER TABLE t ALTER g SET DATA TYPE {data_type}; ALTER TABLE one ALTER x SET DATA TYPE {data_type}")
    };
    let rows = "INSERT INTO t VALUES (3, 1); INSERT INTO one VALUES (3, 30); INSERT INTO two VALUES (3, 3)";
    let swapped = [
        "SELECT b AS g, max(g) AS m FROM t GROUP BY b",
        "SELECT two.x AS a, one.x - 1 AS b FROM one JOIN two USING (k)",
    ];
    let original =
        ["SELECT g, max(b) AS m FROM t GROUP BY g", "SELECT one.x AS a, two.x - 1 AS b FROM one JOIN two USING (k)"];
    for (changes, expected) in [
        (format!("{swap}; {}", widen("SMALLINT")), swapped),
        (widen("INTEGER"), swapped),
        (rows.to_owned(), swapped),
        (format!("{swap}; {}", widen("BIGINT")), original),
        (rows.to_owned(), original),
    ] {
        world.run(&changes);
        world.sync();
        for (view, sql) in ["columns", "tables"].into_iter().zip(expected) {
            world.assert_holds(view, sql);
        }
    }
}

/// Catches: DuckLake, which gives a struct its fields in another order than it was told when some are new, and then writes
/// rows into it by place (wrong rows).
#[test]
fn fields_of_a_struct_keep_their_order() {
    let world = World::new(
        "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b INTEGER, c INTEGER), l STRUCT(p INTEGER, q INTEGER)[]);
         INSERT INTO t VALUES (1, {'a': 1, 'b': 10, 'c': 100}, [{'p': 1, 'q': 2}])",
    );
    world.create("v", "SELECT * FROM t");
    world.create("w", "SELECT id, s.b AS b, s.c AS c FROM v");
    for change in [
        "ALTER TABLE t RENAME COLUMN s.a TO d",
        "INSERT INTO t VALUES (2, {'d': 2, 'b': 20, 'c': 200}, [{'p': 3, 'q': 4}])",
        "ALTER TABLE t RENAME COLUMN l.element.p TO z; ALTER TABLE t RENAME COLUMN l.element.q TO p",
        "DELETE FROM t WHERE id = 1",
        "ALTER TABLE t ADD COLUMN s.e BIGINT; UPDATE t SET id = 5",
    ] {
        world.run(change);
        world.sync();
        world.assert_holds("v", "SELECT * FROM t");
        world.assert_holds("w", "SELECT id, s.b AS b, s.c AS c FROM t");
        assert!(verify(&world.lake, &[], 5).unwrap().iter().all(ducklake_ivm::inspect::Verification::holds));
    }
}

/// Catches: joins of a widened key, whose values DuckDB passes on to files of the older type, and then fails.
#[test]
fn a_widened_join_key_can_still_be_joined() {
    let world = World::new(
        "CALL lake.set_option('data_inlining_row_limit', 0);
         CREATE TABLE t (id SMALLINT, a INTEGER);
         CREATE TABLE u (id INTEGER, x INTEGER);
         INSERT INTO t SELECT i, i FROM range(200) r(i);
         INSERT INTO u SELECT i, i FROM range(200) r(i)",
    );
    let sql = "SELECT t.a, u.x FROM t JOIN u USING (id) WHERE u.x % 7 < 3";
    world.create("v", sql);
    world.run("ALTER TABLE t ALTER id SET DATA TYPE INTEGER");
    world.sync();
    for change in
        ["INSERT INTO u VALUES (7, 7), (300, 301)", "INSERT INTO t VALUES (300, 5)", "DELETE FROM u WHERE id % 3 = 0"]
    {
        world.run(change);
        let report = world.sync_view("v");
        assert_eq!((report.strategy, report.reason), (Some(Method::Incremental), None));
        world.assert_holds("v", sql);
    }
    world.create("w", sql);
    assert_eq!(world.sync_view("v").strategy, Some(Method::Noop));
}
