//! Random plans. Every generated relation has three integer columns, so that any can stand under any.

use proptest::prelude::*;

use crate::plan::expr::{Argument, Comparison, Constant, Expr, FunctionCall, Literal, Operator, SortKey};
use crate::plan::rel::{
    Aggregate, AggregateCall, Column, Cte, CteRef, DependentJoin, DependentKeys, Distinct, Filter, Frame, FrameBound,
    FrameExclude, FrameUnit, Join, JoinCondition, JoinKind, Limit, LimitCount, Materialize, Project, Rel, Scan,
    SetOperation, SetOperator, Sort, State, TableKind, Unnest, Window, WindowCall,
};
use crate::plan::types::DataType;

pub(super) const TABLES: [&str; 3] = ["r", "s", "t"];

pub(super) fn column(index: usize) -> Expr {
    Expr::column(index, DataType::Integer)
}

pub(super) fn scan(table: &str) -> Rel {
    let columns = ["a", "b", "c"].map(|name| Column::new(name, DataType::Integer)).to_vec();
    Rel::Scan(Scan {
        catalog: "lake".into(),
        schema: "main".into(),
        table: table.into(),
        kind: TableKind::Lake,
        columns,
        positions: vec![0, 1, 2],
        pinned: None,
        state: State::Current,
    })
}

fn function(name: &str, arguments: Vec<Expr>, data_type: DataType) -> Expr {
    let arguments = arguments.into_iter().map(|value| Argument { name: None, value }).collect();
    let is_operator = name == "+";
    Expr::Function(FunctionCall { name: name.into(), qualifier: None, arguments, lambda: None, is_operator, data_type })
}

/// Keeps every generated relation at three integer columns, so that any can stand under any.
fn three(input: Rel, picks: [usize; 3], sum: bool) -> Rel {
    let width = input.columns().len();
    let mut exprs: Vec<(String, Expr)> =
        picks.iter().zip(["a", "b", "c"]).map(|(pick, name)| (name.to_owned(), column(pick % width))).collect();
    if sum {
        exprs[2].1 = function("+", vec![column(picks[0] % width), column(picks[1] % width)], DataType::Integer);
    }
    Rel::Project(Project { input: Box::new(input), exprs })
}

fn comparison(op: Comparison, left: Expr, right: Expr) -> Expr {
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

fn operators() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        4 => Just(Comparison::Equal),
        1 => Just(Comparison::Less),
        1 => Just(Comparison::NotDistinctFrom)
    ]
}

fn kinds() -> impl Strategy<Value = JoinKind> {
    let kinds = [JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];
    proptest::sample::select(kinds.to_vec())
}

/// A mark as a value, or under a filter that keeps TRUE or FALSE.
fn used(marked: Rel, use_as: usize) -> Rel {
    let mark = Expr::column(3, DataType::Boolean);
    let not = Expr::Operator { op: Operator::Not, operands: vec![mark.clone()], data_type: DataType::Boolean };
    let filtered = |predicate| Rel::Filter(Filter { input: Box::new(marked.clone()), predicates: vec![predicate] });
    match use_as {
        0 => three(marked, [0, 1, 3], false),
        1 => three(filtered(mark), [0, 1, 2], false),
        2 => three(filtered(not), [0, 1, 2], false),
        _ => three(filtered(not), [0, 1, 3], false),
    }
}

/// A correlated EXISTS (as a value, true, false), IN, scalar sum, or lateral.
fn correlated(left: Rel, inner: Rel, shape: usize, op: Comparison, at: [usize; 4]) -> Rel {
    let key = column(at[0] % 3);
    let keys = Rel::DependentKeys(DependentKeys { id: 7, columns: vec![Column::new("key", DataType::Integer)] });
    let cross = Join {
        kind: JoinKind::Inner,
        left: Box::new(inner),
        right: Box::new(keys),
        conditions: Vec::new(),
        predicates: Vec::new(),
    };
    let predicates = vec![comparison(op, column(at[1] % 3), column(3))];
    let matched = Rel::Filter(Filter { input: Box::new(Rel::Join(cross)), predicates });
    let value = column(at[2] % 3);
    let (right, kind) = if shape == 4 {
        let sum = call("sum", vec![value], DataType::HugeInt);
        let aggregate = Rel::Aggregate(Aggregate {
            input: Box::new(matched),
            groups: vec![("key".into(), column(3))],
            grouping_sets: vec![vec![0]],
            aggregates: vec![sum],
            grouping_functions: Vec::new(),
        });
        (
            crate::delta::construct::project(aggregate, vec![("sum".into(), column(1)), ("key".into(), column(0))]),
            JoinKind::Single,
        )
    } else {
        let exprs = vec![("value".into(), value), ("key".into(), column(3))];
        (crate::delta::construct::project(matched, exprs), if shape == 5 { JoinKind::Inner } else { JoinKind::Mark })
    };
    let mut conditions = vec![JoinCondition { left: key.clone(), op: Comparison::NotDistinctFrom, right: column(1) }];
    if shape == 3 {
        conditions.push(JoinCondition { left: column(at[3] % 3), op: Comparison::Equal, right: column(0) });
    }
    let join = Join { kind, left: Box::new(left), right: Box::new(right), conditions, predicates: Vec::new() };
    let node = Rel::DependentJoin(DependentJoin { join, keys: vec![key], id: 7 });
    match shape {
        4 | 5 => three(node, [0, 1, 3], false),
        3 => used(node, at[3] % 4),
        other => used(node, other),
    }
}

