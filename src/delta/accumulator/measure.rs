//! What an accumulator table keeps for the aggregates of one argument, and how a change moves it.
//!
//! [`super::finish`] says how each aggregate follows from it; aggregates that need the same share it.

use super::expressions::{
    add, aggregate, all, any, case, cast, count, decimal, double, is_null, not, operator, or_false, or_zero, sum,
    whole_number,
};
use super::spread;
use crate::delta::construct::{compare, integer, null};
use crate::delta::sign::Sign;
use crate::plan::expr::{Comparison, Conjunction, Expr, SortKey};
use crate::plan::rel::{AggregateCall, Column};
use crate::plan::types::DataType;

/// What is kept for an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    pub(super) kept: Kept,
    /// The aggregate's arguments; none in `COUNT(*)`.
    pub(super) arguments: Vec<Expr>,
    pub(super) filter: Option<Expr>,
}

/// The kinds of measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Rows, or rows with a non-NULL argument.
    Count,
    /// Of integers and DECIMAL: the count, and the sum as a DECIMAL of 38 digits.
    Sum {
        /// Digits behind the point.
        scale: u8,
    },
    /// The same, and the sum of the squares; see [`spread`].
    Squares {
        /// Digits behind the point.
        scale: u8,
        /// May values have more digits than their square is kept for?
        wide: bool,
    },
    /// Of FLOAT and DOUBLE: the count and the sum. Inserts add, a group that lost a row is added up again.
    FloatSum,
    /// Of FLOAT, DOUBLE and very wide numbers: the count and the engine's own variance. A group that gained or lost a row
    /// is added up again.
    Spread,
    /// Rows that are true, rows that are false.
    Truths,
    /// The least or the greatest value.
    Extremum(End),
    /// The value of the row that has the least or the greatest value of another argument, and that one.
    Chosen {
        /// Which row it is.
        end: End,
        /// Does a row count whose value is NULL?
        nulls: bool,
    },
}

/// An end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// `MIN`
    Least,
    /// `MAX`
    Greatest,
}

impl End {
    fn aggregate(self) -> &'static str {
        match self {
            End::Least => "min",
            End::Greatest => "max",
        }
    }

    /// `a better b`: a takes the place of b.
    fn better(self) -> Comparison {
        match self {
            End::Least => Comparison::Less,
            End::Greatest => Comparison::Greater,
        }
    }

    fn as_good(self) -> Comparison {
        match self {
            End::Least => Comparison::LessOrEqual,
            End::Greatest => Comparison::GreaterOrEqual,
        }
    }
}

impl Kept {
    /// Do the first columns of the one hold what the other would hold, of the same argument?
    pub(super) fn covers(self, other: Kept) -> bool {
        match (self, other) {
            (Kept::Squares { scale, .. }, Kept::Sum { scale: of_other }) => scale == of_other,
            (Kept::Sum { .. } | Kept::Squares { .. } | Kept::FloatSum | Kept::Spread, Kept::Count) => true,
            _ => self == other,
        }
    }
}

impl Measure {
    /// Is it what every accumulator table holds?
    pub(super) fn is_row_count(&self) -> bool {
        self.kept == Kept::Count && self.arguments.is_empty() && self.filter.is_none()
    }

    /// The table's columns for the measure; `ordinal` is the place of the first aggregate that needs it.
    pub(super) fn columns(&self, ordinal: usize) -> Vec<Column> {
        let column = |name: &str, data_type| Column::new(format!("{name}_{ordinal}"), data_type);
        let count = || column("count", DataType::BigInt);
        match self.kept {
            Kept::Count => vec![count()],
            Kept::Sum { scale } => vec![count(), column("sum", decimal(scale))],
            Kept::Squares { scale, wide } => {
                let mut columns = vec![count(), column("sum", decimal(scale)), column("squares", decimal(2 * scale))];
                columns.extend(wide.then(|| column("wide", DataType::BigInt)));
                columns.push(column("spread", DataType::Double));
                columns
            }
            Kept::FloatSum => vec![count(), column("sum", DataType::Double)],
            Kept::Spread => vec![count(), column("spread", DataType::Double)],
            Kept::Truths => vec![column("true", DataType::BigInt), column("false", DataType::BigInt)],
            Kept::Extremum(end) => vec![column(end.aggregate(), self.type_of(0))],
            Kept::Chosen { end, .. } => {
                vec![column("value", self.type_of(0)), column(end.aggregate(), self.type_of(1))]
            }
        }
    }

