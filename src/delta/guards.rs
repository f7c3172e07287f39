//! Operators that DuckDB may answer in more than one way where rows tie, under a guard that raises an error if the rows
//! in question do. The view is then recomputed, so what it holds is always what its query gives.
//!
//! - Law: where no guard raises, the operator's result is decided by its inputs as bags. Two rows tie if they have the
//!   same sort key and are not the same: `p`, the number of rows with a row's sort key (in its partition), is then more
//!   than `s`, the number of rows that are the same in every column.
//! - The guard stands in the values that a tie could change: no rewriting of the statement can pass it by.
//! - `LIMIT k OFFSET n` takes the first n + k + 1 rows, and raises if the rows before and after a cut have the same key.
//!   `DISTINCT ON` raises for a chosen row that ties, `row_number` and `ntile` for a row that ties, functions that read
//!   other rows of the partition if any two rows of it tie, an ASOF join for a right row that ties. An aggregate that
//!   takes one row's value is computed in one order and in its reverse, and raises if the results differ.
//! - Cost: counts per sort key beside the operator; for `LIMIT` over n + k + 1 rows.
//! - Example: `ORDER BY x LIMIT 1` over {(1, 'a'), (1, 'b')} raises, over {(1, 'a'), (2, 'b')} and {(1, 'a')} it does not.

use super::construct::{compare, filter, integer, null, project, references};
use crate::plan::expr::{
    Argument, CaseBranch, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal, SortKey,
};
use crate::plan::rel::{Aggregate, AggregateCall, Distinct, Join, Limit, LimitCount, Rel, Window, WindowCall};
use crate::plan::ties::{self, Tie};
use crate::plan::types::DataType;

/// What the error of a guard says, before the operator's name.
pub const ROWS_TIE: &str = "rows tie in";

/// `rel` with a guard on every operator whose result rows that tie leave open.
pub(super) fn guarded(mut rel: Rel) -> Rel {
    if ties::counted_limit(&rel).is_some() {
        return rel;
    }
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = guarded(taken);
    }
    node(rel)
}

/// The node itself under its guard.
pub(super) fn node(rel: Rel) -> Rel {
    if ties::tie(&rel) != Some(Tie::Visible) {
        return rel;
    }
    match rel {
        Rel::Limit(limit) => limited(limit),
        Rel::Distinct(distinct) => chosen(distinct),
        Rel::Window(window) => placed(window),
        Rel::Aggregate(aggregate) => taken(aggregate),
        Rel::Join(join) => nearest(join),
        other => other,
    }
}

/// `LIMIT` over an `ORDER BY`.
fn limited(limit: Limit) -> Rel {
    let Rel::Sort(sort) = &*limit.input else { return Rel::Limit(limit) };
    let rows = |count: &LimitCount| if let LimitCount::Rows(rows) = count { Some(*rows) } else { None };
    let skip = rows(&limit.offset).unwrap_or(0);
    let last = rows(&limit.limit).map(|most| most.saturating_add(skip));
    let first_rows = match last {
        Some(last) => Rel::Limit(Limit {
            input: limit.input.clone(),
            limit: LimitCount::Rows(last.saturating_add(1)),
            offset: LimitCount::Unset,
        }),
        None => (*sort.input).clone(),
    };
    let columns = first_rows.columns();
    let width = columns.len();
    let keys = sort.keys.iter().map(|key| key.expr.clone()).collect();
    let functions = vec![rank(sort.keys.clone()), count(keys)];
    let ranked = Rel::Window(Window { input: Box::new(first_rows), functions });
    let rank = Expr::column(width, DataType::BigInt);
    let end = function("+", vec![rank.clone(), Expr::column(width + 1, DataType::BigInt)], DataType::BigInt);
    // The rows of one key stand in the places from `rank` to `end - 1`: on both sides of a cut?
    let number = |value: u64| integer(i64::try_from(value).unwrap_or(i64::MAX));
    let across = [skip, last.unwrap_or(0)].into_iter().filter(|cut| *cut > 0).map(|cut| {
        let before = compare(Comparison::LessOrEqual, rank.clone(), number(cut));
        let behind = compare(Comparison::GreaterOrEqual, end.clone(), number(cut.saturating_add(2)));
        Expr::Conjunction { op: Conjunction::And, operands: vec![before, behind] }
    });
    let mut exprs = references(&columns, 0);
    exprs.push(("place".into(), rank.clone()));
    exprs.push(("ties".into(), any(across.collect())));
    let flagged = project(ranked, exprs);
    let tied =
        WindowCall::plain("bool_or", vec![Expr::column(width + 1, DataType::Boolean)], Vec::new(), DataType::Boolean);
    let known = Rel::Window(Window { input: Box::new(flagged), functions: vec![tied] });
    let mut within = vec![compare(Comparison::Greater, rank.clone(), number(skip))];
    within.extend(last.map(|last| compare(Comparison::LessOrEqual, rank, number(last))));
    // Rows that tie across a cut stand outside of it by their rank: what keeps the rows has to raise as well.
    let tied = Expr::column(width + 2, DataType::Boolean);
    let within = within.into_iter().map(|bound| unless(&tied, bound, "the ORDER BY of LIMIT"));
    let kept = filter(known, within.collect());
    let exprs =
        references(&columns, 0).into_iter().map(|(name, expr)| (name, unless(&tied, expr, "the ORDER BY of LIMIT")));
    project(kept, exprs.collect())
}

