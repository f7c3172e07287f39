//! Correlated subqueries, and the marks and scalar subqueries that SQL has no words for, as plain operators.
//!
//! - The outer side of a correlated subquery becomes a CTE, its distinct keys another, the subquery reads the keys, and
//!   its rows are joined back. No correlated SQL comes out, whose decorrelation DuckDB can get wrong.
//! - A mark is TRUE where a comparison with some right row is TRUE, else NULL where one is NULL, else FALSE: both are
//!   counted for each distinct combination of what the conditions read of the left side. DuckDB compares several
//!   columns at once (a multi-column `IN`) so that one NULL makes the whole comparison NULL, even beside a FALSE.
//! - A scalar subquery is a left join whose right rows are counted, and raise DuckDB's error beyond one.

use crate::plan::expr::{
    Argument, CaseBranch, Comparison, Conjunction, Constant, Expr, FunctionCall, Literal, Operator,
};
use crate::plan::pushdown;
use crate::plan::rel::{
    Aggregate, AggregateCall, Column, Cte, CteRef, DependentJoin, Distinct, Filter, Join, JoinCondition, JoinKind,
    Limit, LimitCount, Materialize, Project, Rel, Values, Window, WindowCall,
};
use crate::plan::types::DataType;

use super::marks;
use super::nodes::name_of;

/// `rel` without correlated joins, and with marks and scalar subqueries only where SQL can say them.
pub(super) fn lowered(rel: &Rel) -> Rel {
    Lowering { next_cte: rel.next_cte(), keys: Vec::new() }.node(rel.clone())
}

struct Lowering {
    next_cte: usize,
    /// The CTEs of keys of the correlated joins around: the join's id, the CTE's.
    keys: Vec<(usize, usize)>,
}

impl Lowering {
    fn node(&mut self, rel: Rel) -> Rel {
        match rel {
            // The outer side becomes a CTE, which no predicate above it reaches any more.
            Rel::Filter(filter) => match pushdown::filtered(*filter.input, filter.predicates, &|left| left) {
                Rel::Filter(Filter { input, predicates }) => {
                    Rel::Filter(Filter { input: Box::new(self.node(*input)), predicates })
                }
                other => self.node(other),
            },
            Rel::DependentJoin(dependent) => self.dependent(dependent),
            Rel::DependentKeys(keys) => match self.keys.iter().rev().find(|(id, _)| *id == keys.id) {
                Some((_, cte)) => Rel::CteRef(CteRef { id: *cte, columns: keys.columns, recurring: false }),
                None => Rel::DependentKeys(keys),
            },
            Rel::Join(join) if join.kind == JoinKind::Single => {
                let (left, right) = (self.node(*join.left.clone()), self.node(*join.right.clone()));
                single(left, right, &join)
            }
            Rel::Join(join) if join.kind == JoinKind::Mark && !marks::has_words(&join) => {
                let (left, right) = (self.node(*join.left.clone()), self.node(*join.right.clone()));
                let name = format!("{}_rows", name_of(&join.left));
                self.with_cte(name, left, |_, left| mark(left, right, &join))
            }
            mut other => {
                for input in other.inputs_mut() {
                    *input = self.node(std::mem::replace(input, Rel::nothing()));
                }
                other
            }
        }
    }

    fn dependent(&mut self, dependent: DependentJoin) -> Rel {
        let DependentJoin { mut join, keys, id } = dependent;
        let left = self.node(std::mem::replace(&mut *join.left, Rel::nothing()));
        let name = name_of(&left).to_owned();
        self.with_cte(format!("{name}_rows"), left, |lowering, left| {
            let exprs = keys.into_iter().map(|key| (key_name(&key, &left), key)).collect::<Vec<_>>();
            let none = exprs.is_empty();
            let project = Rel::Project(Project { input: Box::new(left.clone()), exprs });
            let distinct = if none {
                Rel::Limit(Limit { input: Box::new(project), limit: LimitCount::Rows(1), offset: LimitCount::Unset })
            } else {
                Rel::Distinct(Distinct { input: Box::new(project), on: None, order_by: Vec::new() })
            };
            lowering.with_cte(format!("{name}_keys"), distinct, |lowering, keys| {
                if let Rel::CteRef(keys) = &keys {
                    lowering.keys.push((id, keys.id));
                }
                let right = lowering.node(std::mem::replace(&mut *join.right, Rel::nothing()));
                lowering.keys.pop();
                match join.kind {
                    JoinKind::Mark => mark(left, right, &join),
                    JoinKind::Single if tied_to_keys(&join) => single_per_key(left, right, &join),
                    JoinKind::Single => single(left, right, &join),
                    _ => Rel::Join(Join { left: Box::new(left), right: Box::new(right), ..join }),
                }
            })
        })
    }

