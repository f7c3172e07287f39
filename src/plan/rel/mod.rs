//! Relational nodes. Each variant of [`Rel`] wraps a named struct, so that a rule takes exactly its own node.

use super::expr::{Comparison, Expr, SortKey};
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

/// Which face of a table a [`Scan`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// As a decoded view says it: whatever version the statement runs at.
    Current,
    /// The rows at the window's `from`.
    Old,
    /// The rows at the window's `to`.
    New,
    /// The net change in the window: the columns and, as the last one, the weight (BIGINT).
    Delta,
}

/// What kind of thing a [`Scan`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// A table of the lake: its past can be read.
    Lake,
    /// A plain DuckDB table.
    DuckDb,
}

/// The position that stands for a table's `rowid` in a [`Scan`]. The virtual columns of a lake table (`filename`,
/// `file_row_number`, `snapshot_id`) have DuckDB's own numbers, from [`FIRST_VIRTUAL_POSITION`] on.
pub const ROWID_POSITION: usize = usize::MAX - 1;

/// Positions from here on are no columns of the table: they are not part of a row, change with maintenance, and have
/// no net change.
pub const FIRST_VIRTUAL_POSITION: usize = 1 << (usize::BITS - 1);

/// Rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// The catalog's alias in the session.
    pub catalog: String,
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// Lake or plain DuckDB table.
    pub kind: TableKind,
    /// The columns read, in output order.
    pub columns: Vec<Column>,
    /// The columns' positions in the table as it was bound; the same length as `columns`.
    pub positions: Vec<usize>,
    /// The snapshot that the user's own `AT (VERSION => n)` pins it to; such a scan never changes.
    pub pinned: Option<u64>,
    /// Which face is read.
    pub state: State,
}

/// Constant rows. No columns and one row is DuckDB's `DUMMY_SCAN`; no rows is its `EMPTY_RESULT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; each has one expression per column, none of which reads a column.
    pub rows: Vec<Vec<Expr>>,
}

/// A table function.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFunction {
    /// The function's name.
    pub name: String,
    /// The arguments: over the columns of `input`, or constant.
    pub arguments: Vec<Expr>,
    /// Named parameters.
    pub named_arguments: Vec<(String, Expr)>,
    /// Input whose rows the function is called for, as in `LATERAL range(t.n)`; its columns follow the function's own.
    pub input: Option<Box<Rel>>,
    /// The columns read, in output order (before those of `input`).
    pub columns: Vec<Column>,
    /// All names that the function returns, for printing `t(a, b, c)`.
    pub all_names: Vec<String>,
    /// The columns' positions among `all_names`.
    pub positions: Vec<usize>,
}

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

/// `GROUP BY`. Output: the groups, then the aggregates, then one column per `GROUPING(…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The input.
    pub input: Box<Rel>,
    /// The group expressions with their names.
    pub groups: Vec<(String, Expr)>,
    /// Positions in `groups` per grouping set; one set with all groups for a plain GROUP BY, one empty set for an
    /// ungrouped aggregate.
    pub grouping_sets: Vec<Vec<usize>>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// The group positions that each `GROUPING(…)` asks about.
    pub grouping_functions: Vec<Vec<usize>>,
}

/// A call of an aggregate function.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// The function's name as DuckDB bound it.
    pub name: String,
    /// Arguments over the input's columns; constant ones kept in the bind data (a quantile's fraction, a separator) are
    /// put back in their places.
    pub arguments: Vec<Expr>,
    /// `DISTINCT`
    pub distinct: bool,
    /// `FILTER (WHERE …)`
    pub filter: Option<Box<Expr>>,
    /// `ORDER BY` inside the call.
    pub order_by: Vec<SortKey>,
    /// The result's type.
    pub data_type: DataType,
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

/// Window functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The input.
    pub input: Box<Rel>,
    /// The functions.
    pub functions: Vec<WindowCall>,
}

/// One window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function's name (`row_number`, `lag`, or an aggregate's).
    pub name: String,
    /// Arguments (for `lag`: value, offset, default).
    pub arguments: Vec<Expr>,
    /// `DISTINCT` inside the call.
    pub distinct: bool,
    /// `IGNORE NULLS`
    pub ignore_nulls: bool,
    /// `FILTER (WHERE …)`
    pub filter: Option<Box<Expr>>,
    /// `ORDER BY` of the arguments.
    pub argument_order: Vec<SortKey>,
    /// `PARTITION BY`
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`
    pub order_by: Vec<SortKey>,
    /// The frame.
    pub frame: Frame,
    /// The result's type.
    pub data_type: DataType,
}

/// A window frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// `ROWS`, `RANGE` or `GROUPS`.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// `EXCLUDE`
    pub exclude: FrameExclude,
}

/// The unit of a [`Frame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`
    Rows,
    /// `RANGE`
    Range,
    /// `GROUPS`
    Groups,
}

/// An end of a [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(Box<Expr>),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`
    Following(Box<Expr>),
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
}

/// `EXCLUDE` of a [`Frame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameExclude {
    /// `EXCLUDE NO OTHERS`
    NoOthers,
    /// `EXCLUDE CURRENT ROW`
    CurrentRow,
    /// `EXCLUDE GROUP`
    Group,
    /// `EXCLUDE TIES`
    Ties,
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
    /// A percentage that reads no column.
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

/// `USING SAMPLE` / `TABLESAMPLE`
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The input.
    pub input: Box<Rel>,
    /// The clause as DuckDB writes it (`10% (system)`, `5 ROWS`).
    pub clause: String,
}
