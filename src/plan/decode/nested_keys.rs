//! Correlated subqueries over columns of nested types.
//!
//! For such keys DuckDB numbers the outer rows (`row_number() OVER ()`), and takes the number for the key. Which row has
//! which number is open, and a row that comes or goes changes those of others. The number only has to tell rows apart
//! whose other keys differ, so the other keys themselves can stand in its place.

use super::super::expr::{Argument, Expr, FunctionCall};
use super::super::rel::{DependentJoin, Join, JoinKind, Project, Rel};
use super::super::storage::is_inexact;
use super::super::types::DataType;
use super::laterals::numbered_rows;

/// The join with the values of its other keys in the place of the rows' number, which keeps its column; what was given
/// where that is not possible.
pub(super) fn by_value(dependent: DependentJoin) -> DependentJoin {
    replaced(&dependent).unwrap_or(dependent)
}

fn replaced(dependent: &DependentJoin) -> Option<DependentJoin> {
    let DependentJoin { join, keys, id } = dependent;
    let input = numbered_rows(&join.left)?;
    let columns = input.columns();
    let number = columns.len();
    let place = keys.iter().position(|key| is_column(key, number))?;
    let others: Vec<Expr> = keys.iter().filter(|key| !is_column(key, number)).cloned().collect();
    // Values that are equal and differ would be taken for one another.
    if others.is_empty() || others.iter().any(|key| is_inexact(&key.data_type()) || key.columns().contains(&number)) {
        return None;
    }
    let value = together(others);
    let data_type = value.data_type();
    let own = columns.into_iter().enumerate();
    let mut exprs: Vec<(String, Expr)> =
        own.map(|(at, column)| (column.name, Expr::column(at, column.data_type))).collect();
    exprs.push(("keys".to_owned(), value));
    let left = Rel::Project(Project { input: Box::new(input.clone()), exprs });
    let (right, flags) = Retyping { id: *id, key: place, data_type: &data_type }.node((*join.right).clone())?;
    let left_flags: Vec<bool> = (0..=number).map(|at| at == number).collect();
    let mut conditions = join.conditions.clone();
    for condition in &mut conditions {
        retyped(&mut condition.left, &left_flags, &data_type)?;
        retyped(&mut condition.right, &flags, &data_type)?;
    }
    if !join.predicates.is_empty() {
        return None;
    }
    let mut keys = keys.clone();
    keys[place] = Expr::column(number, data_type);
    let join = Join { left: Box::new(left), right: Box::new(right), conditions, ..join.clone() };
    Some(DependentJoin { join, keys, id: *id })
}

fn is_column(expr: &Expr, at: usize) -> bool {
    matches!(expr, Expr::Column { index, .. } if *index == at)
}

/// One value that tells apart whatever the keys tell apart, NULLs included.
fn together(mut keys: Vec<Expr>) -> Expr {
    if keys.len() == 1 {
        return keys.remove(0);
    }
    let names = (1..=keys.len()).map(|number| format!("key_{number}"));
    let members = names.clone().zip(keys.iter().map(Expr::data_type)).collect();
    let arguments = names.zip(keys).map(|(name, value)| Argument { name: Some(name), value }).collect();
    Expr::Function(FunctionCall {
        name: "struct_pack".to_owned(),
        qualifier: None,
        arguments,
        lambda: None,
        is_operator: false,
        data_type: DataType::Struct(members),
    })
}

/// The way of a key's new type up through the subquery.
struct Retyping<'a> {
    id: usize,
    key: usize,
    data_type: &'a DataType,
}

