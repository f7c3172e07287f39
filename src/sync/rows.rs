//! Comparing and counting rows of a view by content, in SQL.
//!
//! DuckDB calls some values equal that are not the same: `INTERVAL '1 month'` and `'30 days'`, `0.0` and `-0.0`. A row is
//! therefore grouped and matched by its columns and, for those types, by what tells such values apart: otherwise a
//! change from one to the other would cancel out and the view would keep the older.

use crate::lake::identifier;
use crate::view::ViewColumn;

/// `"a", "b"`
pub(crate) fn names(columns: &[ViewColumn]) -> String {
    columns.iter().map(|column| identifier(&column.name)).collect::<Vec<_>>().join(", ")
}

/// Everything by which two rows of `relation` (an alias) are the same row.
pub(crate) fn keys(relation: &str, columns: &[ViewColumn]) -> Vec<String> {
    let mut keys: Vec<String> = columns.iter().map(|column| column_of(relation, column)).collect();
    keys.extend(distinctions(relation, columns));
    keys
}

/// A column of a relation (an alias).
pub(crate) fn column_of(relation: &str, column: &ViewColumn) -> String {
    format!("{relation}.{}", identifier(&column.name))
}

/// What tells apart rows of a relation (an alias) that compare equal.
pub(crate) fn distinctions(relation: &str, columns: &[ViewColumn]) -> Vec<String> {
    columns.iter().filter_map(|column| distinction(relation, column)).collect()
}

/// What tells values apart that compare equal.
fn distinction(relation: &str, column: &ViewColumn) -> Option<String> {
    let value = column_of(relation, column);
    match column.stored_type.as_str() {
        _ if !column.inexact => None,
        "FLOAT" | "DOUBLE" => Some(format!("CASE WHEN isnan({value}) THEN NULL ELSE signbit({value}) END")),
        _ => Some(format!("CAST({value} AS VARCHAR)")),
    }
}

/// The condition that a row of `one` and a row of `other` are the same row; NULLs are equal.
pub(crate) fn same_row(one: &str, other: &str, columns: &[ViewColumn]) -> String {
    let pairs = keys(one, columns).into_iter().zip(keys(other, columns));
    pairs.map(|(one, other)| format!("{one} IS NOT DISTINCT FROM {other}")).collect::<Vec<_>>().join(" AND ")
}

/// The rows of `from` (a FROM item with the view's columns and the weight), each once, with the sum of its weights;
/// those that cancel are left out.
pub(crate) fn consolidated(from: &str, columns: &[ViewColumn], weight: &str) -> String {
    let names: Vec<String> = columns.iter().map(|column| column_of("d", column)).collect();
    let weight = format!("d.{}", identifier(weight));
    format!(
        "SELECT {}, CAST(sum({weight}) AS BIGINT) AS {} FROM {from} AS d GROUP BY {} HAVING sum({weight}) <> 0",
        names.join(", "),
        identifier(crate::plan::WEIGHT),
        keys("d", columns).join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, stored_type: &str, inexact: bool) -> ViewColumn {
        ViewColumn { name: name.into(), data_type: stored_type.into(), stored_type: stored_type.into(), inexact }
    }

    #[test]
    fn exact_types_are_compared_by_value_alone() {
        let columns = [column("a", "INTEGER", false), column("b", "VARCHAR", false)];
        let condition = same_row("x", "y", &columns);
        assert_eq!(condition, r#"x."a" IS NOT DISTINCT FROM y."a" AND x."b" IS NOT DISTINCT FROM y."b""#);
    }

    #[test]
    fn values_that_compare_equal_are_told_apart() {
        let keys = keys("x", &[column("d", "DOUBLE", true), column("i", "INTERVAL", true)]);
        assert_eq!(keys[2], r#"CASE WHEN isnan(x."d") THEN NULL ELSE signbit(x."d") END"#);
        assert_eq!(keys[3], r#"CAST(x."i" AS VARCHAR)"#);
    }
}
