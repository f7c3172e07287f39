//! The building blocks that several rules share. All of them keep the convention that a delta's weight is its last
//! column.

use std::collections::BTreeSet;

use crate::plan::expr::{Argument, Comparison, Constant, Expr, FunctionCall, Literal};
use crate::plan::rel::{
    Aggregate, AggregateCall, Column, Distinct, Filter, Join, JoinCondition, JoinKind, Project, Rel, SetOperation,
    SetOperator,
};
use crate::plan::shape::WEIGHT;
use crate::plan::storage::is_inexact;
use crate::plan::types::DataType;

/// A BIGINT constant.
pub(super) fn integer(value: i64) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Integer(value.to_string())), data_type: DataType::BigInt })
}

/// A NULL of a type.
pub(super) fn null(data_type: DataType) -> Expr {
    Expr::Literal(Literal { value: None, data_type })
}

/// `left op right`
pub(super) fn compare(op: Comparison, left: Expr, right: Expr) -> Expr {
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

/// References to all `columns`, from position `start` on, under their own names.
pub(super) fn references(columns: &[Column], start: usize) -> Vec<(String, Expr)> {
    let reference = |(position, column): (usize, &Column)| {
        (column.name.clone(), Expr::column(start + position, column.data_type.clone()))
    };
    columns.iter().enumerate().map(reference).collect()
}

/// The same rows, no two columns of one name: a step is scanned by its columns' names, and a join may have two of one
/// name side by side.
pub(super) fn with_unique_names(rel: Rel) -> Rel {
    let columns = rel.columns();
    let mut seen = BTreeSet::new();
    let mut exprs = references(&columns, 0);
    for (name, _) in &mut exprs {
        let stem = name.clone();
        let mut copy = 0;
        while !seen.insert(name.to_lowercase()) {
            copy += 1;
            *name = format!("{stem}_{copy}");
        }
    }
    let renamed = exprs.iter().zip(&columns).any(|((name, _), column)| *name != column.name);
    if renamed { project(rel, exprs) } else { rel }
}

/// `SELECT exprs FROM input`
pub(super) fn project(input: Rel, exprs: Vec<(String, Expr)>) -> Rel {
    Rel::Project(Project { input: Box::new(input), exprs })
}

/// `SELECT * FROM input WHERE predicates`
pub(super) fn filter(input: Rel, predicates: Vec<Expr>) -> Rel {
    if predicates.is_empty() { input } else { Rel::Filter(Filter { input: Box::new(input), predicates }) }
}

/// Each row of `input` with the same weight.
pub(super) fn weighted(input: Rel, weight: i64) -> Rel {
    let mut exprs = references(&input.columns(), 0);
    exprs.push((WEIGHT.into(), integer(weight)));
    project(input, exprs)
}

/// A delta with all weights multiplied by −1.
pub(super) fn negated(delta: Rel) -> Rel {
    let mut exprs = references(&delta.columns(), 0);
    if let Some((_, weight)) = exprs.last_mut() {
        let factors = [weight.clone(), integer(-1)].map(|value| Argument { name: None, value });
        *weight = Expr::Function(FunctionCall {
            name: "*".into(),
            qualifier: None,
            arguments: factors.into(),
            lambda: None,
            is_operator: true,
            data_type: DataType::BigInt,
        });
    }
    project(delta, exprs)
}

/// The bag union of relations with the same columns; `None` of none.
pub(super) fn union_all(mut inputs: Vec<Rel>) -> Option<Rel> {
    match inputs.len() {
        0 | 1 => inputs.pop(),
        _ => {
            let columns = inputs[0].columns();
            Some(Rel::SetOperation(SetOperation { op: SetOperator::Union, all: true, inputs, columns }))
        }
    }
}

/// The sum of BIGINT column `position` of the input per group, as a BIGINT. Weights stay far below its range.
fn sum_per_group(input: Rel, groups: Vec<(String, Expr)>, position: usize) -> Rel {
    let width = groups.len();
    let names: Vec<Column> = groups.iter().map(|(name, expr)| Column::new(name, expr.data_type())).collect();
    let sum = AggregateCall {
        name: "sum".into(),
        arguments: vec![Expr::column(position, DataType::BigInt)],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        data_type: DataType::HugeInt,
    };
    let aggregated = Rel::Aggregate(Aggregate {
        input: Box::new(input),
        grouping_sets: vec![(0..width).collect()],
        groups,
        aggregates: vec![sum],
        grouping_functions: Vec::new(),
    });
    let mut exprs = references(&names, 0);
    let sum = Box::new(Expr::column(width, DataType::HugeInt));
    exprs.push((WEIGHT.into(), Expr::Cast { input: sum, data_type: DataType::BigInt, fallible: false }));
    let nonzero = compare(Comparison::NotEqual, Expr::column(width, DataType::BigInt), integer(0));
    filter(project(aggregated, exprs), vec![nonzero])
}

/// The delta with the weights of equal rows added up, and rows of weight 0 left out. Rows are equal only if they are the
/// same: `1 month` must not cancel against `30 days`, nor 0.0 against -0.0, for what stands above may tell them apart.
pub(super) fn consolidated(delta: Rel) -> Rel {
    let mut columns = delta.columns();
    columns.pop();
    let width = columns.len();
    let mut groups = references(&columns, 0);
    for (position, column) in columns.iter().enumerate().filter(|(_, column)| is_inexact(&column.data_type)) {
        let input = Box::new(Expr::column(position, column.data_type.clone()));
        let text = Expr::Cast { input, data_type: DataType::VARCHAR, fallible: false };
        groups.push((format!("__text_{}", position + 1), text));
    }
    if groups.len() == width {
        return sum_per_group(delta, groups, width);
    }
    let weight = (WEIGHT.to_owned(), Expr::column(groups.len(), DataType::BigInt));
    let summed = sum_per_group(delta, groups, width);
    let mut exprs = references(&columns, 0);
    exprs.push(weight);
    project(summed, exprs)
}

/// For each distinct value of `groups` in a delta the sum of the weights, where it is not 0.
pub(super) fn net_per_group(delta: Rel, groups: Vec<(String, Expr)>) -> Rel {
    let weight = delta.columns().len() - 1;
    sum_per_group(delta, groups, weight)
}

/// The distinct values of `exprs` over `input`.
pub(super) fn distinct(input: Rel, exprs: Vec<(String, Expr)>) -> Rel {
    Rel::Distinct(Distinct { input: Box::new(project(input, exprs)), on: None, order_by: Vec::new() })
}

/// A join that keeps left rows by whether some row of `right` equals them: `keys[i]` over the left side against column
/// `i` of the right side, NULL equal to NULL.
pub(super) fn by_keys(kind: JoinKind, left: Rel, keys: Vec<Expr>, right: Rel) -> Rel {
    let conditions = keys
        .into_iter()
        .enumerate()
        .map(|(position, left)| {
            let right = Expr::column(position, left.data_type());
            JoinCondition { left, op: Comparison::NotDistinctFrom, right }
        })
        .collect();
    Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), conditions, predicates: Vec::new() })
}
