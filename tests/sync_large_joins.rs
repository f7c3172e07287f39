//! Joins of tables so large that a refresh first reduces them to the rows that the change can meet.

#[path = "support/world.rs"]
mod world;

use ducklake_ivm::sync::Method;
use world::World;

/// Two large tables with NULL and repeated keys, a small one between them, and a large one that only the small one leads
/// to.
const TABLES: &str = "
CREATE TABLE lines (order_id INTEGER, supplier INTEGER, amount INTEGER);
CREATE TABLE orders (id INTEGER, customer INTEGER, day DATE);
CREATE TABLE nation (id INTEGER, name VARCHAR);
CREATE TABLE customer (id INTEGER, nation INTEGER);
INSERT INTO nation SELECT i, 'n' || i FROM range(20) r(i);
INSERT INTO customer SELECT i, nullif(i % 21, 20) FROM range(60_000) r(i);
INSERT INTO orders SELECT nullif(i, 17), nullif(i % 60_000, 5), DATE '2026-01-01' + (i % 300)::INTEGER FROM range(70_000) r(i);
INSERT INTO lines SELECT nullif(i % 70_000, 99), i % 50, i % 7 FROM range(140_000) r(i);
";

/// Changes of all tables, some rows touched twice, NULLs and copies among them.
const CHANGES: &[&str] = &[
    "BEGIN; DELETE FROM orders WHERE id IN (3, 4, 5, 60_001); UPDATE lines SET amount = amount + 1 WHERE order_id = 9; \
     INSERT INTO orders VALUES (3, 11, '2026-05-05'), (3, 11, '2026-05-05'), (NULL, 12, NULL), (70_001, NULL, NULL); \
     INSERT INTO lines VALUES (3, 1, 1), (3, 1, 1), (NULL, 2, 2), (70_001, 7, 7); COMMIT",
    "UPDATE customer SET nation = 3 WHERE id IN (11, 12, 300)",
    "BEGIN; UPDATE nation SET name = 'moved' WHERE id = 7; INSERT INTO nation VALUES (7, 'twice'), (NULL, 'none'); \
     DELETE FROM lines WHERE order_id = 10; INSERT INTO customer VALUES (5, 7), (11, 3); COMMIT",
    "DELETE FROM orders WHERE customer = 11",
];

/// After every change the views hold what their queries return; so they do when all changes come at once.
fn follow(views: &[(&str, &str)]) {
    for at_once in [false, true] {
        let world = World::new(TABLES);
        for (name, sql) in views {
            world.create(name, sql);
        }
        for (position, change) in CHANGES.iter().enumerate() {
            world.run(change);
            if at_once && position + 1 < CHANGES.len() {
                continue;
            }
            let report = world.sync();
            for (view, (name, sql)) in report.views.iter().zip(views) {
                assert!(matches!(view.strategy, Some(Method::Incremental | Method::Noop)), "{view:?}");
                world.assert_holds(name, sql);
            }
        }
    }
}

/// Catches: a reduction that loses rows (by a NULL, a copy, a chain through a small leg, two equalities of one pair), or
/// one in the wrong state.
#[test]
fn large_legs_are_reduced_without_a_trace() {
    follow(&[
        (
            "chain",
            "SELECT l.amount, o.day, c.id, n.name FROM lines l JOIN orders o ON l.order_id = o.id \
             JOIN customer c ON o.customer = c.id JOIN nation n ON c.nation = n.id",
        ),
        (
            "circle",
            "SELECT o.id, count(*) AS lines, sum(l.amount) AS amount FROM lines l, orders o, customer c, nation n \
             WHERE l.order_id = o.id AND o.customer = c.id AND c.nation = n.id AND l.supplier = n.id GROUP BY o.id",
        ),
        (
            "through_nation",
            "SELECT n.name, o.id, l.amount FROM nation n JOIN customer c ON c.nation = n.id AND c.id < 2_000 \
             JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id AND l.supplier + 1 = n.id + 1",
        ),
        (
            "self_join",
            "SELECT a.id, b.day FROM orders a JOIN orders b ON a.id = b.id AND a.customer = b.customer AND a.day <= b.day",
        ),
    ]);
}
