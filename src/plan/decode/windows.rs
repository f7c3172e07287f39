//! Calls of window functions.

use serde_json::Value as Json;

use super::super::expr::{Expr, SortKey};
use super::super::rel::{Frame, FrameBound, FrameExclude, FrameUnit, WindowCall};
use super::expressions::{Scope, with_common};
use super::reader::Fields;
use super::{DecodeError, Decoder};

/// Fields of a window expression that hold for every function.
const WINDOW: [&str; 14] = [
    "return_type",
    "children",
    "partitions",
    "orders",
    "filters",
    "ignore_nulls",
    "start",
    "end",
    "start_expr",
    "end_expr",
    "offset_expr",
    "default_expr",
    "exclude_clause",
    "distinct",
];

/// Fields of the aggregate inside a window expression.
const AGGREGATE: [&str; 8] = [
    "name",
    "arguments",
    "original_arguments",
    "catalog_name",
    "schema_name",
    "has_serialize",
    "function_data",
    "arg_orders",
];

impl Decoder<'_> {
    /// A call of a window function.
    pub(super) fn window_call(&mut self, json: &Json, scope: Scope<'_>) -> Result<WindowCall, DecodeError> {
        let known = [&WINDOW[..], &AGGREGATE[..]].concat();
        let fields = self.fields(json, "a window function", &with_common(&known))?;
        if self.text(fields, "expression_class")? != "BOUND_WINDOW" {
            return Err(self.error(format!("the window function {}", self.text(fields, "type")?)));
        }
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        let (name, mut arguments) = match self.window_function(fields)? {
            Some(name) => (name.to_owned(), self.exprs(self.list(fields, "children")?, scope)?),
            None => self.aggregate_function(fields, &data_type, scope)?,
        };
        for name in ["offset_expr", "default_expr"] {
            if let Some(argument) = fields.get(name) {
                arguments.push(self.expr(argument, scope)?);
            }
        }
        let filter = match fields.get("filters") {
            Some(filter) => Some(Box::new(self.expr(filter, scope)?)),
            None => None,
        };
        let partition_by = self.exprs(self.list(fields, "partitions")?, scope)?;
        let mut order_by = self.sort_keys(self.list(fields, "orders")?, scope)?;
        let frame = self.frame(fields, &mut order_by, scope)?;
        Ok(WindowCall {
            name,
            arguments,
            distinct: self.flag(fields, "distinct")?,
            ignore_nulls: self.flag(fields, "ignore_nulls")?,
            filter,
            argument_order: self.sort_keys(self.list(fields, "arg_orders")?, scope)?,
            partition_by,
            order_by,
            frame,
            data_type,
        })
    }

    /// The function's name; none for an aggregate over the frame.
    fn window_function(&self, fields: Fields<'_>) -> Result<Option<&'static str>, DecodeError> {
        let name = match self.text(fields, "type")? {
            "WINDOW_AGGREGATE" => return Ok(None),
            "WINDOW_ROW_NUMBER" => "row_number",
            "WINDOW_RANK" => "rank",
            "WINDOW_RANK_DENSE" => "dense_rank",
            "WINDOW_PERCENT_RANK" => "percent_rank",
            "WINDOW_CUME_DIST" => "cume_dist",
            "WINDOW_NTILE" => "ntile",
            "WINDOW_LEAD" => "lead",
            "WINDOW_LAG" => "lag",
            "WINDOW_FIRST_VALUE" => "first_value",
            "WINDOW_LAST_VALUE" => "last_value",
            "WINDOW_NTH_VALUE" => "nth_value",
            "WINDOW_FILL" => "fill",
            other => return Err(self.error(format!("the window function {other}"))),
        };
        Ok(Some(name))
    }

    fn frame(&mut self, fields: Fields<'_>, order_by: &mut [SortKey], scope: Scope<'_>) -> Result<Frame, DecodeError> {
        let (start_unit, start) = self.bound(fields, "start", order_by, scope)?;
        let (end_unit, end) = self.bound(fields, "end", order_by, scope)?;
        let unit = match (start_unit, end_unit) {
            (Some(start), Some(end)) if start != end => return Err(self.error("a frame with two units")),
            (start, end) => start.or(end).unwrap_or(FrameUnit::Range),
        };
        let exclude = match self.text(fields, "exclude_clause")? {
            "NO_OTHER" | "" => FrameExclude::NoOthers,
            "CURRENT_ROW" => FrameExclude::CurrentRow,
            "GROUP" => FrameExclude::Group,
            "TIES" => FrameExclude::Ties,
            other => return Err(self.error(format!("EXCLUDE {other}"))),
        };
        Ok(Frame { unit, start, end, exclude })
    }

    /// One end of the frame, and the frame's unit as far as this end tells it.
    fn bound(
        &mut self,
        fields: Fields<'_>,
        end: &str,
        order_by: &mut [SortKey],
        scope: Scope<'_>,
    ) -> Result<(Option<FrameUnit>, FrameBound), DecodeError> {
        let written = self.text(fields, end)?;
        let (kind, unit) = match written.rsplit_once('_') {
            Some((kind, "ROWS")) => (kind, Some(FrameUnit::Rows)),
            Some((kind, "RANGE")) => (kind, Some(FrameUnit::Range)),
            Some((kind, "GROUPS")) => (kind, Some(FrameUnit::Groups)),
            _ => (written, None),
        };
        let expr = match fields.get(&format!("{end}_expr")) {
            Some(expr) => Some(self.expr(expr, scope)?),
            None => None,
        };
        let bound = match (kind, expr) {
            ("UNBOUNDED_PRECEDING", None) => FrameBound::UnboundedPreceding,
            ("UNBOUNDED_FOLLOWING", None) => FrameBound::UnboundedFollowing,
            ("CURRENT_ROW", None) => FrameBound::CurrentRow,
            ("EXPR_PRECEDING" | "EXPR_FOLLOWING", Some(expr)) => {
                let backwards = kind == "EXPR_PRECEDING";
                let offset =
                    if unit == Some(FrameUnit::Range) { self.offset(expr, backwards, order_by)? } else { expr };
                if backwards {
                    FrameBound::Preceding(Box::new(offset))
                } else {
                    FrameBound::Following(Box::new(offset))
                }
            }
            _ => return Err(self.error(format!("the frame bound {written}"))),
        };
        Ok((unit, bound))
    }

    /// A RANGE frame's bound comes as `key - offset` or `key + offset`; the offset alone is what SQL writes. The
    /// binder casts the sort key to the type of that sum: the key itself is put back, so that it is bound so again.
    fn offset(&self, bound: Expr, backwards: bool, order_by: &mut [SortKey]) -> Result<Expr, DecodeError> {
        let wrong = || self.error("a RANGE frame whose bound is no offset from its only sort key");
        let [key] = order_by else { return Err(wrong()) };
        let mut bound = bound;
        let mut call = loop {
            match bound {
                Expr::Cast { input, .. } => bound = *input,
                Expr::Function(call) => break call,
                _ => return Err(wrong()),
            }
        };
        let operator = if backwards == key.descending { "+" } else { "-" };
        let (Some(offset), Some(base), 0) = (call.arguments.pop(), call.arguments.pop(), call.arguments.len()) else {
            return Err(wrong());
        };
        let same = |key: &Expr| *key == base.value || matches!(key, Expr::Cast { input, .. } if **input == base.value);
        if call.name != operator || !same(&key.expr) {
            return Err(wrong());
        }
        key.expr = base.value;
        Ok(offset.value)
    }
}
