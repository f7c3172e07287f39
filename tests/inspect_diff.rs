//! What `diff` says against what the lake shows at both ends: over the scripts of `catalog_fixtures/` and over random
//! histories. `DUCKLAKE_IVM_HISTORIES=200` runs more of them, `DUCKLAKE_IVM_SEED=…` replays one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/lakes.rs"]
mod lakes;
#[path = "support/random.rs"]
mod random;

use std::cell::Cell;
use std::sync::Once;

use ducklake_ivm::inspect::log::TouchedTable;
use ducklake_ivm::inspect::{
    Diff, FileTotals, InspectError, LogOptions, Range, Revision, RowOptions, Span, diff, explain, files, history,
    impact, log, revision, stage_rows, status,
};
use ducklake_ivm::lake::{Lake, LakeError, SnapshotId, TableColumn, Transaction, identifier};
use ducklake_ivm::sync::{Event, Method, SyncOptions, sync};
use ducklake_ivm::view::{Creation, ViewName, create};
use lakes::{Catalog, ScratchLake};
use random::Random;

fn range(from: u64, to: u64) -> Range {
    Range { from: Revision::Snapshot(SnapshotId(from)), to: Revision::Snapshot(SnapshotId(to)) }
}

fn columns(transaction: &Transaction<'_>, table: ducklake_ivm::lake::TableId, at: u64) -> Vec<TableColumn> {
    let columns = transaction.columns(table, SnapshotId(at)).unwrap();
    columns.into_iter().filter(|column| column.parent.is_none()).collect()
}

/// Checks the diff of one window; `None` if the past cannot be read.
fn check(lake: &Lake, from: u64, to: u64, context: &str) -> Option<Diff> {
    let context = format!("{context}: {from}..{to}");
    let found = match diff(lake, &range(from, to), &[]) {
        Err(InspectError::Lake(LakeError::UnreadablePast { .. })) => return None,
        found => found.unwrap_or_else(|error| panic!("{context}: {error}")),
    };
    let (_, rows) = stage_rows(lake, &range(from, to), &RowOptions::default()).unwrap();
    let transaction = lake.begin().unwrap();
    let (before, after) = (SnapshotId(from), SnapshotId(to));
    let mut ids: Vec<_> = transaction.tables(before).unwrap().into_iter().map(|table| table.id).collect();
    ids.extend(transaction.tables(after).unwrap().into_iter().map(|table| table.id));
    ids.sort();
    ids.dedup();
    for id in ids {
        let ends = (transaction.table_by_id(id, before).unwrap(), transaction.table_by_id(id, after).unwrap());
        let last = ends.1.clone().or_else(|| ends.0.clone()).unwrap();
        if last.schema == "ducklake_ivm" {
            continue;
        }
        let name = format!("{}.{}", last.schema, last.name);
        let count = |table: &Option<_>, at| table.as_ref().map(|table| transaction.count_at(table, at).unwrap());
        let counts = (count(&ends.0, before), count(&ends.1, after));
        let is_it = |change: &str| (change == "dropped") == ends.1.is_none();
        let told = found.tables.iter().find(|table| table.table == name && is_it(table.change));
        if let Some(told) = told {
            assert_eq!((told.rows_before, told.rows_after), counts, "{context}: {told:?}");
            let net = i64::try_from(counts.1.unwrap_or(0)).unwrap() - i64::try_from(counts.0.unwrap_or(0)).unwrap();
            assert_eq!(told.net, net, "{context}: {told:?}");
        }
        let shown = rows.iter().find(|table| table.table == name).filter(|_| told.is_some());
        // A name can have stood for two tables; the rows of both are then shown under it.
        if rows.iter().filter(|table| table.table == name).count() > 1 {
            continue;
        }
        let at = if ends.1.is_some() { to } else { from };
        let wanted = columns(&transaction, id, at);
        let side = |table: &Option<_>, at: u64, sign: i8| {
            let live = columns(&transaction, id, at);
            let values: Vec<String> = wanted
                .iter()
                .map(|column| {
                    let old = live.iter().find(|old| old.id == column.id);
                    let value = old.map_or("NULL".to_owned(), |old| identifier(&old.name));
                    format!("CAST(CAST({value} AS {}) AS VARCHAR)", column.data_type)
                })
                .collect();
            let source = table.as_ref().map(|table| transaction.at(table, SnapshotId(at)));
            source.map(|source| format!("SELECT {}, {sign} FROM {source}", values.join(", ")))
        };
        let mut parts: Vec<String> = side(&ends.1, to, 1).into_iter().chain(side(&ends.0, from, -1)).collect();
        if let Some(shown) = shown {
            let values: Vec<String> =
                shown.columns.iter().map(|column| format!("CAST({} AS VARCHAR)", identifier(column))).collect();
            parts.push(format!(
                "SELECT {}, CASE WHEN _change IN ('delete', 'update_preimage') THEN _copies ELSE -_copies END FROM {}",
                values.join(", "),
                identifier(&shown.staged)
            ));
        }
        let names: Vec<String> = (0..wanted.len()).map(|position| format!("c{position}")).collect();
        let sql = format!(
            "SELECT {0}, sum(w) FROM ({1}) AS t({0}, w) GROUP BY {0} HAVING sum(w) <> 0 LIMIT 5",
            names.join(", "),
            parts.join(" UNION ALL ")
        );
        let differing = transaction.query(&sql).unwrap_or_else(|error| panic!("{context}: {error}\n{sql}")).rows;
        assert!(differing.is_empty(), "{context}: {name}: {told:?}\n{differing:?}");
    }
    Some(found)
}

