//! The expressions that accumulators are made of, and finished with.

use crate::delta::construct::integer;
use crate::plan::expr::{Argument, CaseBranch, Conjunction, Constant, Expr, FunctionCall, Literal, Operator};
use crate::plan::rel::AggregateCall;
use crate::plan::types::DataType;

/// A DECIMAL of 38 digits.
pub(super) fn decimal(scale: u8) -> DataType {
    DataType::Decimal { width: 38, scale }
}

/// The rows that pass the filter: their weights added up, or one for each.
pub(super) fn count(weight: Option<&Expr>, filter: Option<Expr>) -> AggregateCall {
    match weight {
        Some(weight) => sum(weight.clone(), filter),
        None => aggregate("count_star", Vec::new(), filter, DataType::BigInt),
    }
}

/// `sum(value) FILTER (WHERE filter)`
pub(super) fn sum(value: Expr, filter: Option<Expr>) -> AggregateCall {
    let data_type = match value.data_type() {
        DataType::Decimal { scale, .. } => decimal(scale),
        DataType::Double => DataType::Double,
        _ => DataType::HugeInt,
    };
    aggregate("sum", vec![value], filter, data_type)
}

/// `name(arguments) FILTER (WHERE filter)`
pub(super) fn aggregate(name: &str, arguments: Vec<Expr>, filter: Option<Expr>, data_type: DataType) -> AggregateCall {
    let filter = filter.map(Box::new);
    AggregateCall { name: name.into(), arguments, distinct: false, filter, order_by: Vec::new(), data_type }
}

/// `CAST(value AS data_type)`, unless it has that type.
pub(super) fn cast(value: Expr, data_type: DataType) -> Expr {
    if value.data_type() == data_type {
        return value;
    }
    Expr::Cast { input: Box::new(value), data_type, fallible: false }
}

/// The value as a DOUBLE.
pub(super) fn double(value: Expr) -> Expr {
    cast(value, DataType::Double)
}

/// `COALESCE(value, 0)`
pub(super) fn or_zero(value: Expr) -> Expr {
    let data_type = value.data_type();
    coalesce(value, cast(integer(0), data_type))
}

/// `COALESCE(value, false)`
pub(super) fn or_false(value: Expr) -> Expr {
    coalesce(value, boolean(false))
}

pub(super) fn coalesce(value: Expr, otherwise: Expr) -> Expr {
    let data_type = value.data_type();
    Expr::Operator { op: Operator::Coalesce, operands: vec![value, otherwise], data_type }
}

/// `left + right`, in the type of the left one.
pub(super) fn add(left: Expr, right: Expr) -> Expr {
    let data_type = left.data_type();
    operator("+", left, right, data_type)
}

pub(super) fn operator(name: &str, left: Expr, right: Expr, data_type: DataType) -> Expr {
    call(name, vec![left, right], true, data_type)
}

/// `left operator right` of two DOUBLEs.
pub(super) fn of_doubles(name: &str, left: Expr, right: Expr) -> Expr {
    operator(name, left, right, DataType::Double)
}

pub(super) fn function(name: &str, argument: Expr, data_type: DataType) -> Expr {
    call(name, vec![argument], false, data_type)
}

fn call(name: &str, arguments: Vec<Expr>, is_operator: bool, data_type: DataType) -> Expr {
    let arguments = arguments.into_iter().map(|value| Argument { name: None, value }).collect();
    Expr::Function(FunctionCall { name: name.into(), qualifier: None, arguments, lambda: None, is_operator, data_type })
}

pub(super) fn case(condition: Expr, value: Expr, otherwise: Expr) -> Expr {
    let data_type = value.data_type();
    Expr::Case { branches: vec![CaseBranch { condition, value }], otherwise: Box::new(otherwise), data_type }
}

/// `NOT value`
pub(super) fn not(value: Expr) -> Expr {
    Expr::Operator { op: Operator::Not, operands: vec![value], data_type: DataType::Boolean }
}

pub(super) fn is_null(value: Expr) -> Expr {
    Expr::Operator { op: Operator::IsNull, operands: vec![value], data_type: DataType::Boolean }
}

/// Does one of them hold? Of none, no.
pub(super) fn any(mut operands: Vec<Expr>) -> Expr {
    match operands.len() {
        1 => operands.remove(0),
        0 => boolean(false),
        _ => Expr::Conjunction { op: Conjunction::Or, operands },
    }
}

pub(super) fn all(operands: Vec<Expr>) -> Expr {
    Expr::Conjunction { op: Conjunction::And, operands }
}

pub(super) fn boolean(value: bool) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Boolean(value)), data_type: DataType::Boolean })
}

/// A whole number of any size.
pub(super) fn whole_number(digits: String, data_type: DataType) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Integer(digits)), data_type })
}
