//! [`Rel`] → SQL text that DuckDB binds to the same types. Makes no choices: the plan says everything but which table
//! version a scan reads, and that is asked of [`Relations`].
//!
//! - One statement per plan, byte for byte the same for the same plan.
//! - Identifiers are quoted, casts explicit, functions called by the names that DuckDB bound them to.
//! - Projections, filters and inner joins above scans print as ONE flat `SELECT … FROM a JOIN b … WHERE …`, so that the
//!   join order is DuckDB's to choose.
//! - A CTE prints as one, by its name. A correlated subquery prints its outer side and its distinct keys as CTEs, never
//!   as a correlated `EXISTS`, whose decorrelation DuckDB 1.5.5's `deliminator` can get wrong.
//! - Conjuncts of an `ANTI JOIN` that read the right side alone stand below the join: DuckDB 1.5.5's
//!   `statistics_propagation` can make them empty the result.
//!
//! | file | prints |
//! |---|---|
//! | `block` | one `SELECT`, put together clause by clause |
//! | `lowered` | correlated subqueries, as plain operators |
//! | `nodes`, `leaves`, `joins`, `marks`, `groups`, `rows`, `ctes` | the relational nodes |
//! | `calls` | aggregates and window functions |
//! | `exprs`, `decimals`, `literals`, `names` | expressions, constants, identifiers |
//! | `same_meaning`, `canonical` … | whether a printed plan, bound again, still says the same |

mod block;
mod calls;
mod canonical;
mod canonical_blocks;
mod canonical_exprs;
mod canonical_rows;
mod ctes;
mod decimals;
mod exprs;
mod groups;
mod joins;
mod leaves;
mod literals;
mod lowered;
mod marks;
mod names;
mod nodes;
mod rows;
mod same_meaning;

pub use names::quoted;
pub use same_meaning::{Difference, same_meaning};

use crate::plan::expr::Expr;
use crate::plan::rel::{AggregateCall, Column, Rel, Scan};

/// A relation in a `FROM` clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its name as SQL text: qualified and quoted, so that no CTE of the statement can hide it.
    pub name: String,
    /// The snapshot at which it is read: `AT (VERSION => n)`.
    pub version: Option<u64>,
}

impl Relation {
    /// The table that `scan` names, as it is now or at a snapshot.
    pub fn table(scan: &Scan, version: Option<u64>) -> Relation {
        let name = [&scan.catalog, &scan.schema, &scan.table].map(|part| quoted(part)).join(".");
        Relation { name, version }
    }
}

/// Tells where the rows of a scan's state are.
pub trait Relations {
    /// The relation that holds the rows of `scan`, which is not pinned by the statement itself, in its state. It has
    /// the scan's columns by their names; for [`State::Delta`](crate::plan::rel::State::Delta) the weight too.
    fn relation(&self, scan: &Scan) -> Relation;
}

/// Reads every table as it is when the statement runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Current;

impl Relations for Current {
    fn relation(&self, scan: &Scan) -> Relation {
        Relation::table(scan, None)
    }
}

/// Prints `rel` as one `SELECT` statement. Its columns have the names of the plan's outermost columns, made unique.
pub fn render(rel: &Rel, relations: &dyn Relations) -> String {
    nodes::Printer::new(relations).statement(rel)
}

/// `expr` over `columns` as a person would write it, to be read and not to be run.
pub fn expression_text(expr: &Expr, columns: &[Column]) -> String {
    exprs::Columns::new(&plain_names(columns)).top(expr)
}

/// `call` over `columns` as a person would write it, to be read and not to be run.
pub fn aggregate_text(call: &AggregateCall, columns: &[Column]) -> String {
    calls::aggregate(call, exprs::Columns::new(&plain_names(columns)))
}

fn plain_names(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}

#[cfg(test)]
mod tests;
