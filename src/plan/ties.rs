//! Where a plan's result is not decided by its tables as bags: DuckDB is free to break a tie either way, and sums of
//! floats depend on the order of addition.
//!
//! Where an operator's input shows whether rows tie, its result can be used as long as they do not. What any other such
//! operator gave at an earlier snapshot cannot be computed again.

use super::expr::{Expr, SortKey};
use super::facts::operator_name;
use super::rel::{Aggregate, AggregateCall, FrameUnit, JoinKind, Limit, LimitCount, Rel, Window, WindowCall};
use super::storage::is_inexact;
use super::types::DataType;

/// How a node's result may differ between two runs over the same tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tie {
    /// Only where rows tie that are not the same, which its input shows.
    Visible,
    /// For the reason given.
    Open(String),
}

/// The first operator in `rel` whose result may differ between two runs over the same tables, even where no rows tie in
/// its input, with the reason.
pub fn first_open_tie(rel: &Rel) -> Option<(String, String)> {
    if let Some(Tie::Open(reason)) = tie(rel) {
        return Some((operator_name(rel), reason));
    }
    let counted = counted_limit(rel).map(|limit| &*limit.input);
    let inputs = counted.map_or_else(|| rel.inputs(), |input| vec![input]);
    inputs.into_iter().find_map(first_open_tie)
}

/// Where the result of `rel` may differ between two runs over the same tables, if it may: the first operator, in words.
pub(crate) fn first_tie(rel: &Rel) -> Option<String> {
    let counted = counted_limit(rel).map(|limit| &*limit.input);
    let inputs = counted.map_or_else(|| rel.inputs(), |input| vec![input]);
    let here = tie(rel).map(|tie| match tie {
        Tie::Visible => format!("rows may tie in {}", operator_name(rel)),
        Tie::Open(reason) => format!("{}: {reason}", operator_name(rel)),
    });
    here.or_else(|| inputs.into_iter().find_map(first_tie))
}

/// The limit whose rows `rel` only counts, as an uncorrelated `EXISTS` does: which rows they are is no matter.
pub(crate) fn counted_limit(rel: &Rel) -> Option<&Limit> {
    let Rel::Aggregate(Aggregate { input, groups, aggregates, .. }) = rel else { return None };
    let counts = |call: &AggregateCall| call.name == "count_star" && call.filter.is_none();
    if !groups.is_empty() || !aggregates.iter().all(counts) {
        return None;
    }
    let mut below = &**input;
    while let Rel::Project(project) = below {
        below = &project.input;
    }
    if let Rel::Limit(limit) = below { Some(limit) } else { None }
}

/// Whether, and how, the result of `node` may differ between two runs over the same inputs.
pub fn tie(node: &Rel) -> Option<Tie> {
    match node {
        Rel::Aggregate(Aggregate { aggregates, .. }) => worst(aggregates.iter().filter_map(aggregate_tie)),
        Rel::Window(Window { functions, .. }) => worst(functions.iter().filter_map(window_tie)),
        Rel::Distinct(distinct) if distinct.on.is_some() && !is_total(&distinct.order_by, &distinct.input) => {
            Some(Tie::Visible)
        }
        Rel::Limit(limit) => limit_tie(limit),
        Rel::Join(join) => match join.kind {
            JoinKind::Positional => Some(Tie::Open("pairs rows by their place".into())),
            JoinKind::AsOfInner | JoinKind::AsOfLeft | JoinKind::AsOfRight | JoinKind::AsOfFull => Some(Tie::Visible),
            _ => None,
        },
        _ => None,
    }
}

