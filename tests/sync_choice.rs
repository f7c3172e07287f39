//! `auto` takes the cheaper of the changes and the query, by estimated rows, and says why.

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::sync::Method;
use world::World;

const TABLES: &str = "
CREATE TABLE orders (id INTEGER, customer INTEGER, price INTEGER);
CREATE TABLE customer (id INTEGER, name VARCHAR);
INSERT INTO customer SELECT i, 'c' || i FROM range(1_000) r(i);
INSERT INTO orders SELECT i, nullif(i % 1_000, 7), (i * 7919) % 150_001 FROM range(150_000) r(i);
";

/// Rows that go lie all over the table's only file.
const SCATTERED: &str = "DELETE FROM orders WHERE id % 3_000 = 5";

const INSERTED: &str = "INSERT INTO orders SELECT i, i % 9, 200_000 + i FROM range(1_000_000, 1_000_050) r(i)";

/// What a sync did with each view, after which it holds what its query returns.
fn chosen(views: &[(&str, &str)], change: &str) -> Vec<(Option<Method>, Option<String>)> {
    let world = World::new(TABLES);
    for (name, sql) in views {
        world.create(name, sql);
    }
    // The deletes of the window share a delete file with older ones.
    world.run("DELETE FROM orders WHERE id % 10_000 = 7");
    world.sync();
    world.run(change);
    let report = world.sync();
    for (name, sql) in views {
        world.assert_holds(name, sql);
    }
    report.views.iter().map(|view| (view.strategy, view.reason.clone())).collect()
}

const CHEAP: &[(&str, &str)] = &[
    ("dearest", "SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 10"),
    ("middle", "SELECT median(price) AS middle FROM orders"),
    ("ranked", "SELECT id, rank() OVER (ORDER BY price, id) AS place FROM orders WHERE customer = 3"),
];

/// Catches: a rule that reads more than the query does, and no word about it.
#[test]
fn a_query_that_reads_less_than_its_changes_is_run() {
    for (position, (method, reason)) in chosen(CHEAP, SCATTERED).into_iter().enumerate() {
        assert_eq!(method, Some(Method::Recompute), "{:?}", CHEAP[position]);
        let reason = reason.unwrap_or_default();
        assert!(reason.starts_with("the changes would cost more than the query"), "{reason}");
    }
}

/// Catches: an estimate that takes the reading of a small change for dear.
#[test]
fn what_was_only_inserted_is_folded_in() {
    let dearest = &CHEAP[..1];
    assert_eq!(chosen(dearest, INSERTED), [(Some(Method::Incremental), None)]);
}

/// Catches: an estimate that gives up on joins and groups, where a recompute takes up every row.
#[test]
fn joins_and_groups_are_refreshed_from_their_changes() {
    let views = [
        ("joined", "SELECT o.id, c.name FROM orders o JOIN customer c ON o.customer = c.id"),
        ("grouped", "SELECT customer, sum(price) AS price, count(*) AS n FROM orders GROUP BY customer"),
        ("latest", "SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY id DESC) = 1"),
        ("without", "SELECT id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)"),
        ("medians", "SELECT customer, median(price) AS middle FROM orders GROUP BY customer"),
    ];
    for ((name, _), found) in views.iter().zip(chosen(&views, SCATTERED)) {
        assert_eq!(found, (Some(Method::Incremental), None), "{name}");
    }
}

/// Catches: terms over changes that are most of the table.
#[test]
fn changes_of_most_rows_are_dearer_than_the_query() {
    let views = [("joined", "SELECT o.id, c.name FROM orders o JOIN customer c ON o.customer = c.id")];
    let found = chosen(&views, "UPDATE orders SET customer = customer + 1");
    assert!(matches!(found[0].0, Some(Method::Recompute | Method::Full)), "{found:?}");
    assert!(found[0].1.is_some(), "{found:?}");
}
