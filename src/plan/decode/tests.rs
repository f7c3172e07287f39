//! Plans that DuckDB 1.5.5 wrote (without positions in the query and what is null), decoded without a database.

use std::fmt::Write as _;

use super::super::facts::operator_name;
use super::*;

fn recorded(name: &str) -> Json {
    let text = match name {
        "correlated" => include_str!("recorded/correlated.json"),
        "count" => include_str!("recorded/count.json"),
        "join" => include_str!("recorded/join.json"),
        "lambda" => include_str!("recorded/lambda.json"),
        "lateral" => include_str!("recorded/lateral.json"),
        "pinned" => include_str!("recorded/pinned.json"),
        "rollup" => include_str!("recorded/rollup.json"),
        _ => include_str!("recorded/window.json"),
    };
    serde_json::from_str(text).unwrap()
}

fn context() -> DecodeContext {
    DecodeContext::of_lake("lake", 3)
}

fn decoded(name: &str) -> Rel {
    decode(&recorded(name), &context()).unwrap()
}

fn refused(json: &Json) -> String {
    decode(json, &context()).unwrap_err().to_string()
}

/// The plan as a tree of operators with the columns that they return.
fn outline(rel: &Rel) -> String {
    fn write(rel: &Rel, depth: usize, text: &mut String) {
        let columns = rel.columns().into_iter().map(|column| format!("{} {}", column.name, column.data_type));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{:depth$}{}: {columns}", "", operator_name(rel), depth = depth * 2);
        for input in rel.inputs() {
            write(input, depth + 1, text);
        }
    }
    let mut text = String::new();
    write(rel, 0, &mut text);
    text
}

