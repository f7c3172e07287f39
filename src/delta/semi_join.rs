//! Semi and anti join: `EXISTS`, `IN` and `NOT IN` in a `WHERE`, `SEMI JOIN`, `ANTI JOIN`, under any predicate p.
//!
//! - Law: with d(l) the net number of changed matches of l,
//!   `Δ(L ⋉ R) = ΔL ⋉ R⁺ ⊎ {l ∈ L⁻ : d(l) > 0, no match in R⁻} ⊖ {l ∈ L⁻ : d(l) < 0, no match in R⁺}`; for ▷ the first part
//!   is ΔL ▷ R⁺ and the signs of the other two are swapped. Since c⁺ = c⁻ + d, a row with d > 0 has a match in R⁺ without
//!   looking, one with d < 0 had one in R⁻, and one with d = 0 did not move. Linear in L, NON-LINEAR in R.
//! - Reads: ΔL probes R⁺; ΔR probes L⁻; each affected row then probes one state of R. With R unchanged only the first
//!   part is made, with L unchanged only the others.
//! - NULLs and duplicates: p NULL is no match. Copies of l share their fate and are counted by joining back to L⁻.
//! - Cost: the rows of ΔL, and of L⁻ that match ΔR. A predicate without an equality scans.
//! - Does not apply to volatile predicates.
//! - Example: L = {1, 1, 2}, R⁻ = {2}, ΔR = {1: +1, 2: −1}: d(1) = 1 and 1 had no match: {1: +2}; d(2) = −1 and 2 has none
//!   now: {2: −1}.
//! - Source: the counting rule for existential quantifiers, Gupta, Mumick and Subrahmanian, SIGMOD 1993, narrowed to one
//!   probed state per row.

use super::construct::{compare, distinct, filter, integer, net_per_group, project, references, union_all, weighted};
use super::{Derivation, NotIncremental, Term, weight_at};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{InnerJoin, Join, JoinKind, Rel};
use crate::plan::types::DataType;

/// The left side's terms against the new right side, and one term for the right side's change.
pub(super) fn terms(join: &Join, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let mut terms = derivation.terms(&join.left)?;
    for term in &mut terms {
        if let Some(delta) = term.rel.take() {
            term.rel = Some(against(join, delta, derivation.at_new(&join.right)));
        }
    }
    let rel = derivation.delta(&join.right)?.map(|delta| {
        let moved = moved(join, delta, derivation);
        let sign = if join.kind == JoinKind::Anti { -1 } else { 1 };
        joined_back(moved, sign)
    });
    terms.push(Term { leg: derivation.leg(&join.right), rel });
    Ok(terms)
}

/// The join with a delta on its left side, whose weight is one column more before the right side's columns.
pub(super) fn against(join: &Join, delta: Rel, right: Rel) -> Rel {
    let width = join.left.columns().len();
    let predicates = join
        .predicates
        .iter()
        .map(|predicate| predicate.clone().with_columns(&|column| if column < width { column } else { column + 1 }));
    Rel::Join(Join {
        kind: join.kind,
        left: Box::new(delta),
        right: Box::new(right),
        conditions: join.conditions.clone(),
        predicates: predicates.collect(),
    })
}

/// The left rows that ΔR concerns.
pub(super) struct Moved {
    /// The rows of L⁻ that match a row of ΔR, with their duplicates.
    pub(super) candidates: Rel,
    /// ΔR itself, staged.
    pub(super) delta: Rel,
    /// The left columns that the predicate reads (or none), as positions.
    key: Vec<usize>,
    /// Key columns and a weight: +1 became matched, −1 became unmatched.
    flips: Rel,
}

/// Finds the left rows whose being matched changed.
pub(super) fn moved(join: &Join, delta: Rel, derivation: &mut Derivation) -> Moved {
    let left = join.left.columns();
    let delta = derivation.stage("right_delta", delta);
    let candidates = Rel::Join(Join {
        kind: JoinKind::Semi,
        left: Box::new(derivation.at_old(&join.left)),
        right: Box::new(delta.clone()),
        conditions: join.conditions.clone(),
        predicates: join.predicates.clone(),
    });
    let candidates = derivation.stage("candidates", candidates);
    let demands = join.demands();
    let mut key: Vec<usize> = demands.iter().flat_map(Expr::columns).filter(|column| *column < left.len()).collect();
    key.sort_unstable();
    key.dedup();
    let mut keyed: Vec<(String, Expr)> = key
        .iter()
        .map(|column| (left[*column].name.clone(), Expr::column(*column, left[*column].data_type.clone())))
        .collect();
    if keyed.is_empty() {
        keyed.push(("one".into(), integer(1)));
    }
    let width = keyed.len();
    let narrowed = |column: usize| match key.binary_search(&column) {
        Ok(position) => position,
        Err(_) => column - left.len() + width,
    };
    let demands: Vec<Expr> = demands.into_iter().map(|demand| demand.with_columns(&narrowed)).collect();
    let keys = distinct(candidates.clone(), keyed);
    let key_columns = keys.columns();
    let matches = Rel::InnerJoin(InnerJoin { legs: vec![keys, delta.clone()], predicates: demands.clone() });
    let affected = derivation.stage("affected", net_per_group(matches, references(&key_columns, 0)));
    let flips = [
        (Comparison::Greater, derivation.at_old(&join.right), 1),
        (Comparison::Less, derivation.at_new(&join.right), -1),
    ]
    .map(|(op, right, sign)| unmatched(&affected, op, &demands, right, sign));
    let flips = union_all(flips.into()).unwrap_or(affected);
    Moved { candidates, delta, key, flips: derivation.stage("flips", flips) }
}

/// The affected keys with `d op 0` that match nothing in `right`, with weight `sign`.
fn unmatched(affected: &Rel, op: Comparison, demands: &[Expr], right: Rel, sign: i64) -> Rel {
    let columns = affected.columns();
    let width = columns.len() - 1;
    let chosen = filter(affected.clone(), vec![compare(op, Expr::column(width, DataType::BigInt), integer(0))]);
    let keys = project(chosen, references(&columns[..width], 0));
    // A conjunct on the right side alone goes below the anti join: DuckDB 1.5.5 has returned nothing for it in `ON`.
    let (right_only, both): (Vec<Expr>, Vec<Expr>) =
        demands.iter().cloned().partition(|demand| !demand.columns().is_empty() && demand.columns()[0] >= width);
    let right_only = right_only.into_iter().map(|demand| demand.with_columns(&|column| column - width)).collect();
    let anti = Rel::Join(Join {
        kind: JoinKind::Anti,
        left: Box::new(keys),
        right: Box::new(filter(right, right_only)),
        conditions: Vec::new(),
        predicates: both,
    });
    weighted(anti, sign)
}

/// The candidates whose being matched changed: weight `sign` for those that became matched, −`sign` for the others.
pub(super) fn joined_back(moved: Moved, sign: i64) -> Rel {
    let columns = moved.candidates.columns();
    let width = columns.len();
    let predicates = moved.key.iter().enumerate().map(|(position, column)| {
        let data_type = columns[*column].data_type.clone();
        let flipped = Expr::column(width + position, data_type.clone());
        compare(Comparison::NotDistinctFrom, Expr::column(*column, data_type), flipped)
    });
    let predicates = predicates.collect();
    let weight = width + moved.key.len().max(1);
    let joined = Rel::InnerJoin(InnerJoin { legs: vec![moved.candidates, moved.flips], predicates });
    let mut exprs = references(&columns, 0);
    exprs.push(weight_at(weight));
    let joined = project(joined, exprs);
    if sign < 0 { super::construct::negated(joined) } else { joined }
}
