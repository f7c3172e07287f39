//! Set operations, and the nodes that order, cut, multiply or sample their rows.

use crate::plan::limits;
use crate::plan::rel::{Limit, LimitCount, Sample, SetOperation, SetOperator, Sort, Unnest};

use super::block::{Block, Output, Stage, indented};
use super::exprs::Columns;
use super::nodes::{Printer, name_of};
use super::{names, quoted};

impl Printer<'_> {
    pub(super) fn set_operation(&mut self, operation: &SetOperation) -> Block {
        let word = match operation.op {
            SetOperator::Union => "UNION",
            SetOperator::Except => "EXCEPT",
            SetOperator::Intersect => "INTERSECT",
        };
        let all = if operation.all { " ALL" } else { "" };
        let names = names::unique(operation.columns.iter().map(|column| column.name.clone()));
        let mut parts = Vec::new();
        let mut with = Vec::new();
        for input in &operation.inputs {
            let mut block = self.block(input);
            if block.compound.is_none() {
                for (column, name) in block.columns.iter_mut().zip(&names) {
                    column.name.clone_from(name);
                }
            } else {
                block = self.wrapped(block, name_of(input));
                for (column, name) in block.columns.iter_mut().zip(&names) {
                    column.name.clone_from(name);
                }
            }
            with.append(&mut block.with);
            let bare = block.order_by.is_none() && block.limit.is_empty();
            let text = block.text();
            parts.push(if bare { text } else { format!("(\n{}\n)", indented(&text)) });
        }
        let compound = parts.join(&format!("\n{word}{all}\n"));
        let columns = names.into_iter().map(|name| Output { text: quoted(&name), name, plain: false });
        let mut block = Block::rows(Vec::new(), columns.collect());
        block.with = with;
        block.compound = Some(compound);
        block.stage = Stage::Closed;
        block
    }

    pub(super) fn sort(&mut self, sort: &Sort) -> Block {
        let mut block = self.block(&sort.input);
        let texts = block.texts();
        let keys = Columns::new(&texts).sort_keys(&sort.keys);
        if block.order_by.as_ref() == Some(&keys) && block.limit.is_empty() {
            return block;
        }
        if block.compound.is_some() || block.stage >= Stage::Ordered {
            block = self.wrapped(block, name_of(&sort.input));
        }
        let texts = block.texts();
        block.order_by = Some(Columns::new(&texts).sort_keys(&sort.keys));
        block.stage = Stage::Ordered;
        block
    }

    pub(super) fn limit(&mut self, limit: &Limit) -> Block {
        let counts = [&limit.limit, &limit.offset];
        // A count that is a column of the input cannot be written there, so the rows are numbered.
        match limits::by_number(limit.clone()) {
            Ok(numbered) if counts.into_iter().any(limits::reads_columns) => return self.block(&numbered),
            _ => {}
        }
        let mut block = self.block(&limit.input);
        if !block.limit.is_empty() || (block.compound.is_some() && block.order_by.is_some()) {
            block = self.wrapped(block, name_of(&limit.input));
        }
        let columns = Columns::new(&[]);
        for (word, count) in ["LIMIT", "OFFSET"].into_iter().zip(counts) {
            match count {
                LimitCount::Unset => {}
                LimitCount::Rows(rows) => block.limit.push(format!("{word} {rows}")),
                LimitCount::Percent(percent) => block.limit.push(format!("{word} {percent:?}%")),
                LimitCount::Expression(expr) => block.limit.push(format!("{word} ({})", columns.top(expr))),
                LimitCount::PercentExpression(expr) => block.limit.push(format!("{word} ({})%", columns.top(expr))),
            }
        }
        block.stage = block.stage.max(Stage::Closed);
        block
    }

    pub(super) fn unnest(&mut self, unnest: &Unnest) -> Block {
        let mut block = self.rows(&unnest.input);
        let texts = block.texts();
        let columns = Columns::new(&texts);
        for (column, list) in &unnest.lists {
            let text = format!("unnest({})", columns.top(list));
            block.columns.push(Output { text, name: column.name.clone(), plain: false });
        }
        block.stage = Stage::Fixed;
        block
    }

    pub(super) fn sample(&mut self, sample: &Sample) -> Block {
        let mut block = self.block(&sample.input);
        let single = block.stage == Stage::Rows && block.plain() && block.filters.is_empty() && block.from.len() == 1;
        if !single {
            block = self.wrapped(block, "sampled");
        }
        if let [item] = block.from.as_mut_slice() {
            item.text = format!("{} TABLESAMPLE {}", item.text, sample.clause);
        }
        // A join would still sample one item only, but a filter beside it would not change what is sampled.
        block
    }
}