#[test]
fn a_diff_over_every_fixture() {
    let mut checked = 0;
    for fixture in fixtures::all() {
        let scratch = ScratchLake::new(Catalog::DuckDb);
        for step in &fixture.steps {
            step.run(&scratch.lake);
        }
        let there: Vec<u64> = {
            let transaction = scratch.lake.begin().unwrap();
            (0..=scratch.current()).filter(|id| transaction.snapshot_exists(SnapshotId(*id)).unwrap()).collect()
        };
        let mut random = Random::new(7);
        let mut windows = vec![(there[0], there[there.len() - 1])];
        for _ in 0..3 {
            let (one, other) = (*random.pick(&there), *random.pick(&there));
            windows.push((one.min(other), one.max(other)));
        }
        for (from, to) in windows {
            checked += u32::from(check(&scratch.lake, from, to, &fixture.name).is_some());
        }
    }
    assert!(checked > 70, "only {checked} windows");
}

/// Statements of a random commit.
fn commit(random: &mut Random, next: &mut u64) -> String {
    let table = *random.pick(&["a", "b"]);
    *next += 10;
    let (begin, key) = (*next, random.below(*next + 1));
    match random.below(12) {
        0..4 => format!(
            "INSERT INTO {table} SELECT {begin} + i, i % 3, nullif('v' || i % 4, 'v3') FROM range({}) r(i)",
            random.below(15)
        ),
        4 | 5 => format!("UPDATE {table} SET v = 'u' || {key} WHERE k % 7 = {}", random.below(7)),
        6 => format!("UPDATE {table} SET g = g WHERE k < {key}"),
        7 => format!("DELETE FROM {table} WHERE k % 5 = {}", random.below(5)),
        8 => format!(
            "BEGIN;\nDELETE FROM {table} WHERE k < {key};\nINSERT INTO {table} SELECT k, g, v FROM {table} AT (VERSION => 4) WHERE k < {key};\nUPDATE b SET v = 'w' WHERE k = {key};\nCOMMIT"
        ),
        9 => "BEGIN;\nCALL ducklake_rewrite_data_files('lake', 'a', delete_threshold => 0);\nCOMMIT".to_owned(),
        10 => "CALL ducklake_flush_inlined_data('lake')".to_owned(),
        _ => "CALL ducklake_merge_adjacent_files('lake')".to_owned(),
    }
}

/// A lake with two tables and a random history.
fn random_lake(random: &mut Random) -> ScratchLake {
    let scratch = ScratchLake::new(if random.once_in(4) { Catalog::Sqlite } else { Catalog::DuckDb });
    scratch.run(&format!("CALL lake.set_option('data_inlining_row_limit', {})", random.pick(&[0, 10, 1000])));
    scratch.run("CREATE TABLE a (k BIGINT, g INTEGER, v VARCHAR);\nCREATE TABLE b (k BIGINT, g INTEGER, v VARCHAR)");
    scratch.run("INSERT INTO a SELECT i, i % 3, 'v' FROM range(40) r(i);\nINSERT INTO b SELECT i, i % 3, 'v' FROM range(40) r(i)");
    let mut next = 0;
    for _ in 0..14 {
        scratch.run(&commit(random, &mut next));
    }
    scratch
}

#[test]
fn the_totals_of_a_diff_are_those_of_both_ends() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("DUCKLAKE_IVM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..number("DUCKLAKE_IVM_HISTORIES").unwrap_or(8) + 1,
    };
    let mut updated = 0;
    for seed in seeds {
        let mut random = Random::new(seed);
        let scratch = random_lake(&mut random);
        let newest = scratch.current();
        for _ in 0..5 {
            let (one, other) = (random.below(newest + 1), random.below(newest + 1));
            let found = check(&scratch.lake, one.min(other), one.max(other), &format!("seed {seed}"));
            updated += found.into_iter().flat_map(|found| found.tables).map(|table| table.updated).sum::<u64>();
        }
    }
    assert!(updated > 0, "no history had an update");
}

