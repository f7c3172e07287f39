//! `IN`, `ANY`, `ALL` and `EXISTS` in a `WHERE`, as the semi and anti joins that they are there.
//!
//! DuckDB binds them as a MARK join, which computes TRUE, FALSE or NULL per left row, under a filter. A filter that
//! keeps the TRUE rows makes a semi join; one that keeps the FALSE rows (`NOT`) an anti join on "may match": a pair
//! whose comparison is NULL keeps the mark from being FALSE. A correlated subquery of tables, filters and inner joins
//! then needs no correlated keys any more: its predicates compare with the left side directly.

use super::expr::{Comparison, Conjunction, Constant, Expr, Literal, Operator};
use super::rel::{DependentJoin, Filter, InnerJoin, Join, JoinKind, Project, Rel};
use super::types::DataType;

/// What a filter demands of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The mark must be TRUE.
    True,
    /// It must be FALSE.
    False,
}

/// What a mark is where it is as demanded.
pub(super) fn demanded(demand: Demand) -> Expr {
    let value = Some(Constant::Boolean(demand == Demand::True));
    Expr::Literal(Literal { value, data_type: DataType::Boolean })
}

/// What `predicate` demands, if it is about column `mark` alone.
pub(super) fn demand_on(predicate: &Expr, mark: usize) -> Option<Demand> {
    let is_mark = |expr: &Expr| matches!(expr, Expr::Column { index, .. } if *index == mark);
    match predicate {
        expr if is_mark(expr) => Some(Demand::True),
        Expr::Operator { op: Operator::Not, operands, .. } if operands.iter().all(is_mark) => Some(Demand::False),
        _ => None,
    }
}

/// Is `rel` a MARK join, plain or correlated?
pub(super) fn is_mark(rel: &Rel) -> bool {
    match rel {
        Rel::Join(join) => join.kind == JoinKind::Mark,
        Rel::DependentJoin(node) => node.join.kind == JoinKind::Mark,
        _ => false,
    }
}

/// The semi or anti join that keeps the left rows whose mark is as demanded.
pub(super) fn keep(rel: Rel, demand: Demand) -> Rel {
    match rel {
        Rel::Join(join) => Rel::Join(keep_join(join, demand)),
        Rel::DependentJoin(node) => decorrelated(DependentJoin { join: keep_join(node.join, demand), ..node }),
        other => other,
    }
}

fn keep_join(mut join: Join, demand: Demand) -> Join {
    match demand {
        Demand::True => join.kind = JoinKind::Semi,
        Demand::False => {
            join.kind = JoinKind::Anti;
            let compares = |op: Comparison| !matches!(op, Comparison::NotDistinctFrom | Comparison::DistinctFrom);
            if join.conditions.iter().any(|condition| compares(condition.op)) {
                join.predicates = may_match(&join);
                join.conditions.retain(|condition| condition.op == Comparison::NotDistinctFrom);
            }
        }
    }
    join
}

/// Conjuncts over both sides that hold for every pair that is a match or, because of a NULL, may be one. With several
/// comparisons DuckDB makes the pair NULL as soon as one of them is.
pub fn may_match(join: &Join) -> Vec<Expr> {
    let definite = |expr: &Expr| {
        matches!(expr, Expr::Comparison { op: Comparison::NotDistinctFrom | Comparison::DistinctFrom, .. })
    };
    let compared = join.demands();
    let (conditions, predicates) = compared.split_at(join.conditions.len());
    let (keys, comparisons): (Vec<Expr>, Vec<Expr>) = conditions.iter().cloned().partition(definite);
    let unknown = comparisons.iter().map(|comparison| Expr::Operator {
        op: Operator::IsNull,
        operands: vec![comparison.clone()],
        data_type: DataType::Boolean,
    });
    let unknown: Vec<Expr> = unknown.collect();
    let possible = match comparisons.len() {
        0 => None,
        1 => Some([comparisons, unknown].concat()),
        _ => {
            let all = Expr::Conjunction { op: Conjunction::And, operands: comparisons };
            Some([vec![all], unknown].concat())
        }
    };
    let possible = possible.map(|operands| Expr::Conjunction { op: Conjunction::Or, operands });
    keys.into_iter().chain(possible).chain(predicates.iter().cloned()).collect()
}

