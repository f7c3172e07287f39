//! A table of the lake.
//!
//! - Law: Δt = the table's exact net change in the window.
//! - Reads: the net change, and of it only the columns that the plan uses.
//! - NULLs and duplicates: none matter; the net change is made by physical place, not by value.
//! - Cost: the rows that changed.
//! - Does not apply to a scan pinned by the user's own `AT (VERSION => n)`: that is a constant.
//! - Example: t = {a, a, b}; one `a` is deleted and `c` inserted: Δt = {a: −1, c: +1}.
//! - Source: the definition of a Z-set delta (Budiu et al., DBSP, 2023, section 3).

use super::{Change, Derivation, Term};
use crate::plan::expr::Expr;
use crate::plan::rel::{Column, Rel, Scan, State};
use crate::plan::shape::WEIGHT_POSITION;

/// The scan's one term.
pub(super) fn term(scan: &Scan, derivation: &Derivation) -> Term {
    let rel = (derivation.changes.of_scan(scan) != Change::Unchanged).then(|| {
        let mut delta = scan.clone();
        delta.state = State::Delta;
        delta.columns.push(Column::weight());
        delta.positions.push(WEIGHT_POSITION);
        Rel::Scan(delta)
    });
    Term { leg: derivation.leg(&Rel::Scan(scan.clone())), rel }
}

/// The columns of `scan` out of a relation with all columns of its table.
pub(super) fn narrowed(scan: &Scan) -> Vec<(String, Expr)> {
    let columns = scan.columns.iter().zip(&scan.positions);
    columns.map(|(column, at)| (column.name.clone(), Expr::column(*at, column.data_type.clone()))).collect()
}
