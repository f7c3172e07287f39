//! Calls of every aggregate function that DuckDB lists, with arguments of every type that a lake can hold.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod page;

use std::collections::{BTreeMap, BTreeSet};

use ducklake_ivm::lake::{Lake, Value};

/// The table that the views read: all values of a row follow from its number, so that rows tie only if they are the same.
pub(crate) const TABLE: &str = "CREATE TABLE t (id INTEGER, k INTEGER, b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INTEGER, \
    i64 BIGINT, u8 UTINYINT, u16 USMALLINT, u32 UINTEGER, u64 UBIGINT, f FLOAT, d DOUBLE, c DECIMAL(10, 2), \
    w DECIMAL(38, 4), v VARCHAR, x BLOB, y DATE, h TIME, s TIMESTAMP, z TIMESTAMP WITH TIME ZONE, p INTERVAL, \
    l INTEGER[], r STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER))";

/// The rows of `numbers`, a query with the columns id and k; every ninth has no values.
pub(crate) fn rows(numbers: &str) -> String {
    let values = [
        "n % 3 = 0",
        "n - 60",
        "n * 7",
        "n * 11 - 300",
        "n * 1000003",
        "n",
        "n * 3",
        "n * 5",
        "n * 1000033",
        "n * 0.5",
        "n * 0.25 - 9",
        "n * 1.37 - 40",
        "n * 1.2345",
        "'v' || lpad(n::VARCHAR, 3, '0')",
        "('b' || n)::BLOB",
        "DATE '2026-01-01' + n::INTEGER",
        "TIME '01:00:00' + n * INTERVAL 1 SECOND",
        "TIMESTAMP '2026-01-01' + n * INTERVAL 1 HOUR",
        "TIMESTAMPTZ '2026-01-01 00:00:00+00' + n * INTERVAL 1 HOUR",
        "n * INTERVAL 1 MINUTE",
        "[n, n + 1]",
        "{'a': n, 'b': 'r' || n}",
        "MAP {'m' || n: n}",
    ];
    let values = values.map(|value| format!("CASE WHEN n % 9 > 0 THEN {value} END"));
    format!("SELECT id, k, {} FROM (SELECT id, k, id AS n FROM ({numbers}))", values.join(", "))
}

/// One call of an aggregate function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: String,
    /// The types of its arguments as `duckdb_functions()` declares them, and what else sets it apart.
    pub(crate) form: Form,
    pub(crate) sql: String,
    /// Is a view made of it? Of another name for a function only one is, for they are the same, and of `arg_min` and its
    /// kin those over one type of values: `arg_max` is tried over all.
    pub(crate) is_run: bool,
}

impl Call {
    /// How much of its result is decided by the rows.
    pub(crate) fn decided(&self) -> Decided {
        let ordered = self.form == Form::Clause("ORDER BY");
        match self.function.as_str() {
            "list" | "array_agg" if !ordered => Decided::InAnyOrder,
            "string_agg" | "group_concat" | "listagg" if !ordered => Decided::Length,
            "any_value" | "arbitrary" | "first" | "last" if !ordered => Decided::Nothing,
            // A sample, an approximation that depends on the order, and the choice among values that are as frequent.
            "reservoir_quantile" | "approx_top_k" | "mode" => Decided::Nothing,
            _ => Decided::All,
        }
    }

    /// Does it take the value of one row, so that rows can tie?
    pub(crate) fn chooses(&self) -> bool {
        let name = self.function.as_str();
        ["any_value", "arbitrary", "first", "last", "mode"].contains(&name) || name.starts_with("arg_m")
    }
}

/// How much of a call's result is decided by the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    All,
    InAnyOrder,
    Length,
    Nothing,
}

/// What a call shows of its function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// An overload, by the columns that stand for its arguments.
    Overload(Vec<String>),
    /// A clause.
    Clause(&'static str),
}

/// What there is to try.
pub(crate) struct Functions {
    pub(crate) calls: Vec<Call>,
    /// Other names, and the functions that they stand for.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Functions and the types of theirs that no column of a lake has.
    pub(crate) left_out: BTreeMap<String, BTreeSet<String>>,
    /// Functions of which DuckDB takes no call as an aggregate, and what it says.
    pub(crate) not_called: BTreeMap<String, String>,
}

