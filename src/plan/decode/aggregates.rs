//! Calls of aggregate functions.

use serde_json::Value as Json;

use super::super::expr::{Constant, Expr, Literal, SortKey};
use super::super::rel::AggregateCall;
use super::super::types::DataType;
use super::expressions::{Scope, with_common};
use super::reader::Fields;
use super::{DecodeError, Decoder};

impl Decoder<'_> {
    /// A call of an aggregate function in a `GROUP BY`.
    pub(super) fn aggregate_call(&mut self, json: &Json, scope: Scope<'_>) -> Result<AggregateCall, DecodeError> {
        let fields = self.fields(
            json,
            "an aggregate",
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
                "aggregate_type",
                "filter",
                "order_bys",
            ]),
        )?;
        if self.text(fields, "expression_class")? != "BOUND_AGGREGATE" {
            return Err(self.error(format!("the aggregate {}", self.text(fields, "type")?)));
        }
        let distinct = match self.text(fields, "aggregate_type")? {
            "DISTINCT" => true,
            "NON_DISTINCT" => false,
            other => return Err(self.error(format!("the aggregate type {other}"))),
        };
        let filter = match fields.get("filter") {
            Some(filter) => Some(Box::new(self.expr(filter, scope)?)),
            None => None,
        };
        let order_by = match fields.get("order_bys") {
            Some(order) => self.order_modifier(order, scope)?,
            None => Vec::new(),
        };
        let data_type = self.data_type(self.required(fields, "return_type")?)?;
        let (name, arguments) = self.aggregate_function(fields, &data_type, scope)?;
        Ok(AggregateCall { name, arguments, distinct, filter, order_by, data_type })
    }

    /// Name and arguments of an aggregate function, the constant ones put back.
    pub(super) fn aggregate_function(
        &mut self,
        fields: Fields<'_>,
        data_type: &DataType,
        scope: Scope<'_>,
    ) -> Result<(String, Vec<Expr>), DecodeError> {
        let name = self.text(fields, "name")?;
        if let Some((catalog, schema)) = self.qualifier(fields)? {
            return Err(self.error(format!("the aggregate {catalog}.{schema}.{name}")));
        }
        let mut arguments = self.exprs(self.list(fields, "children")?, scope)?;
        let types: Vec<DataType> = arguments.iter().map(Expr::data_type).collect();
        arguments.extend(self.aggregate_constants(fields, name, &types, data_type)?);
        Ok((name.to_owned(), arguments))
    }

    /// `{"orders": […]}`
    pub(super) fn order_modifier(&mut self, json: &Json, scope: Scope<'_>) -> Result<Vec<SortKey>, DecodeError> {
        let fields = self.fields(json, "an ORDER BY", &["type", "orders"])?;
        self.sort_keys(self.list(fields, "orders")?, scope)
    }

    /// The constant arguments that the binder took out of a call of the aggregate `name` and into its bind data.
    pub(super) fn aggregate_constants(
        &self,
        fields: Fields<'_>,
        name: &str,
        types: &[DataType],
        data_type: &DataType,
    ) -> Result<Vec<Expr>, DecodeError> {
        self.erased_constants(fields, name, types, data_type).map_err(|error| error.of(name))
    }

    fn erased_constants(
        &self,
        fields: Fields<'_>,
        name: &str,
        types: &[DataType],
        data_type: &DataType,
    ) -> Result<Vec<Expr>, DecodeError> {
        let data = match fields.get("function_data") {
            Some(data) if self.flag(fields, "has_serialize")? => self.object(data, "bind data")?,
            _ => {
                self.refuse_erased_arguments(fields, name)?;
                return Ok(Vec::new());
            }
        };
        // One fraction gives a value of the argument's type, a list of them a list of such values.
        let returns_list = match (types.first(), data_type) {
            (Some(DataType::List(_)), DataType::List(element)) => matches!(**element, DataType::List(_)),
            (_, DataType::List(_)) => true,
            _ => false,
        };
        match name {
            "string_agg" | "group_concat" | "listagg" => {
                self.only(data, &["separator"])?;
                Ok(vec![text(self.text(data, "separator")?)])
            }
            "median" => self.only(data, &["quantiles", "order", "desc"]).map(|()| Vec::new()),
            "quantile_cont" | "quantile_disc" => {
                self.only(data, &["quantiles", "order", "desc"])?;
                let fractions = self.list(data, "quantiles")?.iter().map(|json| self.literal(json));
                let mut fractions = fractions.collect::<Result<Vec<_>, _>>()?;
                if self.flag(data, "desc")? {
                    fractions.iter_mut().try_for_each(|fraction| self.negate(fraction))?;
                }
                self.fractions(fractions, returns_list, name).map(|argument| vec![argument])
            }
            "approx_quantile" | "reservoir_quantile" => {
                self.only(data, &["quantiles", "sample_size"])?;
                let to = if name == "approx_quantile" { DataType::Float } else { DataType::Double };
                let fractions: Vec<f64> = self.typed(data, "quantiles")?;
                let literal = |fraction| Literal { value: Some(Constant::Double(fraction)), data_type: to.clone() };
                let fractions = fractions.into_iter().map(literal).collect();
                let mut arguments = vec![self.fractions(fractions, returns_list, name)?];
                if data.get("sample_size").is_some() {
                    let size = self.number(data, "sample_size")?.to_string();
                    let value = Some(Constant::Integer(size));
                    arguments.push(Expr::Literal(Literal { value, data_type: DataType::Integer }));
                }
                Ok(arguments)
            }
            "bitstring_agg" => {
                self.only(data, &["min", "max"])?;
                let bounds = ["min", "max"].map(|bound| self.literal(self.required(data, bound)?));
                let [min, max] = bounds;
                let bounds = [min?, max?];
                let given = bounds.into_iter().filter(|bound| bound.value.is_some());
                Ok(given.map(Expr::Literal).collect())
            }
            other => match self.only(data, &[]) {
                Ok(()) => self.refuse_erased_arguments(fields, other).map(|()| Vec::new()),
                Err(_) => Err(self.error(format!("the bind data of the aggregate {other}"))),
            },
        }
    }

    /// Fractions of a quantile, as one argument.
    fn fractions(&self, fractions: Vec<Literal>, as_list: bool, name: &str) -> Result<Expr, DecodeError> {
        let element = match fractions.first() {
            Some(first) => first.data_type.clone(),
            None => return Err(self.error(format!("{name} without a fraction"))),
        };
        if as_list {
            let data_type = DataType::List(Box::new(element));
            return Ok(Expr::Literal(Literal { value: Some(Constant::List(fractions)), data_type }));
        }
        match <[Literal; 1]>::try_from(fractions) {
            Ok([fraction]) => Ok(Expr::Literal(fraction)),
            Err(_) => Err(self.error(format!("several fractions of {name} without a list"))),
        }
    }

    /// Quantiles `WITHIN GROUP (ORDER BY x DESC)` are written as negative fractions. Zero has no negative.
    fn negate(&self, fraction: &mut Literal) -> Result<(), DecodeError> {
        match &mut fraction.value {
            Some(Constant::Integer(digits)) if digits.bytes().any(|digit| digit != b'0') => digits.insert(0, '-'),
            Some(Constant::Double(number)) if *number > 0.0 => *number = -*number,
            _ => return Err(self.error("the quantile 0 in descending order")),
        }
        Ok(())
    }
}

fn text(text: &str) -> Expr {
    Expr::Literal(Literal { value: Some(Constant::Text(text.to_owned())), data_type: DataType::VARCHAR })
}
