//! A view's definition as DuckDB and the decoder understand it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::columns::{ColumnError, columns};
use super::statement::first_statement;
use super::{Accumulated, Binding, Class, Obstacle, ViewColumn, ViewError, ViewName};
use crate::delta;
use crate::lake::{self, Lake, LakeError, SnapshotId, Transaction, identifier};
use crate::plan::decode::{DecodeContext, decode};
use crate::plan::facts::{self, Stability};
use crate::plan::normalise::normalise;
use crate::plan::{DataType, Rel, WEIGHT};
use crate::sql;

/// A definition that DuckDB has bound.
#[derive(Debug)]
pub(crate) struct Bound {
    /// The one statement in the user's text.
    pub sql: String,
    /// DuckDB's plan.
    pub plan: Json,
    /// What it reads.
    pub binding: Binding,
    /// The columns of the view's table.
    pub columns: Vec<ViewColumn>,
    /// The plan in normal form, if it can be maintained or at least printed.
    pub rel: Option<Rel>,
    /// The same over accumulator tables, if it is maintained from changes.
    pub accumulated: Option<Accumulated>,
    /// What it allows.
    pub class: Class,
    /// An `ORDER BY` at its top was dropped.
    pub order_dropped: bool,
    /// Output names that occur twice, and what their later columns are called in the table.
    pub renamed: Vec<(String, String)>,
}

/// What follows from a result that depends on more than the lake's tables.
const EVERY_SYNC: &str = "so every sync recomputes the view (full_only)";

/// What follows from a result that the rows of the tables do not decide.
const UNDECIDED: &str = ", so the view is recomputed whenever a table changed (full_only)";

/// Whether anything in a bound plan, a column of a table included, has the name of the weight: in a delta the two would be
/// taken for each other.
fn names_weight(plan: &Json) -> bool {
    match plan {
        Json::Array(items) => items.iter().any(names_weight),
        Json::Object(fields) => fields.iter().any(|(field, value)| match value {
            Json::String(text) => field == "alias" && text.eq_ignore_ascii_case(WEIGHT),
            Json::Array(items) if field == "names" => {
                items.iter().filter_map(Json::as_str).any(|name| name.eq_ignore_ascii_case(WEIGHT))
            }
            other => names_weight(other),
        }),
        _ => false,
    }
}

