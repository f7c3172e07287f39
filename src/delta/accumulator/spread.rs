//! Variances from sums of squares.
//!
//! - Kept of a group: n, the number of non-NULL values; s = Σ x; q = Σ x·x, exact. Values of more than [`DIGITS`] digits
//!   have no part in q and are counted instead.
//! - Law: for any m, with r = s − n·m, Σ (x − m)² = q − m·(s + r) and n·var = Σ (x − m)² − r²/n. With m the mean rounded
//!   to the last digit of the values, Σ (x − m)² is exact and at most twice n·var: no digit is lost, however small the
//!   deviation is beside the mean.
//! - The engine adds variances up in DOUBLE (Welford's method, states merged in any order). Measured over three million
//!   values, its result is within 1e-12 of the true one as long as the deviation is more than a thousandth of the mean,
//!   and changes with the order of the rows where it is less. There, and where values were left out of q, the group is in
//!   doubt, and its variance is the engine's own over R⁺.
//! - Source: Chan, Golub and `LeVeque`, Algorithms for computing the sample variance (1983).

use super::expressions::{add, boolean, case, cast, decimal, double, of_doubles, operator};
use crate::delta::construct::{compare, integer};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::types::DataType;

/// Values of more digits have no part in the sum of squares, so that 10¹² rows of a group cannot overflow it.
const DIGITS: u8 = 13;

/// Beyond it too few digits stand before the point.
const LARGEST_SCALE: u8 = 6;

/// How a group's squares are kept for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Squares {
    /// All of them.
    All {
        /// Digits behind the point.
        scale: u8,
    },
    /// Those of values that are not too large.
    Narrow {
        /// Digits behind the point.
        scale: u8,
    },
}

/// Whether sums of squares are kept of arguments of this type, and of which.
pub(super) fn squares(data_type: &DataType) -> Option<Squares> {
    match data_type {
        DataType::Decimal { width, scale } if *width <= 18 && *scale <= LARGEST_SCALE => {
            let scale = *scale;
            Some(if *width <= DIGITS { Squares::All { scale } } else { Squares::Narrow { scale } })
        }
        DataType::TinyInt
        | DataType::SmallInt
        | DataType::Integer
        | DataType::UTinyInt
        | DataType::USmallInt
        | DataType::UInteger => Some(Squares::All { scale: 0 }),
        DataType::BigInt | DataType::UBigInt => Some(Squares::Narrow { scale: 0 }),
        _ => None,
    }
}

/// The square of a value, NULL if it has too many digits.
pub(super) fn square(argument: &Expr, scale: u8) -> Expr {
    let fallible = matches!(squares(&argument.data_type()), Some(Squares::Narrow { .. }));
    let data_type = DataType::Decimal { width: DIGITS, scale };
    let narrow = Expr::Cast { input: Box::new(argument.clone()), data_type, fallible };
    // Of numbers of up to 18 digits DuckDB would multiply no further than to 18 digits.
    let factor = || cast(narrow.clone(), decimal(scale));
    operator("*", factor(), factor(), decimal(2 * scale))
}

/// Does the variance not follow from the sums, in the order count, sum, sum of squares, values left out?
pub(super) fn is_in_doubt(sums: &[Expr]) -> Expr {
    let mean = || of_doubles("/", double(sums[1].clone()), double(sums[0].clone()));
    let square = of_doubles("*", mean(), mean());
    let most = of_doubles("*", double(integer(1_000_000)), variance(sums));
    let small = compare(Comparison::Greater, square, most);
    let several = compare(Comparison::Greater, sums[0].clone(), integer(1));
    let in_doubt = case(several, small, boolean(false));
    match sums.get(3) {
        Some(left_out) => case(compare(Comparison::Greater, left_out.clone(), integer(0)), boolean(true), in_doubt),
        None => in_doubt,
    }
}

/// The variance of the population, of a group that is not empty.
pub(super) fn variance(sums: &[Expr]) -> Expr {
    let [count, sum, squares] = [0, 1, 2].map(|at| sums[at].clone());
    let scale = if let DataType::Decimal { scale, .. } = sum.data_type() { scale } else { 0 };
    let (plain, double_scale) = (decimal(scale), decimal(2 * scale));
    let n = || double(count.clone());
    let middle = || cast(of_doubles("/", double(sum.clone()), n()), plain.clone());
    let times = operator("*", cast(count.clone(), decimal(0)), middle(), plain.clone());
    let rest = operator("-", sum.clone(), times, plain.clone());
    let shift = operator("*", middle(), add(sum.clone(), rest.clone()), double_scale.clone());
    let about_middle = double(operator("-", squares, shift, double_scale));
    let rest = double(rest);
    let correction = of_doubles("/", of_doubles("*", rest.clone(), rest), n());
    of_doubles("/", of_doubles("-", about_middle, correction), n())
}
