//! The way to each relational node, and those with one input.

use serde_json::Value as Json;

use super::super::expr::Expr;
use super::super::rel::{
    Aggregate, Column, Filter, Limit, LimitCount, Project, Rel, Sample, SetOperator, Sort, Unnest, Window,
};
use super::expressions::{DEEPEST, Scope, with_common};
use super::reader::Fields;
use super::sets::Above;
use super::{DecodeError, Decoded, Decoder, Slot, telling_name};

impl Decoder<'_> {
    /// Decodes a node and everything below it.
    pub(super) fn node(&mut self, json: &Json) -> Result<Decoded, DecodeError> {
        let fields = self.object(json, "a node")?;
        let kind = self.text(fields, "type")?;
        if fields.get("children").is_none() {
            return Err(self.error(
                "a plan serialised with skip_empty := true, which loses empty grouping sets and empty strings,",
            ));
        }
        let name = kind.strip_prefix("LOGICAL_").unwrap_or(kind).to_ascii_lowercase().replace('_', " ");
        self.path.push(name);
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("an expression or plan nested this deep"));
        }
        let decoded = self.node_inside(fields, kind)?;
        self.depth -= 1;
        self.path.pop();
        Ok(decoded)
    }

    fn node_inside(&mut self, fields: Fields<'_>, kind: &str) -> Result<Decoded, DecodeError> {
        match kind {
            "LOGICAL_GET" => self.get(fields),
            "LOGICAL_PROJECTION" => self.projection(fields),
            "LOGICAL_FILTER" => self.filter(fields),
            "LOGICAL_COMPARISON_JOIN"
            | "LOGICAL_ASOF_JOIN"
            | "LOGICAL_ANY_JOIN"
            | "LOGICAL_CROSS_PRODUCT"
            | "LOGICAL_POSITIONAL_JOIN" => self.join(fields, kind),
            "LOGICAL_DELIM_JOIN" => self.dependent_join(fields),
            "LOGICAL_DELIM_GET" => self.dependent_keys(fields),
            "LOGICAL_AGGREGATE_AND_GROUP_BY" => self.aggregate(fields),
            "LOGICAL_DISTINCT" => self.distinct(fields),
            "LOGICAL_WINDOW" => self.window(fields),
            "LOGICAL_UNION" => self.set_operation(fields, SetOperator::Union, Above::AnythingElse),
            "LOGICAL_EXCEPT" => self.set_operation(fields, SetOperator::Except, Above::AnythingElse),
            "LOGICAL_INTERSECT" => self.set_operation(fields, SetOperator::Intersect, Above::AnythingElse),
            "LOGICAL_ORDER_BY" => self.sort(fields),
            "LOGICAL_LIMIT" => self.limit(fields),
            "LOGICAL_UNNEST" => self.unnest(fields),
            "LOGICAL_MATERIALIZED_CTE" => self.cte(fields),
            "LOGICAL_CTE_REF" => self.cte_reference(fields),
            "LOGICAL_RECURSIVE_CTE" => self.recursive_cte(fields),
            "LOGICAL_EXPRESSION_GET" => self.expression_get(fields),
            "LOGICAL_CHUNK_GET" => self.chunk_get(fields),
            "LOGICAL_DUMMY_SCAN" => self.dummy_scan(fields),
            "LOGICAL_EMPTY_RESULT" => self.empty_result(fields),
            "LOGICAL_SAMPLE" => self.sample(fields),
            "LOGICAL_PIVOT" => self.pivot(fields),
            other => Err(self.error(format!("the node {other}"))),
        }
    }

    /// The only input of a node.
    pub(super) fn input(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        match self.list(fields, "children")? {
            [only] => self.node(only),
            other => Err(self.error(format!("a node with {} inputs", other.len()))),
        }
    }

    fn projection(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["expressions"])?;
        let Decoded { rel, slots } = self.input(fields)?;
        let mut exprs = Vec::new();
        for json in self.list(fields, "expressions")? {
            exprs.push(self.named_expr(json, &slots)?);
        }
        let rel = Rel::Project(Project { input: Box::new(rel), exprs });
        Decoded::of(rel, self.number(fields, "table_index")?)
    }

    /// An expression with the name that the statement gives it, or a telling one.
    fn named_expr(&mut self, json: &Json, slots: &[Slot]) -> Result<(String, Expr), DecodeError> {
        let expr = self.expr(json, Scope::Row(slots))?;
        let alias = self.alias(json)?;
        let name = if alias.is_empty() { telling_name(&expr, slots) } else { alias.to_owned() };
        Ok((name, expr))
    }

    /// The name that the statement gives to an expression; a cast that the binder put around it has none.
    fn alias<'j>(&self, json: &'j Json) -> Result<&'j str, DecodeError> {
        let fields = self.object(json, "an expression")?;
        match (self.text(fields, "alias")?, fields.get("child")) {
            ("", Some(child)) if self.text(fields, "expression_class")? == "BOUND_CAST" => self.alias(child),
            (alias, _) => Ok(alias),
        }
    }

    fn filter(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["expressions", "projection_map"])?;
        let Decoded { rel, mut slots } = self.input(fields)?;
        let predicates = self.exprs(self.list(fields, "expressions")?, Scope::Row(&slots))?;
        if fields.get("projection_map").is_some() {
            let kept: Vec<usize> = self.typed(fields, "projection_map")?;
            if !kept.is_empty() {
                let chosen = kept.iter().map(|index| slots.get(*index).cloned());
                let chosen: Option<Vec<Slot>> = chosen.collect();
                slots = chosen.ok_or_else(|| self.error("the projection of a filter"))?;
            }
        }
        Ok(Decoded { rel: Rel::Filter(Filter { input: Box::new(rel), predicates }), slots })
    }

    fn aggregate(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(
            fields,
            &[
                "expressions",
                "group_index",
                "aggregate_index",
                "groupings_index",
                "groups",
                "grouping_sets",
                "grouping_functions",
                "distinct_validity",
            ],
        )?;
        let Decoded { rel, slots } = self.input(fields)?;
        let mut groups = Vec::new();
        for json in self.list(fields, "groups")? {
            groups.push(self.named_expr(json, &slots)?);
        }
        let mut grouping_sets: Vec<Vec<usize>> = self.typed(fields, "grouping_sets")?;
        if grouping_sets.is_empty() {
            grouping_sets.push((0..groups.len()).collect());
        }
        let grouping_functions: Vec<Vec<usize>> = self.typed(fields, "grouping_functions")?;
        let mut positions = grouping_sets.iter().chain(&grouping_functions).flatten();
        if positions.any(|position| *position >= groups.len()) {
            return Err(self.error("a grouping set beyond the groups"));
        }
        let mut aggregates = Vec::new();
        for json in self.list(fields, "expressions")? {
            aggregates.push(self.aggregate_call(json, Scope::Row(&slots))?);
        }
        let counts = [
            (self.number(fields, "group_index")?, groups.len()),
            (self.number(fields, "aggregate_index")?, aggregates.len()),
            (self.number(fields, "groupings_index")?, grouping_functions.len()),
        ];
        let rel =
            Rel::Aggregate(Aggregate { input: Box::new(rel), groups, grouping_sets, aggregates, grouping_functions });
        let mut columns = rel.columns().into_iter().enumerate();
        let mut slots = Vec::new();
        for (table_index, count) in counts {
            let part = (0_u64..).zip(columns.by_ref().take(count));
            slots.extend(part.map(|(index, (position, column))| Slot {
                binding: (table_index, index),
                position: Some(position),
                column,
            }));
        }
        Ok(Decoded { rel, slots })
    }

    fn window(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["window_index", "expressions"])?;
        let Decoded { rel, mut slots } = self.input(fields)?;
        let width = rel.columns().len();
        let mut functions = Vec::new();
        for json in self.list(fields, "expressions")? {
            functions.push(self.window_call(json, Scope::Row(&slots))?);
        }
        let columns: Vec<Column> =
            functions.iter().map(|call| Column::new(&call.name, call.data_type.clone())).collect();
        let made = Slot::each(self.number(fields, "window_index")?, &columns);
        slots.extend(Slot::shifted(made, width));
        Ok(Decoded { rel: Rel::Window(Window { input: Box::new(rel), functions }), slots })
    }

    fn sort(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["orders", "projection_map", "projections", "is_index_sort"])?;
        self.must_be_empty(fields, "projection_map")?;
        self.must_be_empty(fields, "projections")?;
        let Decoded { rel, slots } = self.input(fields)?;
        let keys = self.sort_keys(self.list(fields, "orders")?, Scope::Row(&slots))?;
        Ok(Decoded { rel: Rel::Sort(Sort { input: Box::new(rel), keys }), slots })
    }

    fn limit(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["limit_val", "offset_val"])?;
        let Decoded { rel, slots } = self.input(fields)?;
        let limit = self.limit_count(self.required(fields, "limit_val")?, &slots)?;
        let offset = self.limit_count(self.required(fields, "offset_val")?, &slots)?;
        Ok(Decoded { rel: Rel::Limit(Limit { input: Box::new(rel), limit, offset }), slots })
    }

    fn limit_count(&mut self, json: &Json, slots: &[Slot]) -> Result<LimitCount, DecodeError> {
        let fields =
            self.fields(json, "a limit", &["type", "constant_integer", "constant_percentage", "expression"])?;
        let kind = self.text(fields, "type")?;
        let expr = match fields.get("expression") {
            Some(expr) => Some(self.expr(expr, Scope::Row(slots))?),
            None => None,
        };
        match (kind, expr) {
            ("UNSET", None) => Ok(LimitCount::Unset),
            ("CONSTANT_VALUE", None) => Ok(LimitCount::Rows(self.number(fields, "constant_integer")?)),
            ("CONSTANT_PERCENTAGE", None) => Ok(LimitCount::Percent(self.typed(fields, "constant_percentage")?)),
            ("EXPRESSION_VALUE", Some(expr)) => Ok(LimitCount::Expression(Box::new(expr))),
            ("EXPRESSION_PERCENTAGE", Some(expr)) => Ok(LimitCount::PercentExpression(Box::new(expr))),
            (other, _) => Err(self.error(format!("the limit {other}"))),
        }
    }

    fn unnest(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["unnest_index", "expressions"])?;
        let Decoded { rel, mut slots } = self.input(fields)?;
        let width = rel.columns().len();
        let mut lists = Vec::new();
        for json in self.list(fields, "expressions")? {
            let unnest = self.fields(json, "an unnest", &with_common(&["return_type", "child"]))?;
            if self.text(unnest, "expression_class")? != "BOUND_UNNEST" {
                return Err(self.error(format!("the unnest {}", self.text(unnest, "type")?)));
            }
            let data_type = self.data_type(self.required(unnest, "return_type")?)?;
            let list = self.expr(self.required(unnest, "child")?, Scope::Row(&slots))?;
            lists.push((Column::new(telling_name(&list, &slots), data_type), list));
        }
        let columns: Vec<Column> = lists.iter().map(|(column, _)| column.clone()).collect();
        let made = Slot::each(self.number(fields, "unnest_index")?, &columns);
        slots.extend(Slot::shifted(made, width));
        Ok(Decoded { rel: Rel::Unnest(Unnest { input: Box::new(rel), lists }), slots })
    }

    fn sample(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["sample_options"])?;
        let Decoded { rel, slots } = self.input(fields)?;
        let known = ["sample_size", "is_percentage", "method", "seed", "repeatable"];
        let options = self.fields(self.required(fields, "sample_options")?, "a sample", &known)?;
        let size = self.fields(self.required(options, "sample_size")?, "a size", &["type", "is_null", "value"])?;
        let size = self.required(size, "value")?;
        let unit = if self.flag(options, "is_percentage")? { " PERCENT" } else { " ROWS" };
        let method = match self.text(options, "method")? {
            "System" => "system",
            "Bernoulli" => "bernoulli",
            "Reservoir" => "reservoir",
            other => return Err(self.error(format!("the sampling method {other}"))),
        };
        let clause = match options.get("seed").and_then(Json::as_i64).filter(|seed| *seed >= 0) {
            Some(seed) => format!("{method}({size}{unit}) REPEATABLE ({seed})"),
            None => format!("{method}({size}{unit})"),
        };
        Ok(Decoded { rel: Rel::Sample(Sample { input: Box::new(rel), clause }), slots })
    }
}