fn lake() -> ScratchLake {
    let scratch = ScratchLake::new(Catalog::DuckDb);
    scratch.run("CREATE TABLE t (id INTEGER, v VARCHAR);\nINSERT INTO t SELECT i, 'v' || i FROM range(20) r(i)");
    scratch
}

#[test]
fn updates_maintenance_and_schema_are_told_apart() {
    let scratch = lake();
    let from = scratch.current();
    scratch.run("UPDATE t SET v = 'new' WHERE id < 3;\nDELETE FROM t WHERE id = 5;\nINSERT INTO t VALUES (30, NULL)");
    scratch.run("CALL ducklake_flush_inlined_data('lake')");
    let flushed = scratch.current();
    scratch.run("ALTER TABLE t RENAME COLUMN v TO word;\nALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT");
    scratch.run("ALTER TABLE t RENAME TO tt;\nCREATE TABLE t (other INTEGER)");
    let found = check(&scratch.lake, from, scratch.current(), "told apart").unwrap();
    assert_eq!(found.maintenance, [SnapshotId(flushed)]);
    let names: Vec<_> = found.tables.iter().map(|table| (table.table.as_str(), table.change)).collect();
    assert_eq!(names, [("main.t", "created"), ("main.tt", "changed")]);
    let table = &found.tables[1];
    assert_eq!((table.inserted, table.deleted, table.updated), (1, 1, 3));
    assert_eq!(
        table.schema,
        ["renamed from main.t", "column id promoted from INTEGER to BIGINT", "column v renamed to word"]
    );
    let quiet = diff(&scratch.lake, &range(flushed - 1, flushed), &[]).unwrap();
    assert!(quiet.tables.iter().all(|table| table.change == "compacted"), "{quiet:?}");
}

/// Catches: a table that got another name, and nothing else, left out.
#[test]
fn a_rename_alone_is_a_change() {
    let scratch = lake();
    scratch.run("ALTER TABLE t RENAME TO tt");
    let to = scratch.current();
    let found = diff(&scratch.lake, &range(to - 1, to), &[]).unwrap();
    let told: Vec<_> = found.tables.iter().map(|table| (table.table.as_str(), table.schema.as_slice())).collect();
    assert_eq!(told, [("main.tt", ["renamed from main.t".to_owned()].as_slice())]);
}

