//! Grouped aggregates kept in accumulator tables: `COUNT`, `SUM`, `AVG`, variances, `MIN`, `MAX`, `ARG_MIN`, `ARG_MAX`,
//! `BOOL_AND`, `BOOL_OR`, each with `FILTER`, grouped or not.
//!
//! - Law: an accumulator table holds per group the number of rows and, per aggregate, sums from which it is finished.
//!   With δ = the sums over ΔR with its weights, the accumulator of a touched group moves by δ; the aggregate's delta is
//!   its finished new row minus its finished old one. STATEFUL.
//! - Reads: ΔR and the touched groups' accumulators. R⁺ is read only for groups that must be added up again: MIN or MAX
//!   lost its extremum and gained none as good, a sum of floats lost a row (so that drift, NaN and infinities never
//!   stick), rows tie for `ARG_MIN` or `ARG_MAX`, or a variance does not follow from its sums (`spread`).
//! - NULLs and duplicates: group keys are compared NULL-safe. A group leaves when its row count is 0. An ungrouped
//!   aggregate is one row left-joined to a single group, so it never leaves. SUM and AVG are NULL when no non-NULL value is left, which their own count tells.
//! - Cost: the rows of ΔR and the touched groups.
//! - Does not apply to `DISTINCT` inside an aggregate, ordered and approximate ones and all not named above: there the
//!   groups are recomputed ([`super::affected`]). `finish` says what of each is kept, `measure` how it moves.
//! - Example: sum(x) of {(k, 5)}: ΔR = {(k, 5): −1, (k, NULL): +1}: 1 row, 0 non-NULL values, sum 0: SUM is NULL.
//! - Source: Gupta, Mumick and Subrahmanian, SIGMOD 1993 (counting); Palpanas et al., VLDB 2002 (non-distributive
//!   aggregates).
//!
//! To the rest of the algebra an accumulator table is a table like any other: [`cut`] puts a scan of it, under a
//! projection that finishes the aggregates, in the aggregate's place. So whatever stands above an aggregate is
//! maintained by its own rule.

mod expressions;
mod finish;
mod measure;
mod spread;

use std::ops::Range;

use super::construct::{
    by_keys, compare, consolidated, filter, integer, null, project, references, union_all, weighted,
};
use super::sign::{self, Sign};
use super::{Derivation, NotIncremental, grouping_sets, guards, own_rows};
use crate::plan::expr::{Comparison, Expr};
use crate::plan::facts::Source;
use crate::plan::normalise::flatten;
use crate::plan::rel::{
    Aggregate, AggregateCall, Column, Filter, Join, JoinCondition, JoinKind, Project, Rel, Scan, State, TableKind,
    Values,
};
use crate::plan::storage::is_faithful;
use crate::plan::ties;
use crate::plan::types::DataType;

use finish::Finish;
use measure::Measure;

/// The catalog name of scans that read an accumulator table.
pub const ACCUMULATED: &str = "accumulated";

/// An accumulator table of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulator {
    /// Its name within the view: `1`, `2`, … in the plan's order, inner ones first.
    pub name: String,
    /// Its columns: the groups, the number of rows, the measures.
    pub columns: Vec<Column>,
    /// Its rows, computed from the tables of the lake alone.
    pub fill: Rel,
    /// The aggregate's groups, over the input's columns; none in an ungrouped one, whose table has a constant key.
    pub keys: Vec<(String, Expr)>,
    /// The aggregates, over the input's columns.
    pub calls: Vec<AggregateCall>,
    /// The aggregate's input, with accumulator tables in place of the aggregates in it.
    input: Rel,
    groups: Vec<(String, Expr)>,
    measures: Measures,
    tied: Tied,
}

/// What happens where `ARG_MIN` and `ARG_MAX` can take either of several rows of a group that is added up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tied {
    /// An error is raised, so that the view is recomputed.
    Raises,
    /// The engine chooses, as it does for a group of the view that is recomputed.
    Chosen,
}

/// What is kept per group beside the number of rows, and what is made of it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Measures {
    /// What is kept, each with the places of the aggregates that need it.
    kept: Vec<(Measure, Vec<usize>)>,
    /// For each aggregate the measure that it is finished from, and how; `None` for the number of rows.
    finishes: Vec<Option<(usize, Finish)>>,
}