/// Functions whose arguments behind the first are constants.
fn constants(function: &str, parameter: &str, place: usize, parameters: usize) -> Option<&'static str> {
    let constant = match (function, parameter) {
        ("approx_quantile" | "reservoir_quantile" | "quantile" | "quantile_cont" | "quantile_disc", _) => {
            if parameter == "INTEGER" {
                "100"
            } else if parameter.ends_with("[]") {
                "[0.25, 0.5]"
            } else {
                "0.5"
            }
        }
        ("string_agg" | "group_concat" | "listagg", _) => "'|'",
        ("approx_top_k" | "min" | "max", _) => "2",
        ("bitstring_agg", _) => {
            if place == 1 {
                "-1000"
            } else {
                "1000"
            }
        }
        ("histogram" | "histogram_exact", _) => "[]",
        (_, "BIGINT") if parameters == 3 && place == 2 => "2",
        _ => return None,
    };
    Some(constant)
}

/// The columns that stand for a parameter; none if no column has its type.
fn columns(parameter: &str) -> &'static [&'static str] {
    match parameter {
        "BOOLEAN" => &["b"],
        "TINYINT" => &["i8"],
        "SMALLINT" => &["i16"],
        "INTEGER" => &["i"],
        "BIGINT" => &["i64"],
        "UTINYINT" => &["u8"],
        "USMALLINT" => &["u16"],
        "UINTEGER" => &["u32"],
        "UBIGINT" => &["u64"],
        "FLOAT" => &["f"],
        "DOUBLE" => &["d"],
        "DECIMAL" => &["c", "w"],
        "VARCHAR" => &["v"],
        "BLOB" => &["x"],
        "DATE" => &["y"],
        "TIME" => &["h"],
        "TIMESTAMP" => &["s"],
        "TIMESTAMP WITH TIME ZONE" => &["z"],
        "INTERVAL" => &["p"],
        "ANY" | "T" => &["i", "c", "d", "v", "y", "p", "l", "r", "m", "b"],
        _ => &[],
    }
}

/// Numbers that DuckDB casts where it declares a DOUBLE.
const CAST_TO_DOUBLE: [&str; 9] = ["i8", "i16", "i", "i64", "u32", "u64", "f", "c", "w"];

/// The calls of every aggregate function.
pub(crate) fn all(lake: &Lake) -> Functions {
    let functions = "SELECT function_name, parameter_types, any_value(alias_of) FROM duckdb_functions() \
                     WHERE database_name = 'system' AND function_type = 'aggregate' GROUP BY 1, 2 ORDER BY ALL";
    let (aliases, left_out, not_called) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut found = Functions { calls: Vec::new(), aliases, left_out, not_called };
    let mut candidates: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    for row in lake.query(functions).unwrap().rows {
        let function = row[0].as_str().unwrap().to_owned();
        let parameters: Vec<String> =
            row[1].as_list().unwrap().iter().map(|parameter| parameter.as_str().unwrap().to_owned()).collect();
        if let Value::Text(other) = &row[2] {
            found.aliases.insert(function.clone(), other.clone());
        }
        let calls = candidates.entry(function.clone()).or_default();
        match overload(&function, &parameters) {
            Ok(overload) => calls.extend(overload),
            Err(data_type) => {
                found.left_out.entry(data_type).or_default().insert(function);
            }
        }
    }
    for (function, mut calls) in candidates {
        calls.sort_by(|one, other| one.form.cmp(&other.form));
        calls.dedup_by(|one, other| one.sql == other.sql);
        let mut refusal = "there is no column of a lake for it".to_owned();
        calls = bound(lake, calls, &mut refusal);
        if let Some(first) = calls.first().map(|call| call.sql.clone()) {
            calls.extend(bound(lake, clauses(&function, &first), &mut refusal));
        } else {
            found.not_called.insert(function.clone(), refusal.lines().next().unwrap_or_default().to_owned());
        }
        let is_alias = found.aliases.contains_key(&function);
        for call in calls.iter_mut().skip(1) {
            let first_types = match &call.form {
                Form::Overload(list) => !function.starts_with("arg_") || function == "arg_max" || list[0] == "v",
                Form::Clause(_) => true,
            };
            call.is_run = first_types && !is_alias;
        }
        found.calls.extend(calls);
    }
    found
}

