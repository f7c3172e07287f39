//! `MARK` joins: `IN`, `NOT IN`, `ANY` and `ALL` over a subquery, as a column of the left rows with three values.

use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{Join, JoinCondition};

use super::block::{Block, Output, Stage, WithItem, indented};
use super::exprs::{Columns, comparison};
use super::joins::conditions;
use super::literals::commas;
use super::nodes::{Printer, name_of};
use super::quoted;

impl Printer<'_> {
    /// A mark join whose right side stands for itself.
    pub(super) fn mark_join(&mut self, join: &Join) -> Block {
        let mut left = self.left_rows(join);
        let Some(word) = subquery_comparison(&join.conditions).filter(|_| join.predicates.is_empty()) else {
            let name = self.names.fresh(&format!("{}_rows", name_of(&join.left)));
            let mut left = self.as_cte(left, &name);
            let mut with = std::mem::take(&mut left.with);
            let mut block = self.mark_over(&left, join);
            with.append(&mut block.with);
            block.with = with;
            return block;
        };
        let right = self.rows(&join.right);
        let (left_texts, right_texts) = (left.texts(), right.texts());
        let (outer, inner) = (Columns::new(&left_texts), Columns::new(&right_texts));
        let tested = join.conditions.iter().map(|condition| &condition.left);
        let tested = match join.conditions.as_slice() {
            [only] => outer.inner(&only.left),
            _ => format!("({})", outer.list(tested)),
        };
        let columns = join.conditions.iter().map(|condition| Output {
            text: inner.top(&condition.right),
            name: "value".to_owned(),
            plain: false,
        });
        let subquery = Block { columns: columns.collect(), ..right };
        let text = format!("({tested} {word} (\n{}\n))", indented(&subquery.text()));
        left.columns.push(Output { text, name: "mark".to_owned(), plain: false });
        left
    }

    /// A mark join under any conditions: for each distinct combination of what the conditions read of the left side,
    /// whether a comparison with some right row is TRUE, and whether one is NULL. The left side is read twice.
    pub(super) fn mark_over(&mut self, left: &Block, join: &Join) -> Block {
        let width = left.columns.len();
        let columns = &left.columns;
        // The distinct values of the left columns that the conditions read.
        let mut read: Vec<usize> = join.conditions.iter().flat_map(|condition| condition.left.columns()).collect();
        read.extend(join.predicates.iter().flat_map(Expr::columns).filter(|column| *column < width));
        read.sort_unstable();
        read.dedup();
        let tested = Block {
            columns: read.iter().map(|column| columns[*column].clone()).collect(),
            distinct: (!read.is_empty()).then(|| "DISTINCT".to_owned()),
            limit: if read.is_empty() { vec!["LIMIT 1".to_owned()] } else { Vec::new() },
            stage: Stage::Fixed,
            ..left.clone()
        };
        let tested = self.wrapped(tested, "tested");
        let right = self.single(&join.right);
        // What the conditions read, printed over the distinct values instead of the left side itself.
        let tested_texts = tested.texts();
        let mut texts = vec![String::new(); width];
        for (column, text) in read.iter().zip(&tested_texts) {
            texts[*column].clone_from(text);
        }
        texts.extend(right.texts());
        let (keys, compared): (Vec<JoinCondition>, Vec<JoinCondition>) =
            join.conditions.iter().cloned().partition(|condition| condition.op == Comparison::NotDistinctFrom);
        let on = conditions(&Join { conditions: keys, predicates: Vec::new(), ..join.clone() }, &texts, width);
        let mut compared =
            conditions(&Join { conditions: compared, predicates: Vec::new(), ..join.clone() }, &texts, width);
        if !join.predicates.is_empty() {
            let all = conditions(&Join { conditions: Vec::new(), ..join.clone() }, &texts, width);
            compared.push(all.join(" AND "));
        }
        let mut matched = self.with_item(tested, right, "JOIN", on, false);
        let keys = matched.columns.clone();
        matched.group_by = (!keys.is_empty()).then(|| commas(tested_texts.iter().cloned()));
        matched.columns.extend(verdicts(&compared));
        matched.stage = Stage::Groups;
        let matched = self.wrapped(matched, "matched");
        // Back to the left rows.
        let verdict = |at: usize| matched.columns[keys.len() + at].text.clone();
        let mark = format!("CASE WHEN {} THEN TRUE WHEN {} THEN NULL ELSE FALSE END", verdict(0), verdict(1));
        let same = read.iter().zip(&matched.columns);
        let same = same.map(|(column, key)| format!("{} IS NOT DISTINCT FROM {}", columns[*column].text, key.text));
        let on = same.collect();
        let mut block = self.with_item(left.clone(), matched, "LEFT JOIN", on, false);
        block.columns.push(Output { text: mark, name: "mark".to_owned(), plain: false });
        block.stage = Stage::Computed;
        block
    }

    /// `block` as a CTE that is computed once, and a reference to it.
    pub(super) fn as_cte(&mut self, mut block: Block, name: &str) -> Block {
        let mut with = std::mem::take(&mut block.with);
        let columns = block.names();
        with.push(WithItem { head: format!("{} AS MATERIALIZED", quoted(name)), body: block.text(), recursive: false });
        let alias = self.names.fresh(name);
        let text = format!("{} AS {}", quoted(name), quoted(&alias));
        Block { with, ..Block::relation(text, &alias, columns) }
    }
}

/// How SQL writes the comparison of a value with a subquery's, if it can.
fn subquery_comparison(conditions: &[JoinCondition]) -> Option<String> {
    match conditions {
        [] => None,
        conditions if conditions.iter().all(|condition| condition.op == Comparison::Equal) => Some("IN".to_owned()),
        [only] if !matches!(only.op, Comparison::DistinctFrom | Comparison::NotDistinctFrom) => {
            Some(format!("{} ANY", comparison(only.op)))
        }
        _ => None,
    }
}

/// Two columns over the right rows of one left value: is the comparison TRUE for one, is it NULL for one?
///
/// DuckDB compares several columns at once (a multi-column `IN`) so that one NULL makes the whole comparison NULL, even
/// beside a FALSE; conditions that only tie a correlated subquery to its row are not part of the comparison.
fn verdicts(compared: &[String]) -> [Output; 2] {
    let output = |text: String, name: &str| Output { text, name: name.to_owned(), plain: false };
    let (is_true, is_null) = match compared {
        // Nothing is compared: a row is a match (EXISTS).
        [] => ("count(*) > 0".to_owned(), "FALSE".to_owned()),
        [only] => (format!("bool_or({only})"), format!("bool_or(({only}) IS NULL)")),
        several => {
            let all = several.join(" AND ");
            let null = several.iter().map(|one| format!("({one}) IS NULL")).collect::<Vec<_>>().join(" OR ");
            (format!("bool_or({all})"), format!("bool_or({null})"))
        }
    };
    [output(format!("COALESCE({is_true}, FALSE)"), "is_true"), output(format!("COALESCE({is_null}, FALSE)"), "is_null")]
}
