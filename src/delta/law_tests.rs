//! The law of the algebra, tested without a database: a small evaluator of plans over in-memory bags is the judge.
//! For random plans, old states and new states, the consolidated delta must lead from the old result to the new one.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Change, Changes, STAGED, derive};
use crate::plan::expr::{Argument, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal};
use crate::plan::facts::Source;
use crate::plan::normalise::normalise;
use crate::plan::rel::{
    Aggregate, AggregateCall, Column, Cte, CteRef, Distinct, Filter, Frame, FrameBound, FrameExclude, FrameUnit, Join,
    JoinCondition, JoinKind, Limit, LimitCount, Project, Rel, Scan, SetOperation, SetOperator, State, TableKind,
    Unnest, Window, WindowCall,
};
use crate::plan::types::DataType;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    List(Vec<Value>),
}

type Row = Vec<Value>;

/// Each table's rows at `from` and at `to`.
#[derive(Debug, Clone)]
struct World(BTreeMap<String, (Vec<Row>, Vec<Row>)>);

/// What a plan is evaluated against.
struct Evaluation<'a> {
    world: &'a World,
    current: State,
    ctes: Vec<(usize, Vec<Row>)>,
    steps: BTreeMap<String, Vec<Row>>,
}

impl<'a> Evaluation<'a> {
    fn at(world: &'a World, current: State) -> Self {
        Evaluation { world, current, ctes: Vec::new(), steps: BTreeMap::new() }
    }
}

fn evaluate(expr: &Expr, row: &Row) -> Value {
    match expr {
        Expr::Column { index, .. } => row[*index].clone(),
        Expr::Literal(Literal { value: Some(Constant::Integer(digits)), .. }) => {
            Value::Integer(digits.parse().unwrap())
        }
        Expr::Literal(Literal { value: None, .. }) => Value::Null,
        Expr::Comparison { op, left, right } => {
            let (left, right) = (evaluate(left, row), evaluate(right, row));
            match op {
                Comparison::NotDistinctFrom => Value::Boolean(left == right),
                _ if left == Value::Null || right == Value::Null => Value::Null,
                Comparison::Equal => Value::Boolean(left == right),
                Comparison::NotEqual => Value::Boolean(left != right),
                Comparison::Less => Value::Boolean(left < right),
                Comparison::Greater => Value::Boolean(left > right),
                other => panic!("no {other:?} here"),
            }
        }
        Expr::Conjunction { op: Conjunction::And, operands } => {
            let values: Vec<Value> = operands.iter().map(|operand| evaluate(operand, row)).collect();
            if values.contains(&Value::Boolean(false)) {
                Value::Boolean(false)
            } else if values.contains(&Value::Null) {
                Value::Null
            } else {
                Value::Boolean(true)
            }
        }
        Expr::Function(call) => {
            let values: Vec<Value> = call.arguments.iter().map(|argument| evaluate(&argument.value, row)).collect();
            match (call.name.as_str(), values.as_slice()) {
                ("list_value", _) => Value::List(values),
                ("+", [Value::Integer(left), Value::Integer(right)]) => Value::Integer(left + right),
                ("+", _) => Value::Null,
                ("*", [Value::Integer(left), Value::Integer(right)]) => Value::Integer(left * right),
                other => panic!("no {other:?} here"),
            }
        }
        Expr::Cast { input, .. } => evaluate(input, row),
        other => panic!("no {other:?} here"),
    }
}

fn count(rows: usize) -> Value {
    Value::Integer(i64::try_from(rows).unwrap())
}

fn keeps(predicates: &[Expr], row: &Row) -> bool {
    predicates.iter().all(|predicate| evaluate(predicate, row) == Value::Boolean(true))
}