    pub(super) fn width(&self) -> usize {
        self.columns(0).len()
    }

    fn type_of(&self, argument: usize) -> DataType {
        self.arguments.get(argument).map_or(DataType::BigInt, Expr::data_type)
    }

    /// The input's columns that the measure reads.
    pub(super) fn reads(&self) -> Vec<usize> {
        self.arguments.iter().chain(&self.filter).flat_map(Expr::columns).collect()
    }

    /// The aggregates over the input that give the measure's columns. `weight` is the column of the weights; without one
    /// each row counts once, and the engine's own sums do. What a change cannot tell is NULL in it.
    pub(super) fn calls(&self, weight: Option<&Expr>) -> Vec<AggregateCall> {
        let Some(argument) = self.arguments.first().cloned() else {
            return vec![count(weight, self.filtered(Vec::new()))];
        };
        let there = not(is_null(argument.clone()));
        let rows = |demand: Expr| count(weight, self.filtered(vec![demand]));
        let gained = || weight.map(|weight| compare(Comparison::Greater, weight.clone(), integer(0)));
        match self.kept {
            Kept::Count => vec![rows(there)],
            Kept::Sum { .. } => vec![rows(there), self.weighted_sum(whole(argument), weight)],
            Kept::Squares { scale, wide } => {
                let square = spread::square(&argument, scale);
                let mut calls = vec![rows(there.clone()), self.weighted_sum(argument.clone(), weight)];
                calls.push(self.weighted_sum(square.clone(), weight));
                calls.extend(wide.then(|| rows(all(vec![there, is_null(square)]))));
                calls.push(self.variance(argument, weight));
                calls
            }
            Kept::FloatSum => {
                let value = double(argument);
                let value = match weight {
                    Some(weight) => operator("*", value, double(weight.clone()), DataType::Double),
                    None => value,
                };
                vec![rows(there), sum(value, self.filtered(Vec::new()))]
            }
            Kept::Spread => vec![rows(there), self.variance(argument, weight)],
            Kept::Truths => vec![rows(argument.clone()), rows(not(argument))],
            Kept::Extremum(end) => vec![self.extremum(end, 0, gained())],
            Kept::Chosen { end, .. } => {
                let (chosen, extremum) = (self.chosen(end, gained()), self.extremum(end, 1, gained()));
                vec![chosen, extremum]
            }
        }
    }

    /// A sum of exact numbers, each as often as its weight says.
    fn weighted_sum(&self, value: Expr, weight: Option<&Expr>) -> AggregateCall {
        let Some(weight) = weight else { return sum(value, self.filtered(Vec::new())) };
        let scale = if let DataType::Decimal { scale, .. } = value.data_type() { scale } else { 0 };
        let data_type = decimal(scale);
        // A weight is multiplied with a decimal as one without digits behind the point, so that the scale stays.
        let weight = cast(weight.clone(), DataType::Decimal { width: 18, scale: 0 });
        sum(operator("*", cast(value, data_type.clone()), weight, data_type), self.filtered(Vec::new()))
    }

    /// The engine's own variance of the rows; of changes there is none.
    fn variance(&self, argument: Expr, weight: Option<&Expr>) -> AggregateCall {
        match weight {
            Some(_) => aggregate("min", vec![null(DataType::Double)], None, DataType::Double),
            None => aggregate("var_pop", vec![double(argument)], self.filtered(Vec::new()), DataType::Double),
        }
    }

    /// The measure's columns as they are kept, from what [`Measure::calls`] gave.
    pub(super) fn kept(&self, columns: Vec<Expr>, weighted: bool) -> Vec<Expr> {
        let wide = matches!(self.type_of(0), DataType::Decimal { width: 20.., .. });
        let added = |column: Expr| match column.data_type() {
            data_type @ DataType::Decimal { .. } if wide => or_zero(within_range(column, &data_type)),
            _ => or_zero(column),
        };
        match self.kept {
            Kept::Extremum(_) | Kept::Chosen { .. } => columns,
            Kept::Count | Kept::Sum { .. } | Kept::FloatSum | Kept::Truths => columns.into_iter().map(added).collect(),
            Kept::Squares { .. } | Kept::Spread => {
                let (last, sums) = match columns.split_last() {
                    Some((last, sums)) => (last.clone(), sums.iter().cloned().map(added).collect::<Vec<_>>()),
                    None => return columns,
                };
                let squares = matches!(self.kept, Kept::Squares { .. }) && !weighted;
                let last = if squares { case(spread::is_in_doubt(&sums), last, null(DataType::Double)) } else { last };
                sums.into_iter().chain([last]).collect()
            }
        }
    }

