//! `LIMIT` by a count that only the data tells: a scalar subquery's value, or a share of the rows. Such a limit is a filter
//! over the rows' numbers, in which form it has a delta rule and can be printed.
//!
//! `LIMIT NULL` is no limit, `OFFSET NULL` none either. A share is cut down to whole rows of the input, of which the offset
//! is a part. A negative count or a share that is none is an error, as it is to DuckDB.

use super::expr::{Argument, CaseBranch, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal, Operator};
use super::rel::{Column, Filter, Limit, LimitCount, Project, Rel, Window, WindowCall};
use super::ties;
use super::types::DataType;

/// `rel` with a filter over numbered rows in place of every limit whose count is no constant, and of every share of rows
/// that may tie.
pub(crate) fn numbered(mut rel: Rel) -> Rel {
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = numbered(taken);
    }
    match rel {
        Rel::Limit(limit) => by_number(limit).unwrap_or_else(Rel::Limit),
        other => other,
    }
}

/// Is the count a column of the limit's input, where DuckDB puts the value of a subquery?
pub(crate) fn reads_columns(count: &LimitCount) -> bool {
    match count {
        LimitCount::Expression(expr) | LimitCount::PercentExpression(expr) => !expr.columns().is_empty(),
        LimitCount::Unset | LimitCount::Rows(_) | LimitCount::Percent(_) => false,
    }
}

/// The limit as a filter over numbered rows. What is given comes back where it can stay as it is, or has to.
pub(crate) fn by_number(limit: Limit) -> Result<Rel, Limit> {
    let is_share = matches!(limit.limit, LimitCount::Percent(_) | LimitCount::PercentExpression(_));
    let ordered = matches!(&*limit.input, Rel::Sort(_));
    let ties = is_share && ordered && ties::tie(&Rel::Limit(limit.clone())).is_some();
    if !(reads_columns(&limit.limit) || reads_columns(&limit.offset) || ties) {
        return Err(limit);
    }
    let Some((rows, offset)) = rows_of(&limit.limit, limit.input.columns().len()).zip(offset_of(&limit.offset)) else {
        return Err(limit);
    };
    let (input, order_by) = match *limit.input {
        Rel::Sort(sort) => (sort.input, sort.keys),
        other => (Box::new(other), Vec::new()),
    };
    let columns: Vec<Column> = input.columns();
    let number = WindowCall { order_by, ..WindowCall::plain("row_number", Vec::new(), Vec::new(), DataType::BigInt) };
    let mut functions = vec![number];
    if is_share {
        functions.push(WindowCall::plain("count", Vec::new(), Vec::new(), DataType::BigInt));
    }
    let number = Expr::column(columns.len(), DataType::BigInt);
    let mut predicates = Vec::new();
    if let Some(rows) = rows {
        let last = match &offset {
            Some(offset) => function("+", vec![rows, offset.clone()], DataType::BigInt),
            None => rows,
        };
        let within = compare(Comparison::LessOrEqual, number.clone(), last);
        let operands = vec![within, boolean(true)];
        predicates.push(Expr::Operator { op: Operator::Coalesce, operands, data_type: DataType::Boolean });
    }
    predicates.extend(offset.map(|offset| compare(Comparison::Greater, number, offset)));
    let chosen = Filter { input: Box::new(Rel::Window(Window { input, functions })), predicates };
    let outputs = columns.into_iter().enumerate();
    let exprs = outputs.map(|(at, column)| (column.name, Expr::column(at, column.data_type)));
    Ok(Rel::Project(Project { exprs: exprs.collect(), input: Box::new(Rel::Filter(chosen)) }))
}