fn rows(rel: &Rel, on: &mut Evaluation<'_>) -> Vec<Row> {
    match rel {
        Rel::Scan(scan) if scan.catalog == STAGED => {
            on.steps[&scan.table].iter().map(|row| narrowed(scan, row)).collect()
        }
        Rel::Scan(scan) => scan_rows(scan, on),
        Rel::Project(project) => {
            let project_row = |row: &Row| project.exprs.iter().map(|(_, expr)| evaluate(expr, row)).collect();
            rows(&project.input, on).iter().map(project_row).collect()
        }
        Rel::Filter(filter) => {
            let mut kept = rows(&filter.input, on);
            kept.retain(|row| keeps(&filter.predicates, row));
            kept
        }
        Rel::Join(join) => join_rows(join, on),
        Rel::InnerJoin(join) => {
            let legs: Vec<Vec<Row>> = join.legs.iter().map(|leg| rows(leg, on)).collect();
            let mut pairs = legs.into_iter().reduce(|left, right| cross(&left, &right)).unwrap();
            pairs.retain(|row| keeps(&join.predicates, row));
            pairs
        }
        Rel::SetOperation(operation) => set_rows(operation, on),
        Rel::Unnest(unnest) => {
            let unnest_row = |row: Row| match evaluate(&unnest.lists[0].1, &row) {
                Value::List(list) => list.into_iter().map(|value| [&row[..], &[value]].concat()).collect(),
                _ => Vec::new(),
            };
            rows(&unnest.input, on).into_iter().flat_map(unnest_row).collect()
        }
        Rel::Cte(cte) => {
            let definition = rows(&cte.definition, on);
            on.ctes.push((cte.id, definition));
            let body = rows(&cte.body, on);
            on.ctes.pop();
            body
        }
        Rel::CteRef(reference) => on.ctes.iter().rev().find(|(id, _)| *id == reference.id).unwrap().1.clone(),
        Rel::Distinct(distinct) => {
            let mut kept = rows(&distinct.input, on);
            kept.sort();
            match &distinct.on {
                None => kept.dedup(),
                Some(keys) => {
                    let key = |row: &Row| keys.iter().map(|key| evaluate(key, row)).collect::<Row>();
                    let mut seen = Vec::new();
                    kept.retain(|row| {
                        !seen.contains(&key(row)) && {
                            seen.push(key(row));
                            true
                        }
                    });
                }
            }
            kept
        }
        Rel::Aggregate(aggregate) => {
            let input = rows(&aggregate.input, on);
            aggregate.grouping_sets.iter().flat_map(|set| group_rows(aggregate, set, &input)).collect()
        }
        Rel::Window(window) => {
            let input = rows(&window.input, on);
            let with_counts = |row: &Row| {
                let counts = window.functions.iter().map(|call| {
                    let key = |row: &Row| call.partition_by.iter().map(|expr| evaluate(expr, row)).collect::<Row>();
                    count(input.iter().filter(|other| key(other) == key(row)).count())
                });
                row.iter().cloned().chain(counts.collect::<Row>()).collect()
            };
            input.iter().map(with_counts).collect()
        }
        Rel::Limit(limit) => {
            let mut kept = rows(&limit.input, on);
            kept.sort();
            let LimitCount::Rows(count) = limit.limit else { panic!("no other limit here") };
            kept.truncate(usize::try_from(count).unwrap());
            kept
        }
        other => panic!("no {other:?} here"),
    }
}

fn join_rows(join: &Join, on: &mut Evaluation<'_>) -> Vec<Row> {
    let (left, right) = (rows(&join.left, on), rows(&join.right, on));
    let demands = super::semi_join::demands(join);
    let (left_width, right_width) = (join.left.columns().len(), join.right.columns().len());
    let mut made = Vec::new();
    let mut right_matched = vec![false; right.len()];
    for one in &left {
        let mut matched = false;
        for (position, other) in right.iter().enumerate() {
            let pair = [&one[..], other].concat();
            if keeps(&demands, &pair) {
                matched = true;
                right_matched[position] = true;
                if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                    made.push(pair);
                }
            }
        }
        match join.kind {
            JoinKind::Semi if matched => made.push(one.clone()),
            JoinKind::Anti if !matched => made.push(one.clone()),
            JoinKind::Left | JoinKind::Full if !matched => {
                made.push([&one[..], &vec![Value::Null; right_width]].concat());
            }
            _ => {}
        }
    }
    if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        let dangling = right.iter().zip(right_matched).filter(|(_, matched)| !matched);
        made.extend(dangling.map(|(other, _)| [&vec![Value::Null; left_width][..], other].concat()));
    }
    made
}

fn set_rows(operation: &SetOperation, on: &mut Evaluation<'_>) -> Vec<Row> {
    let inputs: Vec<Vec<Row>> = operation.inputs.iter().map(|input| rows(input, on)).collect();
    if operation.op == SetOperator::Union && operation.all {
        return inputs.concat();
    }
    let counts = |rows: &[Row]| consolidate(rows.iter().map(|row| (row.clone(), 1)));
    let (left, right) = (counts(&inputs[0]), counts(&inputs[1]));
    let mut all: Vec<Row> = left.keys().chain(right.keys()).cloned().collect();
    all.sort();
    all.dedup();
    let times = |row: &Row| {
        let (l, r) = (left.get(row).copied().unwrap_or(0), right.get(row).copied().unwrap_or(0));
        match (operation.op, operation.all) {
            (SetOperator::Except, true) => (l - r).max(0),
            (SetOperator::Except, false) => i64::from(l > 0 && r == 0),
            (SetOperator::Intersect, true) => l.min(r),
            (SetOperator::Intersect, false) => i64::from(l > 0 && r > 0),
            (SetOperator::Union, _) => 1,
        }
    };
    all.into_iter().flat_map(|row| vec![row.clone(); usize::try_from(times(&row)).unwrap()]).collect()
}

