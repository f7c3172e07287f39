//! Brings a decoded plan into the form that the delta rules take.
//!
//! - A CTE's definition stands in place of each reference to it (recursive ones stay).
//! - Every maximal block of projections, filters and inner or cross joins becomes one [`InnerJoin`] (or its only leg)
//!   under one [`Project`]: legs are flat, so N tables give N legs however the user nested them.
//! - A predicate that reads one leg stands at that leg, where it also cuts the leg's delta; one that reads the left side
//!   of a leg's outer join or subquery alone stands on that side.
//! - A scan at a leg reads only the columns that the block uses.
//! - The `first` row of an input that has exactly one is that row.
//! - A `LIMIT` whose count only the data tells is a filter over the rows' numbers ([`super::limits`]).
//! - An `ORDER BY` that only orders the view's rows is dropped: a table has no order.
//!
//! The result has the same rows as the input, as a bag, for deterministic expressions. Moving a projection or a
//! predicate may change WHICH rows a partial expression (a cast, say) is evaluated for, as DuckDB's own optimizer does.

use super::expr::{Conjunction, Constant, Expr, Literal};
use super::limits;
use super::pushdown;
use super::quantified;
use super::rel::{Aggregate, AggregateCall, Cte, DependentJoin, InnerJoin, Join, JoinKind, Project, Rel, SetOperator};
use super::types::DataType;

/// Plans that grow beyond this when CTEs are put in place keep their CTEs (and are not derived from).
const LARGEST_PLAN: usize = 20_000;

/// A plan in normal form.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised {
    /// The plan.
    pub rel: Rel,
    /// An `ORDER BY` at the top was dropped.
    pub order_dropped: bool,
}

/// Normalises `rel`; see the module's description.
pub fn normalise(rel: Rel) -> Normalised {
    let inlined =
        if inlined_size(&rel, &mut Vec::new()) <= LARGEST_PLAN { inline_ctes(rel, &mut Vec::new()) } else { rel };
    let mut numbered = inlined;
    number(&mut numbered, &mut Vec::new(), &mut 0);
    let mut order_dropped = false;
    let unordered = drop_order(numbered, &mut order_dropped);
    Normalised { rel: flatten(limits::numbered(only_rows(unordered))), order_dropped }
}

/// Puts the one row of an input in the place of the `first` and the number of its rows: DuckDB takes them from every
/// scalar subquery, most of which are aggregates without groups.
fn only_rows(mut rel: Rel) -> Rel {
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = only_rows(taken);
    }
    let Rel::Aggregate(aggregate) = &rel else { return rel };
    let plain = |call: &AggregateCall| !call.distinct && call.filter.is_none() && call.order_by.is_empty();
    let value = |call: &AggregateCall| match (call.name.as_str(), call.arguments.as_slice()) {
        ("first", [argument]) if plain(call) => Some(argument.clone()),
        ("count_star", []) if plain(call) => {
            let one = Literal { value: Some(Constant::Integer("1".into())), data_type: DataType::BigInt };
            Some(Expr::Literal(one))
        }
        _ => None,
    };
    let values = aggregate.aggregates.iter().map(|call| Some((call.name.clone(), value(call)?)));
    match values.collect::<Option<Vec<_>>>() {
        Some(exprs) if is_ungrouped(aggregate) && is_one_row(&aggregate.input) => {
            Rel::Project(Project { input: aggregate.input.clone(), exprs })
        }
        _ => rel,
    }
}

fn is_ungrouped(aggregate: &Aggregate) -> bool {
    aggregate.groups.is_empty() && aggregate.grouping_sets.len() <= 1 && aggregate.grouping_functions.is_empty()
}

/// Has `rel` exactly one row, whatever the data?
fn is_one_row(rel: &Rel) -> bool {
    match rel {
        Rel::Project(project) => is_one_row(&project.input),
        Rel::Aggregate(aggregate) => is_ungrouped(aggregate),
        Rel::Values(values) => values.rows.len() == 1,
        _ => false,
    }
}

/// How many nodes `rel` will have once its CTEs are put in place.
fn inlined_size(rel: &Rel, sizes: &mut Vec<(usize, usize)>) -> usize {
    match rel {
        Rel::Cte(cte) => {
            let definition = inlined_size(&cte.definition, sizes);
            sizes.push((cte.id, definition));
            let body = inlined_size(&cte.body, sizes);
            sizes.pop();
            body
        }
        Rel::CteRef(reference) => sizes.iter().rev().find(|(id, _)| *id == reference.id).map_or(1, |(_, size)| *size),
        other => {
            let inputs = other.inputs();
            inputs.into_iter().fold(1_usize, |sum, input| sum.saturating_add(inlined_size(input, sizes)))
        }
    }
}

