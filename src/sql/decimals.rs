//! DECIMAL arithmetic. The binder derives the result's width from the operands' and casts the operands to it; printed
//! with those casts, the derivation would start from wider operands and end one digit further. So the casts that it
//! would make again are left out.

use crate::plan::expr::{Expr, FunctionCall};
use crate::plan::types::DataType;

/// The widest DECIMAL that is kept in 64 bits, and the widest of all.
const WIDEST_SMALL: u8 = 18;
const WIDEST: u8 = 38;

/// The operands of a DECIMAL `+`, `-` or `*` as they must be printed to give the call's type again; none if the call is
/// something else, or if there is no such form.
pub(super) fn operands(call: &FunctionCall) -> Option<[&Expr; 2]> {
    let DataType::Decimal { .. } = call.data_type else { return None };
    let [left, right] = call.arguments.as_slice() else { return None };
    let result = match call.name.as_str() {
        "+" | "-" | "add" | "subtract" => sum,
        "*" | "multiply" => product,
        _ => return None,
    };
    let bound = [left.value.data_type(), right.value.data_type()];
    for left in [&left.value, uncast(&left.value)] {
        for right in [&right.value, uncast(&right.value)] {
            let derived = result(&left.data_type(), &right.data_type());
            if derived.is_some_and(|(to, operands)| to == call.data_type && operands == bound) {
                return Some([left, right]);
            }
        }
    }
    None
}

fn uncast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { input, data_type: DataType::Decimal { .. }, fallible: false }
            if digits(&input.data_type()).is_some() =>
        {
            input
        }
        _ => expr,
    }
}

/// Width and scale of a number type.
fn digits(data_type: &DataType) -> Option<(u8, u8)> {
    let width = match data_type {
        DataType::Decimal { width, scale } => return Some((*width, *scale)),
        DataType::Boolean => 1,
        DataType::TinyInt | DataType::UTinyInt => 3,
        DataType::SmallInt | DataType::USmallInt => 5,
        DataType::Integer | DataType::UInteger => 10,
        DataType::BigInt => 19,
        DataType::UBigInt => 20,
        DataType::HugeInt | DataType::UHugeInt => 38,
        _ => return None,
    };
    Some((width, 0))
}

/// How many bits DuckDB keeps a number type in.
fn bits(data_type: &DataType) -> u8 {
    match data_type {
        DataType::Decimal { width: 0..=4, .. } | DataType::SmallInt => 16,
        DataType::Decimal { width: 5..=9, .. } | DataType::Integer => 32,
        DataType::Decimal { width: 10..=WIDEST_SMALL, .. } | DataType::BigInt => 64,
        DataType::Decimal { .. } | DataType::HugeInt => 128,
        // The others are kept in no way that a DECIMAL is.
        _ => 0,
    }
}

/// The type of `left + right`, and what the operands are cast to.
fn sum(left: &DataType, right: &DataType) -> Option<(DataType, [DataType; 2])> {
    let ((left_width, left_scale), (right_width, right_scale)) = (digits(left)?, digits(right)?);
    let widest = left_width.max(right_width);
    let scale = left_scale.max(right_scale);
    let whole = (left_width - left_scale).max(right_width - right_scale);
    let mut width = (scale + whole).max(widest) + 1;
    if width > WIDEST_SMALL && widest <= WIDEST_SMALL {
        width = WIDEST_SMALL;
    }
    let to = DataType::Decimal { width: width.min(WIDEST), scale };
    let operand = |from: &DataType| {
        let fits = digits(from).is_some_and(|(_, own)| own == scale) && bits(from) == bits(&to);
        if fits { from.clone() } else { to.clone() }
    };
    let operands = [operand(left), operand(right)];
    Some((to, operands))
}

/// The type of `left * right`, and what the operands are cast to.
fn product(left: &DataType, right: &DataType) -> Option<(DataType, [DataType; 2])> {
    let ((left_width, left_scale), (right_width, right_scale)) = (digits(left)?, digits(right)?);
    let scale = left_scale + right_scale;
    let widest = left_width.max(right_width);
    let mut width = left_width + right_width;
    if width > WIDEST_SMALL && widest <= WIDEST_SMALL && scale < WIDEST_SMALL {
        width = WIDEST_SMALL;
    }
    let width = width.min(WIDEST);
    let to = DataType::Decimal { width, scale };
    let operand = |from: &DataType| {
        let scale = digits(from).map_or(0, |(_, scale)| scale);
        if bits(from) == bits(&to) { from.clone() } else { DataType::Decimal { width, scale } }
    };
    let operands = [operand(left), operand(right)];
    Some((to, operands))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(width: u8, scale: u8) -> DataType {
        DataType::Decimal { width, scale }
    }

    #[test]
    fn derives_what_duckdb_does() {
        // As `json_serialize_plan` shows them for DECIMAL(10, 2) and the other operand.
        assert_eq!(sum(&decimal(10, 2), &DataType::Integer), Some((decimal(13, 2), [decimal(10, 2), decimal(13, 2)])));
        assert_eq!(sum(&decimal(10, 2), &decimal(4, 3)), Some((decimal(12, 3), [decimal(12, 3), decimal(12, 3)])));
        assert_eq!(
            product(&decimal(10, 2), &DataType::Integer),
            Some((decimal(18, 2), [decimal(10, 2), decimal(18, 0)]))
        );
        assert_eq!(product(&decimal(10, 2), &decimal(10, 2)), Some((decimal(18, 4), [decimal(10, 2), decimal(10, 2)])));
    }
}
