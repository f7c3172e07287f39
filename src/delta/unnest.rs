//! `unnest`, and table functions called once per row (`LATERAL range(t.n)`).
//!
//! - Law: Δ unnest(R) = unnest(ΔR): each row makes its rows by itself, so the operator is LINEAR. Every row that comes
//!   from a row of weight w has weight w.
//! - Reads: ΔR only.
//! - NULLs and duplicates: a NULL or empty list makes no rows; a list with equal elements makes equal rows.
//! - Cost: the rows of ΔR, times their lists' lengths.
//! - Does not apply to functions that read the world, which make the view impure.
//! - Example: ΔR = {(1, [a, a]): −1} gives {(1, [a, a], a): −1, (1, [a, a], a): −1}.
//! - Source: DBSP, section 4 (linear operators).

use super::{Term, weight_at};
use crate::plan::expr::Expr;
use crate::plan::rel::{Project, Rel, TableFunction, Unnest};

/// The input's terms, unnested. The weight, last in the input, stands between the input's columns and the new ones; a
/// projection moves it behind.
pub(super) fn terms(unnest: &Unnest, input: Vec<Term>) -> Vec<Term> {
    let columns = unnest.input.columns();
    let width = columns.len();
    let kept = columns.into_iter().enumerate();
    let made = unnest.lists.iter().enumerate().map(|(position, (column, _))| (width + 1 + position, column.clone()));
    let exprs: Vec<_> = kept
        .chain(made)
        .map(|(position, column)| (column.name, Expr::column(position, column.data_type)))
        .chain([weight_at(width)])
        .collect();
    let unnested = |rel| {
        let unnested = Rel::Unnest(Unnest { input: Box::new(rel), lists: unnest.lists.clone() });
        Rel::Project(Project { input: Box::new(unnested), exprs: exprs.clone() })
    };
    input.into_iter().map(|term| term.map(unnested)).collect()
}

/// The terms of a function called per row. Its own columns come first, then the input's, so the weight is last already.
pub(super) fn function_terms(function: &TableFunction, input: Vec<Term>) -> Vec<Term> {
    let called = |rel| Rel::TableFunction(TableFunction { input: Some(Box::new(rel)), ..function.clone() });
    input.into_iter().map(|term| term.map(called)).collect()
}
