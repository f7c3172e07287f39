//! The queries of `tests/corpus/odd.sql` as views, played through changes of every table that they read, several of them
//! in one window: whatever the strategy, each view holds what its query returns. `CORPUS=all` plays every query of the
//! corpus, `CORPUS=family` those of one file.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what was recomputed")]

#[path = "support/world.rs"]
mod world;

use std::fs;
use std::path::Path;

use ducklake_ivm::sync::Method;
use world::World;

/// Views over the tables of `tests/corpus/lake.sql`, by name.
fn views(only: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut views = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        if stem == "lake" {
            continue;
        }
        let mut line = 1;
        for block in fs::read_to_string(&file).unwrap().split("\n\n") {
            let sql: Vec<&str> = block.lines().filter(|line| !line.starts_with("--")).collect();
            if !sql.is_empty() && !block.contains("-- rows differ") {
                views.push((format!("{stem}_{line}"), sql.join("\n").trim().to_owned()));
            }
            line += block.lines().count() + 1;
        }
    }
    views.retain(|(name, _)| only == "all" || name == only || name.split('_').next() == Some(only));
    views
}

/// Windows of several commits each.
const WINDOWS: [&str; 6] = [
    "INSERT INTO orders VALUES (8, 3, 7.50, '2021-01-01', 'rush', ['a', NULL], {'kind': 1, 'label': 'n'}), (9, 4, 1.00, '2021-03-01', 'slow', ['z'], NULL), (2, 1, 20.00, '2021-01-02', NULL, [], {'kind': 2, 'label': NULL});
DELETE FROM customer WHERE id = 3;
INSERT INTO customer VALUES (9, 'Zoe', 2, '2021-02-10'), (4, 'Dan', 1, '2021-01-01');
UPDATE tiny SET b = 3 WHERE a = 2;
INSERT INTO small VALUES (0, 1), (3, NULL), (1, 1), (NULL, NULL);
INSERT INTO price VALUES (2, '2021-02-15 00:00:00', 7.25), (9, '2021-02-11 00:00:00', 3)",
    "UPDATE customer SET nation = 3 WHERE id = 2;
DELETE FROM orders WHERE id = 6 AND rowid % 2 = 0;
UPDATE orders SET customer = 2, amount = 5.25 WHERE id IN (4, 5);
DELETE FROM small WHERE x IS NULL;
INSERT INTO tiny VALUES (5, 1), (1, 2), (NULL, 2), (9, 9);
UPDATE nation SET name = 'Greece' WHERE id = 3;
DELETE FROM price WHERE product = 1 AND value > 2;
DELETE FROM every_type WHERE flag",
    "DELETE FROM small;
DELETE FROM nation WHERE id = 1;
UPDATE orders SET placed = '2021-02-01', note = 'slow' WHERE id = 1",
    "INSERT INTO small SELECT a, b FROM tiny;
INSERT INTO nation VALUES (1, 'France'), (4, 'Chile');
DELETE FROM tiny WHERE a IS NULL OR a = 0;
DELETE FROM customer WHERE nation = 1;
INSERT INTO price SELECT product, valid + INTERVAL 1 DAY, value + 1 FROM price WHERE product IS NOT NULL",
    "DELETE FROM orders;
DELETE FROM tiny",
    "INSERT INTO orders VALUES (1, 1, 10.50, '2021-01-01', 'rush', ['a', 'b'], {'kind': 1, 'label': 'x'}), (2, 9, 3, '2021-02-11', 'slow', NULL, NULL), (3, 2, 3, NULL, 'rush', ['b'], NULL);
INSERT INTO tiny VALUES (2, 2), (NULL, NULL), (1, 3);
INSERT INTO customer SELECT id + 1, name, nation, since FROM customer WHERE id IS NOT NULL",
];

#[test]
fn odd_queries_hold_through_changes_of_every_table() {
    let family = std::env::var("CORPUS").unwrap_or_else(|_| "odd".to_owned());
    let world = World::new("");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    world.run(&fs::read_to_string(folder.join("lake.sql")).unwrap());
    let mut views = views(&family);
    let mut problems = Vec::new();
    views.retain(|(name, sql)| match world.try_create(name, sql) {
        Ok(created) => {
            let obstacle = created.view.class.obstacle;
            if let Some(obstacle) = &obstacle {
                problems.push(format!("{name}: {obstacle}\n    {sql}"));
            }
            obstacle.is_none()
        }
        Err(error) => {
            problems.push(format!("{name}: {error}\n    {sql}"));
            false
        }
    });
    for (number, change) in WINDOWS.into_iter().enumerate() {
        world.run(change);
        world.run("PRAGMA enable_optimizer");
        let report = world.sync_with(&ducklake_ivm::sync::SyncOptions::default()).unwrap();
        // What is right is what DuckDB says without its optimizer.
        world.run("PRAGMA disable_optimizer");
        for view in &report.views {
            let name = view.view.trim_start_matches("main.");
            let Some((_, sql)) = views.iter().find(|(known, _)| known == name) else { continue };
            if let Some(error) = &view.error {
                problems.push(format!("{name} in window {number}: {error:?}\n    {sql}"));
                continue;
            }
            if !matches!(view.strategy, Some(Method::Incremental | Method::Noop)) {
                problems.push(format!("{name} in window {number}: {:?} {:?}\n    {sql}", view.strategy, view.reason));
            }
            world.run(&format!("CREATE OR REPLACE TEMP TABLE wanted AS {sql}"));
            let differing = format!(
                "SELECT count(*) FROM ((FROM {name} EXCEPT ALL FROM wanted) UNION ALL (FROM wanted EXCEPT ALL FROM {name}))"
            );
            if world.integer(&differing) != 0 {
                let (held, wanted) = (world.rows(&format!("FROM {name}")), world.rows("FROM wanted"));
                problems.push(format!("{name} DIFFERS in window {number}\n    {sql}\n    {held:?}\n    {wanted:?}"));
            }
        }
    }
    for problem in &problems {
        println!("{problem}");
    }
    assert!(problems.is_empty(), "{} problems", problems.len());
}
