//! Constant rows.

use super::super::expr::{Expr, Literal};
use super::super::rel::{Column, Project, Rel, SetOperation, SetOperator, Values};
use super::super::types::DataType;
use super::expressions::Scope;
use super::reader::Fields;
use super::{DecodeError, Decoded, Decoder, Slot};

impl Decoder<'_> {
    /// `VALUES`, also of an outer row's columns.
    pub(super) fn expression_get(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["expr_types", "expressions"])?;
        let Decoded { rel: input, slots } = self.input(fields)?;
        let table_index = self.number(fields, "table_index")?;
        let types = self.data_types(self.list(fields, "expr_types")?)?;
        let columns = types.into_iter().enumerate();
        let columns = columns.map(|(index, data_type)| Column::new(format!("col{index}"), data_type));
        let columns: Vec<Column> = columns.collect();
        let mut rows = Vec::new();
        for row in self.list(fields, "expressions")? {
            let row = row.as_array().ok_or_else(|| self.error("a row of VALUES that is no list"))?;
            rows.push(self.exprs(row, Scope::Row(&slots))?);
        }
        let one_row = matches!(&input, Rel::Values(values) if values.columns.is_empty() && values.rows.len() == 1);
        let rel = match input {
            _ if one_row => Rel::Values(Values { columns, rows }),
            keys @ Rel::DependentKeys(_) => {
                let names = || columns.iter().map(|column| column.name.clone());
                let project = |row: Vec<Expr>| {
                    let exprs = names().zip(row).collect();
                    Rel::Project(Project { input: Box::new(keys.clone()), exprs })
                };
                let mut inputs: Vec<Rel> = rows.into_iter().map(project).collect();
                match inputs.len() {
                    1 => inputs.remove(0),
                    _ => Rel::SetOperation(SetOperation { op: SetOperator::Union, all: true, inputs, columns }),
                }
            }
            _ => return Err(self.error("VALUES over the rows of another relation")),
        };
        Decoded::of(rel, table_index)
    }

    pub(super) fn chunk_get(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["chunk_types", "collection"])?;
        let collection = self.fields(self.required(fields, "collection")?, "rows", &["types", "values"])?;
        let types = self.data_types(self.list(fields, "chunk_types")?)?;
        let mut by_column = Vec::new();
        for values in self.list(collection, "values")? {
            let values = values.as_array().ok_or_else(|| self.error("a column of constants that is no list"))?;
            by_column.push(values.iter().map(|value| self.literal(value)).collect::<Result<Vec<Literal>, _>>()?);
        }
        let height = by_column.first().map_or(0, Vec::len);
        if by_column.len() != types.len() || by_column.iter().any(|column| column.len() != height) {
            return Err(self.error("constant rows that are no table"));
        }
        let row = |index: usize| by_column.iter().map(|column| Expr::Literal(column[index].clone())).collect();
        let rows = (0..height).map(row).collect();
        let columns = types.into_iter().enumerate();
        let columns = columns.map(|(index, data_type)| Column::new(format!("col{index}"), data_type)).collect();
        Decoded::of(Rel::Values(Values { columns, rows }), self.number(fields, "table_index")?)
    }

    /// One row without columns; DuckDB counts one column, which nobody reads.
    pub(super) fn dummy_scan(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &[])?;
        let binding = (self.number(fields, "table_index")?, 0);
        let column = Column::new("dummy", DataType::Integer);
        let rel = Rel::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] });
        Ok(Decoded { rel, slots: vec![Slot { binding, position: None, column }] })
    }

    pub(super) fn empty_result(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["return_types", "bindings"])?;
        let types = self.data_types(self.list(fields, "return_types")?)?;
        let bindings = self.list(fields, "bindings")?;
        if bindings.len() != types.len() {
            return Err(self.error("an empty result whose columns have no names"));
        }
        let columns = types.into_iter().enumerate();
        let columns = columns.map(|(index, data_type)| Column::new(format!("col{index}"), data_type));
        let columns: Vec<Column> = columns.collect();
        let mut slots = Vec::new();
        for (position, (json, column)) in bindings.iter().zip(&columns).enumerate() {
            let binding = self.fields(json, "a binding", &["table_index", "column_index"])?;
            let binding = (self.number(binding, "table_index")?, self.number(binding, "column_index")?);
            slots.push(Slot { binding, position: Some(position), column: column.clone() });
        }
        Ok(Decoded { rel: Rel::Values(Values { columns, rows: Vec::new() }), slots })
    }
}
