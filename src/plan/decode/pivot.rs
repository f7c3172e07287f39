//! `PIVOT` with many values, for which DuckDB collects each group's values in lists. Pivots with few values come as
//! filtered aggregates.

use super::super::expr::{Argument, CaseBranch, Constant, Expr, FunctionCall, Literal};
use super::super::rel::{Project, Rel};
use super::super::types::DataType;
use super::reader::Fields;
use super::{DecodeError, Decoded, Decoder};

/// Aggregates of no rows that are 0 …
const ZERO: [&str; 7] =
    ["count", "count_star", "count_if", "countif", "regr_count", "approx_count_distinct", "entropy"];
/// … and that are NULL.
const NULL: [&str; 68] = [
    "any_value",
    "approx_quantile",
    "approx_top_k",
    "arbitrary",
    "arg_max",
    "arg_max_null",
    "arg_max_nulls_last",
    "arg_min",
    "arg_min_null",
    "arg_min_nulls_last",
    "argmax",
    "argmin",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bitstring_agg",
    "bool_and",
    "bool_or",
    "corr",
    "covar_pop",
    "covar_samp",
    "favg",
    "first",
    "fsum",
    "group_concat",
    "histogram",
    "histogram_exact",
    "kahan_sum",
    "kurtosis",
    "kurtosis_pop",
    "last",
    "list",
    "listagg",
    "mad",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_avgx",
    "regr_avgy",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "reservoir_quantile",
    "sem",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "sumkahan",
    "sum_no_overflow",
    "var_pop",
    "var_samp",
    "variance",
];

impl Decoder<'_> {
    /// The input has the groups, one list of values per aggregate, and the list of the values' names. Output: the
    /// groups, and for each pivoted value each aggregate's value, or its value for no rows where the group has none.
    pub(super) fn pivot(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["pivot_index", "bound_pivot"])?;
        let input = self.input(fields)?;
        let input = self.exact(input)?;
        let known = ["group_count", "types", "pivot_values", "aggregates"];
        let pivot = self.fields(self.required(fields, "bound_pivot")?, "a pivot", &known)?;
        let groups = self.position(pivot, "group_count")?;
        let types = self.data_types(self.list(pivot, "types")?)?;
        let values: Vec<String> = self.typed(pivot, "pivot_values")?;
        let mut empty = Vec::new();
        for json in self.list(pivot, "aggregates")? {
            let aggregate = self.object(json, "an aggregate")?;
            let name = self.text(aggregate, "name")?;
            let data_type = self.data_type(self.required(aggregate, "return_type")?)?;
            let value = match name {
                name if ZERO.contains(&name) && data_type == DataType::Double => Some(Constant::Double(0.0)),
                name if ZERO.contains(&name) => Some(Constant::Integer("0".to_owned())),
                name if NULL.contains(&name) => None,
                other => return Err(self.error(format!("PIVOT with the aggregate {other}"))),
            };
            empty.push(Expr::Literal(Literal { value, data_type }));
        }
        let columns = input.columns();
        let names = groups + empty.len();
        if columns.len() != names + 1 || types.len() != groups + values.len() || empty.is_empty() {
            return Err(self.error("a pivot whose columns do not fit"));
        }
        let column = |index: usize| Expr::column(index, columns[index].data_type.clone());
        let mut exprs: Vec<(String, Expr)> =
            (0..groups).map(|index| (columns[index].name.clone(), column(index))).collect();
        for (index, value) in values.into_iter().enumerate() {
            let aggregate = index % empty.len();
            let literal = Literal { value: Some(Constant::Text(value.clone())), data_type: DataType::VARCHAR };
            let at = call("list_position", vec![column(names), Expr::Literal(literal)], DataType::Integer);
            let at = Expr::Cast { input: Box::new(at), data_type: DataType::BigInt, fallible: false };
            let data_type = types[groups + index].clone();
            let found = call("list_extract", vec![column(groups + aggregate), at.clone()], data_type.clone());
            let condition = Expr::Operator {
                op: super::super::expr::Operator::IsNotNull,
                operands: vec![at],
                data_type: DataType::Boolean,
            };
            let branches = vec![CaseBranch { condition, value: found }];
            exprs.push((value, Expr::Case { branches, otherwise: Box::new(empty[aggregate].clone()), data_type }));
        }
        let rel = Rel::Project(Project { input: Box::new(input), exprs });
        Decoded::of(rel, self.number(fields, "pivot_index")?)
    }
}

fn call(name: &str, arguments: Vec<Expr>, data_type: DataType) -> Expr {
    Expr::Function(FunctionCall {
        name: name.to_owned(),
        qualifier: None,
        arguments: arguments.into_iter().map(|value| Argument { name: None, value }).collect(),
        lambda: None,
        is_operator: false,
        data_type,
    })
}
