//! Common table expressions.

use super::{Column, Rel};

/// Whether a CTE is computed once for all its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Materialize {
    /// As the optimizer likes.
    Default,
    /// `AS MATERIALIZED`
    Always,
    /// `AS NOT MATERIALIZED`
    Never,
}

/// `WITH name AS (definition) body`
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// The CTE's name.
    pub name: String,
    /// Ties [`CteRef`] to it; unique within a plan, counted from 0 in the plan's order.
    pub id: usize,
    /// Is it computed once?
    pub materialize: Materialize,
    /// What it stands for.
    pub definition: Box<Rel>,
    /// Where it is used; output is its columns.
    pub body: Box<Rel>,
}

/// A reference to a [`Cte`] or, inside it, to a [`RecursiveCte`].
#[derive(Debug, Clone, PartialEq)]
pub struct CteRef {
    /// Which.
    pub id: usize,
    /// The columns.
    pub columns: Vec<Column>,
    /// `recurring.name`: all rows found so far, in a recursive CTE.
    pub recurring: bool,
}

/// `WITH RECURSIVE`. Output: `columns`.
#[derive(Debug, Clone, PartialEq)]
pub struct RecursiveCte {
    /// The CTE's name.
    pub name: String,
    /// Ties the [`CteRef`]s in `step` to it.
    pub id: usize,
    /// `UNION ALL` rather than `UNION`.
    pub all: bool,
    /// The first rows.
    pub start: Box<Rel>,
    /// The rows that follow from the last ones.
    pub step: Box<Rel>,
    /// `USING KEY (…)`: positions of the key columns.
    pub keys: Vec<usize>,
    /// The output columns.
    pub columns: Vec<Column>,
}
