//! Plans in a form in which printing and binding again leave no trace: no names, only columns that are read, blocks of
//! projections, filters and inner joins gathered, sets in a fixed order.

use std::collections::BTreeSet;

use crate::plan::expr::{Expr, SortKey};
use crate::plan::rel::{
    Aggregate, Column, Cte, CteRef, Distinct, FrameBound, Join, JoinKind, Limit, LimitCount, Materialize, Project,
    RecursiveCte, Rel, Scan, SetOperation, SetOperator, Sort, Window, WindowCall,
};

use super::canonical_blocks::{block, conjuncts, exact_block};
use super::canonical_exprs as exprs;
use super::canonical_rows::{reduced_unnest, table_function};

/// `rel` in canonical form, with all its columns in their order.
pub(super) fn canonical(rel: &Rel) -> Rel {
    let mut rel = hoisted(rel.clone(), &mut rel.next_cte());
    number(&mut rel, &mut Ids::default());
    let columns: Vec<usize> = (0..rel.columns().len()).collect();
    exact(&rel, &columns)
}

/// A node in canonical form, and where each column of the original node stands in it, if it is still there.
pub(super) struct Canonical {
    pub(super) rel: Rel,
    pub(super) at: Vec<Option<usize>>,
}

impl Canonical {
    fn in_place(rel: Rel) -> Canonical {
        let at = (0..rel.columns().len()).map(Some).collect();
        Canonical { rel, at }
    }

    /// An expression over the original node's columns, over those of the canonical one.
    fn place(&self, expr: Expr) -> Expr {
        expr.with_columns(&|column| self.at.get(column).copied().flatten().unwrap_or(usize::MAX))
    }
}

/// `rel` reduced to `columns`, in that order.
fn exact(rel: &Rel, columns: &[usize]) -> Rel {
    let types = rel.columns();
    let read = |column: &usize| (String::new(), Expr::column(*column, types[*column].data_type.clone()));
    let project = Project { input: Box::new(rel.clone()), exprs: columns.iter().map(read).collect() };
    exact_block(&Rel::Project(project))
}

/// `rel` with the columns `needed`.
pub(super) fn reduced(rel: &Rel, needed: &BTreeSet<usize>) -> Canonical {
    let Canonical { rel, mut at } = with_more(rel, needed);
    // What a node reads for itself is not seen above it.
    let kept: BTreeSet<usize> = needed.iter().filter_map(|column| at.get(*column).copied().flatten()).collect();
    let columns = rel.columns();
    if kept.len() == columns.len() {
        return Canonical { rel, at };
    }
    let read = |column: &usize| (String::new(), Expr::column(*column, columns[*column].data_type.clone()));
    let exprs = kept.iter().map(read).collect();
    for position in &mut at {
        *position = position.and_then(|position| kept.iter().position(|kept| *kept == position));
    }
    Canonical { rel: Rel::Project(Project { input: Box::new(rel), exprs }), at }
}

/// `rel` with at least the columns `needed`.
fn with_more(rel: &Rel, needed: &BTreeSet<usize>) -> Canonical {
    match rel {
        Rel::Project(_) | Rel::Filter(_) | Rel::InnerJoin(_) => block(rel, needed),
        Rel::Join(join) if join.kind == JoinKind::Inner => block(rel, needed),
        Rel::Scan(scan) => reduced_scan(scan, needed),
        Rel::TableFunction(function) => table_function(function, needed),
        Rel::Join(join) => outer_join(join, needed),
        Rel::Aggregate(aggregate) => reduced_aggregate(aggregate, needed),
        Rel::Distinct(distinct) => reduced_distinct(distinct, needed),
        Rel::Window(window) => reduced_window(window, needed),
        Rel::SetOperation(operation) => set_operation(operation, needed),
        Rel::Sort(sort) => {
            let exprs: Vec<Expr> = sort.keys.iter().map(|key| key.expr.clone()).collect();
            let (Canonical { rel, at }, exprs) = with_exprs(&sort.input, needed, &exprs);
            let keys = sort.keys.iter().zip(exprs).map(|(key, expr)| SortKey { expr, ..key.clone() });
            let keys: Vec<SortKey> = keys.filter(|key| !key.expr.columns().is_empty()).collect();
            let sorted = keys.is_empty() || chosen_in_order(&rel, &keys);
            let rel = if sorted { rel } else { Rel::Sort(Sort { input: Box::new(rel), keys }) };
            Canonical { rel, at }
        }
        Rel::Limit(limit) => reduced_limit(limit, needed),
        Rel::Unnest(unnest) => reduced_unnest(unnest, needed),
        Rel::Sample(sample) => {
            let Canonical { rel, at } = reduced(&sample.input, needed);
            let mut sample = sample.clone();
            *sample.input = rel;
            Canonical { rel: Rel::Sample(sample), at }
        }
        Rel::Values(values) => {
            let mut values = values.clone();
            nameless(&mut values.columns);
            for expr in values.rows.iter_mut().flatten() {
                *expr = exprs::canonical(expr.clone());
            }
            Canonical::in_place(Rel::Values(values))
        }
        Rel::DependentKeys(_) | Rel::CteRef(_) | Rel::DependentJoin(_) | Rel::Cte(_) | Rel::RecursiveCte(_) => {
            whole(rel)
        }
    }
}

