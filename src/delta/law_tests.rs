//! The law of the algebra, tested without a database: a small evaluator of plans over in-memory bags is the judge.
//! For random plans, old states and new states, the consolidated delta must lead from the old result to the new one.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Change, Changes, derive};
use crate::plan::expr::{Argument, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal};
use crate::plan::facts::Source;
use crate::plan::normalise::normalise;
use crate::plan::rel::{
    Column, Cte, CteRef, Filter, Join, JoinCondition, JoinKind, Project, Rel, Scan, SetOperation, SetOperator, State,
    TableKind, Unnest,
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
                Comparison::Less => Value::Boolean(left < right),
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
                other => panic!("no {other:?} here"),
            }
        }
        other => panic!("no {other:?} here"),
    }
}

fn keeps(predicates: &[Expr], row: &Row) -> bool {
    predicates.iter().all(|predicate| evaluate(predicate, row) == Value::Boolean(true))
}

fn rows(rel: &Rel, world: &World, current: State, ctes: &mut Vec<(usize, Vec<Row>)>) -> Vec<Row> {
    match rel {
        Rel::Scan(scan) => scan_rows(scan, world, current),
        Rel::Project(project) => rows(&project.input, world, current, ctes)
            .iter()
            .map(|row| project.exprs.iter().map(|(_, expr)| evaluate(expr, row)).collect())
            .collect(),
        Rel::Filter(filter) => {
            let mut kept = rows(&filter.input, world, current, ctes);
            kept.retain(|row| keeps(&filter.predicates, row));
            kept
        }
        Rel::Join(join) if join.kind == JoinKind::Inner => {
            let left = rows(&join.left, world, current, ctes);
            let right = rows(&join.right, world, current, ctes);
            let mut pairs = cross(&left, &right);
            let width = join.left.columns().len();
            pairs.retain(|row| {
                join.conditions.iter().all(|condition| {
                    let right = condition.right.clone().with_columns(&|column| column + width);
                    let test = Expr::Comparison {
                        op: condition.op,
                        left: Box::new(condition.left.clone()),
                        right: Box::new(right),
                    };
                    keeps(&[test], row)
                }) && keeps(&join.predicates, row)
            });
            pairs
        }
        Rel::InnerJoin(join) => {
            let legs = join.legs.iter().map(|leg| rows(leg, world, current, ctes));
            let mut pairs = legs.reduce(|left, right| cross(&left, &right)).unwrap();
            pairs.retain(|row| keeps(&join.predicates, row));
            pairs
        }
        Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => {
            operation.inputs.iter().flat_map(|input| rows(input, world, current, ctes)).collect()
        }
        Rel::Unnest(unnest) => rows(&unnest.input, world, current, ctes)
            .into_iter()
            .flat_map(|row| {
                match evaluate(&unnest.lists[0].1, &row) {
                    Value::List(elements) => elements,
                    _ => Vec::new(),
                }
                .into_iter()
                .map(move |element| row.iter().cloned().chain([element]).collect::<Row>())
                .collect::<Vec<Row>>()
            })
            .collect(),
        Rel::Cte(cte) => {
            let definition = rows(&cte.definition, world, current, ctes);
            ctes.push((cte.id, definition));
            let body = rows(&cte.body, world, current, ctes);
            ctes.pop();
            body
        }
        Rel::CteRef(reference) => ctes.iter().rev().find(|(id, _)| *id == reference.id).unwrap().1.clone(),
        other => panic!("no {other:?} here"),
    }
}

fn cross(left: &[Row], right: &[Row]) -> Vec<Row> {
    left.iter().flat_map(|left| right.iter().map(move |right| left.iter().chain(right).cloned().collect())).collect()
}

fn scan_rows(scan: &Scan, world: &World, current: State) -> Vec<Row> {
    let (old, new) = &world.0[&scan.table];
    let state = if scan.state == State::Current { current } else { scan.state };
    let narrow = |row: &Row, weight: Option<i64>| -> Row {
        scan.columns
            .iter()
            .zip(&scan.positions)
            .map(|(column, position)| match weight {
                Some(weight) if column.name == crate::plan::WEIGHT => Value::Integer(weight),
                _ => row[*position].clone(),
            })
            .collect()
    };
    match state {
        State::Old => old.iter().map(|row| narrow(row, None)).collect(),
        State::New => new.iter().map(|row| narrow(row, None)).collect(),
        // Unconsolidated on purpose: a row that stays is −1 and +1.
        State::Delta => {
            let gone = old.iter().map(|row| narrow(row, Some(-1)));
            gone.chain(new.iter().map(|row| narrow(row, Some(1)))).collect()
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
        let old = rows(&plan, &world, State::Old, &mut Vec::new());
        let new = rows(&plan, &world, State::New, &mut Vec::new());
        prop_assume!(old.len() + new.len() < 3_000);
        let delta = derive(&normalise(plan).rel, &changes).unwrap();
        let expected =
            consolidate(old.into_iter().map(|row| (row, -1)).chain(new.into_iter().map(|row| (row, 1))));
        let mut emitted = Vec::new();
        for rel in delta.terms.iter().filter_map(|term| term.rel.as_ref()) {
            for mut row in rows(rel, &world, State::New, &mut Vec::new()) {
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
