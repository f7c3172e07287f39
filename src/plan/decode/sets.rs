//! `DISTINCT` and the set operations.

use serde_json::Value as Json;

use super::super::expr::Expr;
use super::super::rel::{Distinct, Rel, SetOperation, SetOperator};
use super::expressions::Scope;
use super::reader::Fields;
use super::{DecodeError, Decoded, Decoder, Slot};

/// What stands above a set operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Above {
    /// The DISTINCT that ends a set operation without ALL.
    ItsDistinct,
    /// Anything else.
    AnythingElse,
}

impl Decoder<'_> {
    /// `DISTINCT`, `DISTINCT ON`, and the end of a set operation without `ALL`.
    pub(super) fn distinct(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["distinct_type", "distinct_targets", "order_by"])?;
        let (decoded, above) = match self.list(fields, "children")? {
            [only] => self.distinct_input(only)?,
            other => return Err(self.error(format!("a node with {} inputs", other.len()))),
        };
        let slots = decoded.slots.clone();
        let input = self.exact(decoded)?;
        let slots = slots.into_iter().enumerate().map(|(index, slot)| Slot { position: Some(index), ..slot });
        let slots: Vec<Slot> = slots.collect();
        let targets = self.exprs(self.list(fields, "distinct_targets")?, Scope::Row(&slots))?;
        let order_by = match fields.get("order_by") {
            Some(order) => self.order_modifier(order, Scope::Row(&slots))?,
            None => Vec::new(),
        };
        let whole_row = match self.text(fields, "distinct_type")? {
            "DISTINCT" => {
                let column =
                    |(index, target): (usize, &Expr)| matches!(target, Expr::Column { index: at, .. } if *at == index);
                targets.len() == slots.len() && targets.iter().enumerate().all(column) && order_by.is_empty()
            }
            "DISTINCT_ON" => false,
            other => return Err(self.error(format!("the distinct type {other}"))),
        };
        let rel = match (input, whole_row, above) {
            (Rel::SetOperation(operation), true, Above::ItsDistinct) => {
                Rel::SetOperation(SetOperation { all: false, ..operation })
            }
            (input, true, _) => Rel::Distinct(Distinct { input: Box::new(input), on: None, order_by }),
            (input, false, _) => Rel::Distinct(Distinct { input: Box::new(input), on: Some(targets), order_by }),
        };
        Ok(Decoded { rel, slots })
    }

    /// The input of a DISTINCT. A set operation without ALL comes as one under the DISTINCT that ends it.
    fn distinct_input(&mut self, json: &Json) -> Result<(Decoded, Above), DecodeError> {
        let fields = self.object(json, "a node")?;
        let op = match self.text(fields, "type")? {
            "LOGICAL_UNION" => SetOperator::Union,
            "LOGICAL_EXCEPT" => SetOperator::Except,
            "LOGICAL_INTERSECT" => SetOperator::Intersect,
            _ => return Ok((self.node(json)?, Above::AnythingElse)),
        };
        if self.flag(fields, "setop_all")? {
            return Ok((self.node(json)?, Above::AnythingElse));
        }
        self.path.push(format!("{op:?}").to_ascii_lowercase());
        let decoded = self.set_operation(fields, op, Above::ItsDistinct)?;
        self.path.pop();
        Ok((decoded, Above::ItsDistinct))
    }

    /// A set operation. DuckDB puts a DISTINCT above each one without ALL.
    pub(super) fn set_operation(
        &mut self,
        fields: Fields<'_>,
        op: SetOperator,
        above: Above,
    ) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["column_count", "setop_all", "allow_out_of_order"])?;
        let all = self.flag(fields, "setop_all")?;
        if !all && above != Above::ItsDistinct {
            return Err(self.error("a set operation without ALL that is not under its DISTINCT"));
        }
        let mut inputs = Vec::new();
        for child in self.list(fields, "children")? {
            let decoded = self.node(child)?;
            inputs.push(self.exact(decoded)?);
        }
        let columns = inputs.first().map(Rel::columns).unwrap_or_default();
        let types = |rel: &Rel| rel.columns().into_iter().map(|column| column.data_type).collect::<Vec<_>>();
        let first = inputs.first().map(&types);
        let right_count = inputs.len() == 2 || (inputs.len() > 2 && op == SetOperator::Union);
        let width = self.position(fields, "column_count")?;
        if !right_count || columns.len() != width || inputs.iter().any(|input| Some(types(input)) != first) {
            return Err(self.error("a set operation over inputs that differ in their columns"));
        }
        // EXCEPT and INTERSECT without ALL compare sets; a UNION becomes one of sets with the DISTINCT above it.
        let all = all || op == SetOperator::Union;
        let rel = Rel::SetOperation(SetOperation { op, all, inputs, columns });
        Decoded::of(rel, self.number(fields, "table_index")?)
    }
}
