//! What an accumulator table keeps for one aggregate, how a change moves it, and how the aggregate is finished from it.

use crate::delta::construct::{compare, integer};
use crate::plan::expr::{
    Argument, CaseBranch, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal, Operator,
};
use crate::plan::rel::{AggregateCall, Column};
use crate::plan::storage::is_restored;
use crate::plan::types::DataType;

/// One aggregate of a view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    kind: Kind,
    argument: Option<Expr>,
    filter: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows, or rows with a non-NULL argument.
    Count,
    /// `SUM` over integers and DECIMAL: exact, kept as a DECIMAL of 38 digits.
    Sum {
        /// Digits behind the point.
        scale: u8,
    },
    /// `AVG` over integers and DECIMAL, from the exact sum.
    Average {
        /// Digits behind the point.
        scale: u8,
    },
    /// `SUM` over FLOAT and DOUBLE: inserts add, a group that lost a row is added up again.
    FloatSum,
    /// `AVG` over FLOAT and DOUBLE.
    FloatAverage,
    /// `BOOL_AND`
    And,
    /// `BOOL_OR`
    Or,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
}

impl Measure {
    /// What must be kept for `call`; `None` if it cannot be finished from sums.
    pub(super) fn of(call: &AggregateCall) -> Option<Measure> {
        let argument = call.arguments.first();
        let data_type = argument.map(Expr::data_type);
        let scale = match &data_type {
            Some(DataType::Decimal { scale, .. }) => Some(*scale),
            Some(
                DataType::Boolean
                | DataType::TinyInt
                | DataType::SmallInt
                | DataType::Integer
                | DataType::BigInt
                | DataType::HugeInt
                | DataType::UTinyInt
                | DataType::USmallInt
                | DataType::UInteger
                | DataType::UBigInt,
            ) => Some(0),
            _ => None,
        };
        let float = matches!(data_type, Some(DataType::Float | DataType::Double));
        let ordered = !matches!(data_type, None | Some(DataType::Varchar { collation: Some(_) } | DataType::Interval));
        let kind = match (call.name.as_str(), call.arguments.len(), scale) {
            ("count_star", 0, _) | ("count", 0 | 1, _) => Kind::Count,
            ("sum", 1, Some(scale)) => Kind::Sum { scale },
            ("avg" | "mean", 1, Some(scale)) => Kind::Average { scale },
            ("sum", 1, None) if float => Kind::FloatSum,
            ("avg" | "mean", 1, None) if float => Kind::FloatAverage,
            ("bool_and", 1, _) => Kind::And,
            ("bool_or", 1, _) => Kind::Or,
            ("min", 1, _) if ordered => Kind::Min,
            ("max", 1, _) if ordered => Kind::Max,
            _ => return None,
        };
        let indifferent = matches!(kind, Kind::Min | Kind::Max | Kind::And | Kind::Or);
        if call.distinct && !indifferent {
            return None;
        }
        if matches!(kind, Kind::Min | Kind::Max) && !argument.is_none_or(|it| is_restored(&it.data_type())) {
            return None;
        }
        Some(Measure { kind, argument: argument.cloned(), filter: call.filter.as_deref().cloned() })
    }

    /// The table's columns for the measure, which is the `ordinal`th.
    pub(super) fn columns(&self, ordinal: usize) -> Vec<Column> {
        let column = |name: &str, data_type| Column::new(format!("{name}_{ordinal}"), data_type);
        match self.kind {
            Kind::Count => vec![column("count", DataType::BigInt)],
            Kind::Sum { scale } | Kind::Average { scale } => {
                vec![column("count", DataType::BigInt), column("sum", DataType::Decimal { width: 38, scale })]
            }
            Kind::FloatSum | Kind::FloatAverage => {
                vec![column("count", DataType::BigInt), column("sum", DataType::Double)]
            }
            Kind::And | Kind::Or => vec![column("true", DataType::BigInt), column("false", DataType::BigInt)],
            Kind::Min => vec![column("min", self.argument_type())],
            Kind::Max => vec![column("max", self.argument_type())],
        }
    }

    fn argument_type(&self) -> DataType {
        self.argument.as_ref().map_or(DataType::BigInt, Expr::data_type)
    }