/// Binds `text` at the transaction's snapshot, and finds out how it can be maintained.
pub(crate) fn bind(transaction: &Transaction<'_>, name: &ViewName, text: &str) -> Result<Bound, ViewError> {
    let refused = |error| ViewError::Definition { view: name.clone(), source: Box::new(error) };
    let syntax = transaction.syntax(text).map_err(refused)?;
    if syntax.statements != 1 {
        return Err(ViewError::Statements { view: name.clone(), found: syntax.statements });
    }
    if syntax.describes {
        return Err(ViewError::Describes { view: name.clone() });
    }
    if let Some(parameter) = syntax.parameters.first() {
        return Err(ViewError::Parameter { view: name.clone(), parameter: parameter.as_str().into() });
    }
    let sql = first_statement(text).to_owned();
    let plan = transaction.bound_plan(&sql).map_err(|error| {
        let unplanned = |what: &str| error.to_string().contains(&format!("{what} not implemented"));
        let kinds = [("CSVReaderSerialize", "CSV"), ("JSONScan Serialize", "JSON")];
        match kinds.into_iter().find(|(function, _)| unplanned(function)) {
            Some((_, what)) => ViewError::NoPlan { view: name.clone(), what },
            None => refused(error),
        }
    })?;
    let binding = Binding::of(&plan, transaction.alias(), transaction.snapshot().0);
    if syntax.at_clauses > binding.pinned {
        return Err(ViewError::PinnedToNewest { view: name.clone(), snapshot: transaction.snapshot() });
    }
    if let Some(path) = binding.files.iter().find(|path| is_relative(path)) {
        let here = std::env::current_dir().map_or_else(|_| path.into(), |directory| directory.join(path));
        let (path, here) = (path.as_str().into(), here.to_string_lossy().into());
        return Err(ViewError::RelativePath { view: name.clone(), path, here });
    }
    if names_weight(&plan) {
        let (column, reason) = (WEIGHT.to_owned(), "ducklake-ivm keeps for itself");
        let source = Box::new(ColumnError::Reserved { column, reason });
        return Err(ViewError::Column { view: name.clone(), source });
    }
    let version = transaction.engine_version()?;
    let outputs = outputs(transaction, name, &sql, &version)?;
    let columns =
        columns(&outputs).map_err(|error| ViewError::Column { view: name.clone(), source: Box::new(error) })?;
    let renamed = outputs.iter().zip(&columns).filter(|((name, _), column)| *name != column.name);
    let renamed = renamed.map(|((name, _), column)| (name.clone(), column.name.clone())).collect();
    let understood = understand(transaction, &plan, transaction.snapshot(), &version)
        .and_then(|understood| self_check(transaction, &understood, &version).map(|()| understood));
    let (rel, order_dropped, mut obstacle) = match understood {
        Ok(understood) => (Some(understood.rel), understood.order_dropped, None),
        Err(obstacle) => (None, false, Some(obstacle)),
    };
    let mut untracked = !binding.untracked.is_empty();
    let mut undecided = false;
    if let Some(input) = binding.untracked.first() {
        let reason = format!("has no change feed, {EVERY_SYNC}");
        obstacle = Some(Obstacle { operator: input.clone(), reason });
    }
    if let Some(rel) = &rel {
        let stability = stability(transaction)?;
        if let Some(impurity) = facts::impurity(rel, &|name| stability(name)) {
            untracked = true;
            obstacle = Some(impure(&impurity));
        } else if let (None, Err(none)) = (&obstacle, delta::check(rel)) {
            undecided = none.undecided;
            let after = if undecided { UNDECIDED } else { "" };
            obstacle = Some(Obstacle { operator: none.operator, reason: format!("{}{after}", none.reason) });
        }
    } else if unstable_call(transaction, &plan)? {
        untracked = true;
    }
    let accumulated = match (&obstacle, &rel) {
        (None, Some(rel)) => Some(Accumulated::of(rel, name)?),
        _ => None,
    };
    let terms = accumulated.as_ref().map_or(0, |kept| delta::most_terms(&kept.rel, &kept.accumulators));
    let accumulators = accumulated.as_ref().map_or_else(Vec::new, |kept| kept.tables.clone());
    let full_only = untracked || undecided;
    let class = Class { obstacle, untracked, full_only, printable: rel.is_some(), terms, accumulators, renamed: false };
    Ok(Bound { sql, plan, binding, columns, rel, accumulated, class, order_dropped, renamed })
}

/// Does a path of DuckDB's hang on the directory that it is used in?
fn is_relative(path: &str) -> bool {
    !path.contains("://") && !path.starts_with("file:") && !std::path::Path::new(path).is_absolute()
}

impl Bound {
    /// Keeps no accumulators.
    pub(crate) fn without_accumulators(mut self) -> Bound {
        self.accumulated = self.rel.clone().filter(|_| self.accumulated.is_some()).map(Accumulated::nothing);
        self.class.accumulators.clear();
        self
    }
}

/// How a view of a query would be maintained; nothing is written.
#[derive(Debug, Clone)]
pub struct Classified {
    /// What the definition allows.
    pub class: Class,
    /// The plan in normal form, if it can be printed.
    pub rel: Option<Rel>,
}

/// Finds out how a view of the query `text` would be maintained.
pub fn classify(lake: &Lake, text: &str) -> Result<Classified, ViewError> {
    let transaction = lake.begin()?;
    let bound = bind(&transaction, &ViewName::new("main", "query"), text)?;
    transaction.rollback()?;
    Ok(Classified { class: bound.class, rel: bound.rel })
}

