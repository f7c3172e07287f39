//! The nodes that rows come from: tables, constants, table functions.

use crate::plan::expr::Expr;
use crate::plan::rel::{Scan, TableFunction, TableKind, Values};
use crate::plan::types::DataType;

use super::block::{Block, Item, Output, Stage, indented};
use super::exprs::Columns;
use super::literals::commas;
use super::nodes::Printer;
use super::{Relation, names, quoted};

impl Printer<'_> {
    pub(super) fn scan(&mut self, scan: &Scan) -> Block {
        let relation = match scan.pinned {
            Some(snapshot) => Relation::table(scan, Some(snapshot)),
            None => self.relations.relation(scan),
        };
        let version = relation.version.map(|version| format!(" AT (VERSION => {version})")).unwrap_or_default();
        let alias = self.names.fresh(&scan.table);
        let text = format!("{} AS {}{version}", relation.name, quoted(&alias));
        let names = scan.columns.iter().map(|column| column.name.clone());
        let mut block = Block::relation(text, &alias, names);
        let collated = |data_type: &DataType| matches!(data_type, DataType::Varchar { collation: Some(collation) } if !collation.is_empty());
        if scan.kind == TableKind::DuckDb && scan.columns.iter().any(|column| collated(&column.data_type)) {
            // The plan has the collation's functions already; the binder must not add them again.
            for (column, output) in scan.columns.iter().zip(&mut block.columns) {
                if collated(&column.data_type) {
                    output.text = format!("{} COLLATE \"binary\"", output.text);
                    output.plain = false;
                }
            }
            block.stage = Stage::Computed;
        }
        block
    }

    pub(super) fn values(&mut self, values: &Values) -> Block {
        let names = names::unique(values.columns.iter().map(|column| column.name.clone()));
        if values.columns.is_empty() && values.rows.len() == 1 {
            return Block::rows(Vec::new(), Vec::new());
        }
        let types = || values.columns.iter().map(|column| &column.data_type);
        if values.rows.is_empty() || values.columns.is_empty() {
            let columns = types().zip(&names).map(|(data_type, name)| {
                let text = format!("CAST(NULL AS {data_type})");
                Output { text, name: name.clone(), plain: false }
            });
            let mut block = Block::rows(Vec::new(), columns.collect());
            if values.rows.is_empty() {
                block.filters.push("FALSE".to_owned());
                block.stage = Stage::Closed;
                return block;
            }
            let rows = format!("(VALUES {}) AS ", commas(values.rows.iter().map(|_| "(1)".to_owned())));
            let alias = self.names.fresh("rows");
            return Block::relation(format!("{rows}{}", quoted(&alias)), &alias, []);
        }
        let columns = Columns::new(&[]);
        let row = |row: &Vec<Expr>| {
            let cast = |(expr, data_type): (&Expr, &DataType)| {
                if expr.data_type() == *data_type {
                    columns.top(expr)
                } else {
                    format!("CAST({} AS {data_type})", columns.top(expr))
                }
            };
            format!("({})", commas(row.iter().zip(types()).map(cast)))
        };
        let rows = values.rows.iter().map(row).collect::<Vec<_>>().join(",\n");
        let alias = self.names.fresh("rows");
        let head = commas(names.iter().map(|name| quoted(name)));
        let text = format!("(\n  VALUES\n{}\n) AS {}({head})", indented(&indented(&rows)), quoted(&alias));
        Block::relation(text, &alias, names)
    }

    pub(super) fn table_function(&mut self, function: &TableFunction) -> Block {
        let mut input = match &function.input {
            Some(input) => self.rows(input),
            None => Block::rows(Vec::new(), Vec::new()),
        };
        let texts = input.texts();
        let columns = Columns::new(&texts);
        let positional = function.arguments.iter().map(|argument| columns.top(argument));
        let by_name =
            function.named_arguments.iter().map(|(name, value)| format!("{} := {}", quoted(name), columns.top(value)));
        let arguments = commas(positional.chain(by_name));
        let alias = self.names.fresh(&function.name);
        let names = names::unique(function.all_names.iter().cloned());
        let head = commas(names.iter().map(|name| quoted(name)));
        let call = format!("{}({arguments})", names::function(&function.name));
        let text = format!("{call} AS {}({head})", quoted(&alias));
        let own = function.positions.iter().zip(&function.columns);
        let own = own.map(|(position, column)| {
            let name = names.get(*position).unwrap_or(&column.name);
            Output::of(&alias, name.clone())
        });
        input.columns = own.chain(input.columns).collect();
        input.from.push(Item { join: "CROSS JOIN", text, on: Vec::new() });
        input
    }
}