/// `DISTINCT ON`
fn chosen(distinct: Distinct) -> Rel {
    let columns = distinct.input.columns();
    let on = distinct.on.clone().unwrap_or_default();
    let keys = on.iter().chain(distinct.order_by.iter().map(|key| &key.expr)).cloned().collect();
    let input = Box::new(with_ties(*distinct.input, vec![keys]));
    let chosen = Rel::Distinct(Distinct { input, ..distinct });
    let tied = Expr::column(columns.len(), DataType::Boolean);
    let output = |(name, expr): (String, Expr)| {
        let expr = if on.contains(&expr) { expr } else { unless(&tied, expr, "DISTINCT ON") };
        (name, expr)
    };
    project(chosen, references(&columns, 0).into_iter().map(output).collect())
}

/// Window functions.
fn placed(window: Window) -> Rel {
    let columns = window.input.columns();
    let width = columns.len();
    let open: Vec<usize> = (0..window.functions.len())
        .filter(|at| ties::window_tie(&window.functions[*at]) == Some(Tie::Visible))
        .collect();
    let keys = open.iter().map(|at| {
        let call = &window.functions[*at];
        call.partition_by.iter().chain(call.order_by.iter().map(|key| &key.expr)).cloned().collect()
    });
    let input = Box::new(with_ties(*window.input, keys.collect()));
    let (below, all) = (width + open.len(), window.functions.len());
    let mut functions = window.functions.clone();
    let mut flags = vec![None; all];
    for (place, at) in open.iter().enumerate() {
        let own = Expr::column(width + place, DataType::Boolean);
        flags[*at] = Some(if ties::by_own_place(&window.functions[*at]) {
            own
        } else {
            functions.push(WindowCall::plain(
                "bool_or",
                vec![own],
                window.functions[*at].partition_by.clone(),
                DataType::Boolean,
            ));
            Expr::column(below + functions.len() - 1, DataType::Boolean)
        });
    }
    let computed = Rel::Window(Window { input, functions });
    let mut exprs = references(&columns, 0);
    for (at, flag) in flags.into_iter().enumerate() {
        let function = &window.functions[at];
        let value = Expr::column(below + at, function.data_type.clone());
        let operator = format!("the ORDER BY of {}", function.name);
        let value = flag.map_or(value.clone(), |flag| unless(&flag, value, &operator));
        exprs.push((function.name.clone(), value));
    }
    project(computed, exprs)
}

/// Aggregates that take the value of one row.
pub(super) fn taken(aggregate: Aggregate) -> Rel {
    let columns = Rel::Aggregate(aggregate.clone()).columns();
    let (groups, calls) = (aggregate.groups.len(), aggregate.aggregates.len());
    let mut aggregates = Vec::new();
    let mut reversed = Vec::new();
    for call in &aggregate.aggregates {
        let whole = Rel::Aggregate(Aggregate { aggregates: vec![call.clone()], ..aggregate.clone() });
        if ties::tie(&whole) == Some(Tie::Visible) {
            reversed.push((aggregates.len(), ordered(call, true)));
            aggregates.push(ordered(call, false));
        } else {
            aggregates.push(call.clone());
        }
    }
    let mut exprs = references(&columns, 0);
    for (place, (at, _)) in reversed.iter().enumerate() {
        let (name, value) = exprs[groups + at].clone();
        let other = Expr::column(groups + calls + place, value.data_type());
        let differs = compare(Comparison::DistinctFrom, value.clone(), other);
        exprs[groups + at] = (name.clone(), unless(&differs, value, &name));
    }
    // The `GROUPING(…)` columns stand behind all aggregates.
    for (_, expr) in exprs.iter_mut().skip(groups + calls) {
        *expr = expr.clone().with_columns(&|column| column + reversed.len());
    }
    aggregates.extend(reversed.into_iter().map(|(_, call)| call));
    project(Rel::Aggregate(Aggregate { aggregates, ..aggregate }), exprs)
}

