//! How an aggregate follows from what an accumulator table keeps.

use super::expressions::{any, case, cast, double, function, not, of_doubles, or_zero, whole_number};
use super::measure::{End, Kept, Measure};
use super::spread::{self, Squares};
use crate::delta::construct::{compare, integer, null};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::AggregateCall;
use crate::plan::storage::{is_faithful, is_restored};
use crate::plan::types::DataType;

/// How an aggregate follows from its measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    /// `COUNT`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Average,
    /// `BOOL_AND`
    And,
    /// `BOOL_OR`
    Or,
    /// `COUNT_IF`
    CountIf,
    /// `MIN`, `MAX`, `ARG_MIN`, `ARG_MAX`
    Value,
    /// `VAR_POP` and what is made of it.
    Spread {
        /// Of a sample: divided by one less.
        sample: bool,
        /// The result is its square root …
        root: bool,
        /// … divided by that of the count.
        of_mean: bool,
    },
}

/// What must be kept for `call`, and how it follows from it; `None` if it cannot be finished from what is kept per group.
pub(super) fn of(call: &AggregateCall) -> Option<(Measure, Finish)> {
    let (kept, finish) = kind(call)?;
    let indifferent = matches!(finish, Finish::Value | Finish::And | Finish::Or) && call.arguments.len() == 1;
    if call.distinct && !indifferent {
        return None;
    }
    if matches!(kept, Kept::Chosen { .. }) && !call.order_by.is_empty() {
        return None;
    }
    let mut arguments = call.arguments.clone();
    if matches!(finish, Finish::Spread { .. }) {
        arguments = arguments.into_iter().map(before_cast).collect();
    }
    Some((Measure { kept, arguments, filter: call.filter.as_deref().cloned() }, finish))
}

fn kind(call: &AggregateCall) -> Option<(Kept, Finish)> {
    let types: Vec<DataType> = call.arguments.iter().map(Expr::data_type).collect();
    let found = match (call.name.as_str(), types.as_slice()) {
        ("count_star", []) | ("count", [] | [_]) => (Kept::Count, Finish::Count),
        ("count_if" | "countif", [DataType::Boolean]) => (Kept::Truths, Finish::CountIf),
        ("sum", [data_type]) => (sum(data_type)?, Finish::Sum),
        ("avg" | "mean", [data_type]) => (sum(data_type)?, Finish::Average),
        ("bool_and", [_]) => (Kept::Truths, Finish::And),
        ("bool_or", [_]) => (Kept::Truths, Finish::Or),
        ("min", [data_type]) => (extremum(End::Least, data_type)?, Finish::Value),
        ("max", [data_type]) => (extremum(End::Greatest, data_type)?, Finish::Value),
        (name, [value, by]) => {
            let (end, nulls) = match name {
                "arg_min" | "argmin" | "min_by" => (End::Least, false),
                "arg_max" | "argmax" | "max_by" => (End::Greatest, false),
                "arg_min_null" => (End::Least, true),
                "arg_max_null" => (End::Greatest, true),
                _ => return None,
            };
            extremum(end, by)?;
            // Values that are equal must be the same, so that rows that tie are told from rows that do not.
            let told_apart = is_faithful(value) || matches!(value, DataType::Float | DataType::Double);
            return told_apart.then_some((Kept::Chosen { end, nulls }, Finish::Value));
        }
        (name, [DataType::Double]) => (spread_of(call.arguments.first()?), spread_finish(name)?),
        _ => return None,
    };
    Some(found)
}

fn sum(data_type: &DataType) -> Option<Kept> {
    Some(match data_type {
        DataType::Decimal { scale, .. } => Kept::Sum { scale: *scale },
        DataType::Boolean
        | DataType::TinyInt
        | DataType::SmallInt
        | DataType::Integer
        | DataType::BigInt
        | DataType::HugeInt
        | DataType::UTinyInt
        | DataType::USmallInt
        | DataType::UInteger
        | DataType::UBigInt => Kept::Sum { scale: 0 },
        DataType::Float | DataType::Double => Kept::FloatSum,
        _ => return None,
    })
}

fn extremum(end: End, data_type: &DataType) -> Option<Kept> {
    let ordered = !matches!(data_type, DataType::Interval) && is_restored(data_type);
    ordered.then_some(Kept::Extremum(end))
}