/// Nodes whose inputs keep all their columns.
fn whole(rel: &Rel) -> Canonical {
    let mut rel = rel.clone();
    for input in rel.inputs_mut() {
        let columns: Vec<usize> = (0..input.columns().len()).collect();
        *input = exact(input, &columns);
    }
    match &mut rel {
        Rel::DependentKeys(keys) => nameless(&mut keys.columns),
        Rel::CteRef(reference) => nameless(&mut reference.columns),
        Rel::RecursiveCte(cte) => {
            nameless(&mut cte.columns);
            cte.name.clear();
        }
        Rel::Cte(cte) => cte.name.clear(),
        Rel::DependentJoin(dependent) => {
            for condition in &mut dependent.join.conditions {
                condition.left = exprs::canonical(condition.left.clone());
                condition.right = exprs::canonical(condition.right.clone());
            }
        }
        _ => {}
    }
    Canonical::in_place(rel)
}

pub(super) fn nameless(columns: &mut [Column]) {
    for column in columns {
        column.name.clear();
    }
}

pub(super) fn with_columns<'e>(needed: &BTreeSet<usize>, read: impl IntoIterator<Item = &'e Expr>) -> BTreeSet<usize> {
    needed.iter().copied().chain(read.into_iter().flat_map(Expr::columns)).collect()
}

fn sort_key(key: &SortKey, input: &Canonical) -> SortKey {
    SortKey { expr: exprs::canonical(input.place(key.expr.clone())), ..key.clone() }
}

fn reduced_scan(scan: &Scan, needed: &BTreeSet<usize>) -> Canonical {
    let mut kept: Vec<usize> = needed.iter().copied().filter(|column| *column < scan.columns.len()).collect();
    kept.sort_by_key(|column| scan.positions[*column]);
    let mut columns: Vec<Column> = kept.iter().map(|column| scan.columns[*column].clone()).collect();
    nameless(&mut columns);
    let positions = kept.iter().map(|column| scan.positions[*column]).collect();
    let at = (0..scan.columns.len()).map(|column| kept.iter().position(|kept| *kept == column)).collect();
    Canonical { rel: Rel::Scan(Scan { columns, positions, ..scan.clone() }), at }
}

fn outer_join(join: &Join, needed: &BTreeSet<usize>) -> Canonical {
    let (left_width, right_width) = (join.left.columns().len(), join.right.columns().len());
    let mut predicates: Vec<Expr> = join.predicates.clone();
    predicates.extend(join.conditions.iter().map(|condition| Expr::Comparison {
        op: condition.op,
        left: Box::new(condition.left.clone()),
        right: Box::new(condition.right.clone().with_columns(&|column| column + left_width)),
    }));
    let read = with_columns(&BTreeSet::new(), &predicates);
    let kept = needed.iter().filter(|column| **column < left_width || join.kind.keeps_right());
    let all: BTreeSet<usize> = read.into_iter().chain(kept.copied()).collect();
    let left = reduced(&join.left, &all.iter().copied().filter(|column| *column < left_width).collect());
    let right = all.iter().filter_map(|column| column.checked_sub(left_width)).filter(|column| *column < right_width);
    let right = reduced(&join.right, &right.collect());
    let width = left.rel.columns().len();
    let side_by_side = left.at.iter().copied();
    let side_by_side = side_by_side.chain(right.at.iter().map(|position| position.map(|position| position + width)));
    let both: Vec<Option<usize>> = side_by_side.collect();
    let place = |expr: Expr| expr.with_columns(&|column| both.get(column).copied().flatten().unwrap_or(usize::MAX));
    let predicates = conjuncts(predicates.into_iter().map(place));
    let at = match join.kind {
        JoinKind::Mark => left.at.iter().copied().chain([Some(width)]).collect(),
        kind if kind.keeps_right() => both,
        _ => left.at,
    };
    let join = Join {
        kind: join.kind,
        left: Box::new(left.rel),
        right: Box::new(right.rel),
        conditions: Vec::new(),
        predicates,
    };
    Canonical { rel: Rel::Join(join), at }
}