fn worst(ties: impl Iterator<Item = Tie>) -> Option<Tie> {
    ties.reduce(|first, second| if matches!(first, Tie::Open(_)) { first } else { second })
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

fn limit_tie(limit: &Limit) -> Option<Tie> {
    let Rel::Sort(sort) = &*limit.input else {
        return Some(Tie::Open("which rows it keeps is open without an ORDER BY".into()));
    };
    if is_total(&sort.keys, &sort.input) {
        return None;
    }
    let constant = |count: &LimitCount| matches!(count, LimitCount::Unset | LimitCount::Rows(_));
    Some(if constant(&limit.limit) && constant(&limit.offset) {
        Tie::Visible
    } else {
        Tie::Open("which rows it keeps is open where the ORDER BY below it leaves ties".into())
    })
}

/// Aggregates whose result is decided by the bag of their arguments, and exact.
const EXACT_AGGREGATES: [&str; 27] = [
    "bit_and",
    "bit_or",
    "bit_xor",
    "bitstring_agg",
    "bool_and",
    "bool_or",
    "count",
    "count_if",
    "count_star",
    "countif",
    "histogram",
    "histogram_exact",
    "max",
    "median",
    "min",
    "mad",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_count",
    "sum",
    "sum_no_overflow",
    "avg",
    "mean",
    "approx_count_distinct",
    "favg",
    "fsum",
];

/// Aggregates that take the value of one row: in any order of the rows they give the same value exactly if they do so
/// in one order and in its reverse.
const CHOOSING_AGGREGATES: [&str; 15] = [
    "first",
    "last",
    "any_value",
    "arbitrary",
    "arg_min",
    "arg_max",
    "argmin",
    "argmax",
    "min_by",
    "max_by",
    "arg_min_null",
    "arg_max_null",
    "arg_min_nulls_last",
    "arg_max_nulls_last",
    "mode",
];

/// Aggregates that put their rows one after the other.
const LISTING_AGGREGATES: [&str; 5] = ["list", "array_agg", "string_agg", "group_concat", "listagg"];

fn aggregate_tie(call: &AggregateCall) -> Option<Tie> {
    let name = call.name.as_str();
    if EXACT_AGGREGATES.contains(&name) {
        return float_sum(name, &call.arguments).map(Tie::Open);
    }
    let chooses = CHOOSING_AGGREGATES.contains(&name) && call.arguments.len() <= 2;
    let lists = LISTING_AGGREGATES.contains(&name);
    let ordered = |argument: &Expr| {
        argument.columns().is_empty() || call.order_by.iter().any(|key| key.expr == *argument && !may_differ(argument))
    };
    match () {
        () if (chooses || lists) && !call.order_by.is_empty() && call.arguments.iter().all(ordered) => None,
        () if chooses || (lists && !call.order_by.is_empty()) => Some(Tie::Visible),
        () => Some(Tie::Open(format!("{name} may depend on the order of its rows"))),
    }
}

/// May values of the expression's type be equal and yet not the same, as `0.0` and `-0.0` are?
pub(crate) fn may_differ(expr: &Expr) -> bool {
    let data_type = expr.data_type();
    let other =
        matches!(data_type, DataType::Varchar { collation: Some(_) } | DataType::TimeTz | DataType::Geometry { .. });
    other || is_inexact(&data_type)
}

/// A sum over floats rounds in the order of addition.
fn float_sum(name: &str, arguments: &[Expr]) -> Option<String> {
    let adds = matches!(name, "sum" | "avg" | "mean" | "favg" | "fsum");
    let float = arguments.iter().any(|argument| matches!(argument.data_type(), DataType::Float | DataType::Double));
    (adds && float).then(|| format!("{name} over floating-point numbers rounds in the order of its rows"))
}

/// Functions of a row's place in its partition, or of the rows in certain places, which an order without ties decides.
const PLACED_FUNCTIONS: [&str; 7] = ["row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"];

pub(crate) fn window_tie(call: &WindowCall) -> Option<Tie> {
    let name = call.name.as_str();
    let by_peers = matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist");
    let exact = EXACT_AGGREGATES.contains(&name);
    if let Some(reason) = float_sum(name, &call.arguments) {
        return Some(Tie::Open(reason));
    }
    if by_peers || (exact && (call.frame.unit != FrameUnit::Rows || covers_partition(call))) {
        return None;
    }
    if call.argument_order.is_empty() && !call.order_by.is_empty() && (exact || PLACED_FUNCTIONS.contains(&name)) {
        return Some(Tie::Visible);
    }
    Some(Tie::Open(format!("{name} depends on how rows tie in its ORDER BY")))
}

/// Does the call depend on nothing but its own row's place?
pub(crate) fn by_own_place(call: &WindowCall) -> bool {
    matches!(call.name.as_str(), "row_number" | "ntile")
}

fn covers_partition(call: &WindowCall) -> bool {
    use super::rel::FrameBound::{UnboundedFollowing, UnboundedPreceding};
    matches!((&call.frame.start, &call.frame.end), (UnboundedPreceding, UnboundedFollowing))
}