/// A plan in normal form.
pub(crate) struct Understood {
    /// The plan.
    pub rel: Rel,
    /// An `ORDER BY` at its top was dropped.
    pub order_dropped: bool,
}

/// Decodes a plan that was bound at `at`.
fn decoded(lake: &Lake, plan: &Json, at: SnapshotId, duckdb_version: &str) -> Result<Rel, Obstacle> {
    let mut context = DecodeContext::of_lake(lake.alias(), at.0);
    duckdb_version.clone_into(&mut context.duckdb_version);
    decode(plan, &context)
        .map_err(|error| Obstacle { operator: "the bound plan".to_owned(), reason: error.to_string() })
}

/// Decodes a plan that was bound at `at`, and brings it into normal form.
pub(crate) fn understand(
    lake: &Lake,
    plan: &Json,
    at: SnapshotId,
    duckdb_version: &str,
) -> Result<Understood, Obstacle> {
    let normalised = normalise(decoded(lake, plan, at, duckdb_version)?);
    Ok(Understood { rel: normalised.rel, order_dropped: normalised.order_dropped })
}

fn impure(impurity: &facts::Impurity) -> Obstacle {
    let (operator, what) = match impurity {
        facts::Impurity::Function { name } => (format!("{name}()"), impurity.to_string()),
        facts::Impurity::Sample { .. } => ("SAMPLE".to_owned(), impurity.to_string()),
        facts::Impurity::Untracked { name } => (name.clone(), "has no change feed".to_owned()),
    };
    Obstacle { operator, reason: format!("{what}, {EVERY_SYNC}") }
}

/// The names and types of what a query returns.
fn outputs(lake: &Lake, view: &ViewName, sql: &str, version: &str) -> Result<Vec<(String, DataType)>, ViewError> {
    let refused = |error| ViewError::Definition { view: view.clone(), source: Box::new(error) };
    let described = lake.describe(sql).map_err(refused)?;
    // DuckDB's own binder reads the names of types; a plan of NULLs of these types holds no more than them.
    let nulls: Vec<String> = described.iter().map(|column| format!("CAST(NULL AS {})", column.data_type)).collect();
    let plan = lake.bound_plan(&format!("SELECT {}", nulls.join(", "))).map_err(|error| {
        // A type that cannot be written, such as that of row(1, 2), is none that a column can be given.
        let unnamed = |null: &String| lake.bound_plan(&format!("SELECT {null}")).is_err();
        let Some(column) = nulls.iter().position(unnamed).map(|at| &described[at]) else { return refused(error) };
        let (column, data_type) = (column.name.clone(), column.data_type.clone());
        let error = ColumnError::Type { column, data_type, reason: "a lake cannot hold" };
        ViewError::Column { view: view.clone(), source: Box::new(error) }
    })?;
    let mut context = DecodeContext::of_lake(lake.alias(), 0);
    version.clone_into(&mut context.duckdb_version);
    let types =
        decode(&plan, &context).map_err(|error| refused(LakeError::Metadata { message: error.to_string() }))?.columns();
    Ok(described.into_iter().zip(types).map(|(column, made)| (column.name, made.data_type)).collect())
}

pub(crate) fn position_name(position: usize) -> String {
    format!("c{position}")
}

/// `sql` with its columns in the names and types of the view's table.
pub(crate) fn stored(columns: &[ViewColumn], sql: &str) -> String {
    let selected: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(position, column)| {
            let value = position_name(position);
            let name = identifier(&column.name);
            if column.is_cast() {
                format!("CAST({value} AS {}) AS {name}", column.stored_type)
            } else {
                format!("{value} AS {name}")
            }
        })
        .collect();
    let names: Vec<String> = (0..columns.len()).map(position_name).collect();
    format!("SELECT {} FROM (\n{sql}\n) AS v({})", selected.join(", "), names.join(", "))
}