    /// The input's columns that the measure reads.
    pub(super) fn reads(&self) -> Vec<usize> {
        self.argument.iter().chain(&self.filter).flat_map(Expr::columns).collect()
    }

    /// The aggregates over the input that give the measure's columns. `weight` is the column of the weights; without one
    /// each row counts once, and the engine's own sums do.
    pub(super) fn calls(&self, weight: Option<&Expr>) -> Vec<AggregateCall> {
        let Some(argument) = self.argument.clone() else {
            return vec![count(weight, self.filtered(Vec::new()))];
        };
        let there = not(is_null(argument.clone()));
        let rows = |demand: Expr| count(weight, self.filtered(vec![demand]));
        match self.kind {
            Kind::Count => vec![rows(there)],
            Kind::Sum { scale } | Kind::Average { scale } => {
                let whole =
                    if argument.data_type() == DataType::Boolean { cast(argument, DataType::BigInt) } else { argument };
                let value = match weight {
                    Some(weight) => {
                        let data_type = DataType::Decimal { width: 38, scale };
                        operator("*", cast(whole, data_type.clone()), weight_as_decimal(weight), data_type)
                    }
                    None => whole,
                };
                vec![rows(there), sum(value, self.filtered(Vec::new()))]
            }
            Kind::FloatSum | Kind::FloatAverage => {
                let value = cast(argument, DataType::Double);
                let value = match weight {
                    Some(weight) => operator("*", value, cast(weight.clone(), DataType::Double), DataType::Double),
                    None => value,
                };
                vec![rows(there), sum(value, self.filtered(Vec::new()))]
            }
            Kind::And | Kind::Or => vec![rows(argument.clone()), rows(not(argument))],
            Kind::Min | Kind::Max => {
                let gained = weight.map(|weight| compare(Comparison::Greater, weight.clone(), integer(0)));
                vec![self.extremum(argument, gained)]
            }
        }
    }

    /// The measure's columns as they are kept, from what [`Measure::calls`] gave.
    pub(super) fn kept(&self, columns: Vec<Expr>) -> Vec<Expr> {
        if !self.is_additive() {
            return columns;
        }
        let wide = matches!(self.argument_type(), DataType::Decimal { width: 20.., .. });
        let kept = columns.into_iter().map(|column| match column.data_type() {
            data_type @ DataType::Decimal { .. } if wide => or_zero(within_range(column, &data_type)),
            _ => or_zero(column),
        });
        kept.collect()
    }

    /// Do its columns hold counts and sums, 0 where there is nothing?
    pub(super) fn is_additive(&self) -> bool {
        self.better().is_none()
    }

    /// Can the removal of a row make it necessary to add the group up again?
    pub(super) fn can_lose(&self) -> bool {
        matches!(self.kind, Kind::FloatSum | Kind::FloatAverage | Kind::Min | Kind::Max)
    }

    /// What tells whether it is: the most extreme value that was lost, or the number of rows lost.
    pub(super) fn losses(&self, weight: &Expr) -> Option<(AggregateCall, Column)> {
        let argument = self.argument.clone()?;
        let lost = compare(Comparison::Less, weight.clone(), integer(0));
        match self.kind {
            Kind::Min | Kind::Max => {
                let column = Column::new("lost_value", argument.data_type());
                Some((self.extremum(argument, Some(lost)), column))
            }
            Kind::FloatSum | Kind::FloatAverage => {
                let demands = vec![lost, not(is_null(argument))];
                Some((sum(weight.clone(), self.filtered(demands)), Column::new("lost_rows", DataType::BigInt)))
            }
            _ => None,
        }
    }

    fn extremum(&self, argument: Expr, demand: Option<Expr>) -> AggregateCall {
        let data_type = argument.data_type();
        let name = if self.kind == Kind::Min { "min" } else { "max" };
        let filter = self.filtered(demand.into_iter().collect()).map(Box::new);
        let arguments = vec![argument];
        AggregateCall { name: name.into(), arguments, distinct: false, filter, order_by: Vec::new(), data_type }
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
        if let Some(better) = self.better() {
            let (old, gained) = (old[0].clone(), moved[0].clone());
            let improves = any(vec![is_null(old.clone()), compare(better, gained.clone(), old.clone())]);
            let improves = all(vec![not(is_null(gained.clone())), improves]);
            return vec![case(improves, gained, old)];
        }
        old.iter().zip(moved).map(|(old, moved)| add(or_zero(old.clone()), moved.clone())).collect()
    }

