//! Operators whose rows fall apart by keys: `DISTINCT ON`, windows with a `PARTITION BY`, grouped aggregates, `EXCEPT`
//! and `INTERSECT`, ASOF joins; and, with no key at all, any deterministic operator.
//!
//! - Law: with K the keys of ΔR, `Δ Q(R) = Q(R⁺ ⋉ K) ⊖ Q(R⁻ ⋉ K)`: a key that does not stand in ΔR has the same rows on
//!   both sides. Without keys `Δ Q(R) = Q(R⁺) ⊖ Q(R⁻)`. NON-LINEAR.
//! - Reads: both states of R at K, the restriction below the operator.
//! - NULLs and duplicates: keys are compared NULL-safe. The result is consolidated, so unchanged rows cancel.
//! - Cost: the whole groups or partitions of K, twice; without keys twice the operator.
//! - Does not apply where the operator's result is not decided by its input as a bag (ties, `first` without an order,
//!   sums of floats): the past that is recomputed now may not be the past that was stored.
//! - Example: a window over `PARTITION BY k`: ΔR touches k = 1 only; the partitions of all other k are not read.
//! - Source: rules for non-distributive operators by recomputation of affected groups, Gupta and Mumick, 1995.

use super::construct::{by_keys, consolidated, distinct, negated, union_all, weighted};
use super::{AFFECTED_KEYS, Derivation, NotIncremental, Term, guards};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{Aggregate, Distinct, Join, JoinCondition, JoinKind, Rel, SetOperation, Window};

/// One term for an operator over one input, restricted to the keys (expressions over the input) that changed.
fn term(
    input: &Rel,
    keys: Vec<(String, Expr)>,
    operator: &dyn Fn(Rel) -> Rel,
    derivation: &mut Derivation,
) -> Result<Vec<Term>, NotIncremental> {
    let leg = derivation.whole_leg(input);
    let Some(delta) = derivation.stage_delta(input)? else {
        return Ok(vec![Term { leg, rel: None }]);
    };
    let (mut after, mut before) = (derivation.at_new(input), derivation.at_old(input));
    if !keys.is_empty() {
        let exprs: Vec<Expr> = keys.iter().map(|(_, expr)| expr.clone()).collect();
        let affected = derivation.stage(AFFECTED_KEYS, distinct(consolidated(delta), keys));
        after = by_keys(JoinKind::Semi, after, exprs.clone(), affected.clone());
        before = by_keys(JoinKind::Semi, before, exprs, affected);
    }
    let [after, before] = [after, before].map(|input| weighted(guards::node(operator(input)), 1));
    let rel = union_all(vec![after, negated(before)]);
    Ok(vec![Term { leg, rel: rel.map(consolidated) }])
}

/// An ASOF join; the keys are what it compares for equality, on either side.
pub(super) fn as_of_terms(join: &Join, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let whole = Rel::Join(join.clone());
    let equal = |condition: &&JoinCondition| matches!(condition.op, Comparison::Equal | Comparison::NotDistinctFrom);
    let equalities: Vec<&JoinCondition> = join.conditions.iter().filter(equal).collect();
    if equalities.is_empty() {
        return Ok(whole_terms(&whole, derivation));
    }
    let leg = derivation.whole_leg(&whole);
    let sides = [&join.left, &join.right].into_iter().zip([
        equalities.iter().map(|condition| condition.left.clone()).collect::<Vec<_>>(),
        equalities.iter().map(|condition| condition.right.clone()).collect(),
    ]);
    let sides: Vec<(&Rel, Vec<Expr>)> = sides.map(|(side, keys)| (&**side, keys)).collect();
    let mut touched = Vec::new();
    for (side, keys) in &sides {
        let delta = derivation.stage_delta(side)?.map(consolidated);
        touched.extend(delta.map(|delta| distinct(delta, named(keys.iter()))));
    }
    let Some(touched) = union_all(touched) else {
        return Ok(vec![Term { leg, rel: None }]);
    };
    let every = super::construct::references(&touched.columns(), 0);
    let affected = derivation.stage("affected_keys", distinct(touched, every));
    let joined = |state: &dyn Fn(&Rel) -> Rel| {
        let mut restricted = sides
            .iter()
            .map(|(side, keys)| by_keys(JoinKind::Semi, state(side), keys.clone(), affected.clone()))
            .map(Box::new);
        let (Some(left), Some(right)) = (restricted.next(), restricted.next()) else { return whole.clone() };
        weighted(guards::node(Rel::Join(Join { left, right, ..join.clone() })), 1)
    };
    let after = joined(&|side| derivation.at_new(side));
    let before = joined(&|side| derivation.at_old(side));
    let rel = union_all(vec![after, negated(before)]).map(consolidated);
    Ok(vec![Term { leg, rel }])
}