/// The same for a delta: its last column is the weight.
pub(crate) fn stored_with_weight(columns: &[ViewColumn], sql: &str) -> String {
    let mut columns = columns.to_vec();
    columns.push(ViewColumn {
        name: WEIGHT.to_owned(),
        data_type: "BIGINT".to_owned(),
        stored_type: "BIGINT".to_owned(),
        inexact: false,
    });
    stored(&columns, sql)
}

/// The SQL of a plan over the tables as they are now.
pub(crate) fn current_sql(rel: &Rel) -> String {
    sql::render(rel, &sql::Current)
}

/// Prints the plan, has DuckDB bind that, and compares the two plans: what is maintained must be what was asked for.
fn self_check(transaction: &Transaction<'_>, understood: &Understood, version: &str) -> Result<(), Obstacle> {
    let failed = |operator: &str, reason: String| Obstacle { operator: operator.to_owned(), reason };
    let printed = current_sql(&understood.rel);
    let plan = transaction
        .bound_plan(&printed)
        .map_err(|error| failed("the printed plan", format!("does not bind: {error}")))?;
    let again = decoded(transaction, &plan, transaction.snapshot(), version)?;
    sql::same_meaning(&understood.rel, &again).map_err(|difference| {
        tracing::debug!(%difference, "self-check");
        failed(&difference.operator, "its printed form, bound again, is not plainly the same plan".to_owned())
    })
}

/// Compares the rows of the maintained query with those of the user's SQL.
pub(crate) fn check(transaction: &Transaction<'_>, name: &ViewName, bound: &Bound) -> Result<(), ViewError> {
    let Some(rel) = &bound.rel else { return Ok(()) };
    let own = stored(&bound.columns, &bound.sql);
    let printed = stored(&bound.columns, &current_sql(rel));
    let rows = transaction
        .query_value(&format!(
            "SELECT count(*) FROM ((({own}) EXCEPT ALL ({printed})) UNION ALL (({printed}) EXCEPT ALL ({own})))"
        ))
        .map_err(|error| ViewError::Definition { view: name.clone(), source: Box::new(error) })?
        .as_u64()?;
    if rows == 0 { Ok(()) } else { Err(ViewError::CheckFailed { view: name.clone(), rows }) }
}

/// What DuckDB promises about a function, by its name.
fn stability(lake: &Lake) -> Result<impl Fn(&str) -> Stability, LakeError> {
    let unstable: BTreeMap<String, lake::Stability> = lake.unstable_functions()?;
    Ok(move |name: &str| match unstable.get(name) {
        None | Some(lake::Stability::Consistent) => Stability::Consistent,
        Some(lake::Stability::ConsistentWithinQuery) => Stability::WithinQuery,
        Some(lake::Stability::Volatile) => Stability::Volatile,
    })
}

/// Does a plan that the decoder does not know call a function that is not decided by its arguments?
fn unstable_call(lake: &Lake, plan: &Json) -> Result<bool, LakeError> {
    let stability = stability(lake)?;
    let mut calls = Vec::new();
    function_calls(plan, &mut calls);
    Ok(calls.iter().any(|(name, arguments)| facts::is_unstable(name, *arguments, &stability)))
}

/// The functions that a plan calls, with how many arguments.
fn function_calls<'a>(node: &'a Json, calls: &mut Vec<(&'a str, usize)>) {
    match node {
        Json::Array(items) => items.iter().for_each(|item| function_calls(item, calls)),
        Json::Object(fields) => {
            if let (Some("BOUND_FUNCTION"), Some(name)) = (node["expression_class"].as_str(), node["name"].as_str()) {
                calls.push((name, node["children"].as_array().map_or(0, Vec::len)));
            }
            fields.values().for_each(|value| function_calls(value, calls));
        }
        _ => {}
    }
}