pub(super) fn call(name: &str, arguments: Vec<Expr>, data_type: DataType) -> AggregateCall {
    AggregateCall { name: name.into(), arguments, distinct: false, filter: None, order_by: Vec::new(), data_type }
}

fn aggregate(input: Rel, sets: usize, at: usize, chosen: usize) -> Rel {
    let mut calls = [
        call("sum", vec![column(at)], DataType::HugeInt),
        call("count_star", Vec::new(), DataType::BigInt),
        call("min", vec![column(at)], DataType::Integer),
        call("count", vec![column(at)], DataType::BigInt),
        call("max", vec![column(2)], DataType::Integer),
        call("arg_min", vec![column(at), column(2)], DataType::Integer),
    ];
    for (position, call) in calls.iter_mut().enumerate() {
        let one = Literal { value: Some(Constant::Integer("1".into())), data_type: DataType::Integer };
        let demand = comparison(Comparison::Less, column((at + position) % 3), Expr::Literal(one));
        call.filter = (chosen / 6 % (position + 2) == 1).then(|| Box::new(demand));
    }
    let aggregates = vec![calls[chosen % 6].clone(), calls[(chosen / 6) % 6].clone()];
    let groups: Vec<(String, Expr)> =
        [("g", column(0)), ("h", column(1))].map(|(name, expr)| (name.into(), expr)).into();
    let (groups, grouping_sets) = match sets {
        0 => (Vec::new(), vec![Vec::new()]),
        1 => (groups[..1].to_vec(), vec![vec![0]]),
        2 => (groups, vec![vec![0, 1]]),
        _ => (groups, vec![vec![0, 1], vec![1], Vec::new()]),
    };
    let grouping_functions = Vec::new();
    let input = Box::new(input);
    let aggregate = Rel::Aggregate(Aggregate { input, groups, grouping_sets, aggregates, grouping_functions });
    let width = aggregate.columns().len();
    three(aggregate, [0, width - 2, width - 1], false)
}

