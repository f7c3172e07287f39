//! Groups, distinct rows and windows.

use crate::plan::expr::Expr;
use crate::plan::rel::{Aggregate, Distinct, Rel, Window};
use crate::plan::types::DataType;

use super::block::{Block, Output, Stage};
use super::calls;
use super::exprs::Columns;
use super::literals::commas;
use super::nodes::{Printer, name_of};

impl Printer<'_> {
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> Block {
        let whole = Rel::Aggregate(aggregate.clone());
        let mut block = self.rows_for(&aggregate.input, &whole.exprs());
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let groups: Vec<String> = aggregate.groups.iter().map(|(_, expr)| columns.no_position(expr)).collect();
        let mut outputs = Vec::new();
        for ((name, expr), text) in aggregate.groups.iter().zip(&groups) {
            let plain = matches!(expr, Expr::Column { .. });
            outputs.push(Output { text: text.clone(), name: name.clone(), plain });
        }
        let calls: Vec<String> = aggregate.aggregates.iter().map(|call| calls::aggregate(call, columns)).collect();
        for (call, text) in aggregate.aggregates.iter().zip(&calls) {
            outputs.push(Output { text: text.clone(), name: call.name.clone(), plain: false });
        }
        // The binder brings an interval that is grouped by into its normal form, again if that was written.
        let groups: Vec<String> = aggregate.groups.iter().map(|(_, expr)| columns.no_position(written(expr))).collect();
        let set =
            |positions: &Vec<usize>| commas(positions.iter().filter_map(|position| groups.get(*position).cloned()));
        for positions in &aggregate.grouping_functions {
            let text = format!("GROUPING({})", set(positions));
            outputs.push(Output { text, name: "grouping".to_owned(), plain: false });
        }
        let every_group: Vec<usize> = (0..groups.len()).collect();
        match aggregate.grouping_sets.as_slice() {
            [only] if groups.is_empty() && only.is_empty() => block.ungrouped_calls = Some(calls),
            [only] if *only == every_group => block.group_by = Some(commas(groups.iter().cloned())),
            sets => {
                let sets = commas(sets.iter().map(|positions| format!("({})", set(positions))));
                block.group_by = Some(format!("GROUPING SETS ({sets})"));
            }
        }
        block.columns = outputs;
        // A constant group may be NULL in some grouping sets; printed again above, it would be the constant itself.
        let constant = aggregate.groups.iter().any(|(_, expr)| expr.columns().is_empty());
        block.stage = if constant { Stage::Closed } else { Stage::Groups };
        block
    }

    pub(super) fn distinct(&mut self, distinct: &Distinct) -> Block {
        let mut block = self.block(&distinct.input);
        let free = block.compound.is_none() && block.stage < Stage::Ordered;
        let readable = block.plain() || (distinct.on.is_none() && distinct.order_by.is_empty());
        if !free || !readable || block.columns.is_empty() {
            block = self.wrapped(block, name_of(&distinct.input));
        }
        let texts = block.texts();
        let columns = Columns::new(&texts);
        block.distinct = Some(match &distinct.on {
            None => "DISTINCT".to_owned(),
            Some(on) => format!("DISTINCT ON ({})", commas(on.iter().map(|expr| columns.no_position(expr)))),
        });
        if !distinct.order_by.is_empty() {
            block.order_by = Some(columns.sort_keys(&distinct.order_by));
        }
        block.stage = Stage::Fixed;
        block
    }

    pub(super) fn window(&mut self, window: &Window) -> Block {
        let mut block = self.rows(&window.input);
        let texts = block.texts();
        for call in &window.functions {
            let text = calls::window(call, Columns::new(&texts));
            block.columns.push(Output { text, name: call.name.clone(), plain: false });
        }
        block.stage = Stage::Computed;
        block
    }
}

/// What `GROUP BY` says for the group to be `expr`.
fn written(expr: &Expr) -> &Expr {
    match expr {
        Expr::Function(call) if call.name == "normalized_interval" => match call.arguments.as_slice() {
            [only] if only.value.data_type() == DataType::Interval => &only.value,
            _ => expr,
        },
        _ => expr,
    }
}
