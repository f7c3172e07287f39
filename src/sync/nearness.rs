//! Comparing rows whose floating-point numbers may differ in their last digits, in SQL: on their own, and inside lists,
//! structs and maps.

use super::rows::column_of;
use crate::lake::{identifier, literal};
use crate::view::ViewColumn;

/// How far two floating-point numbers may be apart, relative to the larger, and still be taken for the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tolerance {
    /// DuckLake keeps a few rows in its catalog by way of decimal literals, whose conversion can be off in the last digit
    /// (DuckLake d8a1881e, format 1.0).
    LastDigit,
    /// Twelve significant digits of a DOUBLE, five of a FLOAT: the order in which DuckDB adds numbers up is not the same
    /// in every run, and each addition may round another way.
    Summation,
}

impl Tolerance {
    /// Of a DOUBLE, or of a FLOAT.
    fn of(self, single: bool) -> &'static str {
        match (self, single) {
            (Tolerance::LastDigit, false) => "4.5e-16::DOUBLE",
            (Tolerance::LastDigit, true) => "2.4e-7::FLOAT",
            (Tolerance::Summation, false) => "1e-12::DOUBLE",
            (Tolerance::Summation, true) => "1e-5::FLOAT",
        }
    }
}

/// Where a type has floating-point numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Floats {
    None,
    /// It is FLOAT.
    Single,
    /// It is DOUBLE.
    Double,
    List(Box<Floats>),
    Struct(Vec<(String, Floats)>),
    Map(Box<Floats>, Box<Floats>),
}

impl Floats {
    /// Reads the text of a type as [`crate::plan::DataType`] writes it.
    fn of(data_type: &str) -> Floats {
        let inside = |word: &str| data_type.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
        let found = if let Some(element) = data_type.strip_suffix("[]") {
            Floats::List(Box::new(Floats::of(element)))
        } else if let Some(members) = inside("STRUCT") {
            Floats::Struct(parts(members).filter_map(member).collect())
        } else if let Some(members) = inside("MAP") {
            let mut types = parts(members).map(Floats::of);
            Floats::Map(Box::new(types.next().unwrap_or(Floats::None)), Box::new(types.next().unwrap_or(Floats::None)))
        } else {
            match data_type {
                "FLOAT" => Floats::Single,
                "DOUBLE" => Floats::Double,
                _ => Floats::None,
            }
        };
        if found.is_none() { Floats::None } else { found }
    }

    fn is_none(&self) -> bool {
        match self {
            Floats::None => true,
            Floats::Single | Floats::Double => false,
            Floats::List(element) => element.is_none(),
            Floats::Struct(members) => members.iter().all(|(_, member)| member.is_none()),
            Floats::Map(key, value) => key.is_none() && value.is_none(),
        }
    }

    /// The condition that two values are the same but for rounding; never NULL. `depth` names the lambdas' parameters.
    fn same(&self, one: &str, other: &str, tolerance: Tolerance, depth: usize) -> String {
        let equal = format!("{one} IS NOT DISTINCT FROM {other}");
        let near = match self {
            Floats::None => return equal,
            // DuckDB's NaN is the largest number and the same as itself: without the guard it would be near any other.
            Floats::Single | Floats::Double => format!(
                "isfinite({one}) AND isfinite({other}) AND \
                 abs({one} - {other}) <= {} * greatest(abs({one}), abs({other}))",
                tolerance.of(*self == Floats::Single)
            ),
            Floats::List(element) => pairwise(element, one, other, tolerance, depth),
            Floats::Map(key, value) => {
                let entry = Floats::Struct(vec![("key".into(), (**key).clone()), ("value".into(), (**value).clone())]);
                let (one, other) = (format!("map_entries({one})"), format!("map_entries({other})"));
                pairwise(&entry, &one, &other, tolerance, depth)
            }
            Floats::Struct(members) => {
                let members = members.iter().map(|(name, member)| {
                    let field = |value: &str| format!("struct_extract({value}, {})", literal(name));
                    member.same(&field(one), &field(other), tolerance, depth)
                });
                let members = members.collect::<Vec<_>>().join(" AND ");
                format!("{one} IS NOT NULL AND {other} IS NOT NULL AND {members}")
            }
        };
        format!("({equal} OR coalesce({near}, false))")
    }
}

/// The condition that two lists are as long and hold the same values but for rounding.
fn pairwise(element: &Floats, one: &str, other: &str, tolerance: Tolerance, depth: usize) -> String {
    let pair = format!("p{depth}");
    let same = element.same(&format!("{pair}[1]"), &format!("{pair}[2]"), tolerance, depth + 1);
    format!(
        "len({one}) = len({other}) AND \
         NOT list_contains(list_transform(list_zip({one}, {other}), lambda {pair}: {same}), false)"
    )
}

