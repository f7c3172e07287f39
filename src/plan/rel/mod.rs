//! Relational nodes. Each variant of [`Rel`] wraps a named struct, so that a rule takes exactly its own node.

mod ctes;
mod groups;
mod joins;
mod leaves;
mod rows;

pub use ctes::{Cte, CteRef, Materialize, RecursiveCte};
pub use groups::{Aggregate, AggregateCall, Frame, FrameBound, FrameExclude, FrameUnit, Window, WindowCall};
pub use joins::{DependentJoin, DependentKeys, InnerJoin, Join, JoinCondition, JoinKind};
pub use leaves::{FIRST_VIRTUAL_POSITION, ROWID_POSITION, Scan, State, TableFunction, TableKind, Values};
pub use rows::{Distinct, Filter, Limit, LimitCount, Project, Sample, SetOperation, SetOperator, Sort, Unnest};

use super::types::DataType;

/// An output column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// A telling name; not unique, for people only. Positions identify columns.
    pub name: String,
    /// The type.
    pub data_type: DataType,
}

/// A relation: a bag of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Rel {
    /// Rows of a table.
    Scan(Scan),
    /// Constant rows (`VALUES`), one row without columns (`SELECT 1` has that input), or none.
    Values(Values),
    /// A table function that is no table scan (`range`, `read_parquet`, …).
    TableFunction(TableFunction),
    /// `SELECT exprs`
    Project(Project),
    /// `WHERE`
    Filter(Filter),
    /// A binary join as DuckDB bound it.
    Join(Join),
    /// An inner join of N legs; made by `normalise`, never decoded.
    InnerJoin(InnerJoin),
    /// A correlated subquery with its outer side.
    DependentJoin(DependentJoin),
    /// The distinct correlated keys, inside the right side of a [`DependentJoin`].
    DependentKeys(DependentKeys),
    /// `GROUP BY`
    Aggregate(Aggregate),
    /// `DISTINCT`, `DISTINCT ON`
    Distinct(Distinct),
    /// Window functions; output is the input's columns and one per function.
    Window(Window),
    /// `UNION`, `EXCEPT`, `INTERSECT`, each with `ALL` or not.
    SetOperation(SetOperation),
    /// `ORDER BY`
    Sort(Sort),
    /// `LIMIT`, `OFFSET`
    Limit(Limit),
    /// `unnest(…)`; output is the input's columns and one per unnested list.
    Unnest(Unnest),
    /// A CTE with its body.
    Cte(Cte),
    /// A reference to a CTE.
    CteRef(CteRef),
    /// `WITH RECURSIVE`
    RecursiveCte(RecursiveCte),
    /// `USING SAMPLE`
    Sample(Sample),
}