fn reduced_aggregate(aggregate: &Aggregate, needed: &BTreeSet<usize>) -> Canonical {
    let groups = aggregate.groups.len();
    let calls = aggregate.aggregates.len();
    let used: Vec<usize> = (0..calls).filter(|call| needed.contains(&(groups + call))).collect();
    let read = aggregate.groups.iter().map(|(_, expr)| expr).chain(used.iter().flat_map(|call| {
        let call = &aggregate.aggregates[*call];
        call.arguments.iter().chain(call.filter.as_deref()).chain(call.order_by.iter().map(|key| &key.expr))
    }));
    let input = reduced(&aggregate.input, &with_columns(&BTreeSet::new(), read));
    let mut kept = Vec::new();
    for call in &used {
        let mut made = aggregate.aggregates[*call].clone();
        made.arguments = made.arguments.into_iter().map(|expr| exprs::canonical(input.place(expr))).collect();
        made.filter = made.filter.map(|filter| Box::new(exprs::canonical(input.place(*filter))));
        made.order_by = made.order_by.iter().map(|key| sort_key(key, &input)).collect();
        kept.push((format!("{made:?}"), *call, made));
    }
    kept.sort_by(|left, right| left.0.cmp(&right.0));
    let mut at: Vec<Option<usize>> = (0..groups).map(Some).chain(std::iter::repeat_n(None, calls)).collect();
    let mut aggregates = Vec::new();
    let mut last = String::new();
    for (text, call, made) in kept {
        // The binder makes one call of several that are the same.
        if aggregates.is_empty() || text != last {
            aggregates.push(made);
            last = text;
        }
        at[groups + call] = Some(groups + aggregates.len() - 1);
    }
    // Each GROUPING(…) that is read, once: HAVING and SELECT are bound as one each.
    let read = aggregate.grouping_functions.iter().enumerate();
    let read = read.filter(|(function, _)| needed.contains(&(groups + calls + function))).map(|(_, asked)| asked);
    let grouping_functions: Vec<Vec<usize>> = read.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let function = |asked: &Vec<usize>| grouping_functions.iter().position(|known| known == asked);
    let place = |asked| function(asked).map(|function| groups + aggregates.len() + function);
    at.extend(aggregate.grouping_functions.iter().map(place));
    let group = |(_, expr): &(String, Expr)| (String::new(), exprs::canonical(input.place(expr.clone())));
    let mut grouping_sets = aggregate.grouping_sets.clone();
    grouping_sets.sort();
    let rel = Rel::Aggregate(Aggregate {
        groups: aggregate.groups.iter().map(group).collect(),
        grouping_sets,
        aggregates,
        grouping_functions,
        input: Box::new(input.rel),
    });
    Canonical { rel, at }
}

fn reduced_distinct(distinct: &Distinct, needed: &BTreeSet<usize>) -> Canonical {
    let width = distinct.input.columns().len();
    let Some(on) = &distinct.on else {
        let columns: Vec<usize> = (0..width).collect();
        let input = exact(&distinct.input, &columns);
        return Canonical::in_place(Rel::Distinct(Distinct { input: Box::new(input), ..distinct.clone() }));
    };
    let keys = distinct.order_by.iter().map(|key| &key.expr);
    let exprs: Vec<Expr> = on.iter().chain(keys).cloned().collect();
    let (Canonical { rel, at }, mut on_exprs) = with_exprs(&distinct.input, needed, &exprs);
    let keys = on_exprs.split_off(on.len());
    let keys = distinct.order_by.iter().zip(keys).map(|(key, expr)| SortKey { expr, ..key.clone() });
    let order_by = keys.collect();
    Canonical { rel: Rel::Distinct(Distinct { input: Box::new(rel), on: Some(on_exprs), order_by }), at }
}