fn inline_ctes(rel: Rel, scope: &mut Vec<(usize, Rel)>) -> Rel {
    match rel {
        Rel::Cte(Cte { id, definition, body, .. }) => {
            let definition = inline_ctes(*definition, scope);
            scope.push((id, definition));
            let body = inline_ctes(*body, scope);
            scope.pop();
            body
        }
        Rel::CteRef(reference) => match scope.iter().rev().find(|(id, _)| *id == reference.id) {
            Some((_, definition)) => definition.clone(),
            None => Rel::CteRef(reference),
        },
        mut other => {
            for input in other.inputs_mut() {
                let taken = std::mem::replace(input, Rel::nothing());
                *input = inline_ctes(taken, scope);
            }
            other
        }
    }
}

/// Gives every correlated subquery and recursive CTE an id of its own: a CTE's definition that was put in place twice
/// brought its ids along twice. `scope` holds the (former, present) ids that enclose `rel`, innermost last.
fn number(rel: &mut Rel, scope: &mut Vec<(usize, usize)>, next: &mut usize) {
    let present = |id: usize, scope: &[(usize, usize)]| {
        scope.iter().rev().find(|(former, _)| *former == id).map_or(id, |(_, present)| *present)
    };
    match rel {
        Rel::DependentKeys(keys) => keys.id = present(keys.id, scope),
        Rel::CteRef(reference) => reference.id = present(reference.id, scope),
        Rel::DependentJoin(DependentJoin { join, id, .. }) => {
            number(&mut join.left, scope, next);
            number_scope(id, &mut join.right, scope, next);
        }
        Rel::RecursiveCte(cte) => {
            number(&mut cte.start, scope, next);
            number_scope(&mut cte.id, &mut cte.step, scope, next);
        }
        Rel::Cte(cte) => {
            number(&mut cte.definition, scope, next);
            number_scope(&mut cte.id, &mut cte.body, scope, next);
        }
        other => {
            for input in other.inputs_mut() {
                number(input, scope, next);
            }
        }
    }
}

fn number_scope(id: &mut usize, inside: &mut Rel, scope: &mut Vec<(usize, usize)>, next: &mut usize) {
    scope.push((*id, *next));
    *id = *next;
    *next += 1;
    number(inside, scope, next);
    scope.pop();
}

/// Drops sorts between the root and the first operator to which the order of its input could matter.
fn drop_order(rel: Rel, dropped: &mut bool) -> Rel {
    match rel {
        Rel::Sort(sort) => {
            *dropped = true;
            drop_order(*sort.input, dropped)
        }
        Rel::Project(mut project) => {
            *project.input = drop_order(*project.input, dropped);
            Rel::Project(project)
        }
        Rel::Filter(mut filter) => {
            *filter.input = drop_order(*filter.input, dropped);
            Rel::Filter(filter)
        }
        Rel::SetOperation(mut operation) if operation.op == SetOperator::Union && operation.all => {
            operation.inputs = operation.inputs.into_iter().map(|input| drop_order(input, dropped)).collect();
            Rel::SetOperation(operation)
        }
        other => other,
    }
}

/// Gathers every block of a plan without CTEs. Rewrites bottom-up; every block of projections, filters and inner joins is gathered whole at its topmost node.
pub(crate) fn flatten(rel: Rel) -> Rel {
    if is_block(&rel) {
        let names: Vec<String> = rel.columns().into_iter().map(|column| column.name).collect();
        let mut block = Block::default();
        let outputs = block.take(rel);
        return block.build(names.into_iter().zip(outputs).collect());
    }
    match rel {
        Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => {
            let mut inputs = Vec::new();
            for input in operation.inputs {
                match flatten(input) {
                    Rel::SetOperation(inner) if inner.op == SetOperator::Union && inner.all => {
                        inputs.extend(inner.inputs);
                    }
                    other => inputs.push(other),
                }
            }
            Rel::SetOperation(super::rel::SetOperation { inputs, ..operation })
        }
        Rel::Join(join) => {
            let mut join = quantified::settled(join);
            (*join.left, *join.right) = (flatten(*join.left), flatten(*join.right));
            Rel::Join(join)
        }
        mut other => {
            for input in other.inputs_mut() {
                let taken = std::mem::replace(input, Rel::nothing());
                *input = flatten(taken);
            }
            other
        }
    }
}