impl Measures {
    /// What must be kept; `None` if some aggregate cannot be finished from it.
    fn of(calls: &[AggregateCall]) -> Option<Measures> {
        let mut measures = Measures::default();
        for (place, call) in calls.iter().enumerate() {
            let (measure, finish) = finish::of(call)?;
            let finish = if measure.is_row_count() { None } else { Some((measures.add(measure, place), finish)) };
            measures.finishes.push(finish);
        }
        Some(measures)
    }

    /// The measure that holds what `measure` would.
    fn add(&mut self, measure: Measure, place: usize) -> usize {
        let same = |(known, _): &(Measure, Vec<usize>)| {
            let either = known.kept.covers(measure.kept) || measure.kept.covers(known.kept);
            either && known.arguments == measure.arguments && known.filter == measure.filter
        };
        match self.kept.iter().position(same) {
            Some(at) => {
                let (known, places) = &mut self.kept[at];
                if !known.kept.covers(measure.kept) {
                    *known = measure;
                }
                places.push(place);
                at
            }
            None => {
                self.kept.push((measure, vec![place]));
                self.kept.len() - 1
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Measure> {
        self.kept.iter().map(|(measure, _)| measure)
    }
}

/// How often a row of an aggregate's input counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weights {
    /// Once.
    One,
    /// As its last column says.
    Column,
}

/// The steps that hold what changes in an accumulator table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccumulatorChange {
    /// [`Accumulator::name`].
    pub name: String,
    /// The step with the rows that go.
    pub old_rows: String,
    /// The step with the rows that take their place.
    pub new_rows: String,
    /// The step with one row per group that the change touched.
    pub groups: String,
}

/// Puts accumulator tables in the place of all aggregates of `rel` that can be kept in one.
pub fn cut(rel: Rel) -> (Rel, Vec<Accumulator>) {
    let shows_keys = own_rows::input(&rel).is_some();
    let mut accumulators = Vec::new();
    let rel = flatten(cut_below(rel, &mut accumulators));
    if shows_keys && let Some(table) = table_on_top(&rel) {
        let topmost = accumulators.iter_mut().filter(|accumulator| accumulator.name == *table);
        topmost.for_each(|accumulator| accumulator.tied = Tied::Chosen);
    }
    (rel, accumulators)
}

/// The accumulator table that the topmost aggregate of a plan was cut into.
fn table_on_top(rel: &Rel) -> Option<&String> {
    match rel {
        Rel::Project(Project { input, .. }) | Rel::Filter(Filter { input, .. }) => table_on_top(input),
        Rel::Scan(scan) if scan.catalog == ACCUMULATED => Some(&scan.table),
        _ => None,
    }
}

fn cut_below(mut rel: Rel, accumulators: &mut Vec<Accumulator>) -> Rel {
    // Inside a correlated subquery the groups depend on keys that only its outer side knows.
    if let Rel::DependentJoin(node) = &mut rel {
        let left = std::mem::replace(&mut *node.join.left, Rel::nothing());
        *node.join.left = cut_below(left, accumulators);
        return rel;
    }
    if let Rel::Aggregate(aggregate) = &rel
        && let Some(sets) = grouping_sets::split(aggregate)
    {
        let sets = sets.into_iter().map(|set| cut_below(set, accumulators)).collect();
        return union_all(sets).unwrap_or(rel);
    }
    if let Rel::Aggregate(aggregate) = &rel
        && let Some(measures) = measures(aggregate)
    {
        let known = accumulators.len();
        let input = flatten(cut_below((*aggregate.input).clone(), accumulators));
        // What is kept must be what the view's own query took into its sums.
        if ties::first_tie(&input).is_none() {
            return keep(aggregate, input, measures, accumulators);
        }
        accumulators.truncate(known);
    }
    for input in rel.inputs_mut() {
        let taken = std::mem::replace(input, Rel::nothing());
        *input = cut_below(taken, accumulators);
    }
    rel
}

/// What must be kept per group; `None` if some aggregate cannot be finished from sums, or a lake cannot hold a key so
/// that it comes back as it was.
fn measures(aggregate: &Aggregate) -> Option<Measures> {
    let faithful = aggregate.groups.iter().all(|(_, expr)| is_faithful(&expr.data_type()));
    if faithful { Measures::of(&aggregate.aggregates) } else { None }
}

/// The projection over an accumulator scan that stands for `aggregate`.
fn keep(aggregate: &Aggregate, input: Rel, measures: Measures, accumulators: &mut Vec<Accumulator>) -> Rel {
    let ungrouped = aggregate.groups.is_empty();
    let exprs = aggregate.groups.iter().map(|(_, expr)| expr.clone());
    let exprs: Vec<Expr> = if ungrouped { vec![integer(1)] } else { exprs.collect() };
    let groups: Vec<(String, Expr)> =
        exprs.into_iter().enumerate().map(|(position, expr)| (format!("group_{}", position + 1), expr)).collect();
    let mut columns: Vec<Column> = groups.iter().map(|(name, expr)| Column::new(name, expr.data_type())).collect();
    columns.push(Column::new("row_count", DataType::BigInt));
    for (measure, places) in &measures.kept {
        columns.extend(measure.columns(places[0] + 1));
    }
    let name = (accumulators.len() + 1).to_string();
    let calls = aggregate.aggregates.clone();
    let keys = aggregate.groups.clone();
    let (fill, tied) = (Rel::nothing(), Tied::Raises);
    let mut accumulator = Accumulator { name, columns, fill, keys, calls, input, groups, measures, tied };
    let all_rows = (*aggregate.input).clone().at(State::New);
    accumulator.fill = flatten(accumulator.alive(accumulator.sums(all_rows, Weights::One, Tied::Chosen)));
    match accumulators.iter().find(|other| other.fill == accumulator.fill) {
        Some(same) => accumulator.name.clone_from(&same.name),
        None => accumulators.push(accumulator.clone()),
    }
    let rows = accumulator.scan(State::Current);
    if ungrouped { accumulator.finished(one_row(rows), 1, aggregate) } else { accumulator.finished(rows, 0, aggregate) }
}

/// One row whether the single group is there or not: a constant 1, then the group's columns or NULLs.
fn one_row(group: Rel) -> Rel {
    let columns = vec![Column::new("one", DataType::BigInt)];
    let one = Rel::Values(Values { columns, rows: vec![vec![integer(1)]] });
    let key = || Expr::column(0, DataType::BigInt);
    let conditions = vec![JoinCondition { left: key(), op: Comparison::Equal, right: key() }];
    let (left, right) = (Box::new(one), Box::new(group));
    Rel::Join(Join { kind: JoinKind::Left, left, right, conditions, predicates: Vec::new() })
}

impl Accumulator {
    /// The columns of the aggregate's input.
    pub fn input_columns(&self) -> Vec<Column> {
        self.input.columns()
    }

