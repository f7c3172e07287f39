//! Lateral subqueries that need no keys.
//!
//! Where the right side of a correlated inner join is a chain of projections, filters, unnests, table functions and
//! inner joins over the distinct keys, each row of the left side can go through that chain by itself:
//! `L ⋈ S(distinct keys of L) = S(L)`. What is left is a plan of row-wise operators, which has a simple delta.
//!
//! For keys of nested types DuckDB numbers the left rows (`row_number() OVER ()` at the top of the left side) and takes
//! the number for the key; it falls away with the join.

use super::super::expr::{Comparison, Expr};
use super::super::rel::{
    Column, DependentJoin, Filter, FrameBound, Join, JoinKind, Project, Rel, TableFunction, Unnest, Window,
};
use super::{Decoded, Slot};

/// Stands for the left rows' number, which no expression may read.
const ROW_NUMBER: usize = usize::MAX;

/// The chain applied to the left side.
struct Applied {
    rel: Rel,
    /// Where the left side's columns begin.
    left_at: usize,
    /// The chain's own output columns, over the columns of `rel`.
    outputs: Vec<Expr>,
}

/// The join as row-wise operators over its left side, or what was given where that is not possible.
/// `slots` are DuckDB's columns of the join, `right` those of its right side.
pub(super) fn apply(
    dependent: DependentJoin,
    slots: Vec<Slot>,
    right: &[Slot],
) -> Result<Decoded, (Box<DependentJoin>, Vec<Slot>)> {
    let Some(Joined { rel, left_at, number, outputs }) = joined(&dependent, right) else {
        return Err((Box::new(dependent), slots));
    };
    let width = dependent.join.left.columns().len();
    let place = |slot: Slot| {
        let position = match slot.position {
            Some(position) if Some(position) == number => None,
            Some(position) if position < width => Some(position + left_at),
            Some(position) => outputs.get(position - width).copied().flatten(),
            None => None,
        };
        Slot { position, ..slot }
    };
    Ok(Decoded { rel, slots: slots.into_iter().map(place).collect() })
}

/// The join as row-wise operators.
struct Joined {
    rel: Rel,
    /// Where the left side's columns begin.
    left_at: usize,
    /// Which of them was the rows' number, and is no more.
    number: Option<usize>,
    /// Where each column of the right side stands now.
    outputs: Vec<Option<usize>>,
}

fn joined(dependent: &DependentJoin, right: &[Slot]) -> Option<Joined> {
    let DependentJoin { join, keys, id } = dependent;
    if join.kind != JoinKind::Inner || !join.predicates.is_empty() {
        return None;
    }
    let last = join.left.columns().len().checked_sub(1)?;
    let (left, number) = match numbered_rows(&join.left) {
        Some(input) if keys.iter().any(|key| matches!(key, Expr::Column { index, .. } if *index == last)) => {
            (input.clone(), Some(last))
        }
        _ => ((*join.left).clone(), None),
    };
    let forget_number = |expr: &Expr| match number {
        Some(number) => expr.clone().with_columns(&|index| if index == number { ROW_NUMBER } else { index }),
        None => expr.clone(),
    };
    let keys: Vec<Expr> = keys.iter().map(forget_number).collect();
    let Applied { rel, left_at, outputs } = apply_chain(&join.right, *id, &left, &keys)?;
    let shift = |expr: Expr| shifted(expr, left_at);
    let mut matched = Vec::new();
    let mut predicates = Vec::new();
    for condition in &join.conditions {
        let key = forget_number(&condition.left);
        let right = substituted(&condition.right, &outputs)?;
        let left = shift(key.clone());
        if condition.op == Comparison::NotDistinctFrom && left == right {
            matched.push(key);
        } else if reads_number(&left) || reads_number(&right) {
            return None;
        } else {
            predicates.push(Expr::Comparison { op: condition.op, left: Box::new(left), right: Box::new(right) });
        }
    }
    let same_row = matched.iter().any(is_number) || keys.iter().all(|key| matched.contains(key));
    if !same_row {
        return None;
    }
    let mut rel = rel;
    if !predicates.is_empty() {
        rel = Rel::Filter(Filter { input: Box::new(rel), predicates });
    }
    // Outputs that are no plain columns become columns, behind all others.
    let used = |index: usize| right.iter().any(|slot| slot.position == Some(index));
    let mut columns = rel.columns();
    let mut positions = Vec::new();
    let mut added = Vec::new();
    for (index, output) in outputs.into_iter().enumerate() {
        match output {
            Expr::Column { index: ROW_NUMBER, .. } => positions.push(None),
            Expr::Column { index, .. } => positions.push(Some(index)),
            other if used(index) => {
                positions.push(Some(columns.len() + added.len()));
                added.push(other);
            }
            _ => positions.push(None),
        }
    }
    if !added.is_empty() {
        let exprs = columns.drain(..).enumerate();
        let exprs = exprs.map(|(index, column)| (column.name, Expr::column(index, column.data_type)));
        let named = added.into_iter().map(|expr| ("column".to_owned(), expr));
        let exprs = exprs.chain(named).collect();
        rel = Rel::Project(Project { input: Box::new(rel), exprs });
    }
    Some(Joined { rel, left_at, number, outputs: positions })
}

