//! `WHERE`.
//!
//! - Law: Δσ(R) = σ(ΔR): LINEAR.
//! - Reads: ΔR only.
//! - NULLs and duplicates: a predicate that is NULL keeps nothing, on both sides alike; the weight passes through.
//! - Cost: the rows of ΔR.
//! - Does not apply to volatile predicates, which make the view impure.
//! - Example: σ(x > 1) over ΔR = {1: +1, 2: −1, NULL: +1} is {2: −1}.
//! - Source: DBSP, section 4 (linear operators).

use super::Term;
use crate::plan::rel::{Filter, Rel};

/// The input's terms, filtered. The weight is the last column, so the predicates' positions stay.
pub(super) fn terms(filter: &Filter, input: Vec<Term>) -> Vec<Term> {
    let filtered = |rel| Rel::Filter(Filter { input: Box::new(rel), predicates: filter.predicates.clone() });
    input.into_iter().map(|term| term.map(filtered)).collect()
}