    /// `definition` as a CTE that is computed once, in front of what `body` makes of a reference to it.
    fn with_cte(&mut self, name: String, definition: Rel, body: impl FnOnce(&mut Lowering, Rel) -> Rel) -> Rel {
        let id = self.next_cte;
        self.next_cte += 1;
        let reference = Rel::CteRef(CteRef { id, columns: definition.columns(), recurring: false });
        let body = Box::new(body(self, reference));
        Rel::Cte(Cte { name, id, materialize: Materialize::Always, definition: Box::new(definition), body })
    }
}

fn key_name(key: &Expr, left: &Rel) -> String {
    match key {
        Expr::Column { index, .. } => left.columns().get(*index).map_or_else(String::new, |column| column.name.clone()),
        _ => "key".to_owned(),
    }
}

/// The left columns and the mark.
fn mark(left: Rel, right: Rel, join: &Join) -> Rel {
    let columns = left.columns();
    let width = columns.len();
    let mut read: Vec<usize> = join.conditions.iter().flat_map(|condition| condition.left.columns()).collect();
    read.extend(join.predicates.iter().flat_map(Expr::columns).filter(|column| *column < width));
    read.sort_unstable();
    read.dedup();
    let column = |index: usize| Expr::column(index, columns[index].data_type.clone());
    let tested_at = |index: usize| read.iter().position(|column| *column == index).unwrap_or(index);
    let tested = if read.is_empty() {
        Rel::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] })
    } else {
        let exprs = read.iter().map(|index| (columns[*index].name.clone(), column(*index))).collect();
        let input = Box::new(Rel::Project(Project { input: Box::new(left.clone()), exprs }));
        Rel::Distinct(Distinct { input, on: None, order_by: Vec::new() })
    };
    // What ties a correlated subquery to its row is no part of the comparison.
    let (ties, compared): (Vec<JoinCondition>, Vec<JoinCondition>) = join
        .conditions
        .iter()
        .map(|one| JoinCondition { left: one.left.clone().with_columns(&tested_at), ..one.clone() })
        .partition(|condition| condition.op == Comparison::NotDistinctFrom);
    let beside = |index: usize| if index < width { tested_at(index) } else { index - width + read.len() };
    let predicates: Vec<Expr> = join.predicates.iter().map(|one| one.clone().with_columns(&beside)).collect();
    let mut comparisons: Vec<Expr> = compared
        .into_iter()
        .map(|one| compare(one.op, one.left, one.right.with_columns(&|index| index + read.len())))
        .collect();
    comparisons.extend(conjunction(Conjunction::And, predicates));
    let groups = tested.columns();
    let pairs = Rel::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(tested),
        right: Box::new(right),
        conditions: ties,
        predicates: Vec::new(),
    });
    let matched = verdicts(pairs, &groups, comparisons);
    let conditions = read.iter().enumerate().map(|(at, index)| JoinCondition {
        left: column(*index),
        op: Comparison::NotDistinctFrom,
        right: Expr::column(at, groups[at].data_type.clone()),
    });
    let joined = Rel::Join(Join {
        kind: JoinKind::Left,
        conditions: conditions.collect(),
        left: Box::new(left),
        right: Box::new(matched),
        predicates: Vec::new(),
    });
    let verdict = |at: usize| Expr::column(width + read.len() + at, DataType::Boolean);
    let null =
        Expr::Cast { input: Box::new(constant(None, DataType::Null)), data_type: DataType::Boolean, fallible: false };
    let branches = vec![
        CaseBranch { condition: verdict(0), value: boolean(true) },
        CaseBranch { condition: verdict(1), value: null },
    ];
    let mark = Expr::Case { branches, otherwise: Box::new(boolean(false)), data_type: DataType::Boolean };
    let own = (0..width).map(|index| (columns[index].name.clone(), column(index)));
    let exprs = own.chain([("mark".to_owned(), mark)]).collect();
    Rel::Project(Project { input: Box::new(joined), exprs })
}

/// The groups of `pairs`, and for each: is the comparison TRUE for some pair, and is it NULL for some?
fn verdicts(pairs: Rel, groups: &[Column], comparisons: Vec<Expr>) -> Rel {
    let some = |argument: Expr| call("bool_or", vec![argument], DataType::Boolean);
    let nulls: Vec<Expr> = comparisons.iter().map(|one| is_null(one.clone())).collect();
    let (aggregates, results) = match conjunction(Conjunction::And, comparisons) {
        // Nothing is compared: a pair is a match (EXISTS).
        None => {
            let zero = constant(Some(Constant::Integer("0".to_owned())), DataType::BigInt);
            let count = Expr::column(groups.len(), DataType::BigInt);
            let found = compare(Comparison::Greater, count, zero);
            (vec![call("count_star", Vec::new(), DataType::BigInt)], [found, boolean(false)])
        }
        Some(all) => {
            let null = conjunction(Conjunction::Or, nulls).unwrap_or_else(|| boolean(false));
            let or_false = |at: usize| Expr::Operator {
                op: Operator::Coalesce,
                operands: vec![Expr::column(groups.len() + at, DataType::Boolean), boolean(false)],
                data_type: DataType::Boolean,
            };
            (vec![some(all), some(null)], [or_false(0), or_false(1)])
        }
    };
    let read = |(index, column): (usize, &Column)| (column.name.clone(), Expr::column(index, column.data_type.clone()));
    let keys: Vec<(String, Expr)> = groups.iter().enumerate().map(read).collect();
    let aggregate = Rel::Aggregate(Aggregate {
        input: Box::new(pairs),
        groups: keys.clone(),
        grouping_sets: vec![(0..groups.len()).collect()],
        aggregates,
        grouping_functions: Vec::new(),
    });
    let results = ["is_true", "is_null"].into_iter().map(str::to_owned).zip(results);
    Rel::Project(Project { input: Box::new(aggregate), exprs: keys.into_iter().chain(results).collect() })
}

