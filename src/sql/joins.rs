//! Joins.

use crate::plan::expr::Expr;
use crate::plan::rel::{Filter, InnerJoin, Join, JoinCondition, JoinKind, Rel};

use super::block::{Block, Item};
use super::exprs::Columns;
use super::nodes::{Printer, conjunct, name_of};
use super::quoted;

impl Printer<'_> {
    /// A binary join.
    pub(super) fn join(&mut self, join: &Join) -> Block {
        if join.kind == JoinKind::Mark {
            return self.mark_join(join);
        }
        let left = self.left_rows(join);
        self.join_with(left, join)
    }

    /// The left side of a join, to which the join is added.
    pub(super) fn left_rows(&mut self, join: &Join) -> Block {
        let follows =
            matches!(join.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark);
        if !follows {
            return self.rows(&join.left);
        }
        let lefts = join.conditions.iter().map(|condition| &condition.left);
        self.rows_for(&join.left, &lefts.chain(&join.predicates).collect::<Vec<_>>())
    }

    /// A join other than a mark one, whose left side is printed already.
    fn join_with(&mut self, left: Block, join: &Join) -> Block {
        let width = left.columns.len();
        if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            // What reads the right side alone stands below the join (see the module's description).
            let (own, rest): (Vec<&Expr>, Vec<&Expr>) = join.predicates.iter().partition(|predicate| {
                let columns = predicate.columns();
                !columns.is_empty() && columns.iter().all(|column| *column >= width)
            });
            if !own.is_empty() {
                let below = |predicate: &Expr| predicate.clone().with_columns(&|column| column - width);
                let predicates = own.into_iter().map(below).collect();
                let right = Rel::Filter(Filter { input: join.right.clone(), predicates });
                let predicates = rest.into_iter().cloned().collect();
                let join = Join { right: Box::new(right), predicates, ..join.clone() };
                return self.join_with(left, &join);
            }
        }
        if join.kind == JoinKind::Inner {
            let right = self.mergeable(&join.right);
            let on = conditions(join, &[left.texts(), right.texts()].concat(), width);
            return merged(left, right, on);
        }
        let word = match join.kind {
            // Scalar subqueries have been lowered to left joins that count.
            JoinKind::Left | JoinKind::Single => "LEFT JOIN",
            JoinKind::Semi => "SEMI JOIN",
            JoinKind::Anti => "ANTI JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::AsOfInner => "ASOF JOIN",
            JoinKind::AsOfLeft => "ASOF LEFT JOIN",
            JoinKind::AsOfRight => "ASOF RIGHT JOIN",
            JoinKind::AsOfFull => "ASOF FULL JOIN",
            JoinKind::Positional => "POSITIONAL JOIN",
            JoinKind::Inner | JoinKind::Mark => "JOIN",
        };
        // Filters of the left side stand behind the join, which must not see other rows for that.
        let fits = match join.kind {
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => true,
            JoinKind::Right | JoinKind::Full => left.filters.is_empty(),
            _ => left.filters.is_empty() && left.from.len() == 1,
        };
        let left = if fits { left } else { self.wrapped(left, name_of(&join.left)) };
        let right = self.single(&join.right);
        let on = conditions(join, &[left.texts(), right.texts()].concat(), width);
        self.with_item(left, right, word, on, join.kind.keeps_right())
    }

    /// The rows of `rel` as items that can follow others of a `FROM` clause: what is joined last is joined to all, so that
    /// an outer join would be bound as one of all.
    fn mergeable(&mut self, rel: &Rel) -> Block {
        let block = self.rows(rel);
        let may_follow = ["CROSS JOIN", "JOIN"];
        let fits = block.from.iter().skip(1).all(|item| may_follow.contains(&item.join));
        if fits { block } else { self.wrapped(block, name_of(rel)) }
    }

    /// The rows of `rel` as one item of a `FROM` clause.
    fn single(&mut self, rel: &Rel) -> Block {
        let block = self.rows(rel);
        let single = block.from.len() == 1 && block.filters.is_empty();
        if single { block } else { self.wrapped(block, name_of(rel)) }
    }

    /// The left side's items and one more.
    fn with_item(
        &mut self,
        mut left: Block,
        mut right: Block,
        join: &'static str,
        mut on: Vec<String>,
        keep_right: bool,
    ) -> Block {
        if left.from.is_empty() {
            left.from.push(self.one_row());
        }
        if on.is_empty() && join != "POSITIONAL JOIN" {
            on.push("TRUE".to_owned());
        }
        left.with.append(&mut right.with);
        left.from.extend(right.from.into_iter().map(|item| Item { join, on: on.clone(), ..item }));
        if keep_right {
            left.columns.append(&mut right.columns);
        }
        left
    }

    /// One row to join with, where there is no relation.
    fn one_row(&mut self) -> Item {
        let alias = self.names.fresh("one_row");
        Item { join: "", text: format!("(SELECT 1 AS \"nothing\") AS {}", quoted(&alias)), on: Vec::new() }
    }

    /// An inner join of any number of legs.
    pub(super) fn inner_join(&mut self, join: &InnerJoin) -> Block {
        let mut legs: Vec<Block> = Vec::new();
        for leg in &join.legs {
            legs.push(if legs.is_empty() { self.rows(leg) } else { self.mergeable(leg) });
        }
        let texts: Vec<String> = legs.iter().flat_map(Block::texts).collect();
        let columns = Columns::new(&texts);
        let mut ends = Vec::new();
        for leg in &legs {
            ends.push(ends.last().copied().unwrap_or(0) + leg.columns.len());
        }
        // Each predicate stands at the last leg that it reads.
        let mut at: Vec<Vec<String>> = vec![Vec::new(); legs.len()];
        let mut filters = Vec::new();
        for predicate in &join.predicates {
            let read: Vec<usize> =
                predicate.columns().iter().map(|column| ends.partition_point(|end| end <= column)).collect();
            let text = conjunct(columns, predicate);
            match (read.iter().min(), read.iter().max()) {
                (Some(first), Some(last)) if first != last && *last < at.len() => at[*last].push(text),
                _ => filters.push(text),
            }
        }
        let mut block = Block::rows(Vec::new(), Vec::new());
        for (leg, on) in legs.into_iter().zip(at) {
            block = merged(block, leg, on);
        }
        block.filters.extend(filters);
        block
    }
}

/// The conjuncts of `ON`.
fn conditions(join: &Join, texts: &[String], width: usize) -> Vec<String> {
    let (left, right) = texts.split_at(width.min(texts.len()));
    let (left, right) = (Columns::new(left), Columns::new(right));
    let compare = |condition: &JoinCondition| {
        format!(
            "{} {} {}",
            left.inner(&condition.left),
            super::exprs::comparison(condition.op),
            right.inner(&condition.right)
        )
    };
    let both = Columns::new(texts);
    let predicates = join.predicates.iter().map(|predicate| conjunct(both, predicate));
    join.conditions.iter().map(compare).chain(predicates).collect()
}

/// The inner join of two `FROM` clauses as one.
fn merged(mut left: Block, mut right: Block, mut on: Vec<String>) -> Block {
    left.with.append(&mut right.with);
    left.filters.append(&mut right.filters);
    let at = left.from.len();
    let single = right.from.len() == 1 && at > 0;
    for (index, mut item) in right.from.into_iter().enumerate() {
        if index == 0 && at > 0 {
            item.join = if single && !on.is_empty() { "JOIN" } else { "CROSS JOIN" };
            if single {
                item.on = std::mem::take(&mut on);
            }
        }
        left.from.push(item);
    }
    left.filters.extend(on);
    left.columns.append(&mut right.columns);
    left
}