    /// `a better b`: a takes the place of b as the extremum.
    fn better(&self) -> Option<Comparison> {
        match self.kind {
            Kind::Min => Some(Comparison::Less),
            Kind::Max => Some(Comparison::Greater),
            _ => None,
        }
    }

    /// Must the group be added up again? For an extremum: it was lost (or the table never had it), and nothing as good
    /// was gained.
    pub(super) fn again(&self, old: &[Expr], moved: &[Expr], lost: Expr) -> Expr {
        let Some(better) = self.better() else {
            return compare(Comparison::Less, or_zero(lost), integer(0));
        };
        let as_good = if better == Comparison::Less { Comparison::LessOrEqual } else { Comparison::GreaterOrEqual };
        let (old, gained) = (old[0].clone(), moved[0].clone());
        let gone = any(vec![is_null(old.clone()), compare(as_good, lost.clone(), old.clone())]);
        let unmatched = any(vec![is_null(gained.clone()), not(compare(as_good, gained, old))]);
        or_false(all(vec![not(is_null(lost)), gone, unmatched]))
    }

    /// The aggregate's value, of `data_type`, from the measure's columns.
    pub(super) fn finished(&self, columns: &[Expr], data_type: &DataType) -> Expr {
        let some = |count: &Expr| compare(Comparison::Greater, count.clone(), integer(0));
        let when = |condition, value: Expr| {
            let otherwise = crate::delta::construct::null(value.data_type());
            case(condition, value, otherwise)
        };
        match self.kind {
            Kind::Count => cast(or_zero(columns[0].clone()), data_type.clone()),
            Kind::Sum { .. } | Kind::FloatSum => when(some(&columns[0]), cast(columns[1].clone(), data_type.clone())),
            Kind::Average { scale } => {
                let quotient = exact_quotient(&columns[1], &columns[0], scale);
                when(some(&columns[0]), cast(quotient, data_type.clone()))
            }
            Kind::FloatAverage => {
                let (count, sum) = (columns[0].clone(), columns[1].clone());
                let quotient =
                    operator("/", cast(sum, DataType::Double), cast(count, DataType::Double), DataType::Double);
                when(some(&columns[0]), cast(quotient, data_type.clone()))
            }
            Kind::And => when(any(vec![some(&columns[0]), some(&columns[1])]), not(some(&columns[1]))),
            Kind::Or => when(any(vec![some(&columns[0]), some(&columns[1])]), some(&columns[0])),
            Kind::Min | Kind::Max => columns[0].clone(),
        }
    }
}

/// `sum / count` as the engine's own AVG has it: the digits of the sum as a whole number, divided by the count and the
/// power of ten together, so that there is one rounding only.
fn exact_quotient(sum: &Expr, count: &Expr, scale: u8) -> Expr {
    let (sum, count) = (cast(sum.clone(), DataType::Double), cast(count.clone(), DataType::Double));
    if scale == 0 {
        return operator("/", sum, count, DataType::Double);
    }
    let power = || cast(integer_text(format!("1{}", "0".repeat(usize::from(scale)))), DataType::Double);
    let digits = operator("*", sum, power(), DataType::Double);
    let argument = Argument { name: None, value: digits };
    let digits = Expr::Function(FunctionCall {
        name: "round".into(),
        qualifier: None,
        arguments: vec![argument],
        lambda: None,
        is_operator: false,
        data_type: DataType::Double,
    });
    operator("/", digits, operator("*", count, power(), DataType::Double), DataType::Double)
}

/// `sum`, or the engine's own error for a decimal that is too large: its sums over wide decimals can exceed the range
/// of their type unnoticed (DuckDB 1.5.5).
fn within_range(sum: Expr, data_type: &DataType) -> Expr {
    let magnitude = Expr::Function(FunctionCall {
        name: "abs".into(),
        qualifier: None,
        arguments: vec![Argument { name: None, value: sum.clone() }],
        lambda: None,
        is_operator: false,
        data_type: data_type.clone(),
    });
    let nines = Constant::Integer("9".repeat(38));
    let largest = || Expr::Literal(Literal { value: Some(nines.clone()), data_type: data_type.clone() });
    let too_large = compare(Comparison::Greater, magnitude.clone(), largest());
    case(too_large, add(magnitude, largest()), sum)
}

