//! CTEs.

use crate::plan::rel::{Cte, CteRef, Materialize, RecursiveCte, Rel};

use super::block::{Block, WithItem};
use super::literals::commas;
use super::names::{self, quoted};
use super::nodes::Printer;

impl Printer<'_> {
    /// A CTE in front of its body.
    pub(super) fn cte(&mut self, cte: &Cte) -> Block {
        let scope = self.ctes.len();
        let mut with = Vec::new();
        if let Rel::RecursiveCte(recursive) = &*cte.definition {
            let (name, columns) = self.define_recursive(recursive, cte.materialize, &mut with);
            self.ctes.push((cte.id, name, columns));
        } else {
            let mut definition = self.block(&cte.definition);
            with.append(&mut definition.with);
            let name = self.names.fresh(&cte.name);
            let columns = definition.names();
            let head = format!("{} {}", quoted(&name), materialized(cte.materialize));
            with.push(WithItem { head, body: definition.text(), recursive: false });
            self.ctes.push((cte.id, name, columns));
        }
        let mut body = self.block(&cte.body);
        self.ctes.truncate(scope);
        with.append(&mut body.with);
        body.with = with;
        body
    }

    /// A reference to a CTE.
    pub(super) fn cte_reference(&mut self, reference: &CteRef) -> Block {
        let around = self.ctes.iter().rev().find(|(id, ..)| *id == reference.id).cloned();
        let (_, name, columns) = around.unwrap_or_else(|| {
            let columns = reference.columns.iter().map(|column| column.name.clone());
            (reference.id, format!("missing CTE {}", reference.id), names::unique(columns))
        });
        let alias = self.names.fresh(&name);
        let schema = if reference.recurring { "recurring." } else { "" };
        Block::relation(format!("{schema}{} AS {}", quoted(&name), quoted(&alias)), &alias, columns)
    }

    /// A recursive CTE that stands for itself.
    pub(super) fn recursive_cte(&mut self, cte: &RecursiveCte) -> Block {
        let mut with = Vec::new();
        let (name, columns) = self.define_recursive(cte, Materialize::Default, &mut with);
        let alias = self.names.fresh(&name);
        let text = format!("{} AS {}", quoted(&name), quoted(&alias));
        Block { with, ..Block::relation(text, &alias, columns) }
    }

    fn define_recursive(
        &mut self,
        cte: &RecursiveCte,
        materialize: Materialize,
        with: &mut Vec<WithItem>,
    ) -> (String, Vec<String>) {
        let name = self.names.fresh(&cte.name);
        let columns = names::unique(cte.columns.iter().map(|column| column.name.clone()));
        let mut start = self.block(&cte.start);
        with.append(&mut start.with);
        self.ctes.push((cte.id, name.clone(), columns.clone()));
        // What the step defines may read the CTE itself, so it stays inside.
        let step = self.block(&cte.step);
        self.ctes.pop();
        let names = |positions: &mut dyn Iterator<Item = usize>| {
            commas(positions.filter_map(|position| columns.get(position)).map(|column| quoted(column)))
        };
        let keys = match cte.keys.as_slice() {
            [] => String::new(),
            keys => format!(" USING KEY ({})", names(&mut keys.iter().copied())),
        };
        let head = format!("{}({}){keys} {}", quoted(&name), names(&mut (0..columns.len())), materialized(materialize));
        let word = if cte.all { "UNION ALL" } else { "UNION" };
        let body = format!("{}\n{word}\n{}", operand(&start), operand(&step));
        with.push(WithItem { head, body, recursive: true });
        (name, columns)
    }
}

fn operand(block: &Block) -> String {
    let bare = block.with.is_empty() && block.order_by.is_none() && block.limit.is_empty() && block.compound.is_none();
    if bare { block.text() } else { format!("(\n{}\n)", super::block::indented(&block.text())) }
}

fn materialized(materialize: Materialize) -> &'static str {
    match materialize {
        Materialize::Default => "AS",
        Materialize::Always => "AS MATERIALIZED",
        Materialize::Never => "AS NOT MATERIALIZED",
    }
}
