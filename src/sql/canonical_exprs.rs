//! Expressions in a form in which printing and binding again leave no trace.

use crate::plan::expr::{Argument, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal};
use crate::plan::types::DataType;

use super::literals;

/// `expr` in canonical form.
pub(super) fn canonical(mut expr: Expr) -> Expr {
    for child in expr.children_mut() {
        let taken = std::mem::replace(child, Expr::column(0, DataType::Null));
        *child = canonical(taken);
    }
    match expr {
        Expr::Literal(literal) => as_bound(&literal),
        Expr::Comparison { op, left, right } => comparison(op, *left, *right),
        Expr::Conjunction { op, operands } => {
            let mut flat = Vec::new();
            for operand in operands {
                match operand {
                    Expr::Conjunction { op: inner, operands } if inner == op => flat.extend(operands),
                    other => flat.push(other),
                }
            }
            Expr::Conjunction { op, operands: flat }
        }
        Expr::Between { input, lower, upper, lower_inclusive, upper_inclusive } => {
            let from = if lower_inclusive { Comparison::GreaterOrEqual } else { Comparison::Greater };
            let to = if upper_inclusive { Comparison::LessOrEqual } else { Comparison::Less };
            let operands = vec![comparison(from, (*input).clone(), *lower), comparison(to, *input, *upper)];
            Expr::Conjunction { op: Conjunction::And, operands }
        }
        Expr::Cast { input, data_type, fallible } => match *input {
            // `error` has no type of its own.
            Expr::Function(call) if call.name == "error" => Expr::Function(FunctionCall { data_type, ..call }),
            input => Expr::Cast { input: Box::new(input), data_type, fallible },
        },
        Expr::Function(call) => Expr::Function(FunctionCall { is_operator: false, ..call }),
        other => other,
    }
}

/// A comparison with its sides in a fixed order.
fn comparison(op: Comparison, left: Expr, right: Expr) -> Expr {
    let (op, left, right) = if text(&left) <= text(&right) { (op, left, right) } else { (mirrored(op), right, left) };
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

fn mirrored(op: Comparison) -> Comparison {
    match op {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        symmetric => symmetric,
    }
}

/// A text by which expressions are put in order and compared; NaN equals itself in it.
pub(super) fn text(expr: &Expr) -> String {
    format!("{expr:?}")
}

/// What binding the printed constant gives.
fn as_bound(literal: &Literal) -> Expr {
    let Literal { value, data_type } = literal;
    let cast = |input: Expr| Expr::Cast { input: Box::new(input), data_type: data_type.clone(), fallible: false };
    let constant = |value: Option<Constant>, data_type: DataType| Expr::Literal(Literal { value, data_type });
    let Some(value) = value else {
        let null = constant(None, DataType::Null);
        return if *data_type == DataType::Null { null } else { cast(null) };
    };
    match value {
        Constant::List(elements) => {
            let element = elements.first().map_or(DataType::Null, |first| first.data_type.clone());
            let natural = DataType::List(Box::new(element));
            let list = call("list_value", elements.iter().map(|element| (None, as_bound(element))), natural.clone());
            if natural == *data_type { list } else { cast(list) }
        }
        Constant::Struct(members) => match data_type {
            DataType::Struct(fields) if fields.iter().all(|(name, _)| !name.is_empty()) => {
                let named = fields.iter().zip(members);
                let arguments = named.map(|((name, _), member)| (Some(name.clone()), as_bound(member)));
                call("struct_pack", arguments, data_type.clone())
            }
            _ => call("row", members.iter().map(|member| (None, as_bound(member))), data_type.clone()),
        },
        Constant::Map(entries) if !entries.is_empty() => {
            let list = |side: Vec<&Literal>| {
                let element = side.first().map_or(DataType::Null, |first| first.data_type.clone());
                let elements = side.into_iter().map(|element| (None, as_bound(element)));
                (None, call("list_value", elements, DataType::List(Box::new(element))))
            };
            let keys = list(entries.iter().map(|(key, _)| key).collect());
            let values = list(entries.iter().map(|(_, value)| value).collect());
            call("map", [keys, values].into_iter(), data_type.clone())
        }
        Constant::Boolean(_) | Constant::Map(_) | Constant::Union(..) => Expr::Literal(literal.clone()),
        scalar => {
            let (text, natural) = literals::bare(scalar, data_type);
            match natural {
                Some(natural) if natural == *data_type => Expr::Literal(literal.clone()),
                Some(natural) => cast(constant(Some(scalar.clone()), natural)),
                None => {
                    let text = text.trim_matches('\'').to_owned();
                    cast(constant(Some(Constant::Text(text)), DataType::VARCHAR))
                }
            }
        }
    }
}

fn call(name: &str, arguments: impl Iterator<Item = (Option<String>, Expr)>, data_type: DataType) -> Expr {
    Expr::Function(FunctionCall {
        name: name.to_owned(),
        qualifier: None,
        arguments: arguments.map(|(name, value)| Argument { name, value }).collect(),
        lambda: None,
        is_operator: false,
        data_type,
    })
}
