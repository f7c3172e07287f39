//! Several sessions at once on one lake with a SQLite catalog.

#[path = "support/world.rs"]
mod world;

use std::sync::Barrier;
use std::thread;

use ducklake_ivm::lake::Lake;
use ducklake_ivm::sync::{Event, Method, SyncOptions, sync};
use ducklake_ivm::view::{ViewError, create};
use world::{Catalog, World, creation, run, view_of};

const TABLES: &str = "
CREATE TABLE t (id INTEGER, k INTEGER);
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO t SELECT i, i % 4 FROM range(200) r(i);
INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, NULL);
";
const JOIN: &str = "SELECT t.id, u.w FROM t JOIN u ON t.k = u.k";

#[test]
fn of_two_syncs_at_once_exactly_one_applies() {
    let world = World::with(Catalog::Sqlite, TABLES);
    world.create("v", JOIN);
    let options: Vec<_> = (0..2).map(|_| world.others()).collect();
    for round in 0..4 {
        world.run(&format!(
            "INSERT INTO t SELECT 1000 * {round} + i, i % 4 FROM range(50) r(i);\nDELETE FROM t WHERE id % 10 = {round}"
        ));
        let barrier = Barrier::new(2);
        let reports: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = options
                .iter()
                .map(|options| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let lake = Lake::open(options).unwrap();
                        barrier.wait();
                        let report = sync(&lake, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
                        view_of(&report, "v")
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let strategies: Vec<_> = reports.iter().map(|report| report.strategy).collect();
        assert!(reports.iter().all(|report| report.error.is_none()), "{reports:?}");
        assert_eq!(strategies.iter().filter(|s| **s == Some(Method::Incremental)).count(), 1, "{strategies:?}");
        world.assert_holds("v", JOIN);
    }
}

#[test]
fn a_writer_during_a_refresh_is_taken_in_by_the_next() {
    let world = World::with(Catalog::Sqlite, TABLES);
    world.create("v", JOIN);
    world.run("DELETE FROM t WHERE id < 20");
    let other = world.reopen();
    let written = std::cell::Cell::new(false);
    // The writer commits between our reads and our commit: no conflict, for it touches other tables than we write.
    let report = sync(&world.lake, &SyncOptions::default(), &|event: &Event<'_>| {
        if let Event::Step { step: ducklake_ivm::sync::Step::Apply, .. } = event
            && !written.replace(true)
        {
            run(&other, "INSERT INTO t VALUES (5000, 1);\nDELETE FROM t WHERE id = 100");
        }
    })
    .unwrap();
    let report = view_of(&report, "v");
    assert!(written.get());
    assert_eq!(report.error, None);
    world.sync();
    world.assert_holds("v", JOIN);
}

#[test]
fn a_conflict_begins_the_refresh_anew() {
    let world = World::with(Catalog::Sqlite, TABLES);
    world.create("v", JOIN);
    world.run("DELETE FROM t WHERE id < 20");
    let other = world.reopen();
    let done = std::cell::Cell::new(false);
    let report = sync(&world.lake, &SyncOptions::default(), &|event: &Event<'_>| {
        if let Event::Step { step: ducklake_ivm::sync::Step::Commit, .. } = event
            && !done.replace(true)
        {
            let report = sync(&other, &SyncOptions::default(), &|_: &Event<'_>| {}).unwrap();
            assert_eq!(view_of(&report, "v").rows_deleted, 20);
        }
    })
    .unwrap();
    let report = view_of(&report, "v");
    assert_eq!((report.strategy, report.error), (Some(Method::Noop), None));
    assert_eq!(report.retries, 1);
    world.assert_holds("v", JOIN);
}

#[test]
fn two_creations_of_one_name_make_one_view() {
    let world = World::with(Catalog::Sqlite, TABLES);
    let options: Vec<_> = (0..3).map(|_| world.others()).collect();
    let barrier = Barrier::new(3);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = options
            .iter()
            .map(|options| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let lake = Lake::open(options).unwrap();
                    barrier.wait();
                    create(&lake, &creation("v", JOIN))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, ViewError::Exists { .. }), "{error}");
    }
    assert_eq!(world.integer("SELECT count(*) FROM ducklake_ivm.views"), 1);
    world.assert_holds("v", JOIN);
}

#[test]
fn syncs_of_different_views_do_not_conflict() {
    let world = World::with(Catalog::Sqlite, TABLES);
    for name in ["a", "b", "c"] {
        world.create(name, JOIN);
    }
    world.run("DELETE FROM t WHERE id < 20;\nINSERT INTO u VALUES (1, 'uno')");
    let barrier = Barrier::new(3);
    let options: Vec<_> = ["a", "b", "c"].map(|name| (name, world.others())).into();
    let reports: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = options
            .iter()
            .map(|(name, options)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let lake = Lake::open(options).unwrap();
                    barrier.wait();
                    let views = vec![ducklake_ivm::view::ViewName::parse(name).unwrap()];
                    let options = SyncOptions { views, ..SyncOptions::default() };
                    view_of(&sync(&lake, &options, &|_: &Event<'_>| {}).unwrap(), name)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for report in reports {
        assert_eq!((report.strategy, report.error), (Some(Method::Incremental), None));
    }
    for name in ["a", "b", "c"] {
        world.assert_holds(name, JOIN);
    }
}
