//! Several windows whose partitions have nothing in common: `sum(x) OVER (PARTITION BY a)` beside `… (PARTITION BY b)`.
//!
//! - Law: with Kᵢ the partition keys of ΔR for the i-th partitioning, a row's results can only differ if one of its keys is
//!   in its Kᵢ; call these rows A⁻ and A⁺. Their results need the whole partitions that they stand in: I, the rows with the
//!   i-th key of some row of A for some i. So `ΔW(R) = {rows of W(I⁺) in A⁺} ⊖ {rows of W(I⁻) in A⁻}`. NON-LINEAR.
//! - Why: rows of I outside A may lack rows of their own partitions, but are not taken.
//! - Reads: both states of R, I of each.
//! - NULLs and duplicates: keys are compared NULL-safe.
//! - Cost: the partitions that the rows of the changed partitions stand in, twice; at most twice the operator.
//! - Does not apply where the partitionings share expressions (see [`super::affected`]), nor without `PARTITION BY`.
//! - Example: R = {(a 1, b 1), (a 1, b 2), (a 2, b 2)}, the first row goes: K is a = 1 and b = 1, A the rows with them, I
//!   the rows with a = 1 or with b = 1 or 2.
//! - Source: recomputation of affected groups, Gupta and Mumick, 1995, closed once over the partitionings.

use super::affected::named;
use super::construct::{
    compare, consolidated, distinct, filter, integer, negated, project, references, union_all, weighted,
};
use super::{Derivation, NotIncremental, Term, guards};
use crate::plan::expr::{Comparison, Conjunction, Expr};
use crate::plan::rel::{Join, JoinCondition, JoinKind, Rel, Window};
use crate::plan::types::DataType;

/// One term for windows over several partitionings.
pub(super) fn terms(window: &Window, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let leg = derivation.whole_leg(&window.input);
    let Some(delta) = derivation.stage_delta(&window.input)? else {
        return Ok(vec![Term { leg, rel: None }]);
    };
    let changed = derivation.stage("changed_rows", consolidated(delta));
    let mut partitionings: Vec<&Vec<Expr>> = Vec::new();
    for call in &window.functions {
        if !partitionings.contains(&&call.partition_by) {
            partitionings.push(&call.partition_by);
        }
    }
    let touched: Vec<Rel> = partitionings
        .iter()
        .map(|keys| derivation.stage("affected_keys", distinct(changed.clone(), named(keys.iter()))))
        .collect();
    let states = [derivation.at_new(&window.input), derivation.at_old(&window.input)];
    let [after, before] = states.map(|input| {
        let columns = input.columns();
        let flagged = derivation.stage("rows", with_any(input, &partitionings, &touched));
        let affected = filter(flagged.clone(), vec![Expr::column(columns.len(), DataType::Boolean)]);
        let around: Vec<Rel> = partitionings
            .iter()
            .map(|keys| derivation.stage("partitions", distinct(affected.clone(), named(keys.iter()))))
            .collect();
        let width = columns.len() + 1;
        let within = filter(with_any(flagged, &partitionings, &around), vec![Expr::column(width, DataType::Boolean)]);
        let mut exprs = references(&within.columns()[..width], 0);
        let input = project(within, exprs.clone());
        let computed = guards::node(Rel::Window(Window { input: Box::new(input), ..window.clone() }));
        let taken = filter(computed, vec![exprs.remove(columns.len()).1]);
        let results = references(&taken.columns()[width..], width);
        exprs.extend(results);
        weighted(project(taken, exprs), 1)
    });
    let rel = union_all(vec![after, negated(before)]).map(consolidated);
    Ok(vec![Term { leg, rel }])
}

/// `input` with a column more: does the row stand in one of the partitions, whose keys are distinct?
fn with_any(input: Rel, partitionings: &[&Vec<Expr>], keys: &[Rel]) -> Rel {
    let columns = input.columns();
    let mut joined = input;
    let mut flags = Vec::new();
    for (exprs, keys) in partitionings.iter().zip(keys) {
        let place = joined.columns().len() + exprs.len();
        let conditions = exprs.iter().enumerate().map(|(at, left)| JoinCondition {
            left: left.clone(),
            op: Comparison::NotDistinctFrom,
            right: Expr::column(at, left.data_type()),
        });
        joined = Rel::Join(Join {
            kind: JoinKind::Left,
            left: Box::new(joined),
            conditions: conditions.collect(),
            right: Box::new(weighted(keys.clone(), 1)),
            predicates: Vec::new(),
        });
        flags.push(compare(Comparison::NotDistinctFrom, Expr::column(place, DataType::BigInt), integer(1)));
    }
    let mut exprs = references(&columns, 0);
    exprs.push(("affected".into(), Expr::Conjunction { op: Conjunction::Or, operands: flags }));
    project(joined, exprs)
}
