//! Joins and correlated subqueries.

use super::{Column, Rel};
use crate::plan::expr::{Comparison, Expr};

/// The kind of a binary [`Join`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// All matching pairs; without a condition the cross product.
    Inner,
    /// And the unmatched left rows, padded.
    Left,
    /// And the unmatched right rows, padded.
    Right,
    /// And both.
    Full,
    /// Left rows with a match; left columns only.
    Semi,
    /// Left rows without a match; left columns only.
    Anti,
    /// Left rows with a last column that says whether (TRUE, FALSE, NULL) the right side holds a match.
    Mark,
    /// Like [`JoinKind::Left`], but more than one match is an error: a scalar subquery.
    Single,
    /// `ASOF`, inner.
    AsOfInner,
    /// `ASOF LEFT`
    AsOfLeft,
    /// `ASOF RIGHT`
    AsOfRight,
    /// `ASOF FULL`
    AsOfFull,
    /// `POSITIONAL JOIN`
    Positional,
}

/// `left.expr op right.expr`; each side reads the columns of its own input.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinCondition {
    /// Over the left input's columns.
    pub left: Expr,
    /// The operator.
    pub op: Comparison,
    /// Over the right input's columns.
    pub right: Expr,
}

/// A binary join. Output: the left columns, then (unless semi, anti, mark) the right ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The kind.
    pub kind: JoinKind,
    /// The left input.
    pub left: Box<Rel>,
    /// The right input.
    pub right: Box<Rel>,
    /// Conditions that compare one side with the other, all of which must hold.
    pub conditions: Vec<JoinCondition>,
    /// Further conjuncts over both sides' columns, side by side.
    pub predicates: Vec<Expr>,
}

/// An inner join of N legs under any predicate. Output: the legs' columns side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerJoin {
    /// Two legs or more.
    pub legs: Vec<Rel>,
    /// Conjuncts over the legs' columns side by side.
    pub predicates: Vec<Expr>,
}

/// DuckDB's `DELIM_JOIN`: `right` is evaluated for the distinct values of `keys`, and joined back.
#[derive(Debug, Clone, PartialEq)]
pub struct DependentJoin {
    /// The join itself; its right side holds [`DependentKeys`] with this node's `id`.
    pub join: Join,
    /// The correlated columns, over the left input.
    pub keys: Vec<Expr>,
    /// Ties the [`DependentKeys`] leaves to this node; unique within a plan, counted from 0 in the plan's order.
    pub id: usize,
}

/// The distinct correlated keys of the enclosing [`DependentJoin`] with the same `id`.
#[derive(Debug, Clone, PartialEq)]
pub struct DependentKeys {
    /// Which [`DependentJoin`].
    pub id: usize,
    /// One column per key.
    pub columns: Vec<Column>,
}
