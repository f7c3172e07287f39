//! Scalar expressions.

use crate::plan::expr::{Argument, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal, Operator, SortKey};
use crate::plan::types::DataType;

use super::literals::{commas, literal};
use super::{decimals, names, quoted};

/// Functions that are written between their two arguments.
const INFIX: [(&str, &str); 17] = [
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("//", "//"),
    ("%", "%"),
    ("||", "||"),
    ("&", "&"),
    ("|", "|"),
    ("<<", "<<"),
    (">>", ">>"),
    ("->>", "->>"),
    ("~~", "LIKE"),
    ("!~~", "NOT LIKE"),
    ("~~*", "ILIKE"),
    ("!~~*", "NOT ILIKE"),
    ("~~~", "GLOB"),
];

/// Prints expressions over columns that are given as text.
#[derive(Clone, Copy)]
pub(super) struct Columns<'c> {
    texts: &'c [String],
}

impl<'c> Columns<'c> {
    /// Columns printed as `texts`.
    pub(super) fn new(texts: &'c [String]) -> Columns<'c> {
        Columns { texts }
    }

    /// `expr` where it needs no parentheses around it.
    pub(super) fn top(self, expr: &Expr) -> String {
        self.print(expr, &[]).0
    }

    /// `expr` as a part of something else.
    pub(super) fn inner(self, expr: &Expr) -> String {
        self.operand(expr, &[])
    }

    /// The expressions with commas between them.
    pub(super) fn list<'e>(self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        commas(exprs.into_iter().map(|expr| self.top(expr)))
    }

    /// The keys of an `ORDER BY`. DuckDB takes a bare number for the position of a column.
    pub(super) fn sort_keys(self, keys: &[SortKey]) -> String {
        let key = |key: &SortKey| {
            let order = if key.descending { "DESC" } else { "ASC" };
            let nulls = if key.nulls_first { "FIRST" } else { "LAST" };
            format!("{} {order} NULLS {nulls}", self.no_position(&key.expr))
        };
        commas(keys.iter().map(key))
    }