/// How many rows a limit takes, NULL being all; the number of all rows stands behind the rows' own. `None` for a count
/// that DuckDB rounds in a way of its own.
#[allow(clippy::option_option, reason = "no limit, and a limit that cannot be written")]
fn rows_of(count: &LimitCount, width: usize) -> Option<Option<Expr>> {
    let share = |percent: Expr| {
        let [least, most] = [0.0, 100.0].map(double);
        let outside = vec![
            compare(Comparison::Less, percent.clone(), least),
            compare(Comparison::Greater, percent.clone(), most.clone()),
        ];
        let outside = Expr::Conjunction { op: Conjunction::Or, operands: outside };
        let all = cast(Expr::column(width + 1, DataType::BigInt), DataType::Double);
        let part = function("/", vec![percent, most], DataType::Double);
        let rows = function("floor", vec![function("*", vec![part, all], DataType::Double)], DataType::Double);
        let refused = "a share of rows that is not between 0% and 100%";
        checked(outside, cast(rows, DataType::BigInt), refused)
    };
    match count {
        LimitCount::Unset => Some(None),
        LimitCount::Rows(rows) => Some(Some(integer(*rows)?)),
        LimitCount::Expression(expr) => Some(Some(whole(expr)?)),
        LimitCount::Percent(percent) => Some(Some(share(double(*percent)))),
        LimitCount::PercentExpression(expr) => Some(Some(share(cast((**expr).clone(), DataType::Double)))),
    }
}

/// How many rows an offset passes over.
#[allow(clippy::option_option, reason = "no offset, and an offset that cannot be written")]
fn offset_of(count: &LimitCount) -> Option<Option<Expr>> {
    match count {
        LimitCount::Unset => Some(None),
        LimitCount::Rows(rows) => Some(Some(integer(*rows)?)),
        LimitCount::Expression(expr) => {
            let operands = vec![whole(expr)?, integer(0)?];
            Some(Some(Expr::Operator { op: Operator::Coalesce, operands, data_type: DataType::BigInt }))
        }
        LimitCount::Percent(_) | LimitCount::PercentExpression(_) => None,
    }
}

/// A count of a whole number type.
fn whole(expr: &Expr) -> Option<Expr> {
    use DataType::{BigInt, Integer, SmallInt, TinyInt, UInteger, USmallInt, UTinyInt};
    let whole = [BigInt, Integer, SmallInt, TinyInt, UInteger, USmallInt, UTinyInt];
    let rows = whole.contains(&expr.data_type()).then(|| cast(expr.clone(), DataType::BigInt))?;
    let negative = compare(Comparison::Less, rows.clone(), integer(0)?);
    Some(checked(negative, rows, "a negative number of rows"))
}

/// `value`, or an error if `wrong` holds.
fn checked(wrong: Expr, value: Expr, what: &str) -> Expr {
    let message = Constant::Text(format!("LIMIT or OFFSET by {what}"));
    let message = Expr::Literal(Literal { value: Some(message), data_type: DataType::VARCHAR });
    let raised = function("error", vec![message], DataType::BigInt);
    let branches = vec![CaseBranch { condition: wrong, value: raised }];
    Expr::Case { branches, otherwise: Box::new(value), data_type: DataType::BigInt }
}

fn cast(input: Expr, data_type: DataType) -> Expr {
    if input.data_type() == data_type {
        return input;
    }
    Expr::Cast { input: Box::new(input), data_type, fallible: false }
}

fn compare(op: Comparison, left: Expr, right: Expr) -> Expr {
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

fn function(name: &str, arguments: Vec<Expr>, data_type: DataType) -> Expr {
    let arguments = arguments.into_iter().map(|value| Argument { name: None, value }).collect();
    let is_operator = matches!(name, "+" | "*" | "/");
    Expr::Function(FunctionCall { name: name.into(), qualifier: None, arguments, lambda: None, is_operator, data_type })
}

fn integer(value: u64) -> Option<Expr> {
    let value = i64::try_from(value).ok()?;
    Some(Expr::Literal(Literal { value: Some(Constant::Integer(value.to_string())), data_type: DataType::BigInt }))
}

fn double(value: f64) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Double(value)), data_type: DataType::Double })
}

fn boolean(value: bool) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Boolean(value)), data_type: DataType::Boolean })
}
