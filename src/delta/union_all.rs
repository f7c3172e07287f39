//! `UNION ALL`.
//!
//! - Law: Δ(R ⊎ S) = ΔR ⊎ ΔS: LINEAR.
//! - Reads: the deltas only; an input that did not change adds no term.
//! - NULLs and duplicates: weights of equal rows from both inputs add up when consolidated.
//! - Cost: the rows of the deltas.
//! - Does not apply to `UNION`, which is a `DISTINCT` over this.
//! - Example: ΔR = {a: +1}, ΔS = {a: −1}: the sum is {a: +1, a: −1}, which consolidates to ∅.
//! - Source: DBSP, section 3 (Z-sets form a group under addition).

use super::{Derivation, NotIncremental, Term};
use crate::plan::rel::Rel;

/// The inputs' terms, one after the other.
pub(super) fn terms(inputs: &[Rel], derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let mut all = Vec::new();
    for input in inputs {
        all.extend(derivation.terms(input)?);
    }
    Ok(all)
}