    /// `expr`, a constant in a cast so that it is not taken for the position of a column.
    pub(super) fn no_position(self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(constant) => {
                let text = literal(constant);
                if text.starts_with("CAST(") { text } else { format!("CAST({text} AS {})", constant.data_type) }
            }
            other => self.top(other),
        }
    }

    fn operand(self, expr: &Expr, lambdas: &[Vec<String>]) -> String {
        match self.print(expr, lambdas) {
            (text, true) => text,
            (text, false) => format!("({text})"),
        }
    }

    /// The text, and whether it can stand next to an operator as it is.
    fn print(self, expr: &Expr, lambdas: &[Vec<String>]) -> (String, bool) {
        let operand = |expr: &Expr| self.operand(expr, lambdas);
        let top = |expr: &Expr| self.print(expr, lambdas).0;
        match expr {
            Expr::Column { index, .. } => match self.texts.get(*index) {
                Some(text) => (text.clone(), true),
                // No plan that was decoded or derived reads beyond its input; the binder names the column if one does.
                None => (quoted(&format!("missing column {index}")), true),
            },
            Expr::Literal(constant) => {
                let text = literal(constant);
                let closed = !text.starts_with('-');
                (text, closed)
            }
            Expr::Comparison { op, left, right } => {
                (format!("{} {} {}", operand(left), comparison(*op), operand(right)), false)
            }
            Expr::Conjunction { op, operands } => {
                let word = match op {
                    Conjunction::And => " AND ",
                    Conjunction::Or => " OR ",
                };
                (operands.iter().map(operand).collect::<Vec<_>>().join(word), false)
            }
            Expr::Operator { op, operands, .. } => self.operator(*op, operands, lambdas),
            Expr::Between { input, lower, upper, lower_inclusive: true, upper_inclusive: true } => {
                (format!("{} BETWEEN {} AND {}", operand(input), operand(lower), operand(upper)), false)
            }
            Expr::Between { input, lower, upper, lower_inclusive, upper_inclusive } => {
                let from = if *lower_inclusive { ">=" } else { ">" };
                let to = if *upper_inclusive { "<=" } else { "<" };
                let input = operand(input);
                (format!("{input} {from} {} AND {input} {to} {}", operand(lower), operand(upper)), false)
            }
            Expr::Case { branches, otherwise, .. } => {
                let branch = |condition: &Expr, value: &Expr| format!("WHEN {} THEN {}", top(condition), top(value));
                let branches: Vec<String> = branches.iter().map(|case| branch(&case.condition, &case.value)).collect();
                (format!("CASE {} ELSE {} END", branches.join(" "), top(otherwise)), true)
            }
            Expr::Cast { input, data_type, fallible } => {
                let word = if *fallible { "TRY_CAST" } else { "CAST" };
                (format!("{word}({} AS {data_type})", top(input)), true)
            }
            Expr::Function(call) => self.function(call, lambdas),
            Expr::LambdaParameter { depth, index, .. } => {
                let around = lambdas.len().checked_sub(depth + 1).and_then(|at| lambdas.get(at));
                let name = around.and_then(|names| names.get(*index)).cloned();
                (name.unwrap_or_else(|| quoted(&format!("missing parameter {index}"))), true)
            }
        }
    }

    fn operator(self, op: Operator, operands: &[Expr], lambdas: &[Vec<String>]) -> (String, bool) {
        let operand = |expr: &Expr| self.operand(expr, lambdas);
        let all = || commas(operands.iter().map(|expr| self.print(expr, lambdas).0));
        match (op, operands) {
            (Operator::Not, [only]) => (format!("NOT {}", operand(only)), false),
            (Operator::IsNull, [only]) => (format!("{} IS NULL", operand(only)), false),
            (Operator::IsNotNull, [only]) => (format!("{} IS NOT NULL", operand(only)), false),
            (Operator::In | Operator::NotIn, [first, rest @ ..]) => {
                let word = if op == Operator::In { "IN" } else { "NOT IN" };
                let rest = commas(rest.iter().map(|expr| self.print(expr, lambdas).0));
                (format!("{} {word} ({rest})", operand(first)), false)
            }
            (Operator::Try, _) => (format!("TRY({})", all()), true),
            (Operator::NullIf, _) => (format!("NULLIF({})", all()), true),
            (Operator::Coalesce, _) => (format!("COALESCE({})", all()), true),
            // Operators with another number of operands do not come out of the decoder.
            (Operator::Not | Operator::IsNull | Operator::IsNotNull | Operator::In | Operator::NotIn, _) => {
                (format!("{op:?}({})", all()), true)
            }
        }
    }

    fn function(self, call: &FunctionCall, lambdas: &[Vec<String>]) -> (String, bool) {
        let operand = |expr: &Expr| self.operand(expr, lambdas);
        let infix = INFIX.iter().find(|(name, _)| *name == call.name);
        if let (Some((_, word)), [left, right], None) = (infix, call.arguments.as_slice(), &call.qualifier) {
            let [left, right] = decimals::operands(call).unwrap_or([&left.value, &right.value]);
            return (format!("{} {word} {}", operand(left), operand(right)), false);
        }
        if let ("-" | "~", [only]) = (call.name.as_str(), call.arguments.as_slice()) {
            return (format!("{}{}", call.name, operand(&only.value)), false);
        }
        if let Some(slice) = self.slice(call, lambdas) {
            return (slice, true);
        }
        let mut arguments: Vec<String> = Vec::new();
        let decimals = decimals::operands(call);
        for (index, argument) in call.arguments.iter().enumerate() {
            let value = decimals.map_or(&argument.value, |operands| operands[index.min(1)]);
            let value = self.print(value, lambdas).0;
            arguments.push(match &argument.name {
                Some(name) => format!("{} := {value}", quoted(name)),
                None => value,
            });
        }
        if let Some(lambda) = &call.lambda {
            let outer: usize = lambdas.iter().map(Vec::len).sum();
            let names: Vec<String> = (1..=lambda.parameters).map(|count| format!("x{}", outer + count)).collect();
            let head = names.join(", ");
            let inside = [lambdas, &[names]].concat();
            let body = format!("lambda {head}: {}", self.print(&lambda.body, &inside).0);
            arguments.insert(1.min(arguments.len()), body);
        }
        let arguments = arguments.join(", ");
        match (call.name.as_str(), &call.qualifier) {
            ("list_value", None) => (format!("[{arguments}]"), true),
            ("row", None) => (format!("row({arguments})"), true),
            // Its type depends on whether its arguments are literals.
            ("equi_width_bins", None) => (format!("CAST(equi_width_bins({arguments}) AS {})", call.data_type), true),
            // Its own type is that of a bare NULL.
            ("error", None) if call.data_type != DataType::Null => {
                (format!("CAST(error({arguments}) AS {})", call.data_type), true)
            }
            (name, None) => (format!("{}({arguments})", names::function(name)), true),
            (name, Some((catalog, schema))) => {
                (format!("{}.{}.{}({arguments})", quoted(catalog), quoted(schema), quoted(name)), true)
            }
        }
    }
}

impl Columns<'_> {
    /// `list[begin:end:step]` without one of its bounds, which only that form can leave out.
    fn slice(self, call: &FunctionCall, lambdas: &[Vec<String>]) -> Option<String> {
        let left_out = |argument: &Argument| matches!(&argument.value, Expr::Literal(Literal { value: Some(Constant::List(items)), .. }) if items.is_empty());
        let (list, bounds) = call.arguments.split_first()?;
        let slices = matches!(call.name.as_str(), "array_slice" | "list_slice");
        if !slices || !bounds.iter().any(left_out) {
            return None;
        }
        let bound = |argument: &Argument, none: &str| {
            if left_out(argument) { none.to_owned() } else { self.operand(&argument.value, lambdas) }
        };
        let list = self.operand(&list.value, lambdas);
        match bounds {
            [begin, end] => Some(format!("{list}[{}:{}]", bound(begin, ""), bound(end, ""))),
            [begin, end, step] => Some(format!("{list}[{}:{}:{}]", bound(begin, ""), bound(end, "-"), bound(step, ""))),
            _ => None,
        }
    }
}

/// A comparison's text.
pub(super) fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::DistinctFrom => "IS DISTINCT FROM",
        Comparison::NotDistinctFrom => "IS NOT DISTINCT FROM",
    }
}
