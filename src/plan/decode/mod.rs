//! DuckDB's bound plan as JSON → [`Rel`].
//!
//! The input is one element of `plans` of `json_serialize_plan(sql)`, called WITHOUT `skip_null` and `skip_empty`:
//! the latter drops empty grouping sets and empty strings inside lists, after which `GROUP BY ROLLUP (a)` and
//! `GROUP BY a` look alike. A plan serialised with them is refused.
//!
//! Nothing is guessed: a node, an expression, a function's bind data or a field that is not known is a
//! [`DecodeError`] that names it and where it stands. What follows from the plan itself is not kept: casts to the same
//! type, collations (the binder has pushed their functions into every comparison already), DuckDB's column for scans
//! that read none.
//!
//! | file | decodes |
//! |---|---|
//! | `nodes`, `constants`, `ctes`, `joins`, `laterals`, `nested_keys`, `pivot`, `scans`, `sets` | the relational nodes |
//! | `expressions`, `functions` | scalar expressions; the bind data of scalar functions |
//! | `aggregates`, `windows` | calls of aggregate and window functions |
//! | `literals`, `types` | constants, types |
//! | `reader` | JSON objects with a closed set of fields |

mod aggregates;
mod constants;
mod ctes;
mod expressions;
mod functions;
mod joins;
mod laterals;
mod literals;
mod nested_keys;
mod nodes;
mod pivot;
mod reader;
mod scans;
mod sets;
mod temporal;
mod types;
mod windows;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use thiserror::Error;

use super::expr::Expr;
use super::rel::{Column, Project, Rel};
use super::types::DataType;

/// The DuckDB version whose plan format this decoder knows; each version has its own.
pub const DUCKDB_VERSION: &str = "v1.5.5";

/// What a plan does not say about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeContext {
    /// The version of the DuckDB that bound the plan, as its `version()` tells.
    pub duckdb_version: String,
    /// The current snapshot of each attached lake at the time of binding, by the lake's alias. A scan at another
    /// snapshot is pinned by the statement itself (`AT (VERSION => n)`).
    pub snapshots: BTreeMap<String, u64>,
    /// The statement's column names as `DESCRIBE` tells them; empty when they do not matter.
    pub output_names: Vec<String>,
}

impl DecodeContext {
    /// The context of a statement over one lake.
    pub fn of_lake(alias: impl Into<String>, snapshot: u64) -> DecodeContext {
        DecodeContext {
            duckdb_version: DUCKDB_VERSION.to_owned(),
            snapshots: BTreeMap::from([(alias.into(), snapshot)]),
            output_names: Vec::new(),
        }
    }

    /// The same with the statement's column names.
    #[must_use]
    pub fn with_output_names(mut self, names: Vec<String>) -> DecodeContext {
        self.output_names = names;
        self
    }
}

/// Why a plan could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} is not supported{}", place(.at))]
pub struct DecodeError {
    /// What is not known, named.
    pub what: String,
    /// Where it stands: the nodes from the plan's root down to it.
    pub at: String,
}

impl DecodeError {
    /// The same about a part of `owner`.
    fn of(self, owner: &str) -> DecodeError {
        if self.what.contains(owner) { self } else { DecodeError { what: format!("{} of {owner}", self.what), ..self } }
    }
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" (at {at})") }
}

/// Decodes one bound plan.
pub fn decode(json: &Json, context: &DecodeContext) -> Result<Rel, DecodeError> {
    let mut decoder = Decoder {
        context,
        path: Vec::new(),
        ctes: Vec::new(),
        dependents: Vec::new(),
        next_cte: 0,
        next_dependent: 0,
        depth: 0,
    };
    if context.duckdb_version != DUCKDB_VERSION {
        return Err(decoder.error(format!("the plan format of DuckDB {}", context.duckdb_version)));
    }
    let root = decoder.node(json)?;
    let mut rel = decoder.exact(root)?;
    if !context.output_names.is_empty() {
        if context.output_names.len() != rel.columns().len() {
            return Err(decoder.error("a plan with more or fewer columns than the statement".to_owned()));
        }
        rename_outputs(&mut rel, &context.output_names);
    }
    Ok(rel)
}

