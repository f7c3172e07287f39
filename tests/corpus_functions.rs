//! Every scalar and aggregate function of DuckDB is called with arguments of the types that it declares, constants among
//! them: what the decoder does not refuse must print as a call with the same type and value. This finds functions whose
//! binder takes a constant argument out of the call, or keeps something else that the plan does not show.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what was refused")]

use std::collections::{BTreeMap, BTreeSet};

use ducklake_ivm::lake::{Lake, LakeOptions, Value};
use ducklake_ivm::plan::decode::{DecodeContext, decode};
use ducklake_ivm::sql::{self, Current};

/// Functions that do something, or that DuckDB keeps for itself.
const LEFT_OUT: [&str; 12] = [
    "currval",
    "getenv",
    "json_execute_serialized_sql",
    "nextval",
    "query",
    "read_blob",
    "read_text",
    "setseed",
    "sleep_ms",
    "sum_no_overflow",
    "write_log",
    "current_query",
];

/// Functions of which the decoder refuses some or all calls.
const REFUSED: [&str; 6] =
    ["alias", "get_type", "reservoir_quantile", "stats", "variant_to_parquet_variant", "vector_type"];

/// Calls that the declared types do not lead to.
const FURTHER: [&str; 58] = [
    "list_aggr(l, 'sum')",
    "list_aggregate(w, 'string_agg', '|')",
    "array_aggr(l, 'quantile_cont', 0.25)",
    "array_aggregate(l, 'quantile_disc', [0.25, 0.5])",
    "aggregate(l, 'approx_quantile', 0.5)",
    "list_aggr(l, 'histogram')",
    "list_aggr(l, 'median')",
    "list_aggr(l, 'count')",
    "list_aggr(l, 'bitstring_agg', 0, 9)",
    "list_reduce(l, lambda x, y: x + y)",
    "list_reduce(l, lambda x, y, i: x + y * i, 5)",
    "array_cat(l, [i])",
    "array_concat(l, l)",
    "list_concat(l, [i], l)",
    "array_cross_product(array_value(d, 1.0, 2.0), array_value(3.0, d, 1.0))",
    "array_value(i, 2)",
    "array_zip(l, w)",
    "list_zip(l, w, TRUE)",
    "array_to_json(l)",
    "cardinality(m)",
    "create_sort_key(i, 'DESC NULLS LAST', v, 'ASC')",
    "current_setting('threads')",
    "enum_code(v::ENUM ('a', 'rush'))",
    "enum_first(v::ENUM ('a', 'rush'))",
    "enum_last(v::ENUM ('a', 'rush'))",
    "enum_range(v::ENUM ('a', 'rush'))",
    "enum_range_boundary(v::ENUM ('a', 'rush'), NULL)",
    "from_json(j, '[\"INTEGER\"]')",
    "from_json_strict('[1]', '[\"INTEGER\"]')",
    "json_transform(j, '{\"a\": [\"INTEGER\"]}')",
    "json_transform_strict('{\"a\": 1}', '{\"a\": \"INTEGER\"}')",
    "json_quote(i)",
    "to_json(r)",
    "row_to_json(r)",
    "map(w, w)",
    "map([i], [v])",
    "map_concat(m, MAP {'b': i})",
    "map_from_entries([(v, i)])",
    "struct_concat(r, {'c': i})",
    "struct_insert(r, c := i, d := v)",
    "struct_update(r, a := v, e := 1)",
    "struct_keys(r)",
    "struct_pack(a := i, \"b c\" := v)",
    "union_value(k := v)",
    "union_extract(union_value(k := v), 'k')",
    "switch(i, MAP {1: 'a'}, 'b')",
    "remap_struct(r, NULL::STRUCT(a INTEGER), {'a': 'a'}, NULL)",
    "round(c, 1)",
    "round(c, -1)",
    "round(d, 2)",
    "trunc(c)",
    "l[:-2:-1]",
    "l[2:]",
    "l[:1]",
    "v[1:2]",
    "[x * c FOR x IN l]",
    "CASE WHEN i > 1 THEN c ELSE 1 END",
    "sum(c) + 1 - max(c) * 2",
];

