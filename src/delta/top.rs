//! `ORDER BY … LIMIT k` at the top of a view, and other operators there that have to be computed as a whole: a window
//! without `PARTITION BY`, an aggregate without groups, an operator that may give other rows for the same input. The past
//! is read from the view itself.
//!
//! - Law: with V the view's own rows, `ΔQ(R) = Q(R⁺) ⊖ V`. If V holds the first k rows of R⁻ (its sort keys being among
//!   its columns, with no OFFSET) and no row of ΔR goes that stands before or beside the last of them, or if V holds fewer
//!   than k rows and so all of R⁻, then `Q(R⁺)` is the first k rows of `V ⊎ ΔR`. NON-LINEAR.
//! - Why: a row of R⁻ that is not in V stands behind all of V, or ties with its last row; none of them can come forward
//!   while V loses no row. A row that comes in and ties with the last row raises, see [`super::guards`].
//! - Reads: V and ΔR; R⁺ only if V lost rows (the refill), or if V does not show how it is sorted.
//! - NULLs and duplicates: the order says where NULLs stand; weights are unfolded into copies before the first k are
//!   taken.
//! - Cost: k and the rows of ΔR; with a refill the query.
//! - Example: the two best of {9, 5, 3}: +7 makes {9, 7} out of V = {9, 5} and ΔR; then −9 calls for the refill {7, 5}.
//! - Source: Yi, Yu, Yang, Xia and Chen, Efficient Maintenance of Materialized Top-k Views, ICDE 2003.

use super::affected::shared_partitions;
use super::construct::{
    compare, consolidated, filter, integer, negated, null, project, references, union_all, weighted,
};
use super::{Derivation, NotIncremental, OWN, Refill, Term, guards, weight_at};
use crate::plan::expr::{Argument, CaseBranch, Comparison, Expr, FunctionCall, SortKey};
use crate::plan::rel::{
    Column, Limit, LimitCount, Project, Rel, Scan, Sort, State, TableKind, Unnest, Window, WindowCall,
};
use crate::plan::ties::{self, Tie};
use crate::plan::types::DataType;

/// What the delta of such a view is made of.
pub(super) struct Whole {
    pub(super) terms: Vec<Term>,
    pub(super) refill: Option<Refill>,
}

/// The first rows in an order, by what the view shows.
struct FirstRows<'a> {
    input: &'a Rel,
    /// The view's columns over the input's.
    outputs: Vec<Expr>,
    /// The order over the view's columns.
    keys: Vec<SortKey>,
    count: u64,
}

/// The terms of a view whose topmost operator has no keys; `None` for any other view.
pub(super) fn terms(rel: &Rel, derivation: &mut Derivation) -> Result<Option<Whole>, NotIncremental> {
    let Some(operator) = operator(rel) else { return Ok(None) };
    if let Some(first) = first_rows(rel) {
        return folded(rel, &first, derivation).map(Some);
    }
    let leg = derivation.leg(operator);
    let computed = leg.changed.then(|| replaced(rel, derivation));
    Ok(Some(Whole { terms: vec![Term { leg, rel: computed.flatten() }], refill: None }))
}

/// The topmost operator, below the `SELECT` list and the predicates over it.
fn topmost(mut rel: &Rel) -> &Rel {
    while let Rel::Project(_) | Rel::Filter(_) = rel {
        rel = rel.inputs()[0];
    }
    rel
}

/// Is there no key by which only some of the operator's rows could be computed again, or is what it gave before known
/// from the view alone?
fn is_replaced(operator: &Rel) -> bool {
    let open = matches!(ties::tie(operator), Some(Tie::Open(_)));
    match operator {
        Rel::Limit(_) | Rel::RecursiveCte(_) => !open,
        Rel::Aggregate(aggregate) => open || (aggregate.groups.is_empty() && aggregate.grouping_sets.len() <= 1),
        Rel::Window(window) => {
            let whole = window.functions.iter().any(|call| call.partition_by.is_empty());
            open || (whole && shared_partitions(window).is_empty())
        }
        _ => false,
    }
}

/// The operator itself, if the rule applies.
pub(super) fn operator(rel: &Rel) -> Option<&Rel> {
    let operator = topmost(rel);
    is_replaced(operator).then_some(operator)
}

/// Are its rows taken from the view's own and the change?
pub(super) fn is_folded(rel: &Rel) -> bool {
    first_rows(rel).is_some()
}

/// What must be computed again from the past, in a view whose own rows stand for its topmost operator's.
pub(super) fn inputs(rel: &Rel) -> Option<Vec<&Rel>> {
    operator(rel).map(Rel::inputs)
}

/// The new rows, and all of the view's own with the weight −1.
fn replaced(rel: &Rel, derivation: &Derivation) -> Option<Rel> {
    union_all(vec![weighted(derivation.at_new(rel), 1), negated(weighted(own(&rel.columns()), 1))])
}

fn first_rows(rel: &Rel) -> Option<FirstRows<'_>> {
    let (exprs, below) = match rel {
        Rel::Project(Project { exprs, input }) => (Some(exprs), &**input),
        other => (None, other),
    };
    let Rel::Limit(Limit { input, limit: LimitCount::Rows(count), offset: LimitCount::Unset | LimitCount::Rows(0) }) =
        below
    else {
        return None;
    };
    let Rel::Sort(sort) = &**input else { return None };
    let outputs: Vec<Expr> = match exprs {
        Some(exprs) => exprs.iter().map(|(_, expr)| expr.clone()).collect(),
        None => references(&sort.input.columns(), 0).into_iter().map(|(_, expr)| expr).collect(),
    };
    let shown = |key: &SortKey| {
        let place = outputs.iter().position(|output| *output == key.expr)?;
        Some(SortKey { expr: Expr::column(place, key.expr.data_type()), ..key.clone() })
    };
    let keys = sort.keys.iter().map(shown).collect::<Option<Vec<_>>>()?;
    (*count > 0).then_some(FirstRows { input: &sort.input, outputs, keys, count: *count })
}