/// The input of a node that only numbers rows.
pub(super) fn numbered_rows(rel: &Rel) -> Option<&Rel> {
    match rel {
        Rel::Window(Window { input, functions }) => match functions.as_slice() {
            [call]
                if call.name == "row_number"
                    && call.partition_by.is_empty()
                    && call.order_by.is_empty()
                    && call.frame.start == FrameBound::UnboundedPreceding =>
            {
                Some(input)
            }
            _ => None,
        },
        _ => None,
    }
}

fn apply_chain(chain: &Rel, id: usize, left: &Rel, keys: &[Expr]) -> Option<Applied> {
    match chain {
        Rel::DependentKeys(own) if own.id == id => {
            Some(Applied { rel: left.clone(), left_at: 0, outputs: keys.to_vec() })
        }
        Rel::Project(project) => {
            let below = apply_chain(&project.input, id, left, keys)?;
            let outputs = project.exprs.iter().map(|(_, expr)| substituted(expr, &below.outputs));
            Some(Applied { outputs: outputs.collect::<Option<_>>()?, ..below })
        }
        Rel::Filter(filter) => {
            let below = apply_chain(&filter.input, id, left, keys)?;
            let predicates = filter.predicates.iter().map(|predicate| readable(predicate, &below.outputs));
            let predicates = predicates.collect::<Option<_>>()?;
            Some(Applied { rel: Rel::Filter(Filter { input: Box::new(below.rel), predicates }), ..below })
        }
        Rel::Unnest(unnest) => {
            let below = apply_chain(&unnest.input, id, left, keys)?;
            let read = |(column, list): &(Column, Expr)| Some((column.clone(), readable(list, &below.outputs)?));
            let lists = unnest.lists.iter().map(read).collect::<Option<_>>()?;
            Some(unnested(below, lists))
        }
        Rel::TableFunction(function) => {
            let below = apply_chain(function.input.as_deref()?, id, left, keys)?;
            let arguments = function.arguments.iter().map(|argument| readable(argument, &below.outputs));
            let arguments = arguments.collect::<Option<_>>()?;
            apply_function(function, arguments, below)
        }
        Rel::Join(join) if join.kind == JoinKind::Inner => apply_join(join, id, left, keys),
        _ => None,
    }
}

fn unnested(below: Applied, lists: Vec<(Column, Expr)>) -> Applied {
    let width = below.rel.columns().len();
    let made = lists.iter().enumerate();
    let made = made.map(|(index, (column, _))| Expr::column(width + index, column.data_type.clone()));
    let outputs = below.outputs.iter().cloned().chain(made).collect();
    Applied { rel: Rel::Unnest(Unnest { input: Box::new(below.rel), lists }), outputs, left_at: below.left_at }
}