fn group_rows(aggregate: &Aggregate, set: &[usize], input: &[Row]) -> Vec<Row> {
    let key = |row: &Row| set.iter().map(|group| evaluate(&aggregate.groups[*group].1, row)).collect::<Row>();
    let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
    if set.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in input {
        groups.entry(key(row)).or_default().push(row);
    }
    let finish = |(key, rows): (Row, Vec<&Row>)| {
        let group = |position: usize| {
            let place = set.iter().position(|group| *group == position);
            place.map_or(Value::Null, |place| key[place].clone())
        };
        let call = |call: &AggregateCall| match call.name.as_str() {
            "count_star" => count(rows.len()),
            "sum" => {
                let values: Vec<i64> = rows
                    .iter()
                    .filter_map(|row| match evaluate(&call.arguments[0], row) {
                        Value::Integer(value) => Some(value),
                        _ => None,
                    })
                    .collect();
                if values.is_empty() { Value::Null } else { Value::Integer(values.iter().sum()) }
            }
            other => panic!("no {other} here"),
        };
        (0..aggregate.groups.len()).map(group).chain(aggregate.aggregates.iter().map(call)).collect()
    };
    groups.into_iter().map(finish).collect()
}

fn cross(left: &[Row], right: &[Row]) -> Vec<Row> {
    left.iter().flat_map(|left| right.iter().map(move |right| left.iter().chain(right).cloned().collect())).collect()
}

fn narrowed(scan: &Scan, row: &Row) -> Row {
    scan.positions.iter().map(|position| row[*position].clone()).collect()
}

fn scan_rows(scan: &Scan, on: &Evaluation<'_>) -> Vec<Row> {
    let (old, new) = &on.world.0[&scan.table];
    // Unconsolidated on purpose: a row that stays is −1 and +1.
    let weighted = |row: &Row, weight: i64| {
        let value = |position: &usize| row.get(*position).cloned().unwrap_or(Value::Integer(weight));
        scan.positions.iter().map(value).collect::<Row>()
    };
    match if scan.state == State::Current { on.current } else { scan.state } {
        State::Old => old.iter().map(|row| narrowed(scan, row)).collect(),
        State::New => new.iter().map(|row| narrowed(scan, row)).collect(),
        State::Delta => {
            let gone = old.iter().map(|row| weighted(row, -1));
            gone.chain(new.iter().map(|row| weighted(row, 1))).collect()
        }
        State::Current => unreachable!(),
    }
}

/// Rows and the sums of their weights, without zeros.
fn consolidate(weighted: impl Iterator<Item = (Row, i64)>) -> BTreeMap<Row, i64> {
    let mut sums = BTreeMap::new();
    for (row, weight) in weighted {
        *sums.entry(row).or_insert(0) += weight;
    }
    sums.retain(|_, weight| *weight != 0);
    sums
}

const TABLES: [&str; 3] = ["r", "s", "t"];

fn column(index: usize) -> Expr {
    Expr::column(index, DataType::Integer)
}

