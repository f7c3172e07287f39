//! A view whose topmost operator works by keys that stand in the view's rows: the past is read from the view itself.
//!
//! - Law: with K the keys of ΔR, restricted to those that are visible in the view, `ΔQ = Q(R⁺ ⋉ K) ⊖ {rows of the view
//!   whose key is in K}`: the view's own rows are Q(R⁻ ⋉ K). NON-LINEAR.
//! - Reads: R⁺ at K, and the view's own rows at K; no old state at all.
//! - NULLs and duplicates: keys are compared NULL-safe. Equal rows on both sides cancel when the delta is consolidated.
//! - Cost: the groups or partitions of K. A key that is partly visible gives a coarser K.
//! - Applies to any aggregate, window and `DISTINCT ON`, also those that break ties, add floats or list rows in any order:
//!   what was stored is taken away as it was stored. Does not apply where no key is visible.
//! - Example: SELECT k, list(x) FROM r GROUP BY k: a row with k = 1 comes: the row of k = 1 is read from the view and
//!   replaced by the list over all rows with k = 1.
//! - Source: Gupta and Mumick, Maintenance of Materialized Views (1995), recomputation of affected groups.

use super::construct::{by_keys, consolidated, distinct, filter, project, weighted};
use super::{AFFECTED_KEYS, Derivation, NotIncremental, Term};
use crate::plan::expr::Expr;
use crate::plan::rel::{Aggregate, Distinct, Filter, JoinKind, Project, Rel, Window};

/// The rows of the view that a delta takes away, whatever they are: those whose key columns stand in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRows {
    /// Positions in the view's columns.
    pub columns: Vec<usize>,
    /// The step with the keys, in the same order.
    pub keys: String,
}

/// What takes the place of what.
pub(super) struct Replacement {
    /// The term with the new rows.
    pub(super) terms: Vec<Term>,
    /// The view's own rows that they replace, unless nothing changed.
    pub(super) own_rows: Option<OwnRows>,
}

/// The top of a plan, taken apart.
struct Top<'a> {
    /// The `SELECT` list over the operator's columns, if there is one.
    exprs: Option<&'a [(String, Expr)]>,
    /// The predicates between them (`HAVING`, `QUALIFY`).
    predicates: &'a [Expr],
    operator: &'a Rel,
    /// Pairs of an output column of the view and the key over the operator's input that stands in it.
    keys: Vec<(usize, Expr)>,
}

/// The operator's input, below which everything must be computed again from the past.
pub(super) fn input(rel: &Rel) -> Option<&Rel> {
    top(rel).map(|top| top.operator.inputs()[0])
}

/// The operator itself.
pub(super) fn operator(rel: &Rel) -> Option<&Rel> {
    top(rel).map(|top| top.operator)
}

fn top(rel: &Rel) -> Option<Top<'_>> {
    let (exprs, below) = match rel {
        Rel::Project(Project { exprs, input }) => (Some(exprs.as_slice()), &**input),
        other => (None, other),
    };
    let (predicates, operator) = match below {
        Rel::Filter(Filter { predicates, input }) => (predicates.as_slice(), &**input),
        other => (&[][..], other),
    };
    let keys: Vec<(usize, Expr)> = match operator {
        Rel::Aggregate(aggregate) if super::grouping_sets::split(aggregate).is_none() => {
            aggregate.groups.iter().map(|(_, expr)| expr.clone()).enumerate().collect()
        }
        Rel::Window(window) => super::affected::shared_partitions(window).into_iter().filter_map(in_place).collect(),
        Rel::Distinct(Distinct { on: Some(on), .. }) => on.iter().cloned().filter_map(in_place).collect(),
        _ => return None,
    };
    let visible = keys.into_iter().filter_map(|(position, key)| {
        let place = match exprs {
            None => Some(position),
            Some(exprs) => {
                exprs.iter().position(|(_, expr)| matches!(expr, Expr::Column { index, .. } if *index == position))
            }
        };
        place.map(|place| (place, key))
    });
    let keys: Vec<(usize, Expr)> = visible.collect();
    (!keys.is_empty()).then_some(Top { exprs, predicates, operator, keys })
}

/// A key that is a column of the input stands in the same place in the output.
fn in_place(key: Expr) -> Option<(usize, Expr)> {
    match key {
        Expr::Column { index, .. } => Some((index, key)),
        _ => None,
    }
}

/// The term with the new rows of the keys that changed, and which of the view's own rows they replace; `None` if the
/// rule does not apply.
pub(super) fn terms(rel: &Rel, derivation: &mut Derivation) -> Result<Option<Replacement>, NotIncremental> {
    let Some(top) = top(rel) else { return Ok(None) };
    let input = top.operator.inputs()[0];
    let leg = derivation.whole_leg(input);
    let Some(delta) = derivation.stage_delta(input)? else {
        return Ok(Some(Replacement { terms: vec![Term { leg, rel: None }], own_rows: None }));
    };
    let named: Vec<(String, Expr)> =
        top.keys.iter().enumerate().map(|(at, (_, key))| (format!("key_{}", at + 1), key.clone())).collect();
    let keys = derivation.stage(AFFECTED_KEYS, distinct(consolidated(delta), named));
    let exprs = top.keys.iter().map(|(_, key)| key.clone()).collect();
    let restricted = by_keys(JoinKind::Semi, derivation.at_new(input), exprs, keys.clone());
    let rows = filter(over(top.operator, restricted), top.predicates.to_vec());
    let rows = match top.exprs {
        Some(exprs) => project(rows, exprs.to_vec()),
        None => rows,
    };
    let keys = keys.scans().first().map_or_else(String::new, |scan| scan.table.clone());
    let own_rows = OwnRows { columns: top.keys.iter().map(|(column, _)| *column).collect(), keys };
    let terms = vec![Term { leg, rel: Some(weighted(rows, 1)) }];
    Ok(Some(Replacement { terms, own_rows: Some(own_rows) }))
}

/// The operator over another input.
fn over(operator: &Rel, input: Rel) -> Rel {
    let input = Box::new(input);
    match operator {
        Rel::Aggregate(aggregate) => Rel::Aggregate(Aggregate { input, ..aggregate.clone() }),
        Rel::Window(window) => Rel::Window(Window { input, ..window.clone() }),
        Rel::Distinct(node) => Rel::Distinct(Distinct { input, ..node.clone() }),
        _ => Rel::nothing(),
    }
}