    /// Can a change of this sign make it necessary to add the group up again?
    pub(super) fn may_need_again(&self, sign: Sign) -> bool {
        match self.kept {
            Kept::Count | Kept::Sum { .. } | Kept::Truths => false,
            Kept::FloatSum | Kept::Extremum(_) => sign != Sign::Plus,
            Kept::Squares { .. } | Kept::Spread | Kept::Chosen { .. } => true,
        }
    }

    /// Must rows that cancel be left out of the change, so that what is lost can be told from what came back?
    pub(super) fn needs_net_rows(&self) -> bool {
        matches!(self.kept, Kept::FloatSum | Kept::Spread | Kept::Extremum(_) | Kept::Chosen { .. })
    }

    /// What [`Measure::again`] has to know of a change beside the measure's columns.
    pub(super) fn details(&self, weight: &Expr) -> Vec<(AggregateCall, Column)> {
        let Some(argument) = self.arguments.first().cloned() else { return Vec::new() };
        let lost = compare(Comparison::Less, weight.clone(), integer(0));
        let there = not(is_null(argument));
        match self.kept {
            Kept::Extremum(end) => {
                vec![(self.extremum(end, 0, Some(lost)), Column::new("lost_value", self.type_of(0)))]
            }
            Kept::Chosen { end, .. } => {
                let gained = compare(Comparison::Greater, weight.clone(), integer(0));
                let ordered = |descending| AggregateCall {
                    order_by: vec![SortKey { expr: self.arguments[0].clone(), descending, nulls_first: descending }],
                    ..self.chosen(end, Some(gained.clone()))
                };
                let value = |name: &str| Column::new(name, self.type_of(0));
                vec![
                    (self.extremum(end, 1, Some(lost)), Column::new("lost_value", self.type_of(1))),
                    (ordered(false), value("smallest_gained")),
                    (ordered(true), value("greatest_gained")),
                ]
            }
            Kept::FloatSum => {
                let lost = sum(weight.clone(), self.filtered(vec![lost, there]));
                vec![(lost, Column::new("lost_rows", DataType::BigInt))]
            }
            Kept::Spread => {
                vec![(count(None, self.filtered(vec![there])), Column::new("changed_rows", DataType::BigInt))]
            }
            Kept::Count | Kept::Sum { .. } | Kept::Squares { .. } | Kept::Truths => Vec::new(),
        }
    }

    /// The extremum of an argument over the rows that count.
    fn extremum(&self, end: End, argument: usize, demand: Option<Expr>) -> AggregateCall {
        let value = self.arguments[argument].clone();
        let data_type = value.data_type();
        let there = match self.kept {
            Kept::Chosen { nulls: false, .. } => Some(not(is_null(self.arguments[0].clone()))),
            _ => None,
        };
        aggregate(end.aggregate(), vec![value], self.filtered(demand.into_iter().chain(there).collect()), data_type)
    }

    /// The value of the row at the end of the order.
    fn chosen(&self, end: End, demand: Option<Expr>) -> AggregateCall {
        let name = match (end, self.kept) {
            (End::Least, Kept::Chosen { nulls: true, .. }) => "arg_min_null",
            (End::Least, _) => "arg_min",
            (End::Greatest, Kept::Chosen { nulls: true, .. }) => "arg_max_null",
            (End::Greatest, _) => "arg_max",
        };
        aggregate(name, self.arguments.clone(), self.filtered(demand.into_iter().collect()), self.type_of(0))
    }

    fn filtered(&self, mut demands: Vec<Expr>) -> Option<Expr> {
        demands.extend(self.filter.clone());
        match demands.len() {
            0 | 1 => demands.pop(),
            _ => Some(Expr::Conjunction { op: Conjunction::And, operands: demands }),
        }
    }