/// A correlated semi or anti join over a flat block, as a plain one; any other node as it was.
fn decorrelated(node: DependentJoin) -> Rel {
    match plain(&node) {
        Some(join) => Rel::Join(join),
        None => Rel::DependentJoin(node),
    }
}

fn plain(node: &DependentJoin) -> Option<Join> {
    let (input, exprs) = match &*node.join.right {
        Rel::Project(Project { input, exprs }) => {
            (&**input, exprs.iter().map(|(_, expr)| expr.clone()).collect::<Vec<_>>())
        }
        other => (other, identity(other)),
    };
    let Rel::InnerJoin(InnerJoin { legs, predicates }) = input else { return None };
    let mut keyed = legs.iter().enumerate().filter(|(_, leg)| holds_keys(leg, node.id));
    let (place, leg) = keyed.next()?;
    if keyed.next().is_some() {
        return None;
    }
    // A predicate on the correlated keys alone may have been put at their leg.
    let at_keys = match leg {
        Rel::DependentKeys(_) => Vec::new(),
        Rel::Filter(Filter { input, predicates }) if matches!(**input, Rel::DependentKeys(_)) => predicates.clone(),
        _ => return None,
    };
    let left_width = node.join.left.columns().len();
    let start: usize = legs[..place].iter().map(|leg| leg.columns().len()).sum();
    // Each column of the block, as an expression over the left side's and the other legs' columns side by side.
    let mut block = Vec::new();
    for (position, column) in input.columns().into_iter().enumerate() {
        block.push(match position.checked_sub(start) {
            Some(key) if key < node.keys.len() => node.keys[key].clone(),
            Some(_) => Expr::column(left_width + position - node.keys.len(), column.data_type),
            None => Expr::column(left_width + position, column.data_type),
        });
    }
    let at_keys = at_keys.into_iter().map(|predicate| predicate.substitute(&node.keys));
    let mut demands: Vec<Expr> =
        predicates.iter().map(|predicate| predicate.clone().substitute(&block)).chain(at_keys).collect();
    let outputs: Vec<Expr> = exprs.into_iter().map(|expr| expr.substitute(&block)).collect();
    for condition in &node.join.conditions {
        let right = condition.right.clone().substitute(&outputs);
        if condition.op == Comparison::NotDistinctFrom && right == condition.left {
            continue; // the key itself
        }
        let left = Box::new(condition.left.clone());
        demands.push(Expr::Comparison { op: condition.op, left, right: Box::new(right) });
    }
    let both: Vec<Expr> = identity(&node.join.left).into_iter().chain(outputs).collect();
    demands.extend(node.join.predicates.iter().map(|predicate| predicate.clone().substitute(&both)));
    let mut others: Vec<Rel> = legs.clone();
    others.remove(place);
    let right = if others.len() == 1 {
        others.remove(0)
    } else {
        Rel::InnerJoin(InnerJoin { legs: others, predicates: Vec::new() })
    };
    let (kind, left) = (node.join.kind, node.join.left.clone());
    Some(settled(Join { kind, left, right: Box::new(right), conditions: Vec::new(), predicates: demands }))
}

fn identity(rel: &Rel) -> Vec<Expr> {
    let columns = rel.columns().into_iter().enumerate();
    columns.map(|(position, column)| Expr::column(position, column.data_type)).collect()
}

fn holds_keys(rel: &Rel, id: usize) -> bool {
    let mut found = false;
    rel.walk(&mut |node| found |= matches!(node, Rel::DependentKeys(keys) if keys.id == id));
    found
}

/// The same join with the predicates that read the right side alone put below it, which no kind of join that keeps or
/// pads left rows can tell apart.
pub(super) fn settled(mut join: Join) -> Join {
    if !matches!(join.kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Single) {
        return join;
    }
    let width = join.left.columns().len();
    let right_only = |predicate: &Expr| predicate.columns().first().is_some_and(|column| *column >= width);
    let (below, above): (Vec<Expr>, Vec<Expr>) = join.predicates.into_iter().partition(right_only);
    join.predicates = above;
    if !below.is_empty() {
        let predicates = below.into_iter().map(|predicate| predicate.with_columns(&|column| column - width)).collect();
        join.right = Box::new(Rel::Filter(Filter { input: join.right, predicates }));
    }
    join
}
