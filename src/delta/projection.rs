//! The `SELECT` list.
//!
//! - Law: Δπ(R) = π(ΔR), the weight carried along: LINEAR.
//! - Reads: ΔR only.
//! - NULLs and duplicates: rows that become equal are not merged here; consolidation sums their weights.
//! - Cost: the rows of ΔR.
//! - Does not apply to volatile expressions, which make the view impure.
//! - Example: π(x) over ΔR = {(1, a): −1, (1, b): +1} is {1: −1, 1: +1}, which consolidates to ∅.
//! - Source: DBSP, section 4 (linear operators).

use super::{Term, weight_at};
use crate::plan::rel::{Project, Rel};

/// The input's terms, projected.
pub(super) fn terms(project: &Project, input: Vec<Term>) -> Vec<Term> {
    let width = project.input.columns().len();
    let exprs: Vec<_> = project.exprs.iter().cloned().chain([weight_at(width)]).collect();
    let projected = |rel| Rel::Project(Project { input: Box::new(rel), exprs: exprs.clone() });
    input.into_iter().map(|term| term.map(projected)).collect()
}
