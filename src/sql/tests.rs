//! Plans built by hand, printed.

use crate::plan::expr::{Comparison, Constant, Expr, Literal};
use crate::plan::rel::{
    Column, Filter, InnerJoin, Join, JoinCondition, JoinKind, Project, Rel, Scan, SetOperation, SetOperator, State,
    TableKind,
};
use crate::plan::types::DataType;

use super::*;

/// Old and new state by version, deltas in temp tables.
struct Window;

impl Relations for Window {
    fn relation(&self, scan: &Scan) -> Relation {
        match scan.state {
            State::Current => Relation::table(scan, None),
            State::Old => Relation::table(scan, Some(40)),
            State::New => Relation::table(scan, Some(42)),
            State::Delta => Relation { name: quoted(&format!("{}_delta", scan.table)), version: None },
        }
    }
}

fn scan(table: &str, columns: &[&str], state: State) -> Rel {
    let integer = |name: &&str| Column::new(*name, DataType::Integer);
    let mut columns: Vec<Column> = columns.iter().map(integer).collect();
    let mut positions: Vec<usize> = (0..columns.len()).collect();
    if state == State::Delta {
        columns.push(Column::weight());
        positions.push(usize::MAX);
    }
    Rel::Scan(Scan {
        catalog: "lake".to_owned(),
        schema: "main".to_owned(),
        table: table.to_owned(),
        kind: TableKind::Lake,
        columns,
        positions,
        pinned: None,
        state,
    })
}

fn column(index: usize) -> Expr {
    Expr::column(index, DataType::Integer)
}

fn compare(left: Expr, op: Comparison, right: Expr) -> Expr {
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

fn number(digits: &str) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Integer(digits.to_owned())), data_type: DataType::Integer })
}

fn term(first: State, second: State) -> Rel {
    let legs = vec![scan("orders", &["id", "customer"], first), scan("customer", &["id", "name"], second)];
    let orders = legs[0].columns().len();
    let weight = if first == State::Delta { 2 } else { orders + 2 };
    let predicates = vec![
        compare(column(1), Comparison::Equal, column(orders)),
        compare(column(0), Comparison::Greater, number("3")),
    ];
    let exprs = vec![
        ("id".to_owned(), column(0)),
        ("name".to_owned(), column(orders + 1)),
        (crate::plan::WEIGHT.to_owned(), Expr::column(weight, DataType::BigInt)),
    ];
    Rel::Project(Project { input: Box::new(Rel::InnerJoin(InnerJoin { legs, predicates })), exprs })
}