/// A whole number.
fn integer_text(digits: String) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Integer(digits)), data_type: DataType::HugeInt })
}

/// The rows that pass the filter: their weights added up, or one for each.
pub(super) fn count(weight: Option<&Expr>, filter: Option<Expr>) -> AggregateCall {
    match weight {
        Some(weight) => sum(weight.clone(), filter),
        None => AggregateCall {
            name: "count_star".into(),
            arguments: Vec::new(),
            distinct: false,
            filter: filter.map(Box::new),
            order_by: Vec::new(),
            data_type: DataType::BigInt,
        },
    }
}

/// `sum(value) FILTER (WHERE filter)`
pub(super) fn sum(value: Expr, filter: Option<Expr>) -> AggregateCall {
    let data_type = match value.data_type() {
        DataType::Decimal { scale, .. } => DataType::Decimal { width: 38, scale },
        DataType::Double => DataType::Double,
        _ => DataType::HugeInt,
    };
    let filter = filter.map(Box::new);
    AggregateCall {
        name: "sum".into(),
        arguments: vec![value],
        distinct: false,
        filter,
        order_by: Vec::new(),
        data_type,
    }
}

/// A weight is multiplied with a decimal as one without digits behind the point, so that the scale stays.
fn weight_as_decimal(weight: &Expr) -> Expr {
    cast(weight.clone(), DataType::Decimal { width: 18, scale: 0 })
}

/// `CAST(value AS data_type)`, unless it has that type.
pub(super) fn cast(value: Expr, data_type: DataType) -> Expr {
    if value.data_type() == data_type {
        return value;
    }
    Expr::Cast { input: Box::new(value), data_type, fallible: false }
}

/// `COALESCE(value, 0)`
pub(super) fn or_zero(value: Expr) -> Expr {
    let data_type = value.data_type();
    coalesce(value, cast(integer(0), data_type))
}

fn or_false(value: Expr) -> Expr {
    let no = Literal { value: Some(Constant::Boolean(false)), data_type: DataType::Boolean };
    coalesce(value, Expr::Literal(no))
}

fn coalesce(value: Expr, otherwise: Expr) -> Expr {
    let data_type = value.data_type();
    Expr::Operator { op: Operator::Coalesce, operands: vec![value, otherwise], data_type }
}

/// `left + right`, in the type of the left one.
pub(super) fn add(left: Expr, right: Expr) -> Expr {
    let data_type = left.data_type();
    operator("+", left, right, data_type)
}

fn operator(name: &str, left: Expr, right: Expr, data_type: DataType) -> Expr {
    let arguments = [left, right].map(|value| Argument { name: None, value }).into();
    let (name, qualifier, lambda) = (name.into(), None, None);
    Expr::Function(FunctionCall { name, qualifier, arguments, lambda, is_operator: true, data_type })
}

fn case(condition: Expr, value: Expr, otherwise: Expr) -> Expr {
    let data_type = value.data_type();
    Expr::Case { branches: vec![CaseBranch { condition, value }], otherwise: Box::new(otherwise), data_type }
}

/// `NOT value`
pub(super) fn not(value: Expr) -> Expr {
    Expr::Operator { op: Operator::Not, operands: vec![value], data_type: DataType::Boolean }
}

fn is_null(value: Expr) -> Expr {
    Expr::Operator { op: Operator::IsNull, operands: vec![value], data_type: DataType::Boolean }
}

/// Does one of them hold? Of none, no.
pub(super) fn any(mut operands: Vec<Expr>) -> Expr {
    match operands.len() {
        1 => operands.remove(0),
        0 => Expr::Literal(Literal { value: Some(Constant::Boolean(false)), data_type: DataType::Boolean }),
        _ => Expr::Conjunction { op: Conjunction::Or, operands },
    }
}

fn all(operands: Vec<Expr>) -> Expr {
    Expr::Conjunction { op: Conjunction::And, operands }
}