fn apply_function(function: &TableFunction, arguments: Vec<Expr>, below: Applied) -> Option<Applied> {
    if !function.named_arguments.is_empty() {
        return None;
    }
    let own = function.columns.len();
    let made = function.columns.iter().enumerate();
    let made = made.map(|(index, column)| Expr::column(index, column.data_type.clone()));
    let passed = below.outputs.into_iter().map(|output| shifted(output, own));
    let outputs = made.chain(passed).collect();
    let function = TableFunction { arguments, input: Some(Box::new(below.rel)), ..function.clone() };
    Some(Applied { rel: Rel::TableFunction(function), left_at: below.left_at + own, outputs })
}

/// An inner join with the keys on one side: the other side joins the left rows themselves.
fn apply_join(join: &Join, id: usize, left: &Rel, keys: &[Expr]) -> Option<Applied> {
    let (in_left, in_right) = (reads_keys(&join.left, id), reads_keys(&join.right, id));
    let width = |rel: &Rel| rel.columns().len();
    let plain = |rel: &Rel, from: usize| {
        let columns = rel.columns().into_iter().enumerate();
        columns.map(|(index, column)| Expr::column(from + index, column.data_type)).collect::<Vec<_>>()
    };
    let (sides, left_at, left_outputs, right_outputs) = match (in_left, in_right) {
        (true, false) => {
            let below = apply_chain(&join.left, id, left, keys)?;
            let right_outputs = plain(&join.right, width(&below.rel));
            ((below.rel, (*join.right).clone()), below.left_at, below.outputs, right_outputs)
        }
        (false, true) => {
            let below = apply_chain(&join.right, id, left, keys)?;
            let own = width(&join.left);
            let outputs = below.outputs.into_iter().map(|output| shifted(output, own)).collect();
            (((*join.left).clone(), below.rel), below.left_at + own, plain(&join.left, 0), outputs)
        }
        _ => return None,
    };
    let mut predicates = Vec::new();
    for condition in &join.conditions {
        predicates.push(Expr::Comparison {
            op: condition.op,
            left: Box::new(readable(&condition.left, &left_outputs)?),
            right: Box::new(readable(&condition.right, &right_outputs)?),
        });
    }
    let outputs: Vec<Expr> = left_outputs.into_iter().chain(right_outputs).collect();
    for predicate in &join.predicates {
        predicates.push(readable(predicate, &outputs)?);
    }
    let joined = Join {
        kind: JoinKind::Inner,
        left: Box::new(sides.0),
        right: Box::new(sides.1),
        conditions: Vec::new(),
        predicates,
    };
    Some(Applied { rel: Rel::Join(joined), left_at, outputs })
}

fn reads_keys(rel: &Rel, id: usize) -> bool {
    let mut found = false;
    rel.walk(&mut |node| found |= matches!(node, Rel::DependentKeys(own) if own.id == id));
    found
}

fn shifted(expr: Expr, by: usize) -> Expr {
    expr.with_columns(&|index| if index == ROW_NUMBER { index } else { index + by })
}

/// `expr` over the outputs' own columns; the rows' number may be passed on but not read.
fn substituted(expr: &Expr, outputs: &[Expr]) -> Option<Expr> {
    let replaced = expr.clone().substitute(outputs);
    (is_number(&replaced) || !reads_number(&replaced)).then_some(replaced)
}

/// The same where the rows' number may not be passed on either.
fn readable(expr: &Expr, outputs: &[Expr]) -> Option<Expr> {
    substituted(expr, outputs).filter(|expr| !is_number(expr))
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Column { index: ROW_NUMBER, .. })
}

fn reads_number(expr: &Expr) -> bool {
    expr.columns().contains(&ROW_NUMBER)
}