#[test]
fn a_delta_of_a_join_is_one_flat_select_per_term() {
    let inputs = vec![term(State::Delta, State::Old), term(State::New, State::Delta)];
    let columns = inputs[0].columns();
    let rel = Rel::SetOperation(SetOperation { op: SetOperator::Union, all: true, inputs, columns });
    insta::assert_snapshot!(render(&rel, &Window), @r#"
    SELECT
      "orders"."id",
      "customer"."name",
      "orders"."__weight"
    FROM "orders_delta" AS "orders"
    JOIN "lake"."main"."customer" AS "customer" AT (VERSION => 40) ON "orders"."customer" = "customer"."id"
    WHERE "orders"."id" > 3
    UNION ALL
    SELECT
      "orders_2"."id",
      "customer_2"."name",
      "customer_2"."__weight"
    FROM "lake"."main"."orders" AS "orders_2" AT (VERSION => 42)
    JOIN "customer_delta" AS "customer_2" ON "orders_2"."customer" = "customer_2"."id"
    WHERE "orders_2"."id" > 3
    "#);
}

#[test]
fn what_an_anti_join_asks_of_its_right_side_alone_stands_below_it() {
    let rel = Rel::Join(Join {
        kind: JoinKind::Anti,
        left: Box::new(scan("l", &["a", "b"], State::Current)),
        right: Box::new(scan("r", &["x", "y"], State::Current)),
        conditions: vec![JoinCondition { left: column(0), op: Comparison::Less, right: column(0) }],
        predicates: vec![compare(column(3), Comparison::Equal, number("1"))],
    });
    insta::assert_snapshot!(render(&rel, &Current), @r#"
    SELECT
      "l"."a",
      "l"."b"
    FROM "lake"."main"."l" AS "l"
    ANTI JOIN (
      SELECT
        "r"."x",
        "r"."y"
      FROM "lake"."main"."r" AS "r"
      WHERE "r"."y" = 1
    ) AS "r_2" ON "l"."a" < "r_2"."x"
    "#);
}

#[test]
fn a_filter_below_a_right_join_stays_below_it() {
    let filter = Filter {
        input: Box::new(scan("l", &["a"], State::Current)),
        predicates: vec![compare(column(0), Comparison::Greater, number("1"))],
    };
    let rel = Rel::Join(Join {
        kind: JoinKind::Right,
        left: Box::new(Rel::Filter(filter)),
        right: Box::new(scan("r", &["a"], State::Current)),
        conditions: vec![JoinCondition { left: column(0), op: Comparison::Equal, right: column(0) }],
        predicates: Vec::new(),
    });
    insta::assert_snapshot!(render(&rel, &Current), @r#"
    SELECT
      "l_2"."a",
      "r"."a" AS "a_1"
    FROM (
      SELECT
        "l"."a"
      FROM "lake"."main"."l" AS "l"
      WHERE "l"."a" > 1
    ) AS "l_2"
    RIGHT JOIN "lake"."main"."r" AS "r" ON "l_2"."a" = "r"."a"
    "#);
}

#[test]
fn the_order_of_conjuncts_and_columns_of_a_scan_does_not_change_the_meaning() {
    let legs = |flip: bool| {
        let (orders, customer) = (scan("o", &["id", "k"], State::Current), scan("c", &["id"], State::Current));
        let join = compare(column(1), Comparison::Less, column(2));
        let flipped = compare(column(2), Comparison::Greater, column(1));
        let other = compare(column(0), Comparison::Equal, number("1"));
        let predicates = if flip { vec![other, flipped] } else { vec![join, other] };
        let input = Box::new(Rel::InnerJoin(InnerJoin { legs: vec![orders, customer], predicates }));
        Rel::Project(Project { input, exprs: vec![("id".to_owned(), column(0))] })
    };
    assert_eq!(same_meaning(&legs(false), &legs(true)), Ok(()));
}

#[test]
fn another_predicate_table_type_or_duplicate_changes_the_meaning() {
    let of = |table: &str, op: Comparison| {
        let input = Box::new(scan(table, &["a", "b"], State::Current));
        Rel::Filter(Filter { input, predicates: vec![compare(column(0), op, number("1"))] })
    };
    let rel = of("t", Comparison::Less);
    assert!(same_meaning(&rel, &of("t", Comparison::LessOrEqual)).is_err());
    assert!(same_meaning(&rel, &of("u", Comparison::Less)).is_err());
    let distinct = |on| crate::plan::rel::Distinct { input: Box::new(rel.clone()), on, order_by: Vec::new() };
    assert!(same_meaning(&rel, &Rel::Distinct(distinct(None))).is_err());
    assert!(same_meaning(&Rel::Distinct(distinct(Some(vec![column(0)]))), &Rel::Distinct(distinct(None))).is_err());
    let swapped = Rel::Project(Project {
        input: Box::new(rel.clone()),
        exprs: vec![("a".to_owned(), column(1)), ("b".to_owned(), column(0))],
    });
    assert!(same_meaning(&rel, &swapped).is_err());
    let union = |all| {
        let inputs = vec![rel.clone(), rel.clone()];
        Rel::SetOperation(SetOperation { op: SetOperator::Union, all, inputs, columns: rel.columns() })
    };
    assert!(same_meaning(&union(true), &union(false)).is_err());
}