/// A right join as a left join under a projection that puts the columns back.
fn mirrored(join: &Join) -> Rel {
    let (width, right) = (join.left.columns().len(), join.right.columns().len());
    let columns = join.left.columns().into_iter().chain(join.right.columns());
    let left = join.swapped(JoinKind::Left);
    let exprs = columns.enumerate().map(|(position, column)| {
        let source = if position < width { position + right } else { position - width };
        (column.name, Expr::column(source, column.data_type))
    });
    Rel::Project(Project { exprs: exprs.collect(), input: Box::new(Rel::Join(left)) })
}

fn is_block(rel: &Rel) -> bool {
    matches!(rel, Rel::Project(_) | Rel::Filter(_) | Rel::InnerJoin(_))
        || matches!(rel, Rel::Join(join) if matches!(join.kind, JoinKind::Inner | JoinKind::Right))
}

/// A select-project-join block while it is gathered: legs, and predicates over their columns side by side.
#[derive(Default)]
struct Block {
    legs: Vec<Rel>,
    widths: Vec<usize>,
    predicates: Vec<Expr>,
}

impl Block {
    /// Takes `rel` in, and returns its output columns as expressions over the legs' columns.
    fn take(&mut self, rel: Rel) -> Vec<Expr> {
        match rel {
            Rel::Project(project) => {
                let inner = self.take(*project.input);
                project.exprs.into_iter().map(|(_, expr)| expr.substitute(&inner)).collect()
            }
            Rel::Filter(filter) => {
                let inner = self.take(*filter.input);
                for predicate in filter.predicates {
                    self.demand(predicate.substitute(&inner));
                }
                inner
            }
            Rel::Join(join) if join.kind == JoinKind::Inner => self.take_join(join),
            Rel::Join(join) if join.kind == JoinKind::Right => self.take(mirrored(&join)),
            Rel::InnerJoin(join) => {
                let mut outputs = Vec::new();
                for leg in join.legs {
                    outputs.extend(self.take(leg));
                }
                for predicate in join.predicates {
                    self.demand(predicate.substitute(&outputs));
                }
                outputs
            }
            other => {
                let leg = flatten(other);
                let start: usize = self.widths.iter().sum();
                let columns = leg.columns();
                self.widths.push(columns.len());
                self.legs.push(leg);
                columns
                    .into_iter()
                    .enumerate()
                    .map(|(position, column)| Expr::column(start + position, column.data_type))
                    .collect()
            }
        }
    }

    fn take_join(&mut self, join: Join) -> Vec<Expr> {
        let left = self.take(*join.left);
        let right = self.take(*join.right);
        for condition in join.conditions {
            self.demand(Expr::Comparison {
                op: condition.op,
                left: Box::new(condition.left.substitute(&left)),
                right: Box::new(condition.right.substitute(&right)),
            });
        }
        let both: Vec<Expr> = left.into_iter().chain(right).collect();
        for predicate in join.predicates {
            self.demand(predicate.substitute(&both));
        }
        both
    }

    fn demand(&mut self, predicate: Expr) {
        match predicate {
            Expr::Conjunction { op: Conjunction::And, operands } => {
                for operand in operands {
                    self.demand(operand);
                }
            }
            other => self.predicates.push(other),
        }
    }

    /// The leg that holds column `position` of the legs side by side.
    fn leg_of(&self, position: usize) -> usize {
        let mut end = 0;
        for (leg, width) in self.widths.iter().enumerate() {
            end += width;
            if position < end {
                return leg;
            }
        }
        self.widths.len().saturating_sub(1)
    }

    fn start_of(&self, leg: usize) -> usize {
        self.widths[..leg].iter().sum()
    }

