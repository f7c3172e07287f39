//! Joins in which each left row looks up its own answer on the right: scalar subqueries (SINGLE) and `IN`, `ANY`, `ALL`
//! or `EXISTS` as a value (MARK).
//!
//! - Law: with C ⊇ the rows of L⁻ whose answer differs between R⁻ and R⁺,
//!   `Δ(L op R) = ΔL op R⁺ ⊎ (C op R⁺) ⊖ (C op R⁻)`. Linear in L, NON-LINEAR in R. C is the rows of L⁻ for which some
//!   changed row of R is not certainly no match: for MARK with one comparison `(l = r) IS DISTINCT FROM FALSE`, with
//!   several (DuckDB makes the pair NULL as soon as one component is NULL) all are true or any is NULL.
//! - Reads: ΔL probes R⁺; ΔR probes L⁻; C probes both states of R. With R unchanged only the first part.
//! - NULLs and duplicates: a NULL on either side puts the row into C; copies of l are all in C.
//! - Cost: the rows of ΔL, and of C twice. A NULL in ΔR puts all of L⁻ into C.
//! - Does not apply to volatile predicates. More than one row for a scalar subquery is raised by DuckDB, since the parts
//!   are joins of the same kind.
//! - Example: `x IN R` for L = {1, NULL}, ΔR = {1: +1}, R⁻ = ∅: both rows are in C; {(1, F): −1, (1, T): +1,
//!   (NULL, F): −1, (NULL, NULL): +1}.
//! - Source: the definition of a delta, restricted to the rows that can differ; SQL:1999, quantified comparisons.

use super::construct::{negated, project, references, union_all, weighted};
use super::semi_join::against;
use super::{Derivation, NotIncremental, Term};
use crate::plan::quantified::may_match;
use crate::plan::rel::{Join, JoinKind, Rel};

/// The left side's terms against the new right side, and one term for the right side's change.
pub(super) fn terms(join: &Join, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let mut terms = derivation.terms(&join.left)?;
    let width = join.left.columns().len();
    for term in &mut terms {
        if let Some(delta) = term.rel.take() {
            term.rel = Some(weight_last(against(join, delta, derivation.at_new(&join.right)), width));
        }
    }
    let rel = derivation.delta(&join.right)?.and_then(|delta| {
        let candidates = Rel::Join(Join {
            kind: JoinKind::Semi,
            left: Box::new(derivation.at_old(&join.left)),
            right: Box::new(delta),
            conditions: Vec::new(),
            predicates: if join.kind == JoinKind::Mark { may_match(join) } else { join.demands() },
        });
        let candidates = derivation.stage("candidates", candidates);
        let answered = |right: Rel| {
            let join = Join { left: Box::new(candidates.clone()), right: Box::new(right), ..join.clone() };
            weighted(Rel::Join(join), 1)
        };
        union_all(vec![answered(derivation.at_new(&join.right)), negated(answered(derivation.at_old(&join.right)))])
    });
    terms.push(Term { leg: derivation.leg(&join.right), rel });
    Ok(terms)
}

/// Moves the weight, which stands at `position`, behind all other columns.
pub(super) fn weight_last(rel: Rel, position: usize) -> Rel {
    let mut exprs = references(&rel.columns(), 0);
    let weight = exprs.remove(position);
    exprs.push(weight);
    project(rel, exprs)
}