/// Splits at the commas that stand in no bracket and no quotes.
fn parts(members: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0, None);
    members
        .split(move |c: char| {
            match (quote, c) {
                (Some(end), _) if c == end => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                _ => {}
            }
            c == ',' && depth == 0 && quote.is_none()
        })
        .map(str::trim)
}

/// The name and the type of a member of a struct: `"a b" DOUBLE`. A quote within the name is doubled.
fn member(text: &str) -> Option<(String, Floats)> {
    let rest = text.strip_prefix('"')?;
    let end = rest.replace("\"\"", "\0\0").find('"')?;
    let (name, data_type) = rest.split_at_checked(end)?;
    Some((name.replace("\"\"", "\""), Floats::of(data_type.strip_prefix('"')?.trim_start())))
}

/// Can values of the column differ by rounding?
pub(crate) fn is_rounded(column: &ViewColumn) -> bool {
    !Floats::of(&column.stored_type).is_none()
}

/// Is the column a floating-point number itself?
pub(crate) fn is_number(column: &ViewColumn) -> bool {
    matches!(Floats::of(&column.stored_type), Floats::Single | Floats::Double)
}

/// The condition that a value of a column is the same in the relations (aliases) `one` and `other`, but for rounding.
pub(crate) fn nearly_same(one: &str, other: &str, column: &ViewColumn, tolerance: Tolerance) -> String {
    Floats::of(&column.stored_type).same(&column_of(one, column), &column_of(other, column), tolerance, 1)
}

/// A condition that holds wherever [`nearly_same`] does for a number, and that DuckDB can sort by instead of comparing
/// each row with each other.
pub(crate) fn within_reach(one: &str, other: &str, column: &ViewColumn) -> String {
    let place = |relation: &str| {
        let value = format!("{relation}.{}", identifier(&column.name));
        format!("CASE WHEN isfinite({value}) THEN {value}::DOUBLE ELSE 0 END")
    };
    let (one, other) = (place(one), place(other));
    format!("{other} >= {one} - 2e-5 * abs({one}) AND {other} <= {one} + 2e-5 * abs({one})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(data_type: &str, one: &str, other: &str) -> bool {
        let connection = duckdb::Connection::open_in_memory().unwrap();
        let condition = Floats::of(data_type).same("x", "y", Tolerance::Summation, 1);
        let sql = format!(
            "SELECT {condition} FROM (SELECT CAST({one} AS {data_type}) AS x, CAST({other} AS {data_type}) AS y)"
        );
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn numbers_may_differ_in_their_last_digits_only() {
        assert!(same("DOUBLE", "0.1 + 0.2::DOUBLE", "0.3"));
        assert!(same("DOUBLE", "'nan'", "'nan'") && same("DOUBLE", "NULL", "NULL"));
        assert!(!same("DOUBLE", "1", "1.000001") && same("FLOAT", "1", "1.000001"));
        for (one, other) in [("'nan'", "1"), ("'inf'", "1"), ("'inf'", "'-inf'"), ("NULL", "1"), ("'nan'", "'inf'")] {
            assert!(!same("DOUBLE", one, other) && !same("DOUBLE", other, one), "{one} and {other}");
        }
    }

    #[test]
    fn so_may_those_inside_other_values() {
        let (near, far) = ("0.1::DOUBLE + 0.2::DOUBLE", "0.31");
        assert!(same("DOUBLE[]", &format!("[{near}, NULL]"), "[0.3, NULL]"));
        assert!(!same("DOUBLE[]", &format!("[{far}, NULL]"), "[0.3, NULL]"));
        assert!(
            !same("DOUBLE[]", "[0.3, NULL]", "[0.3]")
                && !same("DOUBLE[]", "[]", "NULL")
                && same("DOUBLE[]", "[]", "[]")
        );
        let nested = r#"STRUCT("a, ""b" DOUBLE, "c" MAP(VARCHAR, STRUCT("x" DOUBLE[], "n" INTEGER)))"#;
        let value = |a: &str, x: &str, n: i32| format!("row({a}, MAP {{'k': row([{x}], {n})}})");
        assert!(same(nested, &value(near, near, 1), &value("0.3", "0.3", 1)));
        assert!(!same(nested, &value(near, near, 2), &value("0.3", "0.3", 1)));
        assert!(!same(nested, &value(near, far, 1), &value("0.3", "0.3", 1)));
        assert!(!same(nested, &value(far, near, 1), &value("0.3", "0.3", 1)));
        assert!(!same(r#"STRUCT("a" DOUBLE)"#, "NULL", "row(NULL)"));
    }

    #[test]
    fn other_types_are_compared_as_they_are() {
        for data_type in
            ["INTEGER", "VARCHAR[]", r#"STRUCT("a" DECIMAL(10, 2), "DOUBLE" MAP(DATE, BLOB))"#, "GEOMETRY('a(')"]
        {
            assert_eq!(Floats::of(data_type), Floats::None, "{data_type}");
        }
    }
}