/// Gives the outermost columns their names, without another node where the names are kept in the plan already.
fn rename_outputs(rel: &mut Rel, names: &[String]) {
    match rel {
        Rel::Project(project) => {
            for ((name, _), new) in project.exprs.iter_mut().zip(names) {
                name.clone_from(new);
            }
        }
        Rel::SetOperation(operation) => {
            for (column, new) in operation.columns.iter_mut().zip(names) {
                column.name.clone_from(new);
            }
        }
        Rel::Distinct(distinct) => rename_outputs(&mut distinct.input, names),
        Rel::Sort(sort) => rename_outputs(&mut sort.input, names),
        Rel::Limit(limit) => rename_outputs(&mut limit.input, names),
        Rel::Cte(cte) => rename_outputs(&mut cte.body, names),
        other => {
            let columns = other.columns();
            let exprs = names.iter().zip(columns).enumerate();
            let exprs = exprs.map(|(index, (name, column))| (name.clone(), Expr::column(index, column.data_type)));
            let exprs = exprs.collect();
            let input = std::mem::replace(other, Rel::nothing());
            *other = Rel::Project(Project { input: Box::new(input), exprs });
        }
    }
}

/// Walks the plan, and knows what stands above the node at hand.
struct Decoder<'a> {
    context: &'a DecodeContext,
    /// The nodes from the root to the one at hand, for messages.
    path: Vec<String>,
    /// The CTEs in scope.
    ctes: Vec<CteInScope>,
    /// The dependent joins in whose right side the node at hand lies, innermost last.
    dependents: Vec<DependentInScope>,
    next_cte: usize,
    next_dependent: usize,
    depth: usize,
}

struct CteInScope {
    table_index: u64,
    id: usize,
}

struct DependentInScope {
    id: usize,
    columns: Vec<Column>,
}

/// A decoded node, and where each column that DuckDB counts stands among the columns of the decoded one.
struct Decoded {
    rel: Rel,
    slots: Vec<Slot>,
}

impl Decoded {
    /// A node with all its columns under one table index.
    #[expect(clippy::unnecessary_wraps, reason = "it ends a decoding step, each of which returns a result")]
    fn of(rel: Rel, table_index: u64) -> Result<Decoded, DecodeError> {
        let slots = Slot::each(table_index, &rel.columns());
        Ok(Decoded { rel, slots })
    }
}

/// One of DuckDB's output columns of a node.
#[derive(Debug, Clone)]
struct Slot {
    /// DuckDB's name of it: table index and column index.
    binding: (u64, u64),
    /// The column of the decoded node; none for what DuckDB counts but nobody reads.
    position: Option<usize>,
    column: Column,
}

impl Slot {
    /// The slots of a node that has DuckDB's columns as they are.
    fn each(table_index: u64, columns: &[Column]) -> Vec<Slot> {
        let slots = (0_u64..).zip(columns).enumerate().map(|(position, (index, column))| Slot {
            binding: (table_index, index),
            position: Some(position),
            column: column.clone(),
        });
        slots.collect()
    }

    /// The same slots of an input that stands to the right of `width` other columns.
    fn shifted(slots: Vec<Slot>, width: usize) -> impl Iterator<Item = Slot> {
        slots.into_iter().map(move |slot| Slot { position: slot.position.map(|position| position + width), ..slot })
    }
}

impl Decoder<'_> {
    fn error(&self, what: impl Into<String>) -> DecodeError {
        DecodeError { what: what.into(), at: self.path.join(" > ") }
    }

    /// The node with DuckDB's columns and no others, in DuckDB's order.
    fn exact(&self, decoded: Decoded) -> Result<Rel, DecodeError> {
        let Decoded { rel, slots } = decoded;
        let width = rel.columns().len();
        let in_place = slots.iter().enumerate().all(|(index, slot)| slot.position == Some(index));
        if in_place && slots.len() == width {
            return Ok(rel);
        }
        let exprs = slots.into_iter().map(|slot| {
            let Some(position) = slot.position else {
                return Err(self.error("reading a column that the plan leaves out"));
            };
            Ok((slot.column.name, Expr::column(position, slot.column.data_type)))
        });
        let exprs = exprs.collect::<Result<_, _>>()?;
        Ok(Rel::Project(Project { input: Box::new(rel), exprs }))
    }
}

/// A name for a column that the statement does not name.
fn telling_name(expr: &Expr, slots: &[Slot]) -> String {
    match expr {
        Expr::Column { index, .. } => slots
            .iter()
            .find(|slot| slot.position == Some(*index))
            .map_or_else(|| "column".to_owned(), |slot| slot.column.name.clone()),
        Expr::Cast { input, .. } => telling_name(input, slots),
        Expr::Function(call) if call.name.starts_with(|first: char| first.is_ascii_alphabetic()) => call.name.clone(),
        Expr::Literal(_) => "literal".to_owned(),
        Expr::Case { .. } => "case".to_owned(),
        _ => "column".to_owned(),
    }
}

fn boolean_column(name: &str) -> Column {
    Column::new(name, DataType::Boolean)
}

#[cfg(test)]
mod tests;
