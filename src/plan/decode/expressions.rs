//! Scalar expressions.

use serde_json::Value as Json;

use super::super::expr::{CaseBranch, Comparison, Conjunction, Constant, Expr, Literal, Operator, SortKey};
use super::super::types::DataType;
use super::reader::Fields;
use super::{DecodeError, Decoder, Slot, types};

/// Deeper plans are refused rather than met with an overflow of the stack. DuckDB itself stops at 1000.
pub(super) const DEEPEST: usize = 200;

/// Fields that every expression has and that do not change its meaning (`alias` does for a few functions).
const COMMON: [&str; 4] = ["expression_class", "type", "alias", "query_location"];

/// What an expression may refer to.
#[derive(Clone, Copy)]
pub(super) enum Scope<'s> {
    /// The columns of a node's input.
    Row(&'s [Slot]),
    /// Inside a lambda: its parameters' types in order, and what it captures, in terms of the scope around it.
    Lambda { parameters: &'s [DataType], captures: &'s [Expr] },
}

/// `known` and the fields that every expression has.
pub(super) fn with_common<'k>(known: &[&'k str]) -> Vec<&'k str> {
    COMMON.iter().chain(known).copied().collect()
}

impl Decoder<'_> {
    /// Decodes a scalar expression.
    pub(super) fn expr(&mut self, json: &Json, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("an expression or plan nested this deep"));
        }
        let expr = self.expr_inside(json, scope);
        self.depth -= 1;
        expr
    }

    /// Decodes a list of scalar expressions.
    pub(super) fn exprs(&mut self, list: &[Json], scope: Scope<'_>) -> Result<Vec<Expr>, DecodeError> {
        list.iter().map(|json| self.expr(json, scope)).collect()
    }

    fn expr_inside(&mut self, json: &Json, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        let fields = self.object(json, "an expression")?;
        let class = self.text(fields, "expression_class")?;
        match class {
            "BOUND_REF" => self.reference(fields, scope),
            "BOUND_COLUMN_REF" => self.column_reference(fields, scope),
            "BOUND_CONSTANT" => self.constant_expr(fields),
            "BOUND_CAST" => self.cast(fields, scope),
            "BOUND_COMPARISON" => self.compare(fields, scope),
            "BOUND_CONJUNCTION" => self.conjunction(fields, scope),
            "BOUND_OPERATOR" => self.operator(fields, scope),
            "BOUND_BETWEEN" => self.between(fields, scope),
            "BOUND_CASE" => self.case(fields, scope),
            "BOUND_FUNCTION" => self.function(fields, scope),
            other => Err(self.unknown_expr(fields, other)),
        }
    }

    fn unknown_expr(&self, fields: Fields<'_>, class: &str) -> DecodeError {
        let kind = self.text(fields, "type").unwrap_or_default();
        self.error(format!("the expression {class} ({kind})"))
    }

    fn constant_expr(&self, fields: Fields<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["value"]))?;
        Ok(Expr::Literal(self.literal(self.required(fields, "value")?)?))
    }

    fn compare(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["left", "right"]))?;
        let op = self.comparison(self.text(fields, "type")?)?;
        let left = Box::new(self.expr(self.required(fields, "left")?, scope)?);
        let right = Box::new(self.expr(self.required(fields, "right")?, scope)?);
        Ok(Expr::Comparison { op, left, right })
    }

    fn reference(&self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["return_type", "index"]))?;
        let index = self.position(fields, "index")?;
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        match scope {
            Scope::Row(slots) => {
                let slot = slots.get(index).ok_or_else(|| self.error(format!("column {index} of the input")))?;
                self.column_of(slot, data_type)
            }
            Scope::Lambda { parameters, captures } => {
                let count = parameters.len();
                if index < count {
                    // DuckDB numbers the parameters from the last to the first.
                    return Ok(Expr::LambdaParameter { depth: 0, index: count - 1 - index, data_type });
                }
                match captures.get(index - count) {
                    Some(Expr::LambdaParameter { depth, index, data_type }) => {
                        Ok(Expr::LambdaParameter { depth: depth + 1, index: *index, data_type: data_type.clone() })
                    }
                    Some(column @ Expr::Column { .. }) => Ok(column.clone()),
                    _ => Err(self.error(format!("capture {} of a lambda", index - count))),
                }
            }
        }
    }

    /// A column by its binding, as DuckDB leaves it in the inputs of table functions.
    fn column_reference(&self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["return_type", "binding", "depth"]))?;
        let binding = self.fields(self.required(fields, "binding")?, "a binding", &["table_index", "column_index"])?;
        let binding = (self.number(binding, "table_index")?, self.number(binding, "column_index")?);
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        let Scope::Row(slots) = scope else {
            return Err(self.error("a column by its binding inside a lambda"));
        };
        match slots.iter().find(|slot| slot.binding == binding) {
            Some(slot) if self.number(fields, "depth")? == 0 => self.column_of(slot, data_type),
            _ => Err(self.error(format!("the column {}", self.text(fields, "alias")?))),
        }
    }

    fn column_of(&self, slot: &Slot, data_type: DataType) -> Result<Expr, DecodeError> {
        let index = slot.position.ok_or_else(|| self.error("reading a column that the plan leaves out"))?;
        let known = plain(&slot.column.data_type);
        if known != data_type {
            return Err(self.error(format!("reading the column {} of {known} as {data_type}", slot.column.name)));
        }
        Ok(Expr::Column { index, data_type })
    }

    fn cast(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["child", "return_type", "try_cast"]))?;
        let input = self.expr(self.required(fields, "child")?, scope)?;
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        self.cast_to(input, data_type, self.flag(fields, "try_cast")?)
    }

    /// `CAST(input AS data_type)` in its simplest form that can be written down.
    pub(super) fn cast_to(&self, input: Expr, data_type: DataType, fallible: bool) -> Result<Expr, DecodeError> {
        if input.data_type() == data_type {
            return Ok(input);
        }
        // TRUE and FALSE come as CAST('t' AS BOOLEAN).
        if let (Expr::Literal(Literal { value: Some(Constant::Text(text)), .. }), DataType::Boolean) =
            (&input, &data_type)
            && let Some(value) = [("t", true), ("f", false)].into_iter().find(|(letter, _)| letter == text)
        {
            return Ok(Expr::Literal(Literal { value: Some(Constant::Boolean(value.1)), data_type }));
        }
        match (input, data_type) {
            // An unnamed struct's type has no name, so the members are cast.
            (Expr::Function(mut call), DataType::Struct(members))
                if call.name == "row"
                    && call.arguments.len() == members.len()
                    && members.iter().all(|(name, _)| name.is_empty()) =>
            {
                for (argument, (_, member)) in call.arguments.iter_mut().zip(&members) {
                    argument.value = self.cast_to(argument.value.clone(), member.clone(), fallible)?;
                }
                call.data_type = DataType::Struct(members);
                Ok(Expr::Function(call))
            }
            (_, data_type) if !types::castable(&data_type) => Err(self.error(format!("a cast to {data_type}"))),
            (input, data_type) => Ok(Expr::Cast { input: Box::new(input), data_type, fallible }),
        }
    }

    fn conjunction(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["children"]))?;
        let op = match self.text(fields, "type")? {
            "CONJUNCTION_AND" => Conjunction::And,
            "CONJUNCTION_OR" => Conjunction::Or,
            other => return Err(self.error(format!("the conjunction {other}"))),
        };
        let operands = self.exprs(self.list(fields, "children")?, scope)?;
        Ok(Expr::Conjunction { op, operands })
    }

    fn operator(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["return_type", "children"]))?;
        let op = match self.text(fields, "type")? {
            "OPERATOR_NOT" => Operator::Not,
            "OPERATOR_IS_NULL" => Operator::IsNull,
            "OPERATOR_IS_NOT_NULL" => Operator::IsNotNull,
            "OPERATOR_COALESCE" => Operator::Coalesce,
            "COMPARE_IN" => Operator::In,
            "COMPARE_NOT_IN" => Operator::NotIn,
            "OPERATOR_TRY" => Operator::Try,
            "OPERATOR_NULLIF" => Operator::NullIf,
            other => return Err(self.error(format!("the operator {other}"))),
        };
        let operands = self.exprs(self.list(fields, "children")?, scope)?;
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        Ok(Expr::Operator { op, operands, data_type })
    }

    fn between(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["input", "lower", "upper", "lower_inclusive", "upper_inclusive"]))?;
        Ok(Expr::Between {
            input: Box::new(self.expr(self.required(fields, "input")?, scope)?),
            lower: Box::new(self.expr(self.required(fields, "lower")?, scope)?),
            upper: Box::new(self.expr(self.required(fields, "upper")?, scope)?),
            lower_inclusive: self.flag(fields, "lower_inclusive")?,
            upper_inclusive: self.flag(fields, "upper_inclusive")?,
        })
    }

    fn case(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        self.only(fields, &with_common(&["return_type", "case_checks", "else_expr"]))?;
        let mut branches = Vec::new();
        for check in self.list(fields, "case_checks")? {
            let check = self.fields(check, "a CASE branch", &["when_expr", "then_expr"])?;
            branches.push(CaseBranch {
                condition: self.expr(self.required(check, "when_expr")?, scope)?,
                value: self.expr(self.required(check, "then_expr")?, scope)?,
            });
        }
        let otherwise = Box::new(self.expr(self.required(fields, "else_expr")?, scope)?);
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        Ok(Expr::Case { branches, otherwise, data_type })
    }

    /// A comparison by DuckDB's name of it.
    pub(super) fn comparison(&self, name: &str) -> Result<Comparison, DecodeError> {
        match name {
            "COMPARE_EQUAL" => Ok(Comparison::Equal),
            "COMPARE_NOTEQUAL" => Ok(Comparison::NotEqual),
            "COMPARE_LESSTHAN" => Ok(Comparison::Less),
            "COMPARE_LESSTHANOREQUALTO" => Ok(Comparison::LessOrEqual),
            "COMPARE_GREATERTHAN" => Ok(Comparison::Greater),
            "COMPARE_GREATERTHANOREQUALTO" => Ok(Comparison::GreaterOrEqual),
            "COMPARE_DISTINCT_FROM" => Ok(Comparison::DistinctFrom),
            "COMPARE_NOT_DISTINCT_FROM" => Ok(Comparison::NotDistinctFrom),
            other => Err(self.error(format!("the comparison {other}"))),
        }
    }

    /// The keys of an `ORDER BY`.
    pub(super) fn sort_keys(&mut self, list: &[Json], scope: Scope<'_>) -> Result<Vec<SortKey>, DecodeError> {
        let mut keys = Vec::new();
        for json in list {
            let fields = self.fields(json, "a sort key", &["type", "null_order", "expression"])?;
            let descending = match self.text(fields, "type")? {
                "ASCENDING" => false,
                "DESCENDING" => true,
                other => return Err(self.error(format!("the order {other}"))),
            };
            let nulls_first = match self.text(fields, "null_order")? {
                "NULLS FIRST" => true,
                "NULLS LAST" => false,
                other => return Err(self.error(format!("the order {other}"))),
            };
            let expr = self.expr(self.required(fields, "expression")?, scope)?;
            keys.push(SortKey { expr, descending, nulls_first });
        }
        Ok(keys)
    }
}

/// A type without its collation.
pub(super) fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Varchar { .. } => DataType::VARCHAR,
        other => other.clone(),
    }
}