/// Values for a declared parameter type: a column of the table, then constants.
fn values(parameter: &str) -> &'static [&'static str] {
    match parameter {
        "INTEGER" => &["i", "2"],
        "BIGINT" => &["b", "2"],
        "HUGEINT" => &["i::HUGEINT"],
        "UBIGINT" | "UINTEGER" | "USMALLINT" | "UTINYINT" => &["u"],
        "SMALLINT" | "TINYINT" => &["i::TINYINT"],
        "DOUBLE" | "FLOAT" => &["d", "0.5"],
        "DECIMAL" => &["c", "1.25"],
        "VARCHAR" => &["v", "'a'", "'%Y'", "'month'"],
        "BLOB" => &["v::BLOB"],
        "BIT" => &["t"],
        "BOOLEAN" => &["i > 1", "TRUE"],
        "DATE" => &["y"],
        "TIME" => &["s::TIME"],
        "TIME WITH TIME ZONE" => &["s::TIME::TIMETZ"],
        "TIMESTAMP" => &["s", "TIMESTAMP '2020-01-02 03:04:05'"],
        "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => &["s::TIMESTAMP_NS"],
        "TIMESTAMP WITH TIME ZONE" => &["s::TIMESTAMPTZ"],
        "INTERVAL" => &["INTERVAL 1 DAY"],
        "UUID" => &["'a0000000-0000-0000-0000-000000000001'::UUID"],
        "JSON" => &["j"],
        "VARIANT" => &["i::VARIANT"],
        "LAMBDA" => &["lambda x: x", "lambda x, y: x"],
        "T[]" | "ANY[]" | "INTEGER[]" | "LIST" => &["l", "w"],
        "VARCHAR[]" => &["w", "['a', 'b']"],
        "DOUBLE[]" | "FLOAT[]" => &["[d]", "[0.25, 0.5]"],
        "BIGINT[]" => &["[b]"],
        "BOOLEAN[]" => &["[TRUE, FALSE]"],
        "T[][]" => &["[l]"],
        "STRUCT" => &["r"],
        "MAP" | "MAP(K, V)" => &["m"],
        "UNION" => &["union_value(n := i)"],
        "FLOAT[ANY]" | "DOUBLE[ANY]" => &["array_value(d, 1.0::DOUBLE)"],
        _ => &["i", "v", "l", "'a'", "2"],
    }
}

fn lake() -> (tempfile::TempDir, Lake) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = LakeOptions::new(directory.path().join("functions.ducklake").to_string_lossy());
    options.create = true;
    options.threads = Some(1);
    let lake = Lake::open(&options).unwrap();
    let types = "i INTEGER, b BIGINT, u UBIGINT, d DOUBLE, c DECIMAL(10, 2), v VARCHAR, y DATE, s TIMESTAMP, j JSON, \
                 l INTEGER[], w VARCHAR[], r STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER), t BIT";
    lake.execute(&format!("CREATE TABLE memory.main.input ({types})")).unwrap();
    lake.execute(
        "INSERT INTO memory.main.input VALUES \
         (1, 10, 3, 0.5, 1.25, 'a', '2020-01-31', '2020-01-31 10:00:00', '{\"a\": [1]}', [1, 2], ['a', 'b'], \
          {'a': 1, 'b': 'x'}, MAP {'a': 1}, '101'), \
         (2, 7, 4, 0.25, -2.5, 'rush', '2021-03-01', '2021-03-01 00:00:01', '[1]', [3], [], {'a': 2, 'b': NULL}, \
          MAP {}, '011')",
    )
    .unwrap();
    (directory, lake)
}

