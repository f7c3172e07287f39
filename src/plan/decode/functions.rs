//! Scalar functions, and what their bind data adds to the arguments.
//!
//! DuckDB's binder takes some constant arguments out of a call and keeps them in the function's bind data: lambda
//! bodies, the further arguments of `list_aggregate`. They are put back in their places. A function with bind data
//! that is not known here, or with fewer arguments than it was called with, is refused by name.

use serde_json::Value as Json;

use super::super::expr::{Argument, Expr, FunctionCall, Lambda};
use super::super::types::DataType;
use super::expressions::{Scope, with_common};
use super::reader::Fields;
use super::{DecodeError, Decoder};

/// Functions whose result depends on how values are stored, which a printed plan does not keep.
const UNPRINTABLE: [&str; 2] = ["vector_type", "stats"];

impl Decoder<'_> {
    /// A call of a scalar function.
    pub(super) fn function(&mut self, fields: Fields<'_>, scope: Scope<'_>) -> Result<Expr, DecodeError> {
        // The arguments are decoded in a small frame of the stack, for calls may be nested deep.
        let values = self.exprs(self.list(fields, "children")?, scope)?;
        self.function_of(fields, values)
    }

    fn function_of(&mut self, fields: Fields<'_>, values: Vec<Expr>) -> Result<Expr, DecodeError> {
        self.only(
            fields,
            &with_common(&[
                "return_type",
                "children",
                "name",
                "arguments",
                "original_arguments",
                "catalog_name",
                "schema_name",
                "has_serialize",
                "function_data",
                "is_operator",
            ]),
        )?;
        let name = self.text(fields, "name")?.to_owned();
        if UNPRINTABLE.contains(&name.as_str()) {
            return Err(self.error(format!("the function {name}")));
        }
        let children = self.list(fields, "children")?;
        let mut call = FunctionCall {
            qualifier: self.qualifier(fields)?,
            arguments: values.into_iter().map(|value| Argument { name: None, value }).collect(),
            lambda: None,
            is_operator: self.flag(fields, "is_operator")?,
            data_type: self.data_type(self.required(fields, "return_type")?)?,
            name,
        };
        let data = match fields.get("function_data") {
            Some(data) if self.flag(fields, "has_serialize")? => self.object(data, "bind data")?,
            _ => {
                self.refuse_erased_arguments(fields, &call.name)?;
                return Ok(Expr::Function(call));
            }
        };
        if data.get("lambda_expr").is_some() {
            self.put_lambda_back(&mut call, data)?;
        } else if data.get("variable_return_type").is_some() {
            self.name_arguments(&mut call, data, children)?;
        } else if let Some(bind_data) = data.get("bind_data") {
            self.only(data, &["bind_data"])?;
            self.put_list_arguments_back(&mut call, bind_data)?;
        } else {
            // What is left follows from the arguments: the width of decimal arithmetic, the language in a collation
            // function's name. No other bind data is known.
            let derived = ["check_overflow", "return_type", "arguments", "language", "country", "tag"];
            if self.only(data, &derived).is_err() {
                return Err(self.error(format!("the bind data of the function {}", call.name)));
            }
            self.refuse_erased_arguments(fields, &call.name)?;
        }
        Ok(Expr::Function(call))
    }

    /// Catalog and schema of a function that is not DuckDB's own.
    pub(super) fn qualifier(&self, fields: Fields<'_>) -> Result<Option<(String, String)>, DecodeError> {
        let (catalog, schema) = (self.text(fields, "catalog_name")?, self.text(fields, "schema_name")?);
        let own = matches!((catalog, schema), ("system" | "", "main" | "pg_catalog" | ""));
        Ok((!own).then(|| (catalog.to_owned(), schema.to_owned())))
    }

    /// Refuses a call with fewer arguments than the function was declared or called with.
    pub(super) fn refuse_erased_arguments(&self, fields: Fields<'_>, name: &str) -> Result<(), DecodeError> {
        let given = self.list(fields, "children")?.len();
        let declared = self.list(fields, "arguments")?.len();
        let original = self.list(fields, "original_arguments")?.len();
        if given < declared || given < original {
            return Err(self.error(format!("the constant argument of the function {name}")));
        }
        Ok(())
    }

    /// `list_transform(list, lambda …)` and its kin. The children are the list, the initial value if there is one, and
    /// then what the lambda captures.
    fn put_lambda_back(&mut self, call: &mut FunctionCall, data: Fields<'_>) -> Result<(), DecodeError> {
        self.only(data, &["return_type", "lambda_expr", "has_index", "has_initial"])?;
        let has_initial = self.flag(data, "has_initial")?;
        let own = if has_initial { 2 } else { 1 };
        if call.arguments.len() < own {
            return Err(self.error(format!("the arguments of the function {}", call.name)));
        }
        let captures: Vec<Expr> = call.arguments.split_off(own).into_iter().map(|argument| argument.value).collect();
        let reduces = matches!(call.name.as_str(), "list_reduce" | "array_reduce" | "reduce");
        let count = if reduces { 2 } else { 1 } + usize::from(self.flag(data, "has_index")?);
        // Only the number of parameters is known: a parameter's type stands at each place where it is read.
        let parameters = vec![DataType::Null; count];
        let body = self.required(data, "lambda_expr")?;
        let body = self.expr(body, Scope::Lambda { parameters: &parameters, captures: &captures })?;
        call.lambda = Some(Box::new(Lambda { parameters: count, body }));
        Ok(())
    }

    /// Functions that make structs and unions: the names of the arguments are those of the result's members.
    fn name_arguments(&self, call: &mut FunctionCall, data: Fields<'_>, children: &[Json]) -> Result<(), DecodeError> {
        self.only(data, &["variable_return_type"])?;
        let members = match &call.data_type {
            DataType::Struct(members) | DataType::Union(members) => members,
            other => return Err(self.error(format!("the function {} that returns {other}", call.name))),
        };
        match call.name.as_str() {
            "row" => return Ok(()),
            "struct_pack" | "union_value" => {
                for (argument, (name, _)) in call.arguments.iter_mut().zip(members) {
                    argument.name = Some(name.clone());
                }
            }
            "struct_insert" => {
                let first = members.len().saturating_sub(call.arguments.len().saturating_sub(1));
                for (argument, (name, _)) in call.arguments.iter_mut().skip(1).zip(&members[first..]) {
                    argument.name = Some(name.clone());
                }
            }
            "struct_update" => {
                for (argument, child) in call.arguments.iter_mut().zip(children).skip(1) {
                    let alias = self.text(self.object(child, "an argument")?, "alias")?;
                    if !members.iter().any(|(name, _)| name.eq_ignore_ascii_case(alias)) {
                        return Err(self.error("an argument of struct_update without its name"));
                    }
                    argument.name = Some(alias.to_owned());
                }
            }
            other => return Err(self.error(format!("the bind data of the function {other}"))),
        }
        if call.arguments.iter().any(|argument| argument.name.as_deref() == Some("")) {
            return Err(self.error(format!("an argument of {} without its name", call.name)));
        }
        Ok(())
    }

    /// `list_aggregate(list, 'name', …)`: the aggregate's constant arguments.
    fn put_list_arguments_back(&mut self, call: &mut FunctionCall, bind_data: &Json) -> Result<(), DecodeError> {
        let bind_data = self.fields(bind_data, "bind data", &["stype", "aggr_expr"])?;
        let inner = self.object(self.required(bind_data, "aggr_expr")?, "an aggregate")?;
        let name = self.text(inner, "name")?;
        let element = match call.arguments.first().map(|argument| argument.value.data_type()) {
            Some(DataType::List(element) | DataType::Array(element, _)) => *element,
            _ => return Err(self.error(format!("the list of the function {}", call.name))),
        };
        let constants = self.aggregate_constants(inner, name, &[element], &call.data_type)?;
        call.arguments.extend(constants.into_iter().map(|value| Argument { name: None, value }));
        Ok(())
    }
}
