//! `docs/aggregates.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Call, Form, Functions};
use crate::Kind;

const INTRODUCTION: &str = "# Which aggregates are maintained how

Made by `UPDATE_DOCS=1 cargo xtask test --test aggregates`, and compared with what the program does in every test run. The test
takes every overload of every aggregate function that DuckDB lists, with arguments of types that a lake can hold, and each
function with `FILTER`, `DISTINCT` and `ORDER BY`. It has them in views with `GROUP BY` and without, changes the table
(inserts, deletes, updates, NULLs, duplicates, groups that go and come), and compares the views with their queries.

| | what a sync does |
|---|---|
| accumulators | moves what is kept per group by what changed; groups are read again only where [delta-rules.md](delta-rules.md#accumulators) says so |
| affected groups | computes the groups that changed again |
| query | runs the view's query again when a table changed, and writes the rows that differ |

A view with several aggregates is maintained as the one that is furthest down in this list. Without `GROUP BY` there is one
group: where its past cannot be computed again to the last digit, to compute it anew is to run the query.

| function | arguments | `GROUP BY` | no `GROUP BY` |
|---|---|---|---|
";

/// The page.
pub(crate) fn page(functions: &Functions, kinds: &[[Kind; 2]]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut by_name: BTreeMap<&str, Vec<(&Call, &[Kind; 2])>> = BTreeMap::new();
    for (call, kinds) in functions.calls.iter().zip(kinds) {
        by_name.entry(&call.function).or_default().push((call, kinds));
    }
    let mut same: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (function, of) in &by_name {
        if let Some(other) = functions.aliases.get(*function) {
            let base = &by_name[other.as_str()];
            let agrees = |(call, kinds): &(&Call, &[Kind; 2])| {
                base.iter().filter(|(known, _)| known.form == call.form).all(|(known, wanted)| {
                    [0, 1].iter().all(|at| words(&kinds[*at], &call.function) == words(&wanted[*at], &known.function))
                })
            };
            if of.iter().all(agrees) {
                same.entry(other).or_default().push(function);
                continue;
            }
        }
        for (kinds, arguments) in alike(of) {
            let [grouped, ungrouped] = kinds;
            writeln!(text, "| {function} | {arguments} | {grouped} | {ungrouped} |").unwrap();
        }
    }
    text.push_str("\n## Other names\n\n");
    for (function, names) in same {
        writeln!(text, "- {function}: {}", names.join(", ")).unwrap();
    }
    text.push_str("\n## Not in this table\n\n");
    // Without OVER, DuckDB takes the name of a window function for one of a scalar function.
    let is_window = |reason: &str| reason.starts_with("Scalar Function with name");
    let windows = functions.not_called.iter().filter(|(_, reason)| is_window(reason));
    let windows: Vec<&str> = windows.map(|(function, _)| function.as_str()).collect();
    writeln!(text, "- window functions, which need OVER: {}", windows.join(", ")).unwrap();
    for (function, reason) in functions.not_called.iter().filter(|(_, reason)| !is_window(reason)) {
        writeln!(text, "- {function}: {reason}").unwrap();
    }
    for (data_type, functions) in &functions.left_out {
        let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
        writeln!(text, "- {data_type}, of which a lake has no column: overloads of {}", functions.join(", ")).unwrap();
    }
    text
}

/// The arguments of a function that are maintained alike, in the order of the first of them.
fn alike(calls: &[(&Call, &[Kind; 2])]) -> Vec<([String; 2], String)> {
    let mut found: Vec<([String; 2], Vec<&Call>)> = Vec::new();
    for (call, kinds) in calls {
        let words = [0, 1].map(|at| words(&kinds[at], &call.function));
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, calls)) => calls.push(call),
            None => found.push((words, vec![call])),
        }
    }
    found.into_iter().map(|(kinds, calls)| (kinds, arguments(&calls))).collect()
}

fn words(kind: &Kind, function: &str) -> String {
    match kind {
        Kind::Accumulators => "accumulators".to_owned(),
        Kind::Groups => "affected groups".to_owned(),
        Kind::Recomputed(reason) => format!("query: {}", reason.strip_prefix(function).unwrap_or(reason).trim()),
        Kind::Refused(reason) => format!("refused: {}", reason.lines().next().unwrap_or_default()),
    }
}

/// For each number of arguments the types in each place, then the clauses.
fn arguments(calls: &[&Call]) -> String {
    let mut places: BTreeMap<usize, Vec<Vec<&str>>> = BTreeMap::new();
    let mut clauses = Vec::new();
    for call in calls {
        match &call.form {
            Form::Clause(clause) => clauses.push(format!("`{clause}`")),
            Form::Overload(list) => {
                let types = places.entry(list.len()).or_insert_with(|| vec![Vec::new(); list.len()]);
                for (types, value) in types.iter_mut().zip(list) {
                    let data_type = data_type(value);
                    if !types.contains(&data_type) {
                        types.push(data_type);
                    }
                }
            }
        }
    }
    let overloads = places.values().map(|places| {
        let places: Vec<String> = places.iter().map(|types| types.join(" / ")).collect();
        format!("({})", places.join("; "))
    });
    overloads.chain(clauses).collect::<Vec<_>>().join(", ")
}

fn data_type(value: &str) -> &str {
    match value {
        "b" => "BOOLEAN",
        "i8" => "TINYINT",
        "i16" => "SMALLINT",
        "i" => "INTEGER",
        "i64" => "BIGINT",
        "u8" => "UTINYINT",
        "u16" => "USMALLINT",
        "u32" => "UINTEGER",
        "u64" => "UBIGINT",
        "f" => "FLOAT",
        "d" => "DOUBLE",
        "c" => "DECIMAL(10, 2)",
        "w" => "DECIMAL(38, 4)",
        "v" => "VARCHAR",
        "x" => "BLOB",
        "y" => "DATE",
        "h" => "TIME",
        "s" => "TIMESTAMP",
        "z" => "TIMESTAMPTZ",
        "p" => "INTERVAL",
        "l" => "INTEGER[]",
        "r" => "STRUCT",
        "m" => "MAP",
        other if other.starts_with("[min_of_") => "a list of bounds",
        constant => constant,
    }
}
