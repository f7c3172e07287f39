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

/// Subqueries as values and under OR, laterals, ASOF joins.
fn looking_up(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let pair = (inner.clone(), inner.clone());
    let marks = proptest::sample::select(vec![
        "x.b IN (SELECT y.a FROM ({right}) y)",
        "x.b NOT IN (SELECT y.a FROM ({right}) y WHERE y.b > 0)",
        "x.a IN (SELECT y.b FROM ({right}) y WHERE y.a >= x.b)",
        "x.a > ALL (SELECT y.b FROM ({right}) y)",
        "x.a = ANY (SELECT y.b FROM ({right}) y WHERE y.a = x.b)",
        "EXISTS (SELECT 1 FROM ({right}) y WHERE y.a = x.a AND y.b > x.b)",
        "NOT EXISTS (SELECT 1 FROM ({right}) y WHERE y.a IS NOT DISTINCT FROM x.b)",
        "EXISTS (SELECT 1 FROM ({right}) y WHERE y.a = 3)",
        "(x.a, x.b) IN (SELECT y.a, y.b FROM ({right}) y)",
    ]);
    let values = proptest::sample::select(vec![
        "(SELECT count(*) FROM ({right}) y WHERE y.a = x.a)",
        "(SELECT sum(y.b) FROM ({right}) y WHERE y.a < x.b)",
        "(SELECT max(y.a) FROM ({right}) y)",
        "(SELECT min(y.b) FROM ({right}) y WHERE y.a = x.a AND y.b > x.b)",
        "(SELECT y.b FROM ({right}) y WHERE y.a = x.b ORDER BY y.b LIMIT 1)",
    ]);
    let laterals = proptest::sample::select(vec![
        ", LATERAL (SELECT y.b AS v FROM ({right}) y WHERE y.a = x.a ORDER BY y.b DESC LIMIT 1) z",
        ", LATERAL (SELECT y.b AS v FROM ({right}) y WHERE y.a < x.a) z",
        " LEFT JOIN LATERAL (SELECT y.b AS v FROM ({right}) y WHERE y.a = x.b) z ON true",
        ", LATERAL (SELECT count(*)::INTEGER AS v FROM ({right}) y WHERE y.a = x.b) z",
    ]);
    let as_of = proptest::sample::select(vec!["", "LEFT "]);
    prop_oneof![
        3 => (pair.clone(), marks.clone(), 0..4_i32).prop_map(|((left, right), mark, value)| {
            format!("SELECT a, b, c FROM ({left}) x WHERE x.b = {value} OR {}", mark.replace("{right}", &right))
        }),
        2 => (pair.clone(), marks).prop_map(|((left, right), mark)| {
            format!("SELECT a, CAST({} AS INTEGER) AS b, c FROM ({left}) x", mark.replace("{right}", &right))
        }),
        3 => (pair.clone(), values).prop_map(|((left, right), value)| {
            format!("SELECT a, CAST({} AS INTEGER) AS b, c FROM ({left}) x", value.replace("{right}", &right))
        }),
        2 => (pair.clone(), laterals).prop_map(|((left, right), lateral)| {
            format!("SELECT x.a, z.v AS b, x.c FROM ({left}) x{}", lateral.replace("{right}", &right))
        }),
        2 => (pair.clone(), as_of.clone()).prop_map(|((left, right), kind)| {
            format!("SELECT x.a, y.b, x.c FROM ({left}) x ASOF {kind}JOIN (SELECT DISTINCT a, b FROM ({right})) y ON x.a = y.a AND x.b >= y.b")
        }),
        1 => (pair, as_of).prop_map(|((left, right), kind)| {
            format!("SELECT x.a, y.b, x.c FROM ({left}) x ASOF {kind}JOIN ({right}) y ON x.a < y.b")
        }),
    ]
    .boxed()
}