/// Those of the calls that DuckDB takes.
fn bound(lake: &Lake, calls: Vec<Call>, refusal: &mut String) -> Vec<Call> {
    let texts: Vec<&str> = calls.iter().map(|call| call.sql.as_str()).collect();
    match lake.query(&format!("SELECT {} FROM t LIMIT 1", texts.join(", "))) {
        Ok(_) => calls,
        Err(error) if calls.len() <= 1 => {
            *refusal = error.to_string();
            Vec::new()
        }
        Err(_) => {
            let (one, other) = calls.split_at(calls.len() / 2);
            [one, other].into_iter().flat_map(|calls| bound(lake, calls.to_vec(), refusal)).collect()
        }
    }
}

/// The calls of an overload, or the type of which a lake has no column.
fn overload(function: &str, parameters: &[String]) -> Result<Vec<Call>, String> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    let places = parameters.len();
    for (place, parameter) in parameters.iter().enumerate() {
        let constant = if place > 0 { constants(function, parameter, place, places) } else { None };
        let mut values: Vec<String> = match constant {
            Some("[]") => Vec::new(),
            Some(constant) => vec![constant.to_owned()],
            None => columns(parameter).iter().map(|column| (*column).to_owned()).collect(),
        };
        if places > 1 && constant.is_none() && parameter == "ANY" {
            values = ["v", "i", "l"].map(str::to_owned).into();
        }
        if constant.is_none() && parameter == "DOUBLE" && places == 1 {
            values.extend(CAST_TO_DOUBLE.map(str::to_owned));
        }
        if constant == Some("[]") {
            // Bounds of the histogram, in the type of its values.
            lists =
                lists.into_iter().map(|list| [list.clone(), vec![format!("[min_of_{}]", list[0])]].concat()).collect();
            continue;
        }
        if values.is_empty() {
            return Err(parameter.clone());
        }
        lists = lists
            .iter()
            .flat_map(|list| values.iter().map(|value| [list.as_slice(), std::slice::from_ref(value)].concat()))
            .collect();
    }
    let call = |list: Vec<String>| {
        let shown: Vec<String> = list.iter().map(|value| bounds(value)).collect();
        let sql = format!("\"{function}\"({})", shown.join(", "));
        Call { function: function.to_owned(), form: Form::Overload(list), sql, is_run: true }
    };
    Ok(lists.into_iter().map(call).collect())
}

/// `[min_of_c]`: values that a histogram over column c counts between.
fn bounds(value: &str) -> String {
    let Some(column) = value.strip_prefix("[min_of_").and_then(|rest| rest.strip_suffix(']')) else {
        return value.to_owned();
    };
    let bounds = match column {
        "v" => "['v010', 'v030']",
        "y" => "[DATE '2026-01-11', DATE '2026-02-01']",
        "p" => "[INTERVAL 5 MINUTE, INTERVAL 30 MINUTE]",
        "l" => "[[10, 11], [30, 31]]",
        "r" => "[{'a': 10, 'b': 'r10'}, {'a': 30, 'b': 'r30'}]",
        "m" => "[MAP {'m10': 10}]",
        "b" => "[false, true]",
        _ => "[-9, 0, 10, 50]",
    };
    bounds.to_owned()
}

/// The function's first call with the clauses that an aggregate can have.
fn clauses(function: &str, first: &str) -> Vec<Call> {
    let call = |form, sql| Call { function: function.to_owned(), form: Form::Clause(form), sql, is_run: true };
    let arguments = first.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')')).to_owned();
    let mut calls = vec![call("FILTER", format!("{first} FILTER (WHERE i > 0)"))];
    if !arguments.is_empty() {
        calls.push(call("DISTINCT", format!("\"{function}\"(DISTINCT {arguments})")));
        calls.push(call("ORDER BY", format!("\"{function}\"({arguments} ORDER BY id DESC)")));
    }
    calls
}
