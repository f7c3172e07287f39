//! Predicates above outer joins and subqueries, put on the side that they read.
//!
//! DuckDB binds every subquery of a `WHERE` below all of its predicates: `FROM a, b WHERE a.x = b.x AND a.y IN (…)` is
//! a filter over the subquery's join over the CROSS PRODUCT of `a` and `b`. What is evaluated for the rows of that left
//! side, or kept of it, must not be more than the other predicates leave.

use super::expr::Expr;
use super::rel::{Filter, Join, JoinKind, Rel};

/// `rel` under `predicates`, each as deep as the left sides of joins allow that keep or drop whole left rows:
/// `σ(L ⟕ R) = σ(L) ⟕ R` for a predicate over the columns of `L`. `changed` takes each left side that got predicates.
pub(crate) fn filtered(rel: Rel, predicates: Vec<Expr>, changed: &dyn Fn(Rel) -> Rel) -> Rel {
    if predicates.is_empty() {
        return rel;
    }
    match rel {
        Rel::Join(mut join) if keeps_left(join.kind) => {
            let above = push(&mut join, predicates, changed);
            over(Rel::Join(join), above)
        }
        Rel::DependentJoin(mut dependent)
            if keeps_left(dependent.join.kind) || dependent.join.kind == JoinKind::Inner =>
        {
            let above = push(&mut dependent.join, predicates, changed);
            over(Rel::DependentJoin(dependent), above)
        }
        other => over(other, predicates),
    }
}

/// Does each row of the result hold one row of the left side, none padded?
fn keeps_left(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Single | JoinKind::Mark | JoinKind::Semi | JoinKind::Anti)
}

/// Puts the predicates that read the left side alone on it, and returns the others.
fn push(join: &mut Join, predicates: Vec<Expr>, changed: &dyn Fn(Rel) -> Rel) -> Vec<Expr> {
    let width = join.left.columns().len();
    let reads_left = |predicate: &Expr| {
        let columns = predicate.columns();
        !columns.is_empty() && columns.iter().all(|column| *column < width)
    };
    let (own, above): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(reads_left);
    if !own.is_empty() {
        let left = std::mem::replace(&mut *join.left, Rel::nothing());
        *join.left = changed(filtered(left, own, changed));
    }
    above
}

fn over(rel: Rel, predicates: Vec<Expr>) -> Rel {
    if predicates.is_empty() {
        return rel;
    }
    Rel::Filter(Filter { input: Box::new(rel), predicates })
}