    fn build(mut self, mut outputs: Vec<(String, Expr)>) -> Rel {
        let mut at_leg: Vec<Vec<Expr>> = vec![Vec::new(); self.legs.len()];
        let mut above = Vec::new();
        for predicate in std::mem::take(&mut self.predicates) {
            let mut legs: Vec<usize> = predicate.columns().into_iter().map(|column| self.leg_of(column)).collect();
            legs.dedup();
            match legs.as_slice() {
                [leg] => {
                    let start = self.start_of(*leg);
                    at_leg[*leg].push(predicate.with_columns(&|column| column - start));
                }
                _ => above.push(predicate),
            }
        }
        if self.legs.len() == 1 {
            at_leg[0].append(&mut above);
        }
        self.resolve_marks(&mut at_leg, &mut above, &mut outputs);
        self.prune(&mut at_leg, &mut above, &mut outputs);
        let mut legs: Vec<Rel> = self
            .legs
            .into_iter()
            .zip(at_leg)
            .map(|(leg, predicates)| pushdown::filtered(leg, predicates, &flatten))
            .collect();
        let input = match legs.len() {
            1 => legs.remove(0),
            _ => Rel::InnerJoin(InnerJoin { legs, predicates: above }),
        };
        projected(input, outputs)
    }

    /// Turns legs that are MARK joins into semi or anti joins, where the mark is filtered on. Whatever else reads it
    /// reads what the filter demands.
    fn resolve_marks(&mut self, at_leg: &mut [Vec<Expr>], above: &mut [Expr], outputs: &mut [(String, Expr)]) {
        for (leg, predicates) in at_leg.iter_mut().enumerate() {
            if !quantified::is_mark(&self.legs[leg]) {
                continue;
            }
            let mark = self.widths[leg] - 1;
            let whole = self.start_of(leg) + mark;
            let about: Vec<usize> =
                (0..predicates.len()).filter(|at| predicates[*at].columns().contains(&mark)).collect();
            let [at] = about.as_slice() else { continue };
            if let Some(demand) = quantified::demand_on(&predicates[*at], mark) {
                predicates.remove(*at);
                let join = std::mem::replace(&mut self.legs[leg], Rel::nothing());
                self.legs[leg] = flatten(quantified::keep(join, demand));
                for expr in above.iter_mut().chain(outputs.iter_mut().map(|(_, expr)| expr)) {
                    if expr.columns().contains(&whole) {
                        *expr = expr.clone().with_value(whole, &quantified::demanded(demand));
                    }
                }
            }
        }
    }

    /// Narrows scans at legs to the columns that the block reads.
    fn prune(&mut self, at_leg: &mut [Vec<Expr>], above: &mut [Expr], outputs: &mut [(String, Expr)]) {
        let total: usize = self.widths.iter().sum();
        let mut used = vec![false; total];
        for expr in above.iter().chain(outputs.iter().map(|(_, expr)| expr)) {
            for column in expr.columns() {
                used[column] = true;
            }
        }
        for (leg, predicates) in at_leg.iter().enumerate() {
            let start = self.start_of(leg);
            for column in predicates.iter().flat_map(Expr::columns) {
                used[start + column] = true;
            }
        }
        let mut kept = Vec::new();
        let mut start = 0;
        for (leg, rel) in self.legs.iter_mut().enumerate() {
            let width = self.widths[leg];
            let keep: Vec<usize> = match rel {
                Rel::Scan(scan) => {
                    let keep: Vec<usize> = (0..width).filter(|column| used[start + column]).collect();
                    scan.columns = keep.iter().map(|column| scan.columns[*column].clone()).collect();
                    scan.positions = keep.iter().map(|column| scan.positions[*column]).collect();
                    keep
                }
                // Without the mark that was resolved, if it was.
                other => (0..other.columns().len()).collect(),
            };
            let narrowed = |column: usize| keep.binary_search(&column).unwrap_or(0);
            for predicate in &mut at_leg[leg] {
                *predicate = predicate.clone().with_columns(&narrowed);
            }
            kept.extend(keep.into_iter().map(|column| start + column));
            start += width;
        }
        let narrowed = |column: usize| kept.binary_search(&column).unwrap_or(0);
        for expr in above.iter_mut().chain(outputs.iter_mut().map(|(_, expr)| expr)) {
            *expr = expr.clone().with_columns(&narrowed);
        }
    }
}

/// `rel` under a projection, unless the projection would change neither columns nor names.
fn projected(rel: Rel, exprs: Vec<(String, Expr)>) -> Rel {
    let columns = rel.columns();
    let same = columns.len() == exprs.len()
        && exprs.iter().zip(&columns).enumerate().all(|(position, ((name, expr), column))| {
            *name == column.name && matches!(expr, Expr::Column { index, .. } if *index == position)
        });
    if same { rel } else { Rel::Project(Project { input: Box::new(rel), exprs }) }
}
