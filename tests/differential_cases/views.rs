//! Random views. Every query returns columns `a`, `b` (small integers) and `c`, so that any can stand in any.

use proptest::prelude::*;

use super::{TABLES, Types};

/// A query, and whether its third column is an integer too.
fn scan() -> impl Strategy<Value = String> {
    proptest::sample::select(TABLES.to_vec()).prop_map(|table| format!("SELECT a, b, c FROM lake.main.{table}"))
}

fn comparison() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["=", "=", "=", "IS NOT DISTINCT FROM", "<", "<>"])
}

fn key() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "b"])
}

/// Filters, projections, joins, unions and lists.
fn joined(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let pair = (inner.clone(), inner.clone());
    prop_oneof![
        3 => (pair.clone(), key(), comparison(), key()).prop_map(|((left, right), l, op, r)| {
            format!("SELECT x.a, y.b, x.c FROM ({left}) x JOIN ({right}) y ON x.{l} {op} y.{r}")
        }),
        1 => (pair.clone(), key()).prop_map(|((left, right), k)| {
            format!("SELECT x.a, y.a AS b, y.c FROM ({left}) x, ({right}) y WHERE x.{k} = y.{k} OR x.a IS NULL")
        }),
        1 => (pair.clone(), inner.clone()).prop_map(|((one, two), three)| {
            format!("SELECT x.a, z.b, y.c FROM ({one}) x JOIN ({two}) y ON x.a = y.a JOIN ({three}) z ON y.b = z.b")
        }),
        2 => (inner.clone(), 0..4_i32).prop_map(|(input, value)| format!("SELECT a, b, c FROM ({input}) x WHERE b <= {value} OR a IS NULL")),
        1 => inner.clone().prop_map(|input| format!("SELECT coalesce(b, 0) AS a, a + b AS b, c FROM ({input}) x WHERE c IS NOT NULL")),
        1 => inner.clone().prop_map(|input| format!("SELECT a, unnest([a, b, a]) AS b, c FROM ({input}) x")),
        1 => inner.clone().prop_map(|input| format!("SELECT x.a, i AS b, x.c FROM ({input}) x, range(x.a) q(i)")),
        1 => inner.clone().prop_map(|input| format!("WITH w AS ({input}) SELECT x.a, y.b, x.c FROM w x JOIN w y ON x.a = y.b")),
        1 => inner.prop_map(|input| format!("SELECT a, b, c FROM ({input}) x UNION ALL SELECT b, a, c FROM ({input}) y WHERE a = 1")),
    ]
    .boxed()
}

/// Outer, semi and anti joins, and what is written as subqueries.
fn probing(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let pair = (inner.clone(), inner.clone());
    let kinds = proptest::sample::select(vec!["LEFT", "RIGHT", "FULL"]);
    prop_oneof![
        3 => (pair.clone(), kinds, key(), comparison(), key()).prop_map(|((left, right), kind, l, op, r)| {
            format!("SELECT x.a, y.b, x.c FROM ({left}) x {kind} JOIN ({right}) y ON x.{l} {op} y.{r} AND y.a IS NOT NULL")
        }),
        1 => (pair.clone(), key()).prop_map(|((left, right), k)| {
            format!("SELECT a, b, c FROM ({left}) x WHERE EXISTS (SELECT 1 FROM ({right}) y WHERE y.a = x.{k} AND y.b <> x.b)")
        }),
        1 => (pair.clone(), key()).prop_map(|((left, right), k)| {
            format!("SELECT a, b, c FROM ({left}) x WHERE NOT EXISTS (SELECT 1 FROM ({right}) y WHERE y.a = x.{k})")
        }),
        1 => (pair.clone(), key()).prop_map(|((left, right), k)| format!("SELECT a, b, c FROM ({left}) x WHERE {k} IN (SELECT b FROM ({right}) y)")),
        1 => (pair.clone(), key()).prop_map(|((left, right), k)| format!("SELECT a, b, c FROM ({left}) x WHERE {k} NOT IN (SELECT b FROM ({right}) y)")),
        1 => pair.clone().prop_map(|(left, right)| format!("SELECT a, CASE WHEN b IN (SELECT a FROM ({right}) y) THEN 1 ELSE 0 END AS b, c FROM ({left}) x")),
        1 => pair.prop_map(|(left, right)| format!("SELECT a, (SELECT max(y.b) FROM ({right}) y WHERE y.a = x.a) AS b, c FROM ({left}) x")),
    ]
    .boxed()
}

/// Groups, distinct rows, set operations and windows.
fn grouped(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let pair = (inner.clone(), inner.clone());
    let sets = proptest::sample::select(vec!["UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]);
    let calls = proptest::sample::select(vec![
        "count(*)",
        "count(b)",
        "sum(b)",
        "min(b)",
        "max(b)",
        "sum(b) FILTER (WHERE b > 1)",
        "count(DISTINCT b)",
    ]);
    prop_oneof![
        2 => (inner.clone(), calls.clone(), calls.clone()).prop_map(|(input, one, two)| {
            format!("SELECT a, CAST({one} AS INTEGER) AS b, CAST({two} AS INTEGER) AS c FROM ({input}) x GROUP BY a")
        }),
        1 => (inner.clone(), calls.clone()).prop_map(|(input, call)| {
            format!("SELECT a, b, {call} AS c FROM ({input}) x GROUP BY a, b HAVING count(*) > 1")
        }),
        1 => (inner.clone(), calls.clone()).prop_map(|(input, call)| {
            format!("SELECT CAST(count(*) AS INTEGER) AS a, CAST({call} AS INTEGER) AS b, 1 AS c FROM ({input}) x")
        }),
        1 => (inner.clone(), calls).prop_map(|(input, call)| {
            format!("SELECT a, b, {call} AS c FROM ({input}) x GROUP BY ROLLUP (a, b)")
        }),
        1 => inner.clone().prop_map(|input| format!("SELECT DISTINCT a, b, 0 AS c FROM ({input}) x")),
        1 => (pair, sets).prop_map(|((left, right), op)| format!("SELECT a, b, 0 AS c FROM ({left}) x {op} SELECT b, a, 0 FROM ({right}) y")),
        1 => inner.prop_map(|input| format!("SELECT a, CAST(sum(b) OVER (PARTITION BY a) AS INTEGER) AS b, c FROM ({input}) x")),
    ]
    .boxed()
}

/// A view over the three tables.
pub(crate) fn view(_types: Types) -> impl Strategy<Value = String> {
    scan().prop_recursive(3, 6, 3, |inner| {
        let inner = inner.boxed();
        prop_oneof![4 => joined(inner.clone()), 2 => probing(&inner), 2 => grouped(inner)]
    })
}
