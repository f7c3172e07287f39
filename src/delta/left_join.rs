//! Left and full join under any predicate, and the scalar subquery (SINGLE).
//!
//! - Law: with d(l) the net number of changed matches of l,
//!   `Δ(L ⟕ R) = ΔL ⟕ R⁺ ⊎ L⁻ ⋈ ΔR ⊖ padded {l ∈ L⁻ : d(l) > 0, no match in R⁻} ⊎ padded {l ∈ L⁻ : d(l) < 0, no match in R⁺}`:
//!   linear in the preserved side, NON-LINEAR in the other. `L ⟗ R = (L ⟕ R) ⊎ padded(R ▷ L)`. A right join is a left join
//!   with its sides swapped (see [`crate::plan::normalise`]).
//! - Reads: ΔL probes R⁺; ΔR probes L⁻, and each affected row of L⁻ one state of R. With only the preserved side changed:
//!   one term, and no old state is read.
//! - NULLs and duplicates: p NULL is no match. A row of R that is NULL in every column equals the padding; its weight and
//!   the padding's then add up, as they must.
//! - Cost: the rows of ΔL, and of L⁻ that match ΔR with their matches in ΔR.
//! - Does not apply to volatile predicates. A scalar subquery that finds more than one row is DuckDB's error; since the
//!   rule joins plainly, affected rows with more than one match in R⁺ must be looked for when the terms are run.
//! - Example: L = {1}, R⁻ = ∅, ΔR = {1: +1}: L⁻ ⋈ ΔR = {(1, 1): +1}, and (1, NULL): −1 takes the padding away.
//! - Source: Griffin and Kumar, Algebraic Change Propagation for Semijoin and Outerjoin Queries, SIGMOD Record 1998.

use super::construct::{null, project, references, union_all};
use super::probe::weight_last;
use super::semi_join::{self, against, joined_back, moved};
use super::{Derivation, NotIncremental, Term, weight_at};
use crate::plan::expr::Expr;
use crate::plan::rel::{InnerJoin, Join, JoinKind, Rel};

/// The preserved side's terms against the new right side, and one term for the right side's change.
pub(super) fn terms(join: &Join, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let mut terms = derivation.terms(&join.left)?;
    for term in &mut terms {
        if let Some(delta) = term.rel.take() {
            let joined = against(join, delta, derivation.at_new(&join.right));
            term.rel = Some(weight_last(joined, join.left.columns().len()));
        }
    }
    let rel = derivation.delta(&join.right)?.and_then(|delta| right_changed(join, delta, derivation));
    terms.push(Term { leg: derivation.leg(&join.right), rel });
    Ok(terms)
}

/// `L ⟗ R` as the left join and the padded anti join of its other side; a right row is preserved by the second.
pub(super) fn full_terms(join: &Join, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let left = Join { kind: JoinKind::Left, ..join.clone() };
    let mut terms = terms(&left, derivation)?;
    let dangling = join.swapped(JoinKind::Anti);
    let columns = join.left.columns();
    for term in semi_join::terms(&dangling, derivation)? {
        terms.push(term.map(|delta| {
            let mut exprs: Vec<(String, Expr)> =
                columns.iter().map(|column| (column.name.clone(), null(column.data_type.clone()))).collect();
            exprs.extend(references(&delta.columns(), 0));
            project(delta, exprs)
        }));
    }
    Ok(terms)
}

/// The change that ΔR makes to the rows of L⁻.
fn right_changed(join: &Join, delta: Rel, derivation: &mut Derivation) -> Option<Rel> {
    let right = join.right.columns();
    let moved = moved(join, delta, derivation);
    let matches = Rel::InnerJoin(InnerJoin {
        legs: vec![moved.candidates.clone(), moved.delta.clone()],
        predicates: join.demands(),
    });
    let width = join.left.columns().len();
    let padding = joined_back(moved, -1);
    let mut exprs = references(&padding.columns()[..width], 0);
    exprs.extend(right.iter().map(|column| (column.name.clone(), null(column.data_type.clone()))));
    exprs.push(weight_at(width));
    union_all(vec![matches, project(padding, exprs)])
}
