//! `DISTINCT`.
//!
//! - Law: for the consolidated ΔR, `Δ distinct(R) = {r : w(r) > 0, r ∉ R⁻} ⊖ {r : w(r) < 0, r ∉ R⁺}`, each row once: a row
//!   with net copies more was certainly there afterwards, one with copies less certainly before. STATEFUL.
//! - Reads: each changed row probes one state of R for a row equal to it.
//! - NULLs and duplicates: rows are compared NULL-safe; ΔR must be consolidated, a cancelling pair would count as change.
//! - Cost: the rows of ΔR, and one pass over R to probe.
//! - Does not apply to `DISTINCT ON` ([`super::affected`]).
//! - Example: R⁻ = {a, a, b}, ΔR = {a: −1, b: −1, c: +1}: a is still there; {b: −1, c: +1}.
//! - Source: DBSP, section 5 (incremental distinct).

use super::construct::{by_keys, compare, consolidated, filter, integer, project, references, union_all, weighted};
use super::{Derivation, NotIncremental, Term};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{JoinKind, Rel};
use crate::plan::types::DataType;

/// One term: the rows that came into being or ceased to be.
pub(super) fn terms(input: &Rel, derivation: &mut Derivation) -> Result<Vec<Term>, NotIncremental> {
    let leg = derivation.whole_leg(input);
    let Some(delta) = derivation.stage_delta(input)? else {
        return Ok(vec![Term { leg, rel: None }]);
    };
    let columns = input.columns();
    let changed = derivation.stage("changed_rows", consolidated(delta));
    let keys: Vec<Expr> = references(&columns, 0).into_iter().map(|(_, expr)| expr).collect();
    let weight = Expr::column(columns.len(), DataType::BigInt);
    let flips = [(Comparison::Greater, derivation.at_old(input), 1), (Comparison::Less, derivation.at_new(input), -1)]
        .map(|(op, state, sign)| {
            let moved = filter(changed.clone(), vec![compare(op, weight.clone(), integer(0))]);
            let rows = project(moved, references(&columns, 0));
            weighted(by_keys(JoinKind::Anti, rows, keys.clone(), state), sign)
        });
    Ok(vec![Term { leg, rel: union_all(flips.into()) }])
}