fn window(partition: &[usize]) -> WindowCall {
    let (start, end) = (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
    WindowCall {
        name: "count_star".into(),
        arguments: Vec::new(),
        distinct: false,
        ignore_nulls: false,
        filter: None,
        argument_order: Vec::new(),
        partition_by: partition.iter().map(|at| column(*at)).collect(),
        order_by: Vec::new(),
        frame: Frame { unit: FrameUnit::Rows, start, end, exclude: FrameExclude::NoOthers },
        data_type: DataType::BigInt,
    }
}

/// Projections, filters, unions, lists.
fn linear(inner: &BoxedStrategy<Rel>) -> BoxedStrategy<Rel> {
    prop_oneof![
        (inner.clone(), any::<[usize; 3]>(), any::<bool>()).prop_map(|(input, picks, sum)| three(input, picks, sum)),
        (inner.clone(), operators(), 0..3_usize, 0..4_i64).prop_map(|(input, op, at, value)| {
            let literal = Literal { value: Some(Constant::Integer(value.to_string())), data_type: DataType::Integer };
            let predicates = vec![comparison(op, column(at), Expr::Literal(literal))];
            Rel::Filter(Filter { input: Box::new(input), predicates })
        }),
        (inner.clone(), inner.clone()).prop_map(|(left, right)| {
            let columns = left.columns();
            let inputs = vec![left, right];
            Rel::SetOperation(SetOperation { op: SetOperator::Union, all: true, inputs, columns })
        }),
        (inner.clone(), 0..3_usize, 0..3_usize, any::<[usize; 3]>()).prop_map(|(input, one, two, picks)| {
            let list =
                function("list_value", vec![column(one), column(two)], DataType::List(Box::new(DataType::Integer)));
            let lists = vec![(Column::new("element", DataType::Integer), list)];
            three(Rel::Unnest(Unnest { input: Box::new(input), lists }), picks, false)
        }),
        (inner.clone(), operators()).prop_map(|(definition, op)| {
            let columns = definition.columns();
            let reference = || Box::new(Rel::CteRef(CteRef { id: 0, columns: columns.clone(), recurring: false }));
            let conditions = vec![JoinCondition { left: column(0), op, right: column(1) }];
            let (left, right) = (reference(), reference());
            let join = Join { kind: JoinKind::Inner, left, right, conditions, predicates: Vec::new() };
            let body = Box::new(three(Rel::Join(join), [0, 1, 3], false));
            Rel::Cte(Cte {
                name: "x".into(),
                id: 0,
                materialize: Materialize::Default,
                definition: Box::new(definition),
                body,
            })
        }),
    ]
    .boxed()
}

/// Joins of every kind, marks and correlated subqueries.
fn joined(inner: &BoxedStrategy<Rel>) -> BoxedStrategy<Rel> {
    prop_oneof![
        (inner.clone(), inner.clone(), operators(), 0..3_usize, 0..3_usize, any::<[usize; 3]>()).prop_map(
            |(left, right, op, at, with, picks)| {
                let conditions = vec![JoinCondition { left: column(at), op, right: column(with) }];
                let (left, right) = (Box::new(left), Box::new(right));
                let join = Join { kind: JoinKind::Inner, left, right, conditions, predicates: Vec::new() };
                three(Rel::Join(join), picks, false)
            }
        ),
        (inner.clone(), inner.clone(), kinds(), operators(), operators(), any::<[usize; 4]>(), any::<[usize; 3]>())
            .prop_map(|(left, right, kind, op, extra, at, picks)| {
                let conditions = vec![JoinCondition { left: column(at[0] % 3), op, right: column(at[1] % 3) }];
                // Over both sides, over one side only, or none.
                let further = comparison(extra, column(at[2] % 6), column(at[3] % 6));
                let predicates = if at[0].is_multiple_of(2) { vec![further] } else { Vec::new() };
                let (left, right) = (Box::new(left), Box::new(right));
                three(Rel::Join(Join { kind, left, right, conditions, predicates }), picks, false)
            }),
        (inner.clone(), inner.clone(), 0..4_usize, operators(), any::<[usize; 4]>(), any::<bool>()).prop_map(
            |(left, right, use_as, op, at, two)| {
                let mut conditions = vec![JoinCondition { left: column(at[0] % 3), op, right: column(at[1] % 3) }];
                if two {
                    let (left, right) = (column(at[2] % 3), column(at[3] % 3));
                    conditions.push(JoinCondition { left, op: Comparison::Equal, right });
                }
                let (left, right) = (Box::new(left), Box::new(right));
                let join = Join { kind: JoinKind::Mark, left, right, conditions, predicates: Vec::new() };
                used(Rel::Join(join), use_as)
            }
        ),
        (inner.clone(), inner.clone(), any::<[bool; 2]>(), any::<[usize; 4]>(), any::<[usize; 3]>()).prop_map(
            |(left, right, [outer, keyed], at, picks)| {
                let compare =
                    |op, at: [usize; 2]| JoinCondition { left: column(at[0] % 3), op, right: column(at[1] % 3) };
                let mut conditions = vec![compare(Comparison::GreaterOrEqual, [at[0], at[1]])];
                if keyed {
                    conditions.insert(0, compare(Comparison::Equal, [at[2], at[3]]));
                }
                let kind = if outer { JoinKind::AsOfLeft } else { JoinKind::AsOfInner };
                let (left, right) = (Box::new(left), Box::new(right));
                three(Rel::Join(Join { kind, left, right, conditions, predicates: Vec::new() }), picks, false)
            }
        ),
        (inner.clone(), inner.clone(), 0..6_usize, operators(), any::<[usize; 4]>())
            .prop_map(|(left, right, shape, op, at)| correlated(left, right, shape, op, at)),
    ]
    .boxed()
}

/// Operators over groups of rows.
fn grouped(inner: &BoxedStrategy<Rel>) -> BoxedStrategy<Rel> {
    prop_oneof![
        (inner.clone(), any::<bool>(), 0..3_usize, sort_keys()).prop_map(|(input, whole_row, at, order_by)| {
            let on = (!whole_row).then(|| vec![column(at)]);
            let order_by = if whole_row { Vec::new() } else { order_by };
            Rel::Distinct(Distinct { input: Box::new(input), on, order_by })
        }),
        (inner.clone(), inner.clone(), any::<[bool; 2]>(), any::<bool>()).prop_map(|(left, right, op, all)| {
            let columns = left.columns();
            let op = if op[0] { SetOperator::Except } else { SetOperator::Intersect };
            Rel::SetOperation(SetOperation { op, all, inputs: vec![left, right], columns })
        }),
        (inner.clone(), 0..4_usize, 0..3_usize, 0..144_usize)
            .prop_map(|(input, sets, at, chosen)| aggregate(input, sets, at, chosen)),
        (inner.clone(), any::<[usize; 3]>(), any::<bool>()).prop_map(|(input, at, two)| {
            let functions = if two {
                vec![window(&[at[0] % 3, at[1] % 3]), window(&[at[2] % 3])]
            } else {
                vec![window(&[at[2] % 3])]
            };
            three(Rel::Window(Window { input: Box::new(input), functions }), [0, 1, 3], false)
        }),
        (inner.clone(), sort_keys(), any::<[usize; 2]>()).prop_map(|(input, order_by, at)| {
            let name = if at[0].is_multiple_of(2) { "row_number" } else { "first_value" };
            let (arguments, data_type) = match name {
                "first_value" => (vec![column(at[0] % 3)], DataType::Integer),
                _ => (Vec::new(), DataType::BigInt),
            };
            let placed = WindowCall { name: name.into(), arguments, order_by, data_type, ..window(&[at[1] % 3]) };
            let functions = vec![placed, window(&[at[1] % 3])];
            three(Rel::Window(Window { input: Box::new(input), functions }), [0, 3, 4], false)
        }),
        limited(inner),
    ]
    .boxed()
}

/// `LIMIT` without an order, which the evaluator gives one, and with an order that may leave ties, also as the whole view
/// under a projection.
fn limited(inner: &BoxedStrategy<Rel>) -> BoxedStrategy<Rel> {
    let offsets = prop_oneof![2 => Just(LimitCount::Unset), 1 => (0..3_u64).prop_map(LimitCount::Rows)];
    (inner.clone(), 0..4_u64, offsets, sort_keys(), any::<[usize; 3]>(), any::<bool>())
        .prop_map(|(input, count, offset, keys, picks, ordered)| {
            let input = Box::new(if ordered { Rel::Sort(Sort { input: Box::new(input), keys }) } else { input });
            let limit = Limit { input, limit: LimitCount::Rows(count), offset };
            if picks[0].is_multiple_of(3) { three(Rel::Limit(limit), picks, false) } else { Rel::Limit(limit) }
        })
        .boxed()
}

/// Windows over several partitionings.
pub(super) fn partitioned() -> impl Strategy<Value = Rel> {
    let leaf = proptest::sample::select(&TABLES[..]).prop_map(scan).boxed();
    let input = prop_oneof![2 => leaf.clone(), 1 => linear(&leaf), 1 => joined(&leaf)];
    (input, proptest::sample::subsequence(vec![0, 1, 2], 2..=3), any::<[usize; 3]>()).prop_map(|(input, at, picks)| {
        let functions = at.into_iter().map(|at| window(&[at])).collect();
        three(Rel::Window(Window { input: Box::new(input), functions }), picks, false)
    })
}

/// The first rows in an order as a whole view.
pub(super) fn first_rows() -> impl Strategy<Value = Rel> {
    let leaf = proptest::sample::select(&TABLES[..]).prop_map(scan).boxed();
    let input = prop_oneof![2 => leaf.clone(), 1 => linear(&leaf), 1 => joined(&leaf)];
    let keys = (sort_keys(), Just([0, 1, 2]).prop_shuffle(), any::<bool>());
    (input, 1..4_u64, keys, Just([0, 1, 2]).prop_shuffle()).prop_map(
        |(input, count, (mut keys, rest, total), picks)| {
            if total {
                keys.extend(rest.map(|at| SortKey { expr: column(at), descending: at == 1, nulls_first: false }));
            }
            let input = Box::new(Rel::Sort(Sort { input: Box::new(input), keys }));
            three(Rel::Limit(Limit { input, limit: LimitCount::Rows(count), offset: LimitCount::Unset }), picks, false)
        },
    )
}

fn sort_keys() -> impl Strategy<Value = Vec<SortKey>> {
    let key = (0..3_usize, any::<[bool; 2]>()).prop_map(|(at, [descending, nulls_first])| SortKey {
        expr: column(at),
        descending,
        nulls_first,
    });
    proptest::collection::vec(key, 1..3)
}

/// Plans up to four operators deep.
pub(super) fn plans() -> impl Strategy<Value = Rel> {
    let leaf = proptest::sample::select(&TABLES[..]).prop_map(scan);
    leaf.prop_recursive(4, 12, 2, |inner| {
        let inner = inner.boxed();
        prop_oneof![5 => linear(&inner), 5 => joined(&inner), 5 => grouped(&inner)]
    })
}
