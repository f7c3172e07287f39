//! Nodes that treat their input row by row, or choose and order its rows.

use super::{Column, Rel};
use crate::plan::expr::{Expr, SortKey};

/// `SELECT exprs FROM input`
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The input.
    pub input: Box<Rel>,
    /// The expressions with the names of their columns.
    pub exprs: Vec<(String, Expr)>,
}

/// `SELECT * FROM input WHERE every predicate`
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The input.
    pub input: Box<Rel>,
    /// Conjuncts.
    pub predicates: Vec<Expr>,
}

/// `DISTINCT`, or with targets and an order `DISTINCT ON`.
#[derive(Debug, Clone, PartialEq)]
pub struct Distinct {
    /// The input; output is its columns.
    pub input: Box<Rel>,
    /// What must be distinct; `None` is the whole row.
    pub on: Option<Vec<Expr>>,
    /// Which row of each is kept.
    pub order_by: Vec<SortKey>,
}

/// `UNION`, `EXCEPT` or `INTERSECT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// `UNION`
    Union,
    /// `EXCEPT`
    Except,
    /// `INTERSECT`
    Intersect,
}

/// A set operation over two inputs or more with the same types.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    /// Which.
    pub op: SetOperator,
    /// `ALL`: as bags.
    pub all: bool,
    /// Two inputs, or any number for `UNION ALL`.
    pub inputs: Vec<Rel>,
    /// The output columns.
    pub columns: Vec<Column>,
}

/// `ORDER BY`
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    /// The input.
    pub input: Box<Rel>,
    /// The keys.
    pub keys: Vec<SortKey>,
}

/// `LIMIT` and `OFFSET`
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The input.
    pub input: Box<Rel>,
    /// How many rows.
    pub limit: LimitCount,
    /// How many are passed over first.
    pub offset: LimitCount,
}

/// The count of a [`Limit`].
#[derive(Debug, Clone, PartialEq)]
pub enum LimitCount {
    /// Not given.
    Unset,
    /// A number of rows.
    Rows(u64),
    /// Percent of the input's rows.
    Percent(f64),
    /// An expression over the input's columns that has the same value for each row (an uncorrelated subquery's).
    Expression(Box<Expr>),
    /// A percentage, as an expression of that kind.
    PercentExpression(Box<Expr>),
}

/// `unnest`
#[derive(Debug, Clone, PartialEq)]
pub struct Unnest {
    /// The input.
    pub input: Box<Rel>,
    /// The unnested lists, side by side (the shorter ones padded with NULL), with the columns they make.
    pub lists: Vec<(Column, Expr)>,
}

/// `USING SAMPLE` / `TABLESAMPLE`
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The input.
    pub input: Box<Rel>,
    /// The clause as DuckDB writes it (`10% (system)`, `5 ROWS`).
    pub clause: String,
}