/// The call over its rows in its own order, rows that tie by their values in one order or in its reverse.
fn ordered(call: &AggregateCall, descending: bool) -> AggregateCall {
    let arguments = call.arguments.iter().filter(|argument| !argument.columns().is_empty());
    let last = arguments.flat_map(|argument| {
        let key = |expr: Expr| SortKey { expr, descending, nulls_first: descending };
        [Some(key(argument.clone())), ties::may_differ(argument).then(|| key(text(argument.clone())))]
    });
    // A DISTINCT call may be ordered by its arguments only; values that are equal and not the same are one there.
    let last = last.flatten().filter(|key| !call.distinct || call.arguments.contains(&key.expr));
    AggregateCall { order_by: call.order_by.iter().cloned().chain(last).collect(), ..call.clone() }
}

/// An ASOF join.
fn nearest(join: Join) -> Rel {
    let (left, right) = (join.left.columns(), join.right.columns());
    let columns = Rel::Join(join.clone()).columns();
    let keys = join.conditions.iter().map(|condition| condition.right.clone()).collect();
    let tied = Expr::column(left.len() + right.len(), DataType::Boolean);
    let right = Box::new(with_ties(*join.right, vec![keys]));
    let joined = Rel::Join(Join { right, ..join });
    let output = |(at, (name, expr)): (usize, (String, Expr))| {
        (name, if at < left.len() { expr } else { unless(&tied, expr, "an ASOF JOIN") })
    };
    project(joined, references(&columns, 0).into_iter().enumerate().map(output).collect())
}

/// `input` with a column more per list of keys: does a row with the same keys differ from this one?
fn with_ties(input: Rel, keys: Vec<Vec<Expr>>) -> Rel {
    let columns = input.columns();
    let identity = references(&columns, 0).into_iter().map(|(_, expr)| identity(expr)).collect();
    let functions = keys.into_iter().chain([identity]).map(count).collect::<Vec<_>>();
    let last = columns.len() + functions.len() - 1;
    let mut exprs = references(&columns, 0);
    for place in columns.len()..last {
        let [same_keys, same] = [place, last].map(|column| Expr::column(column, DataType::BigInt));
        exprs.push(("ties".into(), compare(Comparison::Greater, same_keys, same)));
    }
    project(Rel::Window(Window { input: Box::new(input), functions }), exprs)
}

/// What tells a value from all that are not the same, also from those that compare as equal.
fn identity(expr: Expr) -> Expr {
    if ties::may_differ(&expr) { text(expr) } else { expr }
}

fn text(expr: Expr) -> Expr {
    Expr::Cast { input: Box::new(expr), data_type: DataType::VARCHAR, fallible: false }
}

/// `value`, or an error if `tied` holds.
fn unless(tied: &Expr, value: Expr, operator: &str) -> Expr {
    let message = Constant::Text(format!("{ROWS_TIE} {operator}"));
    let message = Expr::Literal(Literal { value: Some(message), data_type: DataType::VARCHAR });
    let raised = CaseBranch { condition: tied.clone(), value: function("error", vec![message], DataType::Boolean) };
    let yes = Expr::Literal(Literal { value: Some(Constant::Boolean(true)), data_type: DataType::Boolean });
    let fine = Expr::Case { branches: vec![raised], otherwise: Box::new(yes), data_type: DataType::Boolean };
    let data_type = value.data_type();
    let branch = CaseBranch { condition: fine, value };
    Expr::Case { branches: vec![branch], otherwise: Box::new(null(data_type.clone())), data_type }
}

fn any(mut operands: Vec<Expr>) -> Expr {
    match operands.len() {
        0 => Expr::Literal(Literal { value: Some(Constant::Boolean(false)), data_type: DataType::Boolean }),
        1 => operands.remove(0),
        _ => Expr::Conjunction { op: Conjunction::Or, operands },
    }
}

fn function(name: &str, arguments: Vec<Expr>, data_type: DataType) -> Expr {
    let arguments = arguments.into_iter().map(|value| Argument { name: None, value }).collect();
    let is_operator = name == "+";
    Expr::Function(FunctionCall { name: name.into(), qualifier: None, arguments, lambda: None, is_operator, data_type })
}

/// How many rows have the same `keys`.
fn count(keys: Vec<Expr>) -> WindowCall {
    WindowCall::plain("count_star", Vec::new(), keys, DataType::BigInt)
}

/// A row's place in an order; rows that tie have the first of their places.
pub(super) fn rank(order_by: Vec<SortKey>) -> WindowCall {
    WindowCall { order_by, ..WindowCall::plain("rank", Vec::new(), Vec::new(), DataType::BigInt) }
}