/// Calls of every function: at most `MOST` per overload.
fn calls(lake: &Lake) -> Vec<(String, String)> {
    const MOST: usize = 3;
    let functions = "SELECT function_name, parameter_types, varargs FROM duckdb_functions() \
                     WHERE database_name = 'system' AND function_type IN ('scalar', 'aggregate') \
                     AND function_name NOT LIKE '%icu_collate%' AND function_name NOT LIKE '%internal%' ORDER BY ALL";
    let mut calls = Vec::new();
    for row in lake.query(functions).unwrap().rows {
        let name = row[0].as_str().unwrap().to_owned();
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let mut lists: Vec<Vec<String>> = vec![Vec::new()];
        for parameter in row[1].as_list().unwrap() {
            let values = values(parameter.as_str().unwrap());
            let longer = lists.iter().flat_map(|list| {
                values.iter().map(|value| [list.as_slice(), &[(*value).to_owned()]].concat()).collect::<Vec<_>>()
            });
            lists = longer.collect();
            // The first combination is of columns, the last ones are of constants.
            if lists.len() > MOST {
                lists.drain(1..=lists.len() - MOST);
            }
        }
        for list in lists {
            calls.push((name.clone(), format!("\"{name}\"({})", list.join(", "))));
            if row[2] != Value::Null {
                calls.push((
                    name.clone(),
                    format!("\"{name}\"({})", [list, vec!["v".into(), "2".into()]].concat().join(", ")),
                ));
            }
        }
    }
    calls.extend(FURTHER.iter().map(|call| (call.split('(').next().unwrap().to_owned(), (*call).to_owned())));
    calls.sort();
    calls.dedup();
    calls
}

/// Why a call does not print as itself; nothing if it does, or if DuckDB does not take it.
fn check(lake: &Lake, call: &str, refused: &mut BTreeSet<String>, name: &str, unstable: bool) -> Result<bool, String> {
    let original = format!("SELECT {call} AS value FROM memory.main.input");
    let Ok(plan) = lake.bound_plan(&original) else { return Ok(false) };
    let context = DecodeContext::of_lake("lake", 0).with_output_names(vec!["value".to_owned()]);
    let rel = match decode(&plan, &context) {
        Ok(rel) => rel,
        Err(error) => {
            refused.insert(name.to_owned());
            println!("{call}: {error}");
            return Ok(false);
        }
    };
    let printed = sql::render(&rel, &Current);
    let read = |sql: &str| {
        let text = format!("SELECT typeof(value), value::VARCHAR FROM (\n{sql}\n) ORDER BY ALL");
        lake.query(&text).map(|rows| rows.rows).map_err(|error| error.to_string())
    };
    match (read(&original), read(&printed)) {
        (Ok(before), Ok(after)) if before == after => Ok(true),
        (Ok(before), Ok(after)) if unstable => {
            let types = |rows: &[Vec<Value>]| rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
            if types(&before) == types(&after) {
                Ok(true)
            } else {
                Err(format!("{before:?} became {after:?}\n{printed}"))
            }
        }
        (Err(_), Err(_)) => Ok(true),
        // At the top of a statement DuckDB makes INTEGER of what has no type; inside one, as the original here, not.
        (Ok(before), _) if before.iter().all(|row| row[0].as_str().is_ok_and(|name| name.contains("\"NULL\""))) => {
            Ok(true)
        }
        (before, after) => Err(format!("{before:?} became {after:?}\n{printed}")),
    }
}

#[test]
fn every_function_prints_as_itself_or_is_refused() {
    let (_directory, lake) = lake();
    let unstable = lake.unstable_functions().unwrap();
    let mut refused = BTreeSet::new();
    let mut failures = Vec::new();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    for (name, call) in calls(&lake) {
        let samples = ["approx", "reservoir", "current_local"].iter().any(|part| name.contains(part));
        match check(&lake, &call, &mut refused, &name, samples || unstable.contains_key(&name)) {
            Ok(ran) => *tried.entry(name).or_default() += usize::from(ran),
            Err(problem) => failures.push(format!("{call}: {problem}")),
        }
    }
    let untried: Vec<&String> = tried.iter().filter(|(_, calls)| **calls == 0).map(|(name, _)| name).collect();
    println!("{} functions, {} calls", tried.len(), tried.values().sum::<usize>());
    println!("without a call that binds: {untried:?}");
    println!("refused: {refused:?}");
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let more: Vec<&String> = refused.iter().filter(|name| !REFUSED.contains(&name.as_str())).collect();
    assert!(more.is_empty(), "further functions are refused: {more:?}");
    assert!(tried.values().filter(|calls| **calls > 0).count() > 400, "most functions must be called");
}