    /// The measure's columns after the change; `old` is NULL in a new group.
    pub(super) fn folded(&self, old: &[Expr], moved: &[Expr]) -> Vec<Expr> {
        let sums = |count: usize| {
            old.iter().zip(moved).take(count).map(|(old, moved)| add(or_zero(old.clone()), moved.clone()))
        };
        match self.kept {
            Kept::Extremum(end) => {
                let improves = improves(end, &old[0], &moved[0]);
                vec![case(improves, moved[0].clone(), old[0].clone())]
            }
            Kept::Chosen { end, .. } => {
                let improves = improves(end, &old[1], &moved[1]);
                let either = old.iter().zip(moved);
                either.map(|(old, moved)| case(improves.clone(), moved.clone(), old.clone())).collect()
            }
            Kept::Squares { .. } => sums(old.len() - 1).chain([null(DataType::Double)]).collect(),
            Kept::Spread => sums(1).chain([old[1].clone()]).collect(),
            Kept::Count | Kept::Sum { .. } | Kept::FloatSum | Kept::Truths => sums(old.len()).collect(),
        }
    }

    /// Must the group be added up again? `details` are those of [`Measure::details`].
    pub(super) fn again(&self, old: &[Expr], moved: &[Expr], details: &[Expr]) -> Option<Expr> {
        let again = match self.kept {
            Kept::Count | Kept::Sum { .. } | Kept::Truths => return None,
            Kept::FloatSum => compare(Comparison::Less, or_zero(details[0].clone()), integer(0)),
            Kept::Spread => compare(Comparison::Greater, or_zero(details[0].clone()), integer(0)),
            Kept::Squares { .. } => spread::is_in_doubt(&self.folded(old, moved)[..old.len() - 1]),
            Kept::Extremum(end) => {
                let unmatched = not_as_good(end.as_good(), &moved[0], &old[0]);
                all(vec![is_gone(end, &old[0], &details[0]), unmatched])
            }
            Kept::Chosen { end, .. } => {
                // The chosen row was lost and no better one gained, or rows that are as good differ in their value.
                let [lost, smallest, greatest] = details else { return None };
                let differs =
                    |value: &Expr, other: &Expr| compare(Comparison::DistinctFrom, value.clone(), other.clone());
                let improves = improves(end, &old[1], &moved[1]);
                let beside = all(vec![
                    compare(Comparison::NotDistinctFrom, moved[1].clone(), old[1].clone()),
                    not(is_null(moved[1].clone())),
                    any(vec![differs(smallest, &old[0]), differs(greatest, &old[0])]),
                ]);
                let stays = any(vec![or_false(is_gone(end, &old[1], lost)), beside]);
                case(or_false(improves), differs(smallest, greatest), stays)
            }
        };
        Some(or_false(again))
    }
}

/// Does what was gained take the place of the old extremum?
fn improves(end: End, old: &Expr, gained: &Expr) -> Expr {
    let better = any(vec![is_null(old.clone()), compare(end.better(), gained.clone(), old.clone())]);
    all(vec![not(is_null(gained.clone())), better])
}

/// Was a row lost that stood at the end of the order (or one that the table never had)?
fn is_gone(end: End, old: &Expr, lost: &Expr) -> Expr {
    let at_end = any(vec![is_null(old.clone()), compare(end.as_good(), lost.clone(), old.clone())]);
    all(vec![not(is_null(lost.clone())), at_end])
}

fn not_as_good(as_good: Comparison, gained: &Expr, old: &Expr) -> Expr {
    any(vec![is_null(gained.clone()), not(compare(as_good, gained.clone(), old.clone()))])
}

/// A truth value counts as 1 or 0.
fn whole(argument: Expr) -> Expr {
    if argument.data_type() == DataType::Boolean { cast(argument, DataType::BigInt) } else { argument }
}

/// `sum`, or the engine's own error for a decimal that is too large: its sums over wide decimals can exceed the range
/// of their type unnoticed (DuckDB 1.5.5).
fn within_range(sum: Expr, data_type: &DataType) -> Expr {
    let magnitude = super::expressions::function("abs", sum.clone(), data_type.clone());
    let largest = || whole_number("9".repeat(38), data_type.clone());
    let too_large = compare(Comparison::Greater, magnitude.clone(), largest());
    case(too_large, add(magnitude, largest()), sum)
}
