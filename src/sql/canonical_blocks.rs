//! Blocks of projections, filters and inner joins in canonical form.

use std::collections::BTreeSet;

use crate::plan::expr::{Conjunction, Constant, Expr, Literal};
use crate::plan::rel::{Filter, InnerJoin, JoinKind, Project, Rel};
use crate::plan::types::DataType;

use super::canonical::{Canonical, reduced, with_columns};
use super::canonical_exprs::{self as exprs, text};

/// A block of projections, filters and inner joins: its legs, and what is asked of them.
#[derive(Default)]
struct Gathered {
    legs: Vec<Rel>,
    width: usize,
    predicates: Vec<Expr>,
}

impl Gathered {
    /// Takes `rel` in, and returns its columns as expressions over the legs' columns side by side.
    fn take(&mut self, rel: &Rel) -> Vec<Expr> {
        match rel {
            Rel::Project(project) => {
                let inner = self.take(&project.input);
                project.exprs.iter().map(|(_, expr)| expr.clone().substitute(&inner)).collect()
            }
            Rel::Filter(Filter { input, predicates }) => {
                let inner = self.take(input);
                self.demand(predicates, &inner);
                inner
            }
            Rel::InnerJoin(InnerJoin { legs, predicates }) => {
                let inner: Vec<Expr> = legs.iter().flat_map(|leg| self.take(leg)).collect();
                self.demand(predicates, &inner);
                inner
            }
            Rel::Join(join) if join.kind == JoinKind::Inner => {
                let left = self.take(&join.left);
                let right = self.take(&join.right);
                for condition in &join.conditions {
                    self.predicates.push(Expr::Comparison {
                        op: condition.op,
                        left: Box::new(condition.left.clone().substitute(&left)),
                        right: Box::new(condition.right.clone().substitute(&right)),
                    });
                }
                let both = [left, right].concat();
                self.demand(&join.predicates, &both);
                both
            }
            other => {
                let columns = other.columns().into_iter().enumerate();
                let read = columns.map(|(index, column)| Expr::column(self.width + index, plain(column.data_type)));
                let read: Vec<Expr> = read.collect();
                self.width += read.len();
                self.legs.push(other.clone());
                read
            }
        }
    }

    fn demand(&mut self, predicates: &[Expr], inner: &[Expr]) {
        self.predicates.extend(predicates.iter().map(|predicate| predicate.clone().substitute(inner)));
    }
}

/// The collation of a scan's column is not part of an expression's type.
pub(super) fn plain(data_type: DataType) -> DataType {
    match data_type {
        DataType::Varchar { .. } => DataType::VARCHAR,
        other => other,
    }
}

/// A block in canonical form with the columns `needed`, each once, in the order of their texts.
pub(super) fn block(rel: &Rel, needed: &BTreeSet<usize>) -> Canonical {
    let width = rel.columns().len();
    let kept: Vec<usize> = needed.iter().copied().filter(|column| *column < width).collect();
    let (input, outputs) = gathered(rel, &kept);
    let mut unique = outputs.clone();
    unique.sort_by_cached_key(text);
    unique.dedup_by_key(|expr| text(expr));
    let mut at = vec![None; width];
    for (column, output) in kept.iter().zip(&outputs) {
        at[*column] = unique.iter().position(|expr| text(expr) == text(output));
    }
    Canonical { rel: projected(input, unique), at }
}

/// A block in canonical form with all its columns in their order.
pub(super) fn exact_block(rel: &Rel) -> Rel {
    let all: Vec<usize> = (0..rel.columns().len()).collect();
    let (input, outputs) = gathered(rel, &all);
    projected(input, outputs)
}

/// `input` under a projection, unless that would change nothing.
pub(super) fn projected(input: Rel, exprs: Vec<Expr>) -> Rel {
    let columns = input.columns();
    let same = columns.len() == exprs.len()
        && exprs.iter().enumerate().all(|(at, expr)| matches!(expr, Expr::Column { index, .. } if *index == at));
    if same {
        return input;
    }
    let exprs = exprs.into_iter().map(|expr| (String::new(), expr)).collect();
    Rel::Project(Project { input: Box::new(input), exprs })
}

/// The legs of a block under its predicates, and the columns `kept` over them.
pub(super) fn gathered(rel: &Rel, kept: &[usize]) -> (Rel, Vec<Expr>) {
    let mut gathered = Gathered::default();
    let outputs = gathered.take(rel);
    let read =
        with_columns(&BTreeSet::new(), gathered.predicates.iter().chain(kept.iter().map(|column| &outputs[*column])));
    let mut legs = Vec::new();
    let mut place = Vec::new();
    let mut width = 0;
    for leg in &gathered.legs {
        let from = place.len();
        let columns = leg.columns().len();
        let wanted = read.iter().filter_map(|column| column.checked_sub(from)).filter(|column| *column < columns);
        let Canonical { rel, at } = reduced(leg, &wanted.collect());
        place.extend(at.into_iter().map(|position| position.map(|position| position + width)));
        width += rel.columns().len();
        // One row without columns adds nothing to a join.
        let neutral = matches!(&rel, Rel::Values(values) if values.columns.is_empty() && values.rows.len() == 1);
        if !neutral || gathered.legs.len() == 1 {
            legs.push(rel);
        }
    }
    let put = |expr: Expr| expr.with_columns(&|column| place.get(column).copied().flatten().unwrap_or(usize::MAX));
    let predicates = conjuncts(gathered.predicates.into_iter().map(put));
    let outputs = kept.iter().map(|column| exprs::canonical(put(outputs[*column].clone()))).collect();
    let input = match legs.len() {
        1 => {
            let only = legs.remove(0);
            if predicates.is_empty() { only } else { Rel::Filter(Filter { input: Box::new(only), predicates }) }
        }
        _ => Rel::InnerJoin(InnerJoin { legs, predicates }),
    };
    (input, outputs)
}

/// Conjuncts in canonical form and order, without those that are TRUE.
pub(super) fn conjuncts(predicates: impl IntoIterator<Item = Expr>) -> Vec<Expr> {
    let mut flat = Vec::new();
    for predicate in predicates {
        match exprs::canonical(predicate) {
            Expr::Conjunction { op: Conjunction::And, operands } => flat.extend(operands),
            Expr::Literal(Literal { value: Some(Constant::Boolean(true)), .. }) => {}
            other => flat.push(other),
        }
    }
    flat.sort_by_cached_key(text);
    flat
}