/// The first rows out of the view's own and the changes, or of the new state if too few of them are left.
fn folded(rel: &Rel, first: &FirstRows<'_>, derivation: &mut Derivation) -> Result<Whole, NotIncremental> {
    let leg = derivation.whole_leg(first.input);
    let Some(delta) = derivation.stage_delta(first.input)? else {
        return Ok(Whole { terms: vec![Term { leg, rel: None }], refill: None });
    };
    let width = delta.columns().len() - 1;
    let mut exprs: Vec<(String, Expr)> =
        first.outputs.iter().enumerate().map(|(at, expr)| (position_name(at), expr.clone())).collect();
    exprs.push(weight_at(width));
    let changed = derivation.stage("changed_rows", consolidated(project(delta, exprs)));
    let view = own(&rel.columns());
    let needed = derivation.stage("refill_needed", lost(&view, &changed, first));
    let kept = union_all(vec![weighted(view.clone(), 1), changed]).map(consolidated);
    let kept = kept.map(|kept| weighted(first_of(copies(kept), first), 1));
    let gone = negated(weighted(view, 1));
    let folded = union_all(kept.into_iter().chain([gone]).collect());
    let refill = replaced(rel, derivation).map(|rel| {
        let needed = needed.scans().first().map_or_else(String::new, |scan| scan.table.clone());
        Refill { needed, rel }
    });
    Ok(Whole { terms: vec![Term { leg, rel: folded }], refill })
}

/// The rows that go and stand before or beside the last row of a full view.
fn lost(view: &Rel, changed: &Rel, first: &FirstRows<'_>) -> Rel {
    let columns = view.columns();
    let width = columns.len();
    let marked = |rel: Rel, mark: i64| {
        let mut exprs = references(&columns, 0);
        exprs.push(("gone".into(), integer(mark)));
        project(rel, exprs)
    };
    let last = Rel::Limit(Limit {
        input: Box::new(Rel::Sort(Sort { input: Box::new(view.clone()), keys: first.keys.clone() })),
        limit: LimitCount::Rows(1),
        offset: LimitCount::Rows(first.count - 1),
    });
    let weight = Expr::column(width, DataType::BigInt);
    let goes = filter(changed.clone(), vec![compare(Comparison::Less, weight, integer(0))]);
    let both = union_all(vec![marked(last, 0), marked(goes, 1)]).unwrap_or_else(Rel::nothing);
    let rank = guards::rank(first.keys.clone());
    let ranked = Rel::Window(Window { input: Box::new(both), functions: vec![rank] });
    let [mark, rank] = [width, width + 1].map(|at| Expr::column(at, DataType::BigInt));
    let of_last = CaseBranch { condition: compare(Comparison::Equal, mark.clone(), integer(0)), value: rank.clone() };
    let of_last = Expr::Case {
        branches: vec![of_last],
        otherwise: Box::new(null(DataType::BigInt)),
        data_type: DataType::BigInt,
    };
    let bound = WindowCall::plain("max", vec![of_last], Vec::new(), DataType::BigInt);
    let bounded = Rel::Window(Window { input: Box::new(ranked), functions: vec![bound] });
    let bound = Expr::column(width + 2, DataType::BigInt);
    let before =
        vec![compare(Comparison::Equal, mark, integer(1)), compare(Comparison::LessOrEqual, rank.clone(), bound)];
    project(filter(bounded, before), vec![("place".into(), rank)])
}

/// The rows of a consolidated delta that come, each as often as its weight says.
fn copies(delta: Rel) -> Rel {
    let mut columns = delta.columns();
    columns.pop();
    let weight = Expr::column(columns.len(), DataType::BigInt);
    let coming = filter(delta, vec![compare(Comparison::Greater, weight.clone(), integer(0))]);
    let data_type = DataType::List(Box::new(DataType::BigInt));
    let list = Expr::Function(FunctionCall {
        name: "range".into(),
        qualifier: None,
        arguments: vec![Argument { name: None, value: weight }],
        lambda: None,
        is_operator: false,
        data_type,
    });
    let lists = vec![(Column::new("copy", DataType::BigInt), list)];
    project(Rel::Unnest(Unnest { input: Box::new(coming), lists }), references(&columns, 0))
}

fn first_of(input: Rel, first: &FirstRows<'_>) -> Rel {
    let sorted = Rel::Sort(Sort { input: Box::new(input), keys: first.keys.clone() });
    guards::node(Rel::Limit(Limit {
        input: Box::new(sorted),
        limit: LimitCount::Rows(first.count),
        offset: LimitCount::Unset,
    }))
}

fn position_name(at: usize) -> String {
    format!("c{at}")
}

/// A leaf that reads the rows that the view holds.
fn own(columns: &[Column]) -> Rel {
    let columns: Vec<Column> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| Column::new(position_name(at), column.data_type.clone()))
        .collect();
    Rel::Scan(Scan {
        catalog: OWN.into(),
        schema: "main".into(),
        table: "rows".into(),
        kind: TableKind::DuckDb,
        positions: (0..columns.len()).collect(),
        columns,
        pinned: None,
        state: State::Current,
    })
}