fn spread_finish(name: &str) -> Option<Finish> {
    let (sample, root, of_mean) = match name {
        "var_pop" => (false, false, false),
        "var_samp" | "variance" => (true, false, false),
        "stddev_pop" => (false, true, false),
        "stddev_samp" | "stddev" => (true, true, false),
        "sem" => (false, true, true),
        _ => return None,
    };
    Some(Finish::Spread { sample, root, of_mean })
}

fn spread_of(argument: &Expr) -> Kept {
    match spread::squares(&before_cast(argument.clone()).data_type()) {
        Some(Squares::All { scale }) => Kept::Squares { scale, wide: false },
        Some(Squares::Narrow { scale }) => Kept::Squares { scale, wide: true },
        None => Kept::Spread,
    }
}

/// What the binder casts to DOUBLE before a variance is taken, if its squares can be kept.
fn before_cast(argument: Expr) -> Expr {
    match argument {
        Expr::Cast { input, data_type: DataType::Double, fallible: false }
            if spread::squares(&input.data_type()).is_some() =>
        {
            *input
        }
        other => other,
    }
}

impl Finish {
    /// The aggregate's value, of `data_type`, from the measure's columns.
    pub(super) fn value(self, kept: Kept, columns: &[Expr], data_type: &DataType) -> Expr {
        let more_than = |least: i64, count: &Expr| compare(Comparison::Greater, count.clone(), integer(least));
        let some = |count: &Expr| more_than(0, count);
        let when = |condition, value: Expr| {
            let otherwise = null(value.data_type());
            case(condition, value, otherwise)
        };
        match self {
            Finish::Count => cast(or_zero(columns[0].clone()), data_type.clone()),
            Finish::CountIf => {
                let rows = cast(or_zero(columns[0].clone()), data_type.clone());
                when(any(vec![some(&columns[0]), some(&columns[1])]), rows)
            }
            Finish::Sum => when(some(&columns[0]), cast(columns[1].clone(), data_type.clone())),
            Finish::Average => {
                let scale = if let DataType::Decimal { scale, .. } = columns[1].data_type() { scale } else { 0 };
                let quotient = exact_quotient(&columns[1], &columns[0], scale);
                when(some(&columns[0]), cast(quotient, data_type.clone()))
            }
            Finish::And => when(any(vec![some(&columns[0]), some(&columns[1])]), not(some(&columns[1]))),
            Finish::Or => when(any(vec![some(&columns[0]), some(&columns[1])]), some(&columns[0])),
            Finish::Value => columns[0].clone(),
            Finish::Spread { sample, root, of_mean } => {
                let n = double(columns[0].clone());
                let mut value = spread_value(kept, columns);
                if sample {
                    let less = of_doubles("-", n.clone(), double(integer(1)));
                    value = of_doubles("/", of_doubles("*", value, n.clone()), less);
                }
                let square_root = |value| function("sqrt", value, DataType::Double);
                if root {
                    value = square_root(value);
                }
                if of_mean {
                    value = of_doubles("/", value, square_root(n));
                }
                when(more_than(i64::from(sample), &columns[0]), value)
            }
        }
    }
}

/// The variance of the population: the engine's own where it is kept.
fn spread_value(kept: Kept, columns: &[Expr]) -> Expr {
    let Some((own, sums)) = columns.split_last() else { return null(DataType::Double) };
    if kept == Kept::Spread {
        return own.clone();
    }
    let known = not(super::expressions::is_null(own.clone()));
    case(known, own.clone(), spread::variance(sums))
}

/// `sum / count` as the engine's own AVG has it: the digits of the sum as a whole number, divided by the count and the
/// power of ten together, so that there is one rounding only.
fn exact_quotient(sum: &Expr, count: &Expr, scale: u8) -> Expr {
    let (sum, count) = (double(sum.clone()), double(count.clone()));
    if scale == 0 {
        return of_doubles("/", sum, count);
    }
    let power = || double(whole_number(format!("1{}", "0".repeat(usize::from(scale))), DataType::HugeInt));
    let digits = function("round", of_doubles("*", sum, power()), DataType::Double);
    of_doubles("/", digits, of_doubles("*", count, power()))
}
