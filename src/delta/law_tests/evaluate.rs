//! Evaluates plans over bags in memory, row by row, as directly as their definitions read.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::delta::{ACCUMULATED, OWN, STAGED};
use crate::plan::expr::{CaseBranch, Comparison, Conjunction, Constant, Expr, Literal, Operator, SortKey};
use crate::plan::rel::{
    Aggregate, AggregateCall, Distinct, Join, JoinKind, Limit, LimitCount, Rel, Scan, SetOperation, SetOperator, State,
    Window,
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    List(Vec<Value>),
}

pub(super) type Row = Vec<Value>;

/// Each table's rows at `from` and at `to`.
#[derive(Debug, Clone)]
pub(super) struct World(pub(super) BTreeMap<String, (Vec<Row>, Vec<Row>)>);

/// What a plan is evaluated against.
pub(super) struct Evaluation<'a> {
    world: &'a World,
    current: State,
    ctes: Vec<(usize, Vec<Row>)>,
    pub(super) steps: BTreeMap<String, Vec<Row>>,
    /// Accumulator tables as they were at `from`.
    pub(super) accumulators: BTreeMap<String, Vec<Row>>,
    /// What the view holds.
    pub(super) own: Vec<Row>,
    keys: Vec<(usize, Vec<Row>)>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn at(world: &'a World, current: State) -> Self {
        Evaluation {
            world,
            current,
            ctes: Vec::new(),
            steps: BTreeMap::new(),
            accumulators: BTreeMap::new(),
            own: Vec::new(),
            keys: Vec::new(),
        }
    }
}

