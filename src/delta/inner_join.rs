//! Inner, cross and any-predicate join of N legs.
//!
//! - Law (telescoping): with the legs in a fixed order,
//!   `Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ R₁⁺ ⋈ … ⋈ Rᵢ₋₁⁺ ⋈ ΔRᵢ ⋈ Rᵢ₊₁⁻ ⋈ … ⋈ Rₙ⁻`, because neighbouring products cancel when
//!   `ΔRᵢ = Rᵢ⁺ − Rᵢ⁻` is written out. N terms, all signs positive, weights multiply: PRODUCT. The term of a leg that did
//!   not change is empty and is not made. A self-join has one leg per alias.
//! - Reads: leg j is read new by the terms of changed legs after it, old by those before it: the first changed leg never
//!   needs its old state, the last one never its new state. An unchanged leg has one state, read as new.
//! - NULLs and duplicates: the predicate decides, as in the view; weights carry multiplicities.
//! - Cost: per changed leg one join driven by its delta; large legs are first reduced to what it can meet
//!   ([`super::reduction`]).
//! - Does not apply to volatile predicates (the view is impure). A term can pair rows that never met in the view at
//!   `from` or `to`; a partial expression (a failing cast) may then raise in it: the refresh falls back to recompute.
//! - Example: R⁻ = {1}, S⁻ = {1}, both gain a second 1: R⁺ = S⁺ = {1, 1}. ΔR ⋈ S⁻ = {(1,1): +1} and
//!   R⁺ ⋈ ΔS = {(1,1): +2}: together the +3 from 1 to 4 rows.
//! - Source: Gupta and Mumick, Maintenance of Materialized Views (1995); Griffin and Libkin, SIGMOD 1995.

use super::{Derivation, NotIncremental, Term, reduction};
use crate::plan::expr::Expr;
use crate::plan::rel::{InnerJoin, Project, Rel};
use crate::plan::shape::WEIGHT;
use crate::plan::types::DataType;

/// One term per leg, in the legs' order.
pub(super) fn terms(join: &InnerJoin, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    (0..join.legs.len())
        .map(|position| {
            let delta = derivation.delta(&join.legs[position])?;
            let rel = delta.map(|delta| term(join, position, delta, derivation));
            Ok(Term { leg: derivation.leg(&join.legs[position]), rel })
        })
        .collect()
}

/// The summand in which the leg at `position` stands as its delta.
fn term(join: &InnerJoin, position: usize, delta: Rel, derivation: &mut Derivation) -> Rel {
    let mut delta = Some(delta);
    let legs = join.legs.iter().enumerate().map(|(other, leg)| match other.cmp(&position) {
        std::cmp::Ordering::Less => derivation.at_new(leg),
        std::cmp::Ordering::Equal => delta.take().unwrap_or_else(|| derivation.at_new(leg)),
        std::cmp::Ordering::Greater => derivation.at_old(leg),
    });
    let legs: Vec<Rel> = legs.collect();
    let legs = reduction::reduced(join, position, legs, derivation);
    let weight = join.legs[..=position].iter().map(|leg| leg.columns().len()).sum::<usize>();
    // The delta's weight stands behind its leg's columns: what comes after it has moved by one.
    let moved = |column: usize| if column < weight { column } else { column + 1 };
    let predicates = join.predicates.iter().map(|predicate| predicate.clone().with_columns(&moved)).collect();
    let exprs = join
        .legs
        .iter()
        .flat_map(Rel::columns)
        .enumerate()
        .map(|(output, column)| (column.name, Expr::column(moved(output), column.data_type)));
    let weight = (WEIGHT.to_owned(), Expr::column(weight, DataType::BigInt));
    let exprs = exprs.chain([weight]).collect();
    let joined = Rel::InnerJoin(InnerJoin { legs, predicates });
    Rel::Project(Project { input: Box::new(joined), exprs })
}
