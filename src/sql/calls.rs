//! Calls of aggregate and window functions.

use crate::plan::expr::{Expr, SortKey};
use crate::plan::rel::{AggregateCall, Frame, FrameBound, FrameExclude, FrameUnit, WindowCall};

use super::exprs::Columns;
use super::names;

/// `sum(DISTINCT x ORDER BY y) FILTER (WHERE p)`
pub(super) fn aggregate(call: &AggregateCall, columns: Columns<'_>) -> String {
    let head = head(&call.name, &call.arguments, call.distinct, &call.order_by, "", columns);
    head + &filter(call.filter.as_deref(), columns)
}

fn filter(filter: Option<&Expr>, columns: Columns<'_>) -> String {
    filter.map(|filter| format!(" FILTER (WHERE {})", columns.top(filter))).unwrap_or_default()
}

/// `sum(x) FILTER (WHERE p) OVER (PARTITION BY … ORDER BY … ROWS …)`
pub(super) fn window(call: &WindowCall, columns: Columns<'_>) -> String {
    let nulls = if call.ignore_nulls { "IGNORE NULLS" } else { "" };
    let head = head(&call.name, &call.arguments, call.distinct, &call.argument_order, nulls, columns);
    let filter = filter(call.filter.as_deref(), columns);
    let mut over = Vec::new();
    if !call.partition_by.is_empty() {
        over.push(format!("PARTITION BY {}", columns.list(&call.partition_by)));
    }
    if !call.order_by.is_empty() {
        over.push(format!("ORDER BY {}", columns.sort_keys(&call.order_by)));
    }
    over.extend(frame(&call.frame, columns));
    format!("{head}{filter} OVER ({})", over.join(" "))
}

fn head(
    name: &str,
    arguments: &[Expr],
    distinct: bool,
    order: &[SortKey],
    nulls: &str,
    columns: Columns<'_>,
) -> String {
    if arguments.is_empty() && matches!(name, "count_star" | "count") {
        return "count(*)".to_owned();
    }
    let mut inside = Vec::new();
    if distinct {
        inside.push("DISTINCT".to_owned());
    }
    if !arguments.is_empty() {
        inside.push(columns.list(arguments));
    }
    if !order.is_empty() {
        inside.push(format!("ORDER BY {}", columns.sort_keys(order)));
    }
    if !nulls.is_empty() {
        inside.push(nulls.to_owned());
    }
    format!("{}({})", names::function(name), inside.join(" "))
}

/// The frame, unless it is the one that a window has by itself.
fn frame(frame: &Frame, columns: Columns<'_>) -> Option<String> {
    let usual = frame.unit == FrameUnit::Range
        && frame.start == FrameBound::UnboundedPreceding
        && frame.end == FrameBound::CurrentRow
        && frame.exclude == FrameExclude::NoOthers;
    if usual {
        return None;
    }
    let unit = match frame.unit {
        FrameUnit::Rows => "ROWS",
        FrameUnit::Range => "RANGE",
        FrameUnit::Groups => "GROUPS",
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        FrameBound::Preceding(offset) => format!("{} PRECEDING", columns.inner(offset)),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Following(offset) => format!("{} FOLLOWING", columns.inner(offset)),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
    };
    let exclude = match frame.exclude {
        FrameExclude::NoOthers => "",
        FrameExclude::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclude::Group => " EXCLUDE GROUP",
        FrameExclude::Ties => " EXCLUDE TIES",
    };
    Some(format!("{unit} BETWEEN {} AND {}{exclude}", bound(&frame.start), bound(&frame.end)))
}
