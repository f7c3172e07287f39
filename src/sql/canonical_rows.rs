//! Nodes that read their input row by row, in canonical form: the projections below them are taken apart, so that what
//! they read stands in the nodes themselves.

use std::collections::BTreeSet;

use crate::plan::expr::Expr;
use crate::plan::rel::{Column, Rel, TableFunction, Unnest};
use crate::plan::types::DataType;

use super::canonical::{Canonical, nameless, with_columns};
use super::canonical_blocks::{gathered, projected};
use super::canonical_exprs as exprs;

pub(super) fn table_function(function: &TableFunction, needed: &BTreeSet<usize>) -> Canonical {
    let own = function.columns.len();
    let mut kept: Vec<usize> = needed.iter().copied().filter(|column| *column < own).collect();
    kept.sort_by_key(|column| function.positions[*column]);
    let mut at: Vec<Option<usize>> = (0..own).map(|column| kept.iter().position(|kept| *kept == column)).collect();
    let mut made = function.clone();
    made.columns = kept.iter().map(|column| function.columns[*column].clone()).collect();
    made.positions = kept.iter().map(|column| function.positions[*column]).collect();
    nameless(&mut made.columns);
    made.all_names.clear();
    for (_, value) in &mut made.named_arguments {
        *value = exprs::canonical(value.clone());
    }
    let Some(input) = &function.input else {
        made.arguments = made.arguments.into_iter().map(exprs::canonical).collect();
        return Canonical { rel: Rel::TableFunction(made), at };
    };
    let passed: BTreeSet<usize> = needed.iter().filter_map(|column| column.checked_sub(own)).collect();
    let below = Below::of(input, &with_columns(&passed, &function.arguments));
    made.arguments = made.arguments.into_iter().map(|argument| below.place(argument)).collect();
    let own_columns = made.columns.iter().enumerate().map(|(at, one)| Expr::column(at, one.data_type.clone()));
    let own_columns: Vec<Expr> = own_columns.collect();
    let Below { rel, outputs } = below;
    made.input = Some(Box::new(rel));
    let count = own_columns.len();
    let shifted = |output: &Expr| output.clone().with_columns(&|column| column + count);
    let passed: Vec<usize> = passed.into_iter().filter(|column| outputs[*column].is_some()).collect();
    let exprs =
        own_columns.into_iter().chain(passed.iter().filter_map(|column| outputs[*column].as_ref().map(shifted)));
    let rel = projected(Rel::TableFunction(made), exprs.collect());
    at.extend((0..outputs.len()).map(|column| passed.iter().position(|kept| *kept == column).map(|at| at + count)));
    Canonical { rel, at }
}

/// The input of a node that reads it row by row, without the projections above its legs.
struct Below {
    rel: Rel,
    /// The input's columns, as far as they are wanted, over the columns of `rel`.
    outputs: Vec<Option<Expr>>,
}

impl Below {
    fn of(input: &Rel, wanted: &BTreeSet<usize>) -> Below {
        let width = input.columns().len();
        let kept: Vec<usize> = wanted.iter().copied().filter(|column| *column < width).collect();
        let (rel, exprs) = gathered(input, &kept);
        let mut outputs = vec![None; width];
        for (column, expr) in kept.into_iter().zip(exprs) {
            outputs[column] = Some(expr);
        }
        Below { rel, outputs }
    }

    /// An expression over the input's columns, over those of `rel`.
    fn place(&self, expr: Expr) -> Expr {
        let unwanted = || Expr::column(usize::MAX, DataType::Null);
        let values: Vec<Expr> = self.outputs.iter().map(|output| output.clone().unwrap_or_else(unwanted)).collect();
        exprs::canonical(expr.substitute(&values))
    }
}

pub(super) fn reduced_unnest(unnest: &Unnest, needed: &BTreeSet<usize>) -> Canonical {
    let width = unnest.input.columns().len();
    let own: BTreeSet<usize> = needed.iter().copied().filter(|column| *column < width).collect();
    let below = Below::of(&unnest.input, &with_columns(&own, unnest.lists.iter().map(|(_, list)| list)));
    let list = |(column, list): &(Column, Expr)| (Column::new("", column.data_type.clone()), below.place(list.clone()));
    let lists: Vec<(Column, Expr)> = unnest.lists.iter().map(list).collect();
    let Below { rel, outputs } = below;
    let under = rel.columns().len();
    let kept: Vec<usize> = own.into_iter().collect();
    let mut exprs: Vec<Expr> = kept.iter().filter_map(|column| outputs[*column].clone()).collect();
    let made = lists.iter().enumerate();
    exprs.extend(made.map(|(at, (column, _))| Expr::column(under + at, column.data_type.clone())));
    let mut at: Vec<Option<usize>> = (0..width).map(|column| kept.iter().position(|kept| *kept == column)).collect();
    at.extend((0..lists.len()).map(|list| Some(kept.len() + list)));
    let rel = projected(Rel::Unnest(Unnest { input: Box::new(rel), lists }), exprs);
    Canonical { rel, at }
}
