//! Correlated subqueries and laterals, as DuckDB decorrelates them: N(L, S), where S is evaluated for the distinct
//! correlated keys D(L) of the left side, and joined back.
//!
//! - Law: S(D) is the bag union of its results per key, so with K ⊇ the keys d of L⁻ whose result differs,
//!   `ΔN = N(ΔL; inner⁺) ⊎ N(L⁻ ⋉ K; inner⁺) ⊖ N(L⁻ ⋉ K; inner⁻)`. K is exact: treat D(L⁻) as a relation that does not
//!   change, derive ΔS by the other rules, and take its keys. Linear in L, NON-LINEAR in S.
//! - Reads: inner⁺ for the keys of ΔL and K, inner⁻ for K and where the rules of S ask, L⁻ at K. With the tables of the
//!   subquery unchanged only the first part; with L unchanged only the others.
//! - NULLs and duplicates: a NULL key is a key; copies of l share its answer.
//! - Cost: S over the keys of ΔL and K; D(L⁻) is one pass over L⁻.
//! - Does not apply to volatile expressions, nor where the keys cannot be found in the join's conditions.
//! - Example: `SELECT l.*, (SELECT sum(x) FROM r WHERE r.k = l.k)`: a row inserted into r with k = 1 puts only k = 1 into
//!   K; rows of L with other keys are not touched.
//! - Source: Neumann and Kemper, Unnesting Arbitrary Queries, BTW 2015, for the shape; the law follows from S being
//!   a union over keys.

use super::construct::{by_keys, consolidated, distinct, negated, union_all, weighted};
use super::probe::weight_last;
use super::semi_join::against;
use super::{Derivation, NotIncremental, Term};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{DependentJoin, Join, JoinKind, Rel};

/// The left side's terms with the subquery's new state, and one term for the subquery's change.
pub(super) fn terms(node: &DependentJoin, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let join = &node.join;
    let mut terms = derivation.terms(&join.left)?;
    for term in &mut terms {
        if let Some(delta) = term.rel.take() {
            let joined = dependent(node, against(join, delta, derivation.at_new(&join.right)), derivation);
            term.rel = Some(match join.kind {
                JoinKind::Semi | JoinKind::Anti => joined,
                _ => weight_last(joined, join.left.columns().len()),
            });
        }
    }
    let rel = subquery_changed(node, derivation)?;
    terms.push(Term { leg: derivation.leg(&join.right), rel });
    Ok(terms)
}

fn subquery_changed(node: &DependentJoin, derivation: &mut Derivation) -> Result<Option<Rel>, NotIncremental> {
    let join = &node.join;
    if !derivation.changes.touch(&join.right) {
        return Ok(None);
    }
    let keys: Vec<(String, Expr)> =
        node.keys.iter().enumerate().map(|(position, key)| (format!("key_{}", position + 1), key.clone())).collect();
    let all_keys = derivation.stage("correlated_keys", distinct(derivation.at_old(&join.left), keys));
    let bound = bind_keys((*join.right).clone(), node.id, &all_keys);
    let Some(delta) = derivation.delta(&bound)? else {
        return Ok(None);
    };
    let affected = match answer_keys(node) {
        Some(exprs) => {
            let named = exprs.into_iter().enumerate().map(|(position, expr)| (format!("key_{}", position + 1), expr));
            derivation.stage("affected_keys", distinct(consolidated(delta), named.collect()))
        }
        None => all_keys,
    };
    let candidates = by_keys(JoinKind::Semi, derivation.at_old(&join.left), node.keys.clone(), affected);
    let candidates = derivation.stage("candidates", candidates);
    let states = [derivation.at_new(&join.right), derivation.at_old(&join.right)];
    let [after, before] = states.map(|right| {
        let join = Join { left: Box::new(candidates.clone()), right: Box::new(right), ..join.clone() };
        weighted(dependent(node, Rel::Join(join), derivation), 1)
    });
    Ok(union_all(vec![after, negated(before)]))
}

/// The node again over other inputs, under an id of its own.
fn dependent(node: &DependentJoin, join: Rel, derivation: &mut Derivation) -> Rel {
    let Rel::Join(mut join) = join else { return join };
    let id = derivation.fresh_id();
    *join.right = rename_keys(*join.right, node.id, id);
    Rel::DependentJoin(DependentJoin { join, keys: node.keys.clone(), id })
}

/// The expressions over the subquery's output that hold the correlated keys, in the keys' order.
fn answer_keys(node: &DependentJoin) -> Option<Vec<Expr>> {
    node.keys
        .iter()
        .map(|key| {
            let mut conditions = node.join.conditions.iter();
            let tied =
                conditions.find(|condition| condition.op == Comparison::NotDistinctFrom && condition.left == *key);
            tied.map(|condition| condition.right.clone())
        })
        .collect()
}

/// `rel` with the correlated keys of node `id` replaced by a relation.
fn bind_keys(mut rel: Rel, id: usize, keys: &Rel) -> Rel {
    if matches!(&rel, Rel::DependentKeys(leaf) if leaf.id == id) {
        return keys.clone();
    }
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = bind_keys(taken, id, keys);
    }
    rel
}

fn rename_keys(mut rel: Rel, from: usize, to: usize) -> Rel {
    if let Rel::DependentKeys(leaf) = &mut rel
        && leaf.id == from
    {
        leaf.id = to;
    }
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = rename_keys(taken, from, to);
    }
    rel
}
