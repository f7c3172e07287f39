//! `MARK` joins that SQL has words for: `IN`, `op ANY` over a subquery, as a column of the left rows with three values.

use crate::plan::expr::Comparison;
use crate::plan::rel::{Join, JoinKind};

use super::block::{Block, Output, indented};
use super::exprs::{Columns, comparison};
use super::nodes::Printer;

/// Can the mark be written as a comparison with a subquery? If not, it is lowered.
pub(super) fn has_words(join: &Join) -> bool {
    words(join).is_some()
}

/// How SQL writes the comparison of a value with a subquery's.
fn words(join: &Join) -> Option<String> {
    match join.conditions.as_slice() {
        _ if join.kind != JoinKind::Mark || !join.predicates.is_empty() => None,
        [] => None,
        conditions if conditions.iter().all(|condition| condition.op == Comparison::Equal) => Some("IN".to_owned()),
        [only] if !matches!(only.op, Comparison::DistinctFrom | Comparison::NotDistinctFrom) => {
            Some(format!("{} ANY", comparison(only.op)))
        }
        _ => None,
    }
}

impl Printer<'_> {
    /// A mark join.
    pub(super) fn mark_join(&mut self, join: &Join) -> Block {
        let mut left = self.left_rows(join);
        let right = self.rows(&join.right);
        let (left_texts, right_texts) = (left.texts(), right.texts());
        let (outer, inner) = (Columns::new(&left_texts), Columns::new(&right_texts));
        let tested = match join.conditions.as_slice() {
            [only] => outer.inner(&only.left),
            several => format!("({})", outer.list(several.iter().map(|condition| &condition.left))),
        };
        let columns = join.conditions.iter().map(|condition| Output {
            text: inner.top(&condition.right),
            name: "value".to_owned(),
            plain: false,
        });
        let subquery = Block { columns: columns.collect(), ..right };
        let words = words(join).unwrap_or_default();
        let text = format!("({tested} {words} (\n{}\n))", indented(&subquery.text()));
        left.columns.push(Output { text, name: "mark".to_owned(), plain: false });
        left
    }
}
