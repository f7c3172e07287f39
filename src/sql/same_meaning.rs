//! The static self-check: does a printed plan, bound and decoded again, still say the same?

use thiserror::Error;

use crate::plan::facts::operator_name;
use crate::plan::rel::Rel;

use super::canonical::canonical;
use super::canonical_blocks::plain;
use super::lowered::lowered;

/// Where two plans part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operator}: {before} became {after}")]
pub struct Difference {
    /// The first operator that differs, from the top.
    pub operator: String,
    /// It in the first plan …
    pub before: String,
    /// … and in the second.
    pub after: String,
}

/// Do the two plans say the same, names of columns and CTEs aside? Conservative: plans that differ may still return the
/// same rows, plans that do not differ always do (as far as their expressions are deterministic).
///
/// Correlated subqueries are compared as the plain operators that they print as.
pub fn same_meaning(a: &Rel, b: &Rel) -> Result<(), Difference> {
    let types = |rel: &Rel| rel.columns().into_iter().map(|column| plain(column.data_type)).collect::<Vec<_>>();
    if types(a) != types(b) {
        let show = |rel: &Rel| shortened(&types(rel).iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), 0);
        return Err(Difference { operator: "column types".to_owned(), before: show(a), after: show(b) });
    }
    compare(&canonical(&lowered(a)), &canonical(&lowered(b)))
}

fn compare(a: &Rel, b: &Rel) -> Result<(), Difference> {
    let (before, after) = (head(a), head(b));
    if before != after {
        let common = before.bytes().zip(after.bytes()).take_while(|(left, right)| left == right).count();
        return Err(Difference {
            operator: operator_name(a),
            before: shortened(&before, common),
            after: shortened(&after, common),
        });
    }
    for (a, b) in a.inputs().into_iter().zip(b.inputs()) {
        compare(a, b)?;
    }
    Ok(())
}

/// The node itself, without its inputs but with their number.
fn head(rel: &Rel) -> String {
    let mut rel = rel.clone();
    for input in rel.inputs_mut() {
        *input = Rel::nothing();
    }
    format!("{rel:?}")
}

/// What stands in `text` shortly before and after byte `at`.
fn shortened(text: &str, at: usize) -> String {
    let near = |byte: usize| (0..=byte.min(text.len())).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0);
    let (start, end) = (near(at.saturating_sub(40)), near(at + 160));
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", &text[start..end])
}