    /// For each column behind the row count the aggregates that it is kept for.
    pub fn kept_calls(&self) -> impl Iterator<Item = Vec<&AggregateCall>> {
        self.measures.kept.iter().flat_map(|(measure, places)| {
            let calls = places.iter().map(|place| &self.calls[*place]).collect();
            std::iter::repeat_n(calls, measure.width())
        })
    }

    /// The plan below the aggregate, with accumulator tables in place of the aggregates in it.
    pub(super) fn input(&self) -> &Rel {
        &self.input
    }

    /// The table as a source of the plan.
    pub fn source(&self) -> Source {
        Source { catalog: ACCUMULATED.into(), schema: "main".into(), table: self.name.clone() }
    }

    fn scan(&self, state: State) -> Rel {
        Rel::Scan(Scan {
            catalog: ACCUMULATED.into(),
            schema: "main".into(),
            table: self.name.clone(),
            kind: TableKind::Lake,
            columns: self.columns.clone(),
            positions: (0..self.columns.len()).collect(),
            pinned: None,
            state,
        })
    }

    /// The position of the row count, behind the groups.
    fn row_count(&self) -> usize {
        self.groups.len()
    }

    /// Each measure with the positions of its columns.
    fn placed_measures(&self) -> Vec<(Range<usize>, &Measure)> {
        let mut next = self.row_count() + 1;
        let place = |measure: &Measure| {
            let place = next..next + measure.width();
            next = place.end;
            place
        };
        self.measures.iter().map(place).zip(self.measures.iter()).collect()
    }

