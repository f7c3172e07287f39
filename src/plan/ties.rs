//! Where a plan's result is not decided by its tables as bags: DuckDB is free to break a tie either way, and sums of
//! floats depend on the order of addition. What such an operator gave at an earlier snapshot cannot be computed again.

use super::expr::{Expr, SortKey};
use super::facts::operator_name;
use super::rel::{Aggregate, AggregateCall, FrameUnit, JoinKind, Rel, Window, WindowCall};
use super::storage::is_inexact;
use super::types::DataType;

/// The first operator in `rel` whose result may differ between two runs over the same tables, with the reason.
pub fn first_tie(rel: &Rel) -> Option<(String, String)> {
    let mut found = None;
    rel.walk(&mut |node| {
        if found.is_none() {
            found = tie(node).map(|reason| (operator_name(node), reason));
        }
    });
    found
}

fn tie(node: &Rel) -> Option<String> {
    match node {
        Rel::Aggregate(Aggregate { aggregates, .. }) => aggregates.iter().find_map(aggregate_tie),
        Rel::Window(Window { functions, .. }) => functions.iter().find_map(window_tie),
        Rel::Distinct(distinct) if distinct.on.is_some() && !is_total(&distinct.order_by, &distinct.input) => {
            Some("which row it keeps is open where its ORDER BY leaves ties".into())
        }
        Rel::Limit(limit) => match &*limit.input {
            Rel::Sort(sort) if is_total(&sort.keys, &sort.input) => None,
            _ => Some("which rows it keeps is open where the ORDER BY below it leaves ties".into()),
        },
        Rel::Join(join) => match join.kind {
            JoinKind::Positional => Some("pairs rows by their place".into()),
            JoinKind::AsOfInner | JoinKind::AsOfLeft | JoinKind::AsOfRight | JoinKind::AsOfFull => {
                Some("which of several equally near rows it takes is open".into())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Do the keys name every column of the input, so that only identical rows tie?
fn is_total(keys: &[SortKey], input: &Rel) -> bool {
    let named: Vec<usize> = keys
        .iter()
        .filter_map(|key| match key.expr {
            Expr::Column { index, .. } => Some(index),
            _ => None,
        })
        .collect();
    (0..input.columns().len()).all(|column| named.contains(&column))
}

/// Aggregates whose result is decided by the bag of their arguments, and exact.
const EXACT_AGGREGATES: [&str; 26] = [
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "count_if",
    "count_star",
    "countif",
    "entropy",
    "histogram",
    "max",
    "median",
    "min",
    "mad",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "sum",
    "sum_no_overflow",
    "avg",
    "mean",
    "approx_count_distinct",
    "product",
    "favg",
    "fsum",
];

/// Aggregates that list or take rows in the order that is asked for.
const ORDERED_AGGREGATES: [&str; 9] =
    ["any_value", "array_agg", "arbitrary", "first", "group_concat", "last", "list", "listagg", "string_agg"];

/// Does the `ORDER BY` inside the call name all that it takes from a row, so that rows that tie are alike to it?
fn is_ordered(call: &AggregateCall) -> bool {
    let named = |argument: &Expr| {
        let constant = argument.columns().is_empty();
        let text = matches!(argument.data_type(), DataType::Varchar { collation: Some(_) });
        constant || (!text && call.order_by.iter().any(|key| key.expr == *argument))
    };
    ORDERED_AGGREGATES.contains(&call.name.as_str())
        && !call.order_by.is_empty()
        && call.arguments.iter().all(named)
        && !call.arguments.iter().any(|argument| is_inexact(&argument.data_type()))
}

fn aggregate_tie(call: &AggregateCall) -> Option<String> {
    if is_ordered(call) {
        return None;
    }
    if !EXACT_AGGREGATES.contains(&call.name.as_str()) {
        return Some(format!("{} may depend on the order of its rows", call.name));
    }
    float_sum(&call.name, &call.arguments)
}

/// A sum over floats rounds in the order of addition.
fn float_sum(name: &str, arguments: &[Expr]) -> Option<String> {
    let adds = matches!(name, "sum" | "avg" | "mean" | "favg" | "fsum" | "product" | "entropy" | "mad");
    let float = arguments.iter().any(|argument| matches!(argument.data_type(), DataType::Float | DataType::Double));
    (adds && float).then(|| format!("{name} over floating-point numbers rounds in the order of its rows"))
}

fn window_tie(call: &WindowCall) -> Option<String> {
    let by_peers = matches!(call.name.as_str(), "rank" | "dense_rank" | "percent_rank" | "cume_dist");
    let counts = EXACT_AGGREGATES.contains(&call.name.as_str());
    if by_peers || (counts && (call.frame.unit != FrameUnit::Rows || covers_partition(call))) {
        return float_sum(&call.name, &call.arguments);
    }
    Some(format!("{} depends on how rows tie in its ORDER BY", call.name))
}

fn covers_partition(call: &WindowCall) -> bool {
    use super::rel::FrameBound::{UnboundedFollowing, UnboundedPreceding};
    matches!((&call.frame.start, &call.frame.end), (UnboundedPreceding, UnboundedFollowing))
}