fn scan(table: &str) -> Rel {
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

fn call(name: &str, arguments: Vec<Expr>, data_type: DataType) -> AggregateCall {
    AggregateCall { name: name.into(), arguments, distinct: false, filter: None, order_by: Vec::new(), data_type }
}

fn aggregate(input: Rel, sets: usize, at: usize) -> Rel {
    let sum = call("sum", vec![column(at)], DataType::HugeInt);
    let aggregates = vec![sum, call("count_star", Vec::new(), DataType::BigInt)];
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
    three(aggregate, [0, 1, 2], false)
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

fn plans() -> impl Strategy<Value = Rel> {
    let leaf = proptest::sample::select(&TABLES[..]).prop_map(scan);
    leaf.prop_recursive(4, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), any::<[usize; 3]>(), any::<bool>())
                .prop_map(|(input, picks, sum)| three(input, picks, sum)),
            (inner.clone(), operators(), 0..3_usize, 0..4_i64).prop_map(|(input, op, at, value)| {
                let literal =
                    Literal { value: Some(Constant::Integer(value.to_string())), data_type: DataType::Integer };
                let predicates = vec![comparison(op, column(at), Expr::Literal(literal))];
                Rel::Filter(Filter { input: Box::new(input), predicates })
            }),
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
            (inner.clone(), any::<bool>(), 0..3_usize).prop_map(|(input, whole_row, at)| {
                let on = (!whole_row).then(|| vec![column(at)]);
                Rel::Distinct(Distinct { input: Box::new(input), on, order_by: Vec::new() })
            }),
            (inner.clone(), inner.clone(), any::<[bool; 2]>(), any::<bool>()).prop_map(|(left, right, op, all)| {
                let columns = left.columns();
                let op = if op[0] { SetOperator::Except } else { SetOperator::Intersect };
                Rel::SetOperation(SetOperation { op, all, inputs: vec![left, right], columns })
            }),
            (inner.clone(), 0..4_usize, 0..3_usize).prop_map(|(input, sets, at)| aggregate(input, sets, at)),
            (inner.clone(), any::<[usize; 3]>(), any::<bool>()).prop_map(|(input, at, two)| {
                let functions = if two {
                    vec![window(&[at[0] % 3, at[1] % 3]), window(&[at[1] % 3])]
                } else {
                    vec![window(&[at[2] % 3])]
                };
                three(Rel::Window(Window { input: Box::new(input), functions }), [0, 1, 3], false)
            }),
            (inner.clone(), 0..4_u64).prop_map(|(input, count)| {
                let (limit, offset) = (LimitCount::Rows(count), LimitCount::Unset);
                Rel::Limit(Limit { input: Box::new(input), limit, offset })
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
            (inner, operators()).prop_map(|(definition, op)| {
                let columns = definition.columns();
                let reference = || Box::new(Rel::CteRef(CteRef { id: 0, columns: columns.clone(), recurring: false }));
                let conditions = vec![JoinCondition { left: column(0), op, right: column(1) }];
                let (left, right) = (reference(), reference());
                let join = Join { kind: JoinKind::Inner, left, right, conditions, predicates: Vec::new() };
                let body = Box::new(three(Rel::Join(join), [0, 1, 3], false));
                Rel::Cte(Cte { name: "x".into(), id: 0, definition: Box::new(definition), body })
            }),
        ]
    })
}

fn bags() -> impl Strategy<Value = Vec<Row>> {
    let value = prop_oneof![1 => Just(Value::Null), 4 => (0..3_i64).prop_map(Value::Integer)];
    let row = proptest::collection::vec(value, 3);
    proptest::collection::vec(row, 0..4)
}

fn worlds() -> impl Strategy<Value = World> {
    let table = prop_oneof![
        1 => bags().prop_map(|rows| (rows.clone(), rows)),
        1 => (bags(), bags()).prop_map(|(old, more)| (old.clone(), old.into_iter().chain(more).collect())),
        3 => (bags(), bags()),
    ];
    proptest::collection::vec(table, 3)
        .prop_map(|tables| World(TABLES.iter().map(ToString::to_string).zip(tables).collect()))
}

fn changes(world: &World) -> Changes {
    let change = |(old, new): &(Vec<Row>, Vec<Row>)| match (old == new, new.starts_with(old)) {
        (true, _) => Change::Unchanged,
        // The evaluator's net change is not consolidated, so it is insert-only only from an empty table.
        (false, true) if old.is_empty() => Change::InsertsOnly,
        _ => Change::Mixed,
    };
    let source = |table: &String| Source { catalog: "lake".into(), schema: "main".into(), table: table.clone() };
    world.0.iter().map(|(table, states)| (source(table), change(states))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Catches: a leg read in the wrong state, a term made for an unchanged leg or missing, a weight or column out of
    /// place, a predicate moved to the wrong leg, a sign that promises too much.
    #[test]
    fn delta_leads_from_old_to_new(plan in plans(), world in worlds()) {
        let changes = changes(&world);
        let old = rows(&plan, &mut Evaluation::at(&world, State::Old));
        let new = rows(&plan, &mut Evaluation::at(&world, State::New));
        prop_assume!(old.len() + new.len() < 3_000);
        let delta = derive(&normalise(plan).rel, &changes).unwrap();
        let expected =
            consolidate(old.into_iter().map(|row| (row, -1)).chain(new.into_iter().map(|row| (row, 1))));
        let mut emitted = Vec::new();
        let mut on = Evaluation::at(&world, State::New);
        for step in &delta.steps {
            let made = rows(&step.rel, &mut on);
            on.steps.insert(step.name.clone(), made);
        }
        for rel in delta.terms.iter().filter_map(|term| term.rel.as_ref()) {
            for mut row in rows(rel, &mut on) {
                let Some(Value::Integer(weight)) = row.pop() else { panic!("the last column is no weight") };
                emitted.push((row, weight));
            }
        }
        if delta.append_only() {
            prop_assert!(emitted.iter().all(|(_, weight)| *weight > 0));
        }
        prop_assert_eq!(consolidate(emitted.into_iter()), expected);
    }
}
