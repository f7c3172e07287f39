//! Nodes without an input, but for a table function that is called for each row of one.

use super::{Column, Rel};
use crate::plan::expr::Expr;

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