/// Catches: a view's own refresh shown as a change that it has not taken in.
#[test]
fn what_a_view_has_not_taken_in_is_of_what_it_reads() {
    let scratch = lake();
    scratch.run("CREATE TABLE other (x INTEGER)");
    for (name, sql) in [("below", "SELECT id FROM t"), ("above", "SELECT count(*) AS n FROM below")] {
        create(&scratch.lake, &Creation::new(ViewName::parse(name).unwrap(), sql)).unwrap();
    }
    scratch.run("INSERT INTO t VALUES (100, 'new')");
    sync(&scratch.lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
    let since = |view: &str| diff(&scratch.lake, &view.parse().unwrap(), &[]).unwrap();
    assert!(since("@above..").tables.is_empty());
    scratch.run("INSERT INTO t VALUES (101, 'newer');\nINSERT INTO other VALUES (1)");
    let found = since("@above..");
    assert_eq!(found.view.as_deref(), Some("main.above"));
    let told: Vec<_> = found.tables.iter().map(|table| (table.table.as_str(), table.inserted)).collect();
    assert_eq!(told, [("main.t", 1)]);
    let last = since("HEAD^!");
    assert_eq!((last.to.0 - last.from.0, last.tables[0].table.as_str()), (1, "main.other"));
    let error = diff(&scratch.lake, &"0^!".parse().unwrap(), &[]).unwrap_err();
    assert!(error.to_string().starts_with("snapshot 0~1 does not exist"), "{error}");
    let error = diff(&scratch.lake, &"2999-01-01..".parse().unwrap(), &[]).unwrap_err();
    assert!(error.to_string().contains("is still to come"), "{error}");
    assert_eq!(diff(&scratch.lake, &"..2999-01-01".parse().unwrap(), &[]).unwrap().tables, []);
}

#[test]
fn rows_are_limited_chosen_and_filtered() {
    let scratch = lake();
    let from = scratch.current();
    scratch.run("UPDATE t SET v = 'new' WHERE id < 3;\nDELETE FROM t WHERE id = 5;\nINSERT INTO t VALUES (30, NULL)");
    let range = range(from, scratch.current());
    let rows = |options: &RowOptions| {
        let (_, tables) = stage_rows(&scratch.lake, &range, options).unwrap();
        let rows = scratch.lake.query(&format!("FROM {}", tables[0].staged)).unwrap().rows;
        (tables[0].rows, rows.len())
    };
    assert_eq!(rows(&RowOptions::default()), (8, 8));
    assert_eq!(rows(&RowOptions { limit: Some(3), ..RowOptions::default() }), (8, 3));
    // Either half of an update may fulfil the condition; both are shown.
    let condition = Some("v = 'new' AND id = 1".to_owned());
    assert_eq!(rows(&RowOptions { condition, ..RowOptions::default() }), (2, 2));
    assert_eq!(rows(&RowOptions { columns: vec!["ID".to_owned()], ..RowOptions::default() }), (2, 2));
    let wrong = |options: RowOptions| stage_rows(&scratch.lake, &range, &options).unwrap_err();
    let error = wrong(RowOptions { columns: vec!["idd".to_owned()], ..RowOptions::default() });
    assert_eq!(error.hint().unwrap(), "did you mean id?");
    let error = wrong(RowOptions { condition: Some("vv = 1".to_owned()), ..RowOptions::default() });
    assert!(error.to_string().starts_with("the condition does not fit table main.t"), "{error}");
    let error = wrong(RowOptions { tables: vec![ViewName::new("main", "tt")], ..RowOptions::default() });
    assert_eq!(error.hint().unwrap(), "did you mean main.t?");
}

#[test]
fn files_are_those_of_the_metadata() {
    let scratch = lake();
    let from = scratch.current();
    scratch.run("INSERT INTO t SELECT i, 'w' FROM range(100, 200) r(i);\nCALL ducklake_flush_inlined_data('lake')");
    let (_, found) = files::of_range(&scratch.lake, &range(from, scratch.current()), &[]).unwrap();
    assert!(!found.is_empty());
    for file in found.iter().filter(|file| file.is_file()) {
        assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.bytes, "{file:?}");
    }
    let stat = diff(&scratch.lake, &range(from, scratch.current()), &[]).unwrap();
    assert_eq!(FileTotals::of(&found), stat.tables[0].files);
    // What is too small for a file came and went as well.
    let from = scratch.current();
    scratch.run("INSERT INTO t VALUES (300, 'x'), (301, 'x');\nDELETE FROM t WHERE id = 301 OR id = 3");
    let (_, found) = files::of_range(&scratch.lake, &range(from, scratch.current()), &[]).unwrap();
    let told: Vec<_> = found.iter().map(|file| (file.change.as_str(), file.kind.as_str(), file.rows)).collect();
    assert_eq!(told, [("added", "inlined", 1), ("added", "inlined delete", 1)], "{found:?}");
}

#[test]
fn the_impact_tells_what_a_refresh_would_do() {
    let scratch = lake();
    scratch.run("CREATE TABLE u (id INTEGER, w VARCHAR);\nINSERT INTO u VALUES (1, 'one')");
    for (name, sql) in [
        ("joined", "SELECT t.id, u.w FROM t JOIN u USING (id)"),
        ("rolled", "SELECT id, random() AS r FROM u"),
        ("words", "SELECT w FROM u"),
    ] {
        create(&scratch.lake, &Creation::new(ViewName::parse(name).unwrap(), sql)).unwrap();
    }
    let from = scratch.current();
    scratch.run("UPDATE t SET v = 'unused';\nINSERT INTO u VALUES (2, 'two')");
    let (_, found) = impact(&scratch.lake, &range(from, scratch.current()), &[]).unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|view| (view.view.as_str(), view.strategy.map(Method::word), view.terms_run, view.terms_total))
        .collect();
    assert_eq!(
        told,
        [
            ("main.joined", Some("incremental"), 1, 2),
            ("main.rolled", Some("recompute"), 0, 0),
            ("main.words", Some("incremental"), 1, 1)
        ]
    );
    // A view that is younger than the range, over a table that is.
    let before = scratch.current();
    scratch.run("CREATE TABLE late (id INTEGER);\nINSERT INTO late VALUES (1)");
    create(&scratch.lake, &Creation::new(ViewName::parse("young").unwrap(), "SELECT id FROM late")).unwrap();
    scratch.run("INSERT INTO late VALUES (2)");
    let (_, found) = impact(&scratch.lake, &range(before, scratch.current()), &[]).unwrap();
    let young = found.iter().find(|view| view.view == "main.young").unwrap();
    assert_eq!((young.strategy, young.terms_run, &young.error), (Some(Method::Incremental), 1, &None));
    let (_, found) = impact(&scratch.lake, &range(from, from), &[]).unwrap();
    assert_eq!(found[0].strategy.map(Method::word), Some("noop"));
    // One that is younger than all of it, over a table that is, too.
    let (_, found) = impact(&scratch.lake, &range(from, before), &[]).unwrap();
    let young = found.iter().find(|view| view.view == "main.young").unwrap();
    assert_eq!((young.strategy, &young.error), (Some(Method::Noop), &None));
    assert_eq!(young.reason.as_deref(), Some("the view is younger than this range"));
}

