//! `VALUES`, `SELECT` without `FROM`, and table functions over constants (`range(10)`).
//!
//! - Law: Δc = ∅: their rows are decided by the view's text alone.
//! - Reads: nothing. Cost: nothing. NULLs and duplicates: none arise.
//! - Does not apply to functions that read the world (`read_parquet`); they make the view impure
//!   ([`crate::plan::facts::impurity`]) and it is recomputed.
//! - Example: in `SELECT * FROM t, (VALUES (1), (2)) v`, only t's term is made.
//! - Source: DBSP, section 3.

use super::Term;

/// No terms.
pub(super) fn terms() -> Vec<Term> {
    Vec::new()
}