/// `DISTINCT ON (keys)`.
pub(super) fn distinct_on_terms(
    node: &Distinct,
    on: &[Expr],
    derivation: &mut Derivation,
) -> Result<Vec<Term>, NotIncremental> {
    let operator = |input| Rel::Distinct(Distinct { input: Box::new(input), ..node.clone() });
    term(&node.input, named(on.iter()), &operator, derivation)
}

/// Window functions; the keys are the partition expressions that all of them share.
pub(super) fn window_terms(window: &Window, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let operator = |input| Rel::Window(Window { input: Box::new(input), ..window.clone() });
    let shared = shared_partitions(window);
    if shared.is_empty() && window.functions.iter().all(|call| !call.partition_by.is_empty()) {
        return super::partitions::terms(window, derivation);
    }
    term(&window.input, named(shared.iter()), &operator, derivation)
}

/// The partition expressions that all functions of a window share.
pub(super) fn shared_partitions(window: &Window) -> Vec<Expr> {
    let first = window.functions.first().map_or(&[][..], |call| &call.partition_by);
    let shared = first.iter().filter(|expr| window.functions.iter().all(|call| call.partition_by.contains(expr)));
    shared.cloned().collect()
}

/// One grouping set.
pub(super) fn aggregate_terms(aggregate: &Aggregate, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let operator = |input| Rel::Aggregate(Aggregate { input: Box::new(input), ..aggregate.clone() });
    term(&aggregate.input, aggregate.groups.clone(), &operator, derivation)
}

/// Any deterministic operator as a whole: its new rows minus its old ones.
pub(super) fn whole_terms(rel: &Rel, derivation: &Derivation) -> Vec<Term> {
    let leg = derivation.leg(rel);
    let both = vec![weighted(derivation.at_new(rel), 1), negated(weighted(derivation.at_old(rel), 1))];
    let rel = if leg.changed { union_all(both).map(consolidated) } else { None };
    vec![Term { leg, rel }]
}

/// `EXCEPT` and `INTERSECT`, with `ALL` or without: the keys are the rows that changed on either side.
pub(super) fn set_terms(operation: &SetOperation, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let whole = Rel::SetOperation(operation.clone());
    let leg = derivation.whole_leg(&whole);
    let mut deltas = Vec::new();
    for input in &operation.inputs {
        deltas.extend(derivation.stage_delta(input)?.map(consolidated));
    }
    let Some(delta) = union_all(deltas) else {
        return Ok(vec![Term { leg, rel: None }]);
    };
    let exprs: Vec<Expr> =
        super::construct::references(&operation.columns, 0).into_iter().map(|(_, expr)| expr).collect();
    let affected = derivation.stage("affected_rows", distinct(delta, named(exprs.iter())));
    let restricted = |input: Rel| by_keys(JoinKind::Semi, input, exprs.clone(), affected.clone());
    let after = operation.inputs.iter().map(|input| restricted(derivation.at_new(input))).collect();
    let before = operation.inputs.iter().map(|input| restricted(derivation.at_old(input))).collect();
    let both =
        [after, before].map(|inputs| weighted(Rel::SetOperation(SetOperation { inputs, ..operation.clone() }), 1));
    let [after, before] = both;
    let rel = union_all(vec![after, negated(before)]).map(consolidated);
    Ok(vec![Term { leg, rel }])
}

pub(super) fn named<'a>(exprs: impl Iterator<Item = &'a Expr>) -> Vec<(String, Expr)> {
    exprs.enumerate().map(|(position, expr)| (format!("key_{}", position + 1), expr.clone())).collect()
}
