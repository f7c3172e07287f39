//! Groups and windows, with the calls of their functions.

use super::Rel;
use crate::plan::expr::{Expr, SortKey};
use crate::plan::types::DataType;

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

impl WindowCall {
    /// A window function in its plainest form: over whole partitions, unless it is given an order.
    pub fn plain(name: &str, arguments: Vec<Expr>, partition_by: Vec<Expr>, data_type: DataType) -> WindowCall {
        WindowCall {
            name: name.into(),
            arguments,
            distinct: false,
            ignore_nulls: false,
            filter: None,
            argument_order: Vec::new(),
            partition_by,
            order_by: Vec::new(),
            frame: Frame {
                unit: FrameUnit::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
                exclude: FrameExclude::NoOthers,
            },
            data_type,
        }
    }
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
