//! Correlated subqueries: the outer side and its distinct keys become CTEs, the subquery is evaluated for the keys, and
//! its rows are joined back. No correlated SQL comes out.

use crate::plan::expr::Comparison;
use crate::plan::rel::{DependentJoin, Join, JoinKind};

use super::block::{Block, Output, Stage};
use super::exprs::Columns;
use super::joins::{at_most_one, conditions};
use super::names::unique;
use super::nodes::{Printer, name_of};

impl Printer<'_> {
    /// A correlated subquery with its outer side.
    pub(super) fn dependent_join(&mut self, dependent: &DependentJoin) -> Block {
        let DependentJoin { join, keys, id } = dependent;
        let left = self.rows(&join.left);
        let outer_name = self.names.fresh(&format!("{}_rows", name_of(&join.left)));
        let mut left = self.as_cte(left, &outer_name);
        let mut with = std::mem::take(&mut left.with);
        // The distinct keys.
        let texts = left.texts();
        let columns = Columns::new(&texts);
        let names = keys.iter().map(|key| match key.columns().as_slice() {
            [only] => left.columns[*only].name.clone(),
            _ => "key".to_owned(),
        });
        let names = unique(names.collect::<Vec<_>>());
        let outputs = keys.iter().zip(&names);
        let outputs = outputs.map(|(key, name)| Output { text: columns.top(key), name: name.clone(), plain: false });
        let mut distinct = Block {
            columns: outputs.collect(),
            distinct: Some("DISTINCT".to_owned()),
            stage: Stage::Fixed,
            ..left.clone()
        };
        if keys.is_empty() {
            distinct.limit.push("LIMIT 1".to_owned());
        }
        let keys_name = self.names.fresh(&format!("{}_keys", name_of(&join.left)));
        let distinct = self.as_cte(distinct, &keys_name);
        with.extend(distinct.with);
        // The subquery, over the keys.
        self.dependents.push((*id, keys_name, names));
        let mut block = match join.kind {
            JoinKind::Mark => self.mark_over(&left, join),
            JoinKind::Single if tied_to_keys(join) => self.single_per_key(left, join),
            JoinKind::Single => self.single_join(left, join),
            _ => self.join_with(left, join),
        };
        self.dependents.pop();
        with.append(&mut block.with);
        block.with = with;
        block
    }

    /// A scalar subquery that has its rows for each key: they are counted before the join.
    fn single_per_key(&mut self, left: Block, join: &Join) -> Block {
        let width = left.columns.len();
        let mut right = self.rows(&join.right);
        let kept = right.columns.len();
        let texts = right.texts();
        let keys = join.conditions.iter().map(|condition| &condition.right);
        let partition = Columns::new(&texts).list(keys);
        right.columns.push(Output {
            text: format!("count(*) OVER (PARTITION BY {partition})"),
            name: "matches".to_owned(),
            plain: false,
        });
        right.stage = Stage::Computed;
        let mut right = self.wrapped(right, "counted");
        let count = right.columns.pop().map(|column| column.text).unwrap_or_default();
        right.filters.push(at_most_one(&count));
        let mut right = self.wrapped(right, name_of(&join.right));
        right.columns.truncate(kept);
        let on = conditions(join, &[left.texts(), right.texts()].concat(), width);
        self.with_item(left, right, "LEFT JOIN", on, true)
    }
}

/// Do the conditions do nothing but tie each row of the subquery to the outer rows that it was evaluated for?
fn tied_to_keys(join: &Join) -> bool {
    let ties = |op| op == Comparison::NotDistinctFrom;
    join.predicates.is_empty() && !join.conditions.is_empty() && join.conditions.iter().all(|one| ties(one.op))
}