impl Retyping<'_> {
    /// The node, and which of its columns hold the key; `None` where the key is more than passed on and compared.
    fn node(&self, mut rel: Rel) -> Option<(Rel, Vec<bool>)> {
        if let Rel::DependentKeys(keys) = &mut rel {
            let mut flags = vec![false; keys.columns.len()];
            if keys.id == self.id {
                keys.columns.get_mut(self.key)?.data_type = self.data_type.clone();
                flags[self.key] = true;
            }
            return Some((rel, flags));
        }
        let mut flags: Vec<Vec<bool>> = Vec::new();
        for input in rel.inputs_mut() {
            let (made, held) = self.node(std::mem::replace(input, Rel::nothing()))?;
            *input = made;
            flags.push(held);
        }
        let below = flags.concat();
        if !below.contains(&true) {
            let width = rel.columns().len();
            return Some((rel, vec![false; width]));
        }
        let held = self.above(&mut rel, &flags, &below)?;
        Some((rel, held))
    }

    /// Which columns of `rel` hold the key, if those of its inputs do that `below` says.
    fn above(&self, rel: &mut Rel, inputs: &[Vec<bool>], below: &[bool]) -> Option<Vec<bool>> {
        let retype = |expr: &mut Expr, flags: &[bool]| retyped(expr, flags, self.data_type);
        match rel {
            Rel::Project(project) => project.exprs.iter_mut().map(|(_, expr)| retype(expr, below)).collect(),
            Rel::Filter(filter) => {
                filter.predicates.iter_mut().try_for_each(|expr| retype(expr, below).map(drop))?;
                Some(below.to_vec())
            }
            Rel::Distinct(distinct) if distinct.on.is_none() => Some(below.to_vec()),
            Rel::Unnest(unnest) => {
                let mut held = below.to_vec();
                for (_, list) in &mut unnest.lists {
                    held.push(retype(list, below)?);
                }
                Some(held)
            }
            Rel::TableFunction(function) => {
                function.arguments.iter_mut().try_for_each(|expr| retype(expr, below).map(drop))?;
                Some(std::iter::repeat_n(false, function.columns.len()).chain(below.iter().copied()).collect())
            }
            Rel::Aggregate(aggregate) => {
                let mut held = Vec::new();
                for (_, group) in &mut aggregate.groups {
                    held.push(retype(group, below)?);
                }
                for call in &mut aggregate.aggregates {
                    let order = call.order_by.iter_mut().map(|key| &mut key.expr);
                    let exprs = call.arguments.iter_mut().chain(call.filter.as_deref_mut()).chain(order);
                    let mut reads = false;
                    for expr in exprs {
                        reads |= retype(expr, below)?;
                    }
                    if reads && (call.name != "first" || call.arguments.len() != 1) {
                        return None;
                    }
                    if reads {
                        call.data_type = self.data_type.clone();
                    }
                    held.push(reads);
                }
                held.extend(aggregate.grouping_functions.iter().map(|_| false));
                Some(held)
            }
            Rel::Join(join) => {
                let [left, right] = inputs else { return None };
                for condition in &mut join.conditions {
                    retype(&mut condition.left, left)?;
                    retype(&mut condition.right, right)?;
                }
                join.predicates.iter_mut().try_for_each(|expr| retype(expr, below).map(drop))?;
                Some(match join.kind {
                    JoinKind::Mark => left.iter().copied().chain([false]).collect(),
                    JoinKind::Semi | JoinKind::Anti => left.clone(),
                    _ => below.to_vec(),
                })
            }
            _ => None,
        }
    }
}

/// Gives the columns of `expr` that hold the key its new type; says whether `expr` is one. `None` if it is made of one,
/// other than by comparing it.
fn retyped(expr: &mut Expr, flags: &[bool], data_type: &DataType) -> Option<bool> {
    if let Expr::Column { index, data_type: own } = expr {
        let held = flags.get(*index).copied().unwrap_or(false);
        if held {
            own.clone_from(data_type);
        }
        return Some(held);
    }
    let compares = matches!(expr, Expr::Comparison { .. } | Expr::Conjunction { .. });
    for child in expr.children_mut() {
        if retyped(child, flags, data_type)? && !compares {
            return None;
        }
    }
    Some(false)
}