/// Do the conditions do nothing but tie each row of the subquery to the outer rows that it was evaluated for?
fn tied_to_keys(join: &Join) -> bool {
    let ties = |one: &JoinCondition| one.op == Comparison::NotDistinctFrom;
    join.predicates.is_empty() && !join.conditions.is_empty() && join.conditions.iter().all(ties)
}

/// A scalar subquery that has its rows for each key: they are counted before the join.
fn single_per_key(left: Rel, right: Rel, join: &Join) -> Rel {
    let keys = join.conditions.iter().map(|condition| condition.right.clone()).collect();
    let right = at_most_one(right, keys);
    Rel::Join(Join { kind: JoinKind::Left, left: Box::new(left), right: Box::new(right), ..join.clone() })
}

/// A scalar subquery under any conditions: the left rows are numbered, and the matches of each are counted.
fn single(left: Rel, right: Rel, join: &Join) -> Rel {
    let width = left.columns().len();
    let left = Rel::Window(Window {
        input: Box::new(left),
        functions: vec![WindowCall::plain("row_number", Vec::new(), Vec::new(), DataType::BigInt)],
    });
    let beside = |index: usize| if index < width { index } else { index + 1 };
    let joined = Rel::Join(Join {
        kind: JoinKind::Left,
        left: Box::new(left),
        right: Box::new(right),
        conditions: join.conditions.clone(),
        predicates: join.predicates.iter().map(|one| one.clone().with_columns(&beside)).collect(),
    });
    let counted = at_most_one(joined, vec![Expr::column(width, DataType::BigInt)]);
    let columns = counted.columns().into_iter().enumerate().filter(|(index, _)| *index != width);
    let exprs = columns.map(|(index, column)| (column.name, Expr::column(index, column.data_type))).collect();
    Rel::Project(Project { input: Box::new(counted), exprs })
}

/// The rows of `rel`, or DuckDB's error where several have the same `keys`.
fn at_most_one(rel: Rel, keys: Vec<Expr>) -> Rel {
    let columns = rel.columns();
    let counted = Rel::Window(Window {
        input: Box::new(rel),
        functions: vec![WindowCall::plain("count", Vec::new(), keys, DataType::BigInt)],
    });
    let one = constant(Some(Constant::Integer("1".to_owned())), DataType::BigInt);
    let condition = compare(Comparison::Greater, Expr::column(columns.len(), DataType::BigInt), one);
    let message = "More than one row returned by a subquery used as an expression - \
                   scalar subqueries can only return a single row.";
    let message = constant(Some(Constant::Text(message.to_owned())), DataType::VARCHAR);
    let error = Expr::Function(FunctionCall {
        name: "error".to_owned(),
        qualifier: None,
        arguments: vec![Argument { name: None, value: message }],
        lambda: None,
        is_operator: false,
        data_type: DataType::Boolean,
    });
    let guard = Expr::Case {
        branches: vec![CaseBranch { condition, value: error }],
        otherwise: Box::new(boolean(true)),
        data_type: DataType::Boolean,
    };
    let guarded = Rel::Filter(Filter { input: Box::new(counted), predicates: vec![guard] });
    let exprs = columns.into_iter().enumerate();
    let exprs = exprs.map(|(index, column)| (column.name, Expr::column(index, column.data_type))).collect();
    Rel::Project(Project { input: Box::new(guarded), exprs })
}

fn call(name: &str, arguments: Vec<Expr>, data_type: DataType) -> AggregateCall {
    AggregateCall { name: name.to_owned(), arguments, distinct: false, filter: None, order_by: Vec::new(), data_type }
}

fn compare(op: Comparison, left: Expr, right: Expr) -> Expr {
    Expr::Comparison { op, left: Box::new(left), right: Box::new(right) }
}

fn conjunction(op: Conjunction, mut operands: Vec<Expr>) -> Option<Expr> {
    if operands.len() > 1 { Some(Expr::Conjunction { op, operands }) } else { operands.pop() }
}

fn is_null(expr: Expr) -> Expr {
    Expr::Operator { op: Operator::IsNull, operands: vec![expr], data_type: DataType::Boolean }
}

fn boolean(value: bool) -> Expr {
    constant(Some(Constant::Boolean(value)), DataType::Boolean)
}

fn constant(value: Option<Constant>, data_type: DataType) -> Expr {
    Expr::Literal(Literal { value, data_type })
}