/// The first rows of an order, of all rows or of each group. What is returned does not depend on how ties are broken.
fn chosen(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let counts = proptest::sample::select(vec!["LIMIT 3", "LIMIT 2 OFFSET 1", "LIMIT 5", "OFFSET 2", "LIMIT 40%"]);
    let orders =
        proptest::sample::select(vec!["a, b", "b DESC, a NULLS FIRST", "a DESC NULLS LAST, b DESC NULLS FIRST"]);
    let calls = proptest::sample::select(vec![
        "row_number() OVER (PARTITION BY a ORDER BY b)",
        "rank() OVER (PARTITION BY a ORDER BY b DESC)",
        "lag(b) OVER (PARTITION BY a ORDER BY b)",
        "count(*) OVER (PARTITION BY b)",
        "sum(b) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "max(b) OVER ()",
        "first_value(b) OVER (PARTITION BY a ORDER BY b DESC)",
    ]);
    let picks = proptest::sample::select(vec!["any_value(a)", "arg_max(b, b)", "first(a ORDER BY a)", "mode(a)"]);
    prop_oneof![
        2 => (inner.clone(), orders.clone(), counts.clone()).prop_map(|(input, order, count)| {
            format!("SELECT a, b, 0 AS c FROM (SELECT a, b, c FROM ({input}) x ORDER BY {order} {count}) y")
        }),
        2 => (inner.clone(), orders.clone(), counts).prop_map(|(input, order, count)| {
            format!("SELECT a, b, 0 AS c FROM ({input}) x ORDER BY {order} {count}")
        }),
        1 => inner.clone().prop_map(|input| format!("SELECT DISTINCT ON (a) a, b, 0 AS c FROM ({input}) x ORDER BY a, b DESC")),
        2 => (inner.clone(), calls.clone()).prop_map(|(input, call)| {
            format!("SELECT a, CAST({call} AS INTEGER) AS b, 0 AS c FROM ({input}) x")
        }),
        1 => (inner.clone(), calls.clone(), calls.clone()).prop_map(|(input, one, two)| {
            format!("SELECT CAST({one} AS INTEGER) AS a, CAST({two} AS INTEGER) AS b, 0 AS c FROM (SELECT DISTINCT a, b FROM ({input})) x")
        }),
        1 => inner.clone().prop_map(|input| format!("SELECT a, b, 0 AS c FROM ({input}) x QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= 2")),
        1 => (inner.clone(), picks).prop_map(|(input, pick)| format!("SELECT a, CAST({pick} AS INTEGER) AS b, 0 AS c FROM ({input}) x GROUP BY a")),
    ]
    .boxed()
}

/// Recursion, pivots, and groups by values of any type.
fn reshaped(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![
        1 => (inner.clone(), inner.clone()).prop_map(|(start, step)| {
            format!("WITH RECURSIVE w AS (SELECT a, b FROM ({start}) x UNION SELECT w.a, y.b FROM w JOIN ({step}) y ON w.b = y.a) SELECT a, b, 0 AS c FROM w")
        }),
        1 => inner.clone().prop_map(|input| {
            format!("SELECT a, \"1\"::INTEGER AS b, \"2\"::INTEGER AS c FROM (SELECT a, b FROM ({input}) x) PIVOT (count(*) FOR b IN (1, 2) GROUP BY a)")
        }),
        1 => inner.clone().prop_map(|input| {
            format!("SELECT a, v AS b, 0 AS c FROM (SELECT a, a AS one, b AS two FROM ({input}) x) UNPIVOT (v FOR n IN (one, two))")
        }),
        2 => inner.clone().prop_map(|input| format!("SELECT CAST(count(*) AS INTEGER) AS a, min(b) AS b, c FROM ({input}) x GROUP BY c")),
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
        prop_oneof![
            4 => joined(inner.clone()),
            3 => probing(&inner),
            3 => looking_up(&inner),
            3 => grouped(inner.clone()),
            3 => chosen(&inner),
            1 => reshaped(&inner),
        ]
    })
}
