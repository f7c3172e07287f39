//! A view that is refreshed from few changed rows, often, does not end up in as many files.

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::sync::{Method, ViewReport};
use world::{World, view_of};

const TABLES: &str = "
CALL lake.set_option('data_inlining_row_limit', 0);
CREATE TABLE orders (id INTEGER, customer INTEGER, price DOUBLE, note VARCHAR);
INSERT INTO orders SELECT i, nullif(i % 5, 4), i / 7, NULL FROM range(200) r(i);
INSERT INTO orders SELECT i % 3, 1, 0.1, 'copy' FROM range(30) r(i);
";

const VIEWS: &[(&str, &str)] = &[
    ("lines", "SELECT customer, price, note FROM orders WHERE id % 2 = 0"),
    ("totals", "SELECT customer, count(*) AS n, sum(id) AS ids, max(price) AS dearest FROM orders GROUP BY customer"),
    ("dear", "SELECT customer, dearest FROM totals WHERE n > 3"),
];

/// Files with rows and files with deletes of a table.
fn files(world: &World, table: &str) -> i128 {
    world.integer(&format!(
        "SELECT count(*) FROM (SELECT table_id FROM __ducklake_metadata_lake.ducklake_data_file WHERE end_snapshot IS NULL \
         UNION ALL SELECT table_id FROM __ducklake_metadata_lake.ducklake_delete_file WHERE end_snapshot IS NULL) \
         JOIN __ducklake_metadata_lake.ducklake_table USING (table_id) WHERE table_name LIKE '{table}'"
    ))
}

/// Changes both a row of many copies and a row of its own, and lets rows go; then syncs.
fn step(world: &World, round: i32) -> Vec<ViewReport> {
    world.run(&format!(
        "BEGIN; DELETE FROM orders WHERE id = {round} OR id = 2 AND note = 'copy' AND {round} % 9 = 0; \
         INSERT INTO orders VALUES ({id}, {customer}, {round} + 0.5, NULL), (2, 1, 0.1, 'copy'); COMMIT",
        id = 1_000 + 2 * round,
        customer = round % 4
    ));
    let report = world.sync();
    VIEWS.iter().map(|(name, _)| view_of(&report, name)).collect()
}

/// Catches: files that pile up, in the view's own table or in its accumulator tables; rows lost or doubled where the table
/// is written anew; a view above that takes this for a change of all rows.
#[test]
fn the_files_of_a_view_stay_few() {
    let world = World::new(TABLES);
    for (name, sql) in VIEWS {
        world.create(name, sql);
    }
    let mut compacted = [0; 3];
    for round in 0..80 {
        // For a while small changes are kept in the catalog, beside the files.
        if let Some(limit) = [(20, 10), (22, 0)].iter().find_map(|(at, limit)| (*at == round).then_some(limit)) {
            world.run(&format!("CALL lake.set_option('data_inlining_row_limit', {limit})"));
        }
        for (at, view) in step(&world, round).into_iter().enumerate() {
            assert!(matches!(view.strategy, Some(Method::Incremental | Method::Noop)), "{view:?}");
            let told = view.notes.iter().any(|note| note.starts_with("its table consisted of "));
            compacted[at] += i32::from(told);
            assert!(view.rows_deleted < 40 && view.rows_inserted < 40, "{view:?}");
        }
        if round % 9 == 0 || round > 73 {
            for (name, sql) in VIEWS {
                world.assert_holds(name, sql);
            }
        }
    }
    assert!(compacted[0] >= 1 && compacted[1] >= 1, "{compacted:?}");
    for table in ["lines", "totals", "acc_%"] {
        assert!(files(&world, table) <= 64, "{table}: {} files", files(&world, table));
    }
}