#[test]
fn a_join_keeps_names_types_and_order_of_its_columns() {
    insta::assert_snapshot!(outline(&decoded("join")), @r#"
    SELECT list: next INTEGER, name VARCHAR
      INNER JOIN: cust INTEGER, amount DECIMAL(10, 2), id INTEGER, id INTEGER, name VARCHAR
        WHERE: cust INTEGER, amount DECIMAL(10, 2), id INTEGER
          scan of main.orders: cust INTEGER, amount DECIMAL(10, 2), id INTEGER
        scan of main.cust: id INTEGER, name VARCHAR
    "#);
}

#[test]
fn a_scan_that_reads_no_column_has_none() {
    let rel = decoded("count");
    insta::assert_snapshot!(outline(&rel), @r#"
    SELECT list: n BIGINT
      ungrouped aggregate: count_star BIGINT
        WHERE: id INTEGER
          INNER JOIN: id INTEGER
            scan of main.cust: 
            scan of main.orders: id INTEGER
    "#);
    let Rel::Project(project) = rel else { panic!() };
    let Rel::Aggregate(aggregate) = *project.input else { panic!() };
    let Rel::Filter(filter) = *aggregate.input else { panic!() };
    assert_eq!(filter.predicates[0].columns(), [0], "DuckDB counts the column that is not read");
}

#[test]
fn a_rollup_keeps_its_empty_grouping_set_and_an_empty_separator() {
    let Rel::Project(project) = decoded("rollup") else { panic!() };
    let Rel::Aggregate(aggregate) = *project.input else { panic!() };
    assert_eq!(aggregate.grouping_sets, [vec![], vec![0]]);
    assert_eq!(aggregate.grouping_functions, [vec![0]]);
    let call = &aggregate.aggregates[0];
    assert_eq!((call.name.as_str(), call.arguments.len()), ("string_agg", 2));
    assert!(call.order_by[0].descending);
}

#[test]
fn lambdas_name_their_parameters_by_level_and_read_the_row_by_column() {
    let Rel::Project(project) = decoded("lambda") else { panic!() };
    let mut found = Vec::new();
    project.exprs[0].1.walk(&mut |expr| match expr {
        Expr::LambdaParameter { depth, index, .. } => found.push(format!("parameter {depth}.{index}")),
        Expr::Column { index, .. } => found.push(format!("column {index}")),
        _ => {}
    });
    insta::assert_debug_snapshot!(found, @r#"
    [
        "column 0",
        "column 0",
        "parameter 0.0",
        "parameter 1.0",
        "column 1",
    ]
    "#);
}

#[test]
fn a_range_frame_has_its_offset_back() {
    let Rel::Project(project) = decoded("window") else { panic!() };
    let Rel::Window(window) = *project.input else { panic!() };
    let call = &window.functions[0];
    assert!(matches!(&call.order_by[0].expr, Expr::Column { data_type: DataType::Date, .. }));
    let super::super::rel::FrameBound::Preceding(offset) = &call.frame.start else { panic!() };
    assert_eq!(offset.data_type(), DataType::Interval);
}

#[test]
fn a_lateral_function_is_called_for_the_rows_themselves() {
    insta::assert_snapshot!(outline(&decoded("lateral")), @r#"
    SELECT list: id INTEGER, tag VARCHAR
      unnest: tags VARCHAR[], id INTEGER, tag VARCHAR
        scan of main.orders: tags VARCHAR[], id INTEGER
    "#);
}

#[test]
fn a_correlated_subquery_has_its_keys() {
    insta::assert_snapshot!(outline(&decoded("correlated")), @r#"
    SELECT list: id INTEGER, name VARCHAR
      correlated subquery: id INTEGER, cust INTEGER, name VARCHAR, cust INTEGER
        scan of main.orders: id INTEGER, cust INTEGER
        SELECT list: name VARCHAR, cust INTEGER
          WHERE: id INTEGER, name VARCHAR, cust INTEGER
            INNER JOIN: id INTEGER, name VARCHAR, cust INTEGER
              scan of main.cust: id INTEGER, name VARCHAR
              correlated keys: cust INTEGER
    "#);
}

#[test]
fn a_scan_at_another_snapshot_is_pinned() {
    let rel = decoded("pinned");
    let scans = rel.scans();
    assert_eq!((scans[0].pinned, scans[1].pinned), (Some(2), None));
    assert!(matches!(rel, Rel::SetOperation(super::super::rel::SetOperation { all: false, .. })));
}

#[test]
fn the_statement_names_the_outermost_columns() {
    let context = context().with_output_names(vec!["a".to_owned(), "b".to_owned()]);
    let rel = decode(&recorded("join"), &context).unwrap();
    assert_eq!(rel.columns().into_iter().map(|column| column.name).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_is_not_known_is_named_with_its_place() {
    let mut plan = recorded("join");
    plan["children"][0]["type"] = "LOGICAL_TELEPORT".into();
    assert_eq!(refused(&plan), "the node LOGICAL_TELEPORT is not supported (at projection > teleport)");
    let mut plan = recorded("join");
    plan["children"][0]["sideways"] = 1.into();
    insta::assert_snapshot!(refused(&plan), @r#"the field "sideways" of a node is not supported (at projection > comparison join)"#);
    let mut plan = recorded("rollup");
    plan["children"][0]["expressions"][0]["function_data"] = serde_json::json!({"secret": 1});
    insta::assert_snapshot!(refused(&plan), @r#"the field "secret" of bind data of string_agg is not supported (at projection > aggregate and group by)"#);
    let mut plan = recorded("join");
    plan["expressions"][0]["expression_class"] = "BOUND_PARAMETER".into();
    insta::assert_snapshot!(refused(&plan), @"the expression BOUND_PARAMETER (BOUND_FUNCTION) is not supported (at projection)");
}

#[test]
fn a_missing_constant_argument_is_refused_by_the_functions_name() {
    let mut plan = recorded("join");
    let call = &mut plan["expressions"][0];
    call["children"].as_array_mut().unwrap().pop();
    insta::assert_snapshot!(refused(&plan), @"the constant argument of the function + is not supported (at projection)");
}

#[test]
fn plans_without_their_empty_lists_are_refused() {
    let mut plan = recorded("rollup");
    plan["children"][0]["children"][0].as_object_mut().unwrap().remove("children");
    assert!(refused(&plan).contains("skip_empty"));
}

#[test]
fn another_version_or_lake_is_refused() {
    let other = DecodeContext { duckdb_version: "v1.6.0".to_owned(), ..context() };
    assert!(decode(&recorded("join"), &other).unwrap_err().to_string().contains("v1.6.0"));
    assert!(decode(&recorded("join"), &DecodeContext::of_lake("pond", 3)).unwrap_err().to_string().contains("lake"));
}

#[test]
fn plans_nested_too_deep_are_refused() {
    let mut plan = recorded("join");
    let mut expr = plan["expressions"][0].clone();
    for _ in 0..1000 {
        let mut outer = plan["expressions"][0].clone();
        outer["children"][0] = expr;
        expr = outer;
    }
    plan["expressions"][0] = expr;
    assert!(refused(&plan).contains("nested this deep"));
}