    fn keys(&self) -> Vec<(String, Expr)> {
        references(&self.columns[..self.groups.len()], 0)
    }

    fn column(&self, position: usize, start: usize) -> Expr {
        Expr::column(start + position, self.columns[position].data_type.clone())
    }

    /// The aggregate's own columns from `rows`, in which the accumulator's columns begin at `start`.
    fn finished(&self, rows: Rel, start: usize, aggregate: &Aggregate) -> Rel {
        let groups = aggregate.groups.iter().enumerate();
        let mut exprs: Vec<(String, Expr)> =
            groups.map(|(position, (name, _))| (name.clone(), self.column(position, start))).collect();
        let placed = self.placed_measures();
        for (finish, call) in self.measures.finishes.iter().zip(&aggregate.aggregates) {
            let column = |position| self.column(position, start);
            let value = match finish {
                None => expressions::cast(expressions::or_zero(column(self.row_count())), call.data_type.clone()),
                Some((at, finish)) => {
                    let (place, measure) = &placed[*at];
                    let columns: Vec<Expr> = place.clone().map(column).collect();
                    finish.value(measure.kept, &columns, &call.data_type)
                }
            };
            exprs.push((call.name.clone(), value));
        }
        project(rows, exprs)
    }

    /// Rows of groups that are there.
    fn alive(&self, rows: Rel) -> Rel {
        let there = compare(Comparison::Greater, self.column(self.row_count(), 0), integer(0));
        filter(rows, vec![there])
    }

    /// Per group of the input the row count and the measures, in the table's columns, and behind them the details of a
    /// change, if rows have weights.
    fn sums(&self, input: Rel, weights: Weights, tied: Tied) -> Rel {
        let weight = match weights {
            Weights::One => None,
            Weights::Column => Some(Expr::column(input.columns().len() - 1, DataType::BigInt)),
        };
        let mut calls = vec![expressions::count(weight.as_ref(), None)];
        calls.extend(self.measures.iter().flat_map(|measure| measure.calls(weight.as_ref())));
        let mut columns = self.columns.clone();
        if let Some(weight) = &weight {
            for (call, column) in self.measures.iter().flat_map(|measure| measure.details(weight)) {
                calls.push(call);
                columns.push(column);
            }
        }
        let width = self.groups.len();
        let aggregate = Aggregate {
            input: Box::new(input),
            groups: self.groups.clone(),
            grouping_sets: vec![(0..width).collect()],
            aggregates: calls,
            grouping_functions: Vec::new(),
        };
        let aggregate = match tied {
            Tied::Raises => guards::taken(aggregate),
            Tied::Chosen => Rel::Aggregate(aggregate),
        };
        let made = aggregate.columns().into_iter().zip(columns).enumerate();
        let mut exprs: Vec<(String, Expr)> = made
            .map(|(position, (made, column))| {
                (column.name, expressions::cast(Expr::column(position, made.data_type), column.data_type))
            })
            .collect();
        for (place, measure) in self.placed_measures() {
            let made = exprs[place.clone()].iter().map(|(_, expr)| expr.clone()).collect();
            let kept = measure.kept(made, weight.is_some());
            for ((_, expr), kept) in exprs[place].iter_mut().zip(kept) {
                *expr = kept;
            }
        }
        project(aggregate, exprs)
    }

    /// Makes the steps that change the table, and records what its delta and its new state are.
    pub(super) fn derive(&self, derivation: &mut Derivation) -> Result<(), NotIncremental> {
        let sign = sign::of(&self.input, &derivation.changes);
        let Some(delta) = derivation.stage_delta(&self.input)? else { return Ok(()) };
        // Sums take cancelling rows as they come; what was lost must be told from what came back in the same window.
        let changed = if self.measures.iter().any(Measure::needs_net_rows) {
            derivation.stage("changed_rows", consolidated(self.narrowed(delta)))
        } else {
            delta
        };
        let moved = derivation.stage("group_changes", self.sums(changed, Weights::Column, Tied::Chosen));
        let keys: Vec<Expr> = self.keys().into_iter().map(|(_, expr)| expr).collect();
        let old_rows =
            by_keys(JoinKind::Semi, self.scan(State::Old), keys.clone(), project(moved.clone(), self.keys()));
        let old_rows = derivation.stage("old_groups", old_rows);
        let folded = derivation.stage("folded_groups", self.folded(moved.clone(), old_rows.clone(), sign));
        let new_rows = self.merged(folded, sign, derivation);
        let new_rows = derivation.stage("new_groups", new_rows);
        let untouched = by_keys(JoinKind::Anti, self.scan(State::Old), keys, project(moved.clone(), self.keys()));
        let after = union_all(vec![untouched, new_rows.clone()]).unwrap_or_else(Rel::nothing);
        let both = vec![weighted(old_rows.clone(), -1), weighted(new_rows.clone(), 1)];
        let delta = union_all(both).unwrap_or_else(Rel::nothing);
        derivation.record(self, [&moved, &old_rows, &new_rows], delta, after);
        Ok(())
    }