/// Is `rel` a `DISTINCT ON` that chooses its rows in the order of `keys`? As SQL writes it, it sorts the result too.
fn chosen_in_order(rel: &Rel, keys: &[SortKey]) -> bool {
    match rel {
        Rel::Distinct(distinct) => !distinct.order_by.is_empty() && distinct.order_by == keys,
        Rel::Project(project) => {
            let outputs: Vec<Expr> = project.exprs.iter().map(|(_, expr)| expr.clone()).collect();
            let below = |key: &SortKey| SortKey { expr: key.expr.clone().substitute(&outputs), ..key.clone() };
            chosen_in_order(&project.input, &keys.iter().map(below).collect::<Vec<_>>())
        }
        _ => false,
    }
}

/// `rel` with the columns `needed` and `exprs` as further columns; the binder makes such columns of what is sorted by.
fn with_exprs(rel: &Rel, needed: &BTreeSet<usize>, exprs: &[Expr]) -> (Canonical, Vec<Expr>) {
    let columns = rel.columns();
    let kept: Vec<usize> = needed.iter().copied().filter(|column| *column < columns.len()).collect();
    let all = kept.iter().map(|column| Expr::column(*column, columns[*column].data_type.clone()));
    let all = all.chain(exprs.iter().cloned()).map(|expr| (String::new(), expr));
    let project = Rel::Project(Project { input: Box::new(rel.clone()), exprs: all.collect() });
    let count = kept.len() + exprs.len();
    let Canonical { rel, at: places } = block(&project, &(0..count).collect());
    let mut at = vec![None; columns.len()];
    for (column, place) in kept.iter().zip(&places) {
        at[*column] = *place;
    }
    let key = |(expr, place): (&Expr, &Option<usize>)| match place {
        Some(place) if !expr.columns().is_empty() => Expr::column(*place, expr.data_type()),
        _ => expr.clone(),
    };
    let keys = exprs.iter().zip(&places[kept.len()..]).map(key).collect();
    (Canonical { rel, at }, keys)
}

fn reduced_window(window: &Window, needed: &BTreeSet<usize>) -> Canonical {
    let width = window.input.columns().len();
    let used: Vec<usize> =
        (0..window.functions.len()).filter(|function| needed.contains(&(width + function))).collect();
    let chosen: Vec<_> = used.iter().map(|function| window.functions[*function].clone()).collect();
    let mut narrowed = Rel::Window(Window { input: window.input.clone(), functions: chosen });
    let read: Vec<Expr> = narrowed.exprs().into_iter().cloned().collect();
    let own: BTreeSet<usize> = needed.iter().copied().filter(|column| *column < width).collect();
    let input = reduced(&window.input, &with_columns(&own, &read));
    let mut functions = Vec::new();
    if let Rel::Window(narrowed) = &mut narrowed {
        for (function, call) in used.iter().zip(&mut narrowed.functions) {
            for expr in call_exprs(call) {
                *expr = exprs::canonical(input.place(expr.clone()));
            }
            functions.push((format!("{call:?}"), *function, call.clone()));
        }
    }
    functions.sort_by(|left, right| left.0.cmp(&right.0));
    let below = input.rel.columns().len();
    let mut at = input.at.clone();
    at.extend(std::iter::repeat_n(None, window.functions.len()));
    let mut calls = Vec::new();
    for (position, (_, function, call)) in functions.into_iter().enumerate() {
        at[width + function] = Some(below + position);
        calls.push(call);
    }
    if calls.is_empty() {
        return Canonical { rel: input.rel, at };
    }
    Canonical { rel: Rel::Window(Window { input: Box::new(input.rel), functions: calls }), at }
}

fn call_exprs(call: &mut WindowCall) -> Vec<&mut Expr> {
    let bounds = [&mut call.frame.start, &mut call.frame.end].into_iter().filter_map(|bound| match bound {
        FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(&mut **expr),
        FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => None,
    });
    let orders = call.argument_order.iter_mut().chain(&mut call.order_by).map(|key| &mut key.expr);
    let plain = call.arguments.iter_mut().chain(call.filter.as_deref_mut()).chain(&mut call.partition_by);
    plain.chain(orders).chain(bounds).collect()
}

fn set_operation(operation: &SetOperation, needed: &BTreeSet<usize>) -> Canonical {
    let union_all = operation.op == SetOperator::Union && operation.all;
    let width = operation.columns.len();
    let kept: Vec<usize> = if union_all { needed.iter().copied().collect() } else { (0..width).collect() };
    let mut inputs = Vec::new();
    for input in &operation.inputs {
        match exact(input, &kept) {
            Rel::SetOperation(inner) if union_all && inner.op == SetOperator::Union && inner.all => {
                inputs.extend(inner.inputs);
            }
            other => inputs.push(other),
        }
    }
    let mut columns: Vec<Column> = kept.iter().map(|column| operation.columns[*column].clone()).collect();
    nameless(&mut columns);
    let at = (0..width).map(|column| kept.iter().position(|kept| *kept == column)).collect();
    let rel = Rel::SetOperation(SetOperation { op: operation.op, all: operation.all, inputs, columns });
    Canonical { rel, at }
}