thread_local! {
    /// Did a call of `error` raise? The product then recomputes the view.
    pub(super) static RAISED: Cell<bool> = const { Cell::new(false) };
    /// Are ties broken the other way round?
    pub(super) static REVERSED: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn evaluate(expr: &Expr, row: &Row) -> Value {
    match expr {
        Expr::Column { index, .. } => row[*index].clone(),
        Expr::Literal(Literal { value: Some(Constant::Integer(digits)), .. }) => {
            Value::Integer(digits.parse().unwrap())
        }
        Expr::Literal(Literal { value: Some(Constant::Boolean(value)), .. }) => Value::Boolean(*value),
        Expr::Literal(Literal { value: None, .. }) => Value::Null,
        Expr::Comparison { op, left, right } => {
            let (left, right) = (evaluate(left, row), evaluate(right, row));
            match op {
                Comparison::NotDistinctFrom => Value::Boolean(left == right),
                _ if left == Value::Null || right == Value::Null => Value::Null,
                Comparison::Equal => Value::Boolean(left == right),
                Comparison::NotEqual | Comparison::DistinctFrom => Value::Boolean(left != right),
                Comparison::LessOrEqual => Value::Boolean(left <= right),
                Comparison::GreaterOrEqual => Value::Boolean(left >= right),
                Comparison::Less => Value::Boolean(left < right),
                Comparison::Greater => Value::Boolean(left > right),
            }
        }
        Expr::Conjunction { op, operands } => {
            let values: Vec<Value> = operands.iter().map(|operand| evaluate(operand, row)).collect();
            let decides = *op == Conjunction::Or;
            if values.contains(&Value::Boolean(decides)) {
                Value::Boolean(decides)
            } else if values.contains(&Value::Null) {
                Value::Null
            } else {
                Value::Boolean(!decides)
            }
        }
        Expr::Operator { op: Operator::Coalesce, operands, .. } => {
            let mut values = operands.iter().map(|operand| evaluate(operand, row));
            values.find(|value| *value != Value::Null).unwrap_or(Value::Null)
        }
        Expr::Case { branches, otherwise, .. } => {
            let holds = |branch: &&CaseBranch| evaluate(&branch.condition, row) == Value::Boolean(true);
            evaluate(branches.iter().find(holds).map_or(otherwise, |branch| &branch.value), row)
        }
        Expr::Operator { op, operands, .. } => match (op, evaluate(&operands[0], row)) {
            (Operator::IsNull, value) => Value::Boolean(value == Value::Null),
            (Operator::Not, Value::Boolean(value)) => Value::Boolean(!value),
            (Operator::Not, _) => Value::Null,
            other => panic!("no {other:?} here"),
        },
        Expr::Function(call) if call.name == "error" => {
            RAISED.set(true);
            Value::Null
        }
        Expr::Function(call) => {
            let values: Vec<Value> = call.arguments.iter().map(|argument| evaluate(&argument.value, row)).collect();
            match (call.name.as_str(), values.as_slice()) {
                ("list_value", _) => Value::List(values),
                ("+", [Value::Integer(left), Value::Integer(right)]) => Value::Integer(left + right),
                ("*", [Value::Integer(left), Value::Integer(right)]) => Value::Integer(left * right),
                ("+" | "*", _) => Value::Null,
                ("range", [Value::Integer(end)]) => Value::List((0..*end).map(Value::Integer).collect()),
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

pub(super) fn rows(rel: &Rel, on: &mut Evaluation<'_>) -> Vec<Row> {
    match rel {
        Rel::Scan(scan) if scan.catalog == STAGED => {
            on.steps[&scan.table].iter().map(|row| narrowed(scan, row)).collect()
        }
        Rel::Scan(scan) if scan.catalog == ACCUMULATED => {
            assert_eq!(scan.state, State::Old);
            on.accumulators[&scan.table].iter().map(|row| narrowed(scan, row)).collect()
        }
        Rel::Scan(scan) if scan.catalog == OWN => on.own.iter().map(|row| narrowed(scan, row)).collect(),
        Rel::Scan(scan) => scan_rows(scan, on),
        Rel::Values(values) => {
            values.rows.iter().map(|row| row.iter().map(|expr| evaluate(expr, &Vec::new())).collect()).collect()
        }
        Rel::Project(project) => {
            let project_row = |row: &Row| project.exprs.iter().map(|(_, expr)| evaluate(expr, row)).collect();
            rows(&project.input, on).iter().map(project_row).collect()
        }
        Rel::Filter(filter) => {
            let mut kept = rows(&filter.input, on);
            kept.retain(|row| keeps(&filter.predicates, row));
            kept
        }
        Rel::Join(join) => {
            let (left, right) = (rows(&join.left, on), rows(&join.right, on));
            join_rows(join, &left, &right)
        }
        Rel::DependentJoin(node) => {
            let left = rows(&node.join.left, on);
            let mut keys: Vec<Row> =
                left.iter().map(|row| node.keys.iter().map(|key| evaluate(key, row)).collect()).collect();
            keys.sort();
            keys.dedup();
            on.keys.push((node.id, keys));
            let right = rows(&node.join.right, on);
            on.keys.pop();
            join_rows(&node.join, &left, &right)
        }
        Rel::DependentKeys(leaf) => on.keys.iter().rev().find(|(id, _)| *id == leaf.id).unwrap().1.clone(),
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
        Rel::Distinct(distinct) => distinct_rows(distinct, rows(&distinct.input, on)),
        Rel::Aggregate(aggregate) => {
            let input = rows(&aggregate.input, on);
            aggregate.grouping_sets.iter().flat_map(|set| group_rows(aggregate, set, &input)).collect()
        }
        Rel::Window(window) => window_rows(window, &rows(&window.input, on)),
        Rel::Limit(limit) => limit_rows(limit, on),
        other => panic!("no {other:?} here"),
    }
}

fn limit_rows(limit: &Limit, on: &mut Evaluation<'_>) -> Vec<Row> {
    let (keys, input) = match &*limit.input {
        Rel::Sort(sort) => (sort.keys.as_slice(), &sort.input),
        _ => (&[][..], &limit.input),
    };
    let mut kept = rows(input, on);
    if keys.is_empty() {
        kept.sort();
    } else {
        kept.sort_by(|left, right| in_order(keys, left, right).then_with(|| tie(left, right)));
    }
    let count = |count: &LimitCount, unset: usize| match count {
        LimitCount::Rows(rows) => usize::try_from(*rows).unwrap(),
        LimitCount::Unset => unset,
        other => panic!("no {other:?} here"),
    };
    let (most, skipped) = (count(&limit.limit, kept.len()), count(&limit.offset, 0));
    kept.into_iter().skip(skipped).take(most).collect()
}

fn distinct_rows(distinct: &Distinct, mut kept: Vec<Row>) -> Vec<Row> {
    kept.sort_by(|left, right| in_order(&distinct.order_by, left, right).then_with(|| tie(left, right)));
    let mut seen = BTreeSet::new();
    kept.retain(|row| {
        let key = match &distinct.on {
            None => row.clone(),
            Some(keys) => keys.iter().map(|key| evaluate(key, row)).collect(),
        };
        seen.insert(key)
    });
    kept
}

/// The order of rows that tie, which the product must not depend on.
fn tie(left: &Row, right: &Row) -> Ordering {
    if REVERSED.get() { right.cmp(left) } else { left.cmp(right) }
}

/// How two rows stand in an order; rows that tie are equal.
fn in_order(keys: &[SortKey], left: &Row, right: &Row) -> Ordering {
    let by_key = |key: &SortKey| {
        let (left, right) = (evaluate(&key.expr, left), evaluate(&key.expr, right));
        let nulls = (right == Value::Null).cmp(&(left == Value::Null));
        let nulls = if key.nulls_first { nulls } else { nulls.reverse() };
        let values = if left == Value::Null || right == Value::Null { Ordering::Equal } else { left.cmp(&right) };
        nulls.then(if key.descending { values.reverse() } else { values })
    };
    keys.iter().map(by_key).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// Windows over their whole partitions; rows that tie in `row_number` and `first_value` are taken by their values.
fn window_rows(window: &Window, input: &[Row]) -> Vec<Row> {
    let mut made: Vec<Row> = input.to_vec();
    for call in &window.functions {
        let key = |row: &Row| call.partition_by.iter().map(|expr| evaluate(expr, row)).collect::<Row>();
        for (at, row) in input.iter().enumerate() {
            let partition = input.iter().enumerate().filter(|(_, other)| key(other) == key(row));
            let mut partition: Vec<(usize, &Row)> = partition.collect();
            let before = |other: &Row| in_order(&call.order_by, other, row) == Ordering::Less;
            let value = match call.name.as_str() {
                "count_star" => count(partition.len()),
                "rank" => count(1 + partition.iter().filter(|(_, other)| before(other)).count()),
                "bool_or" => {
                    let mut flags = partition.iter().map(|(_, other)| evaluate(&call.arguments[0], other));
                    Value::Boolean(flags.any(|flag| flag == Value::Boolean(true)))
                }
                "max" => partition.iter().map(|(_, other)| evaluate(&call.arguments[0], other)).max().unwrap(),
                name => {
                    partition.sort_by(|left, right| {
                        in_order(&call.order_by, left.1, right.1).then_with(|| tie(left.1, right.1))
                    });
                    match name {
                        "row_number" => count(1 + partition.iter().position(|(other, _)| *other == at).unwrap()),
                        "first_value" => evaluate(&call.arguments[0], partition[0].1),
                        other => panic!("no {other:?} here"),
                    }
                }
            };
            made[at].push(value);
        }
    }
    made
}

/// The nearest right row of each left row; of several the one with the greatest values.
fn as_of_rows(join: &Join, left: &[Row], right: &[Row]) -> Vec<Row> {
    let demands = join.demands();
    let by = &join.conditions.last().unwrap().right;
    let mut made = Vec::new();
    for one in left {
        let matching = right.iter().filter(|other| keeps(&demands, &[&one[..], other].concat()));
        let nearest =
            |one: &&Row, other: &&Row| evaluate(by, one).cmp(&evaluate(by, other)).then_with(|| tie(one, other));
        match matching.max_by(nearest) {
            Some(other) => made.push([&one[..], other].concat()),
            None if join.kind == JoinKind::AsOfLeft => {
                made.push([&one[..], &vec![Value::Null; join.right.columns().len()]].concat());
            }
            None => {}
        }
    }
    made
}

fn join_rows(join: &Join, left: &[Row], right: &[Row]) -> Vec<Row> {
    if join.kind == JoinKind::Mark {
        return left.iter().map(|row| [&row[..], &[mark(join, row, right)]].concat()).collect();
    }
    if matches!(join.kind, JoinKind::AsOfInner | JoinKind::AsOfLeft) {
        return as_of_rows(join, left, right);
    }
    let demands = join.demands();
    let (left_width, right_width) = (join.left.columns().len(), join.right.columns().len());
    let mut made = Vec::new();
    let mut right_matched = vec![false; right.len()];
    for one in left {
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
            JoinKind::Left | JoinKind::Full | JoinKind::Single if !matched => {
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

/// TRUE if some pair is, else NULL if some pair is NULL, as soon as one of its components is.
fn mark(join: &Join, left: &Row, right: &[Row]) -> Value {
    let demands = join.demands();
    let mut found = Value::Boolean(false);
    for other in right {
        let pair = [&left[..], other].concat();
        let values: Vec<Value> = demands.iter().map(|demand| evaluate(demand, &pair)).collect();
        let keys_differ =
            join.conditions.iter().zip(&values).any(|(condition, value)| {
                condition.op == Comparison::NotDistinctFrom && *value == Value::Boolean(false)
            });
        if values.iter().all(|value| *value == Value::Boolean(true)) {
            return Value::Boolean(true);
        } else if values.contains(&Value::Null) && !keys_differ {
            found = Value::Null;
        }
    }
    found
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
        let call = |call: &AggregateCall| {
            let filter: Vec<Expr> = call.filter.as_deref().cloned().into_iter().collect();
            let kept = rows.iter().filter(|row| keeps(&filter, row));
            if call.name == "arg_min" {
                return chosen(call, kept.copied());
            }
            let mut values: Vec<Value> = kept
                .map(|row| call.arguments.first().map_or(Value::Integer(1), |argument| evaluate(argument, row)))
                .filter(|value| *value != Value::Null)
                .collect();
            values.sort();
            match (call.name.as_str(), values.as_slice()) {
                ("count_star" | "count", _) => count(values.len()),
                (_, []) => Value::Null,
                ("min", [first, ..]) => first.clone(),
                ("max", [.., last]) => last.clone(),
                ("sum", _) => Value::Integer(
                    values.iter().map(|value| if let Value::Integer(value) = value { *value } else { 0 }).sum(),
                ),
                other => panic!("no {other:?} here"),
            }
        };
        (0..aggregate.groups.len()).map(group).chain(aggregate.aggregates.iter().map(call)).collect()
    };
    groups.into_iter().map(finish).collect()
}

/// The value of the row with the least second argument; of several the first in the call's order, or by their values.
fn chosen<'a>(call: &AggregateCall, rows: impl Iterator<Item = &'a Row>) -> Value {
    let arguments = |row: &Row| call.arguments.iter().map(|argument| evaluate(argument, row)).collect::<Row>();
    let mut kept: Vec<&Row> = rows.filter(|row| !arguments(row).contains(&Value::Null)).collect();
    kept.sort_by(|left, right| {
        let (one, other) = (arguments(left), arguments(right));
        let by = one[1].cmp(&other[1]);
        by.then_with(|| in_order(&call.order_by, left, right)).then_with(|| tie(&one, &other))
    });
    kept.first().map_or(Value::Null, |row| arguments(row).swap_remove(0))
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
pub(super) fn consolidate(weighted: impl Iterator<Item = (Row, i64)>) -> BTreeMap<Row, i64> {
    let mut sums = BTreeMap::new();
    for (row, weight) in weighted {
        *sums.entry(row).or_insert(0) += weight;
    }
    sums.retain(|_, weight| *weight != 0);
    sums
}