    /// The input's delta with NULL in place of the columns that no group or measure reads, so that consolidating it
    /// merges all that is alike to them.
    fn narrowed(&self, delta: Rel) -> Rel {
        let columns = delta.columns();
        let weight = columns.len() - 1;
        let mut used: Vec<usize> = self.groups.iter().flat_map(|(_, expr)| expr.columns()).collect();
        used.extend(self.measures.iter().flat_map(Measure::reads));
        let exprs = columns.into_iter().enumerate().map(|(position, column)| {
            let read = position == weight || used.contains(&position);
            let data_type = column.data_type;
            (column.name, if read { Expr::column(position, data_type) } else { null(data_type) })
        });
        let exprs = exprs.collect();
        project(delta, exprs)
    }

    /// The touched groups' accumulators moved by their changes, and last whether the group must be added up again.
    fn folded(&self, moved: Rel, old: Rel, sign: Sign) -> Rel {
        let start = moved.columns().len();
        let details = references(&moved.columns(), 0).into_iter().skip(self.columns.len());
        let mut details = details.map(|(_, expr)| expr);
        let conditions = (0..self.groups.len()).map(|position| JoinCondition {
            left: self.column(position, 0),
            op: Comparison::NotDistinctFrom,
            right: self.column(position, 0),
        });
        let conditions = conditions.collect();
        let (left, right) = (Box::new(moved), Box::new(old));
        let joined = Rel::Join(Join { kind: JoinKind::Left, left, right, conditions, predicates: Vec::new() });
        let mut exprs = self.keys();
        let count = self.row_count();
        let rows = expressions::add(expressions::or_zero(self.column(count, start)), self.column(count, 0));
        exprs.push((self.columns[count].name.clone(), rows));
        let mut again = Vec::new();
        for (place, measure) in self.placed_measures() {
            let old: Vec<Expr> = place.clone().map(|position| self.column(position, start)).collect();
            let moved: Vec<Expr> = place.clone().map(|position| self.column(position, 0)).collect();
            for (position, value) in place.zip(measure.folded(&old, &moved)) {
                exprs.push((self.columns[position].name.clone(), value));
            }
            let details: Vec<Expr> = details.by_ref().take(measure.details(&integer(1)).len()).collect();
            if measure.may_need_again(sign) {
                again.extend(measure.again(&old, &moved, &details));
            }
        }
        exprs.push(("again".into(), expressions::any(again)));
        project(joined, exprs)
    }

    /// The new rows of the touched groups: folded, or added up again from the input where that is needed.
    fn merged(&self, folded: Rel, sign: Sign, derivation: &mut Derivation) -> Rel {
        let again = Expr::column(self.columns.len(), DataType::Boolean);
        let folded = self.alive(folded);
        if !self.measures.iter().any(|measure| measure.may_need_again(sign)) {
            return project(folded, references(&self.columns, 0));
        }
        let keys = derivation.stage("groups_again", project(filter(folded.clone(), vec![again.clone()]), self.keys()));
        let kept = project(filter(folded, vec![expressions::not(again)]), references(&self.columns, 0));
        let exprs = self.groups.iter().map(|(_, expr)| expr.clone()).collect();
        let input = by_keys(JoinKind::Semi, derivation.at_new(&self.input), exprs, keys);
        union_all(vec![kept, self.alive(self.sums(input, Weights::One, self.tied))]).unwrap_or_else(Rel::nothing)
    }
}