fn view(scratch: &ScratchLake, name: &str, sql: &str) {
    create(&scratch.lake, &Creation::new(ViewName::parse(name).unwrap(), sql)).unwrap();
}

/// Catches: a strategy for a view that no refresh gets through, and an error about a transaction instead of one's own.
#[test]
fn the_impact_knows_every_condition_that_the_status_knows() {
    let scratch = lake();
    scratch.run("CALL lake.set_option('data_inlining_row_limit', 0)");
    scratch.run("CREATE TABLE gone (id INTEGER);\nCREATE TABLE files (id INTEGER)");
    view(&scratch, "a_sound", "SELECT id FROM t");
    view(&scratch, "b_source_gone", "SELECT id FROM gone");
    view(&scratch, "c_table_gone", "SELECT id FROM t");
    view(&scratch, "d_written", "SELECT id FROM t");
    view(&scratch, "e_unreadable", "SELECT id FROM files");
    view(&scratch, "f_over_written", "SELECT count(*) AS n FROM d_written");
    view(&scratch, "g_over_sound", "SELECT count(*) AS n FROM a_sound");
    let from = scratch.current();
    scratch.run("INSERT INTO t VALUES (100, 'new');\nINSERT INTO files VALUES (1);\nDROP TABLE gone");
    scratch.run("DROP TABLE c_table_gone;\nINSERT INTO d_written VALUES (7)");
    for file in std::fs::read_dir(scratch.folder.path().join("data/main/files")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let (_, found) = impact(&scratch.lake, &range(from, scratch.current()), &[]).unwrap();
    let told: Vec<_> = found.iter().map(|view| (view.condition, view.strategy.map(Method::word))).collect();
    let ok = |word| ("ok", Some(word));
    let broken = ("broken", None);
    assert_eq!(
        told,
        [ok("incremental"), broken, broken, ("changed", None), broken, ("ok", None), ok("follows")],
        "{found:?}"
    );
    assert_eq!(found[1].reads, ["main.gone"]);
    for (position, words) in [
        (1, "its source main.gone was dropped"),
        (2, "its table was dropped"),
        (3, "someone else wrote to its table"),
        (4, ".parquet of main.files is missing"),
        (5, "because main.d_written, which it reads, was not"),
    ] {
        assert!(found[position].error.as_ref().unwrap().contains(words), "{found:?}");
        assert!(found[position].hint.is_some(), "{found:?}");
    }
    for (view, status) in
        found.iter().zip(status(&scratch.lake, &[]).unwrap()).filter(|(view, _)| view.view != "main.e_unreadable")
    {
        assert_eq!((&view.view, view.condition), (&status.view, status.condition));
    }
}

/// Catches: a table that only has the name of the one that a view reads.
#[test]
fn a_view_is_followed_by_the_ids_of_its_tables() {
    let scratch = lake();
    view(&scratch, "v", "SELECT id FROM t");
    scratch.run("ALTER TABLE t RENAME TO tt;\nCREATE TABLE t (id INTEGER);\nINSERT INTO t VALUES (1);\nDELETE FROM tt WHERE id = 3");
    let since = || diff(&scratch.lake, &"@v..".parse().unwrap(), &[]).unwrap();
    let told = |diff: &Diff| {
        diff.tables.iter().map(|table| (table.table.clone(), table.net, table.schema.join(", "))).collect::<Vec<_>>()
    };
    assert_eq!(told(&since()), [("main.tt".to_owned(), -1, "renamed from main.t".to_owned())]);
    // A table that stands in for one that is gone is read in its place.
    scratch.run("DROP TABLE tt");
    let to = scratch.current();
    let told = told(&since());
    let dropped = format!("dropped at {to}");
    let told: Vec<_> = told.iter().map(|(name, net, words)| (name.as_str(), *net, words.as_str())).collect();
    assert_eq!(told, [("main.t", -20, dropped.as_str()), ("main.t", 1, format!("created at {}", to - 3).as_str())]);
}

/// Catches: a view taken for as young as the table that it was bound to anew, the birth of a table for one that expired, and
/// a view that nobody reads as the table asked for.
#[test]
fn the_impact_knows_the_age_of_views_and_tables() {
    let scratch = lake();
    scratch.run("CREATE TABLE u AS SELECT 'x' AS v");
    let before = scratch.current();
    view(&scratch, "v", "SELECT id FROM t");
    view(&scratch, "above", "SELECT count(*) AS n FROM v");
    view(&scratch, "fresh", "SELECT v FROM u");
    let made = scratch.current();
    scratch.run("DROP TABLE t;\nCREATE TABLE t (id INTEGER);\nINSERT INTO t VALUES (1)");
    let born = made + 2;
    sync(&scratch.lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
    scratch.run("INSERT INTO t VALUES (2)");
    let told = |from: u64, to: u64, names: &[ViewName]| {
        let (_, found) = impact(&scratch.lake, &range(from, to), names).unwrap();
        let told = found.iter().map(|view| (view.strategy.map(Method::word), view.reason.clone().unwrap_or_default()));
        told.collect::<Vec<_>>()
    };
    let replaced = (Some("recompute"), "main.t was dropped and created again".to_owned());
    assert_eq!(told(made, born + 1, &[])[2], replaced);
    assert_eq!(told(before, scratch.current(), &[])[2], replaced);
    assert_eq!(told(born, born + 1, &[])[2], (Some("incremental"), String::new()));
    // What was there when a view was made is nothing that came later.
    let younger = format!("the view was made at snapshot {}, and has held since what was there then", made - 1);
    assert_eq!(told(before - 1, made, &[])[1], (Some("noop"), younger));
    let (_, found) = impact(&scratch.lake, &range(before, made), &[]).unwrap();
    let after = format!("main.t, which it reads now, was made at snapshot {born}, after this range");
    assert_eq!((found[2].strategy, &found[2].notes), (Some(Method::Noop), &vec![after]));
    let plan =
        explain(&scratch.lake, &ViewName::new("main", "v"), Span { from: Some(SnapshotId(0)), to: None }).unwrap();
    assert_eq!(plan.next_reason, Some(format!("main.t was made at snapshot {born}, and was not there at 0")));
    // A view is a table for those that read it.
    let of_view = told(born, scratch.current(), &[ViewName::new("main", "v")]);
    assert_eq!((of_view[0].0, of_view[2].0), (Some("incremental"), Some("noop")), "{of_view:?}");
    let error = impact(&scratch.lake, &range(born, scratch.current()), &[ViewName::new("main", "above")]).unwrap_err();
    assert!(error.to_string().starts_with("no view reads main.above"), "{error}");
}

/// Catches: a hint to write a range that nobody meant, and a word about the begin where the end is wrong.
#[test]
fn a_range_that_makes_no_sense_says_which_side_is_wrong() {
    let scratch = lake();
    let hint = |text: &str| diff(&scratch.lake, &text.parse().unwrap(), &[]).unwrap_err().hint().unwrap();
    assert!(hint("..1").contains("write 0..1"), "{}", hint("..1"));
    assert_eq!(hint("2..1"), "write 1..2");
    let error = diff(&scratch.lake, &"1999-12-30..1999-12-31".parse().unwrap(), &[]).unwrap_err();
    assert!(error.to_string().starts_with("the range ends at 1999-12-31T00:00:00Z"), "{error}");
    assert!(error.hint().unwrap().starts_with("let it end after "));
}

/// Catches: files that cannot be listed any more once the first snapshots have expired, and a date before them refused.
#[test]
fn the_beginning_does_not_expire() {
    let scratch = lake();
    scratch.run("CALL lake.set_option('data_inlining_row_limit', 0);\nDELETE FROM t WHERE id < 5");
    scratch.run("CALL ducklake_flush_inlined_data('lake');\nALTER TABLE t RENAME TO tt");
    let all = |text: &str| diff(&scratch.lake, &text.parse().unwrap(), &[]);
    let whole = all("0..").unwrap();
    assert_eq!(
        (whole.tables[0].inserted, whole.tables[0].schema.as_slice()),
        (15, ["created at 1".to_owned()].as_slice())
    );
    assert_eq!(all("1999-12-31..").unwrap().tables, whole.tables);
    let files = |text: &str| files::of_range(&scratch.lake, &text.parse().unwrap(), &[]).unwrap().1;
    let before = files("0..");
    assert!(before.iter().any(ducklake_ivm::inspect::ChangedFile::is_file));
    scratch.run("CALL ducklake_expire_snapshots('lake', older_than => now()::TIMESTAMP + INTERVAL 1 DAY)");
    assert_eq!(files("0.."), before);
    let left = all("0..").unwrap();
    assert_eq!((left.tables[0].inserted, left.tables[0].schema.as_slice()), (15, ["created".to_owned()].as_slice()));
    let rows = |text: &str| stage_rows(&scratch.lake, &text.parse().unwrap(), &RowOptions::default()).unwrap().1;
    assert_eq!(rows("0..")[0].rows, 15);
    // Nobody knows any more whether there was something at that time.
    for (text, hint) in [("1999-12-31..", "or with 0.. for all"), ("1..", "0.. shows all")] {
        assert!(all(text).unwrap_err().hint().unwrap().contains(hint), "{text}");
    }
}

/// Catches: a commit of nothing where a table was renamed, numbers in place of names, and commits before a moment.
#[test]
fn the_log_names_what_was_renamed_and_dropped_since_a_moment() {
    let scratch = lake();
    scratch.run("CREATE SCHEMA old;\nCREATE VIEW seen AS SELECT 1 AS one;\nCREATE MACRO next(x) AS x + 1");
    let before = scratch.current();
    scratch.run("ALTER TABLE t RENAME TO tt;\nDROP VIEW seen;\nDROP MACRO next;\nDROP SCHEMA old");
    let since = |since, table: Option<&str>| {
        let table = table.map(|name| ViewName::new("main", name));
        log(&scratch.lake, &LogOptions { limit: 10, since: Some(since), table, ..LogOptions::default() }).unwrap()
    };
    let newest = since(SnapshotId(before + 1), None);
    let other: Vec<&str> = newest.iter().flat_map(|commit| &commit.other).map(String::as_str).collect();
    assert_eq!(other, ["dropped schema old", "dropped scalar macro main.next", "dropped view main.seen"]);
    let renamed = &newest[3].tables[0];
    let told = (renamed.table.as_str(), renamed.change, renamed.renamed_from.as_deref());
    assert_eq!(told, ("main.tt", "renamed", Some("main.t")));
    for name in ["t", "tt"] {
        let commits: Vec<u64> = since(SnapshotId(0), Some(name)).iter().map(|commit| commit.snapshot.0).collect();
        assert_eq!(commits, [before + 1, 2, 1]);
    }
    scratch.run(&format!(
        "UPDATE __ducklake_metadata_lake.ducklake_snapshot SET snapshot_time = snapshot_time - INTERVAL 1 DAY WHERE snapshot_id <= {before}"
    ));
    let hour_ago =
        scratch.lake.query_value("SELECT strftime(now() AT TIME ZONE 'UTC' - INTERVAL 1 HOUR, '%xT%X')").unwrap();
    let transaction = scratch.lake.begin().unwrap();
    assert_eq!(revision::since(&transaction, hour_ago.as_str().unwrap()).unwrap(), SnapshotId(before + 1));
    assert_eq!(revision::since(&transaction, "1999-12-31").unwrap(), SnapshotId(0));
}

/// Catches: a table that was there at another time called unknown, and nothing else.
#[test]
fn a_table_that_was_there_at_another_time_says_when() {
    let scratch = lake();
    let to = scratch.current();
    scratch.run("DROP TABLE t;\nCREATE TABLE other (x INTEGER);\nCREATE TABLE t (x INTEGER)");
    let error = diff(&scratch.lake, &range(to + 1, to + 2), &[ViewName::new("main", "t")]).unwrap_err();
    assert_eq!(error.hint().unwrap(), format!("it was there from 1 to {to}, and since {}", to + 3));
    let error = "1...2".parse::<Range>().unwrap_err();
    assert!(error.to_string().ends_with("a range has two dots"), "{error}");
}

/// What the log says of each commit is what a diff over this commit alone finds in the rows.
fn check_log(lake: &Lake, context: &str, most: usize) -> usize {
    let options = LogOptions { limit: u64::MAX, counts: true, ..LogOptions::default() };
    let logged = log(lake, &options).unwrap_or_else(|error| panic!("{context}: {error}"));
    let mut compared = 0;
    for commit in logged.iter().rev().take(most) {
        let to = commit.snapshot.0;
        // DuckLake reads rows twice where a flush followed a rewrite; what only reorganised files changed none.
        let is_counted = |table: &&TouchedTable| table.rows_inserted.is_some() && table.change != "compacted";
        let counted: Vec<_> = commit.tables.iter().filter(is_counted).collect();
        if counted.is_empty() {
            continue;
        }
        let found = match diff(lake, &range(to - 1, to), &[]) {
            Err(InspectError::Lake(LakeError::UnreadablePast { .. })) => continue,
            found => found.unwrap_or_else(|error| panic!("{context}: {error}")),
        };
        assert_eq!(commit.maintenance, found.maintenance == [commit.snapshot], "{context}: {commit:?}");
        for table in counted {
            let mut told = found.tables.iter().filter(|told| told.table == table.table);
            let wanted = told.next().map_or((0, 0, 0), |told| (told.inserted, told.deleted, told.updated));
            if told.next().is_some() {
                // A table that took the name of another one.
                continue;
            }
            let counts = [table.rows_inserted, table.rows_deleted, table.rows_updated].map(Option::unwrap);
            assert_eq!((counts[0], counts[1], counts[2]), wanted, "{context}: {commit:?}\n{found:?}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn the_log_counts_what_a_diff_of_each_commit_finds() {
    let mut compared = 0;
    for fixture in fixtures::all() {
        let scratch = ScratchLake::new(Catalog::DuckDb);
        for step in &fixture.steps {
            step.run(&scratch.lake);
        }
        compared += check_log(&scratch.lake, &fixture.name, 16);
    }
    for seed in 1..4 {
        let mut random = Random::new(seed);
        let scratch = random_lake(&mut random);
        compared += check_log(&scratch.lake, &format!("seed {seed}"), 16);
    }
    assert!(compared > 150, "only {compared} tables of commits");
}

thread_local! {
    static STATEMENTS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the statements that lakes are asked to run, for each thread by itself.
struct Statements;

impl Statements {
    fn of<T>(run: impl FnOnce() -> T) -> (T, usize) {
        // There is one for all threads: those of single threads disturb each other where tests run side by side.
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing::subscriber::set_global_default(Statements).unwrap());
        let before = STATEMENTS.get();
        let result = run();
        (result, STATEMENTS.get() - before)
    }
}

impl tracing::Subscriber for Statements {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("ducklake_ivm")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let is_statement = event.metadata().fields().field("sql").is_some();
        STATEMENTS.set(STATEMENTS.get() + usize::from(is_statement));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// How many statements each question takes, after so many commits.
fn statements(commits: u32) -> Vec<(&'static str, usize)> {
    let scratch = lake();
    scratch.run("CREATE TABLE u (id INTEGER, w VARCHAR);\nINSERT INTO u VALUES (1, 'one')");
    create(
        &scratch.lake,
        &Creation::new(ViewName::parse("joined").unwrap(), "SELECT t.id, u.w FROM t JOIN u USING (id)"),
    )
    .unwrap();
    let first = scratch.current();
    for commit in 0..commits {
        scratch.run(&match commit % 5 {
            0..3 => format!("INSERT INTO t VALUES ({}, 'n')", 100 + commit),
            3 => format!("DELETE FROM t WHERE id = {}", 100 + commit - 3),
            _ => "INSERT INTO u VALUES (1, 'x'), (2, 'y')".to_owned(),
        });
    }
    // The same end, whatever came before.
    scratch.run("UPDATE t SET v = 'new' WHERE id < 3;\nCREATE TABLE w AS SELECT 1 AS a;\nDROP TABLE w");
    let (lake, newest) = (&scratch.lake, scratch.current());
    let all = LogOptions { limit: u64::MAX, counts: true, ..LogOptions::default() };
    let of_table = LogOptions { table: Some(ViewName::new("main", "t")), ..all.clone() };
    let (logged, log_all) = Statements::of(|| log(lake, &all).unwrap());
    assert_eq!(logged.len() as u64, newest + 1);
    let inserted: u64 = logged.iter().flat_map(|commit| &commit.tables).filter_map(|table| table.rows_inserted).sum();
    assert!(inserted > u64::from(commits), "{inserted}");
    let (found, status_of_all) = Statements::of(|| status(lake, &[]).unwrap());
    // The commit that made the view is no lag.
    assert_eq!(found[0].lag_snapshots, newest - first);
    vec![
        ("log", log_all),
        ("log of a table", Statements::of(|| log(lake, &of_table).unwrap()).1),
        ("status", status_of_all),
        ("diff", Statements::of(|| diff(lake, &range(first, newest), &[]).unwrap()).1),
        ("diff --files", Statements::of(|| files::of_range(lake, &range(first, newest), &[]).unwrap()).1),
        ("diff --rows", Statements::of(|| stage_rows(lake, &range(first, newest), &RowOptions::default()).unwrap()).1),
        ("diff --impact", Statements::of(|| impact(lake, &range(first, newest), &[]).unwrap()).1),
        ("history", Statements::of(|| history(lake, &ViewName::new("main", "joined"), 20).unwrap()).1),
    ]
}

#[test]
fn no_question_takes_more_statements_because_there_are_more_snapshots() {
    let few = statements(30);
    assert_eq!(few, statements(300));
    assert!(few.iter().all(|(_, statements)| *statements > 3), "{few:?}");
}