fn reduced_limit(limit: &Limit, needed: &BTreeSet<usize>) -> Canonical {
    let counts = [&limit.limit, &limit.offset];
    let read = counts.iter().filter_map(|count| match count {
        LimitCount::Expression(expr) | LimitCount::PercentExpression(expr) => Some(&**expr),
        _ => None,
    });
    let input = reduced(&limit.input, &with_columns(needed, read));
    let place = |count: &LimitCount| match count {
        LimitCount::Expression(expr) => {
            LimitCount::Expression(Box::new(exprs::canonical(input.place((**expr).clone()))))
        }
        other => other.clone(),
    };
    let [limit, offset] = counts.map(place);
    let Canonical { rel, at } = input;
    Canonical { rel: Rel::Limit(Limit { input: Box::new(rel), limit, offset }), at }
}

/// The plan with its CTEs in front, each behind those that it reads. A recursive CTE that stands for itself is one that
/// is referred to once.
fn hoisted(rel: Rel, next_cte: &mut usize) -> Rel {
    let mut ctes = Vec::new();
    let body = without_ctes(rel, &mut ctes, next_cte);
    ctes.into_iter().rev().fold(body, |body, cte| Rel::Cte(Cte { body: Box::new(body), ..cte }))
}

fn without_ctes(rel: Rel, ctes: &mut Vec<Cte>, next_cte: &mut usize) -> Rel {
    match rel {
        Rel::Cte(mut cte) => {
            let body = std::mem::replace(&mut *cte.body, Rel::nothing());
            *cte.definition = match *cte.definition {
                Rel::RecursiveCte(recursive) => Rel::RecursiveCte(recursive_parts(recursive, ctes, next_cte)),
                other => without_ctes(other, ctes, next_cte),
            };
            ctes.push(cte);
            without_ctes(body, ctes, next_cte)
        }
        Rel::RecursiveCte(recursive) => {
            let recursive = recursive_parts(recursive, ctes, next_cte);
            let id = *next_cte;
            *next_cte += 1;
            let reference = CteRef { id, columns: recursive.columns.clone(), recurring: false };
            let (name, materialize) = (recursive.name.clone(), Materialize::Default);
            let definition = Box::new(Rel::RecursiveCte(recursive));
            ctes.push(Cte { name, id, materialize, definition, body: Box::new(Rel::nothing()) });
            Rel::CteRef(reference)
        }
        mut other => {
            for input in other.inputs_mut() {
                *input = without_ctes(std::mem::replace(input, Rel::nothing()), ctes, next_cte);
            }
            other
        }
    }
}

fn recursive_parts(mut cte: RecursiveCte, ctes: &mut Vec<Cte>, next_cte: &mut usize) -> RecursiveCte {
    *cte.start = without_ctes(*cte.start, ctes, next_cte);
    // What the step defines may read the recursive CTE.
    *cte.step = hoisted(*cte.step, next_cte);
    cte
}

/// Ids of CTEs and correlated joins, in the order in which the plan has them.
#[derive(Default)]
struct Ids {
    ctes: Vec<(usize, usize)>,
    dependents: Vec<(usize, usize)>,
}

fn number(rel: &mut Rel, ids: &mut Ids) {
    let known =
        |ids: &[(usize, usize)], id: usize| ids.iter().rev().find(|(old, _)| *old == id).map_or(id, |(_, new)| *new);
    match rel {
        Rel::Cte(cte) => {
            ids.ctes.push((cte.id, ids.ctes.len()));
            cte.id = ids.ctes.len() - 1;
        }
        Rel::RecursiveCte(cte) => {
            ids.ctes.push((cte.id, ids.ctes.len()));
            cte.id = ids.ctes.len() - 1;
        }
        Rel::CteRef(reference) => reference.id = known(&ids.ctes, reference.id),
        Rel::DependentJoin(dependent) => {
            ids.dependents.push((dependent.id, ids.dependents.len()));
            dependent.id = ids.dependents.len() - 1;
        }
        Rel::DependentKeys(keys) => keys.id = known(&ids.dependents, keys.id),
        _ => {}
    }
    for input in rel.inputs_mut() {
        number(input, ids);
    }
}
