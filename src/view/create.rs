//! Creating a view: everything that can be refused is looked at first, then the table, its rows, its watermarks and its
//! registry entry are committed together.

use std::time::Instant;

use super::name::near;
use super::protection;
use super::query::{self, Bound};
use super::retry::{retrying, with_fresh_files};
use super::{
    Failed, Graph, Over, RefreshRecord, SourceState, SourceWindow, Strategy, View, ViewColumn, ViewError, ViewId,
    ViewName, accumulators, history, misfit, registry, sources,
};
use crate::lake::{Lake, LakeError, TableId, TableIdentity, Transaction};
use crate::sql;

/// What is to be created.
#[derive(Debug, Clone)]
pub struct Creation {
    /// The view's name.
    pub name: ViewName,
    /// The user's SELECT.
    pub sql: String,
    /// Replaces a view of that name.
    pub or_replace: bool,
    /// Leaves a view of that name as it is.
    pub if_not_exists: bool,
    /// How the view is to be maintained.
    pub strategy: Strategy,
    /// Compares the maintained query's rows with those of the user's SQL before anything is written.
    pub check: bool,
}

impl Creation {
    /// A new view, maintained as suits it.
    pub fn new(name: ViewName, sql: impl Into<String>) -> Creation {
        let strategy = Strategy::Auto;
        Creation { name, sql: sql.into(), or_replace: false, if_not_exists: false, strategy, check: false }
    }
}

/// What became of a [`Creation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The view is new.
    Created,
    /// It stands in place of an older definition.
    Replaced,
    /// It was there and was left as it is.
    Kept,
}

/// A view after [`create`].
#[derive(Debug, Clone)]
pub struct Created {
    /// The view.
    pub view: View,
    /// What happened.
    pub outcome: Outcome,
    /// How many rows it was filled with.
    pub rows: u64,
    /// An `ORDER BY` at the top says nothing about a table.
    pub order_dropped: bool,
    /// Output names that occur twice, and what their later columns are called in the table.
    pub renamed: Vec<(String, String)>,
}

/// Who commits, in DuckLake's log.
pub(crate) const AUTHOR: &str = "ducklake-ivm";

/// Registers and fills a view.
pub fn create(lake: &Lake, creation: &Creation) -> Result<Created, ViewError> {
    let until_no_conflict = || {
        retrying(
            || create_once(lake, creation),
            ViewError::retryable,
            |error, pause| tracing::info!(view = %creation.name, %error, ?pause, "beginning anew"),
        )
    };
    let created = with_fresh_files(lake, until_no_conflict, ViewError::lake_error);
    let created = match created {
        Err(ViewError::Definition { source, .. }) => return Err(explain(lake, creation, *source)),
        other => other?,
    };
    if created.outcome != Outcome::Kept {
        // The view is committed: a failure here is made good by the next sync.
        if let Err(error) = protect(lake, &created.view) {
            tracing::warn!(view = %creation.name, %error, "the table's compaction is not switched off yet");
        }
    }
    Ok(created)
}

/// Names the column whose value did not fit, if that is what happened.
fn explain(lake: &Lake, creation: &Creation, source: LakeError) -> ViewError {
    let bound = lake
        .begin()
        .map_err(ViewError::from)
        .and_then(|transaction| query::bind(&transaction, &creation.name, &creation.sql));
    let misfit = bound.ok().and_then(|bound| {
        let (name, sql) = (&creation.name, bound.sql.as_str());
        let (columns, accumulators) = (bound.columns.as_slice(), bound.class.accumulators.as_slice());
        misfit(lake, &Failed { name, sql, columns, accumulators }, &source)
    });
    misfit.unwrap_or_else(|| ViewError::Definition { view: creation.name.clone(), source: Box::new(source) })
}

fn protect(lake: &Lake, view: &View) -> Result<(), ViewError> {
    let transaction = lake.begin()?;
    let table = transaction.table_named(&view.name.schema, &view.name.name, transaction.snapshot())?;
    let tables: Vec<_> = table.map(|table| table.id).into_iter().collect();
    protection::protect(transaction, &tables)?;
    Ok(())
}

fn create_once(lake: &Lake, creation: &Creation) -> Result<Created, ViewError> {
    let started = Instant::now();
    let transaction = lake.begin()?;
    let known = registry::views(&transaction)?;
    let old = known.iter().find(|view| view.name == creation.name);
    if let Some(view) = old {
        if creation.if_not_exists {
            let (view, outcome) = (view.clone(), Outcome::Kept);
            let rows = registry::state(&transaction, &view)?.rows;
            return Ok(Created { view, outcome, rows, order_dropped: false, renamed: Vec::new() });
        }
        if !creation.or_replace {
            return Err(ViewError::Exists { view: creation.name.clone() });
        }
    }
    let table = free_name(&transaction, &creation.name, old)?;
    let bound = query::bind(&transaction, &creation.name, &creation.sql)?;
    if let (Strategy::Incremental, Some(obstacle)) = (creation.strategy, &bound.class.obstacle) {
        let (view, obstacle) = (creation.name.clone(), Box::new(obstacle.clone()));
        return Err(ViewError::NotIncremental { view, obstacle });
    }
    let bound = if creation.strategy.reads_changes() { bound } else { bound.without_accumulators() };
    let sources = sources::resolve(&transaction, &creation.name, &bound.binding, transaction.snapshot())?;
    let tables: Vec<TableId> = sources.iter().map(|source| source.table).collect();
    transaction.read_all_files_of_late_buckets(&tables)?;
    transaction.restrict_join_filters(&bound.plan, &tables)?;
    let reads =
        sources.iter().map(|source| (source.table, format!("{}.{}", source.schema, source.name), source.watermark));
    transaction.refuse_doubled_reads(&reads.collect::<Vec<_>>())?;
    if creation.check && bound.class.volatility(&bound.binding.untracked).is_none() {
        query::check(&transaction, &creation.name, &bound)?;
    }
    let view = View {
        id: old.map_or_else(ViewId::random, |view| view.id.clone()),
        name: creation.name.clone(),
        sql: bound.sql.clone(),
        created: transaction.snapshot(),
        registered: transaction.snapshot(),
        duckdb_version: transaction.engine_version()?,
        strategy: creation.strategy,
        class: bound.class.clone(),
        columns: bound.columns.clone(),
    };
    if let Some(old) = old {
        refuse_cycle(&transaction, old, &known, &sources)?;
    }
    let is_stateless =
        old.map_or(Ok(true), |old| registry::state_if_known(&transaction, old).map(|known| known.is_none()))?;
    let replaced = Replaced { view: old, table, is_stateless };
    let rows = write(&transaction, &view, &bound, &replaced, &known, &sources, started)?;
    transaction.commit()?;
    let outcome = if old.is_some() { Outcome::Replaced } else { Outcome::Created };
    Ok(Created { view, outcome, rows, order_dropped: bound.order_dropped, renamed: bound.renamed })
}

/// What stands under the name so far.
struct Replaced<'a> {
    view: Option<&'a View>,
    table: Option<TableIdentity>,
    /// Nothing is known of how far it had come.
    is_stateless: bool,
}

/// Everything that a creation writes, in the running transaction.
fn write(
    transaction: &Transaction<'_>,
    view: &View,
    bound: &Bound,
    replaced: &Replaced<'_>,
    known: &[View],
    sources: &[SourceState],
    started: Instant,
) -> Result<u64, ViewError> {
    if !registry::exists(transaction)? {
        registry::create_schema(transaction)?;
    }
    let kept_table = make_table(transaction, view, replaced, known)?;
    let rows = fill(transaction, view, bound)?;
    if replaced.is_stateless {
        registry::create_state(transaction, view)?;
    }
    registry::write_view(transaction, view, &bound.plan)?;
    registry::write_state(transaction, view, view.created, kept_table, rows, sources)?;
    let commit_id = uuid::Uuid::new_v4().to_string();
    let windows = sources.iter().map(|source| SourceWindow {
        table: format!("{}.{}", source.schema, source.name),
        id: source.table,
        from: source.watermark,
        to: source.watermark,
        changed: true,
    });
    let record = RefreshRecord {
        snapshot: view.created,
        strategy: Strategy::Full.word().to_owned(),
        reason: Some(if replaced.view.is_some() { history::REPLACED } else { history::CREATED }.to_owned()),
        sources: windows.collect(),
        terms_total: view.class.terms,
        terms_run: 0,
        rows_in: 0,
        rows_inserted: rows,
        rows_deleted: 0,
        elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        commit_id: commit_id.clone(),
    };
    history::append(transaction, view, &record)?;
    let message = format!("create view {} at snapshot {}", view.name, view.created);
    transaction.set_commit_message(AUTHOR, &message, Some(&commit_id))?;
    Ok(rows)
}

/// The view's own table under the name, or nothing; anything else there is the user's, and an error.
fn free_name(
    transaction: &Transaction<'_>,
    name: &ViewName,
    old: Option<&View>,
) -> Result<Option<TableIdentity>, ViewError> {
    if name.schema.eq_ignore_ascii_case(registry::SCHEMA) {
        return Err(ViewError::OwnSchema { view: name.clone() });
    }
    let metadata = transaction.metadata();
    let schemas =
        transaction.query(&format!("SELECT schema_name FROM {metadata}.ducklake_schema WHERE end_snapshot IS NULL"))?;
    let schemas = schemas.rows.iter().flatten().map(|schema| schema.as_str().map(str::to_owned));
    let schemas = schemas.collect::<Result<Vec<_>, _>>()?;
    if !schemas.iter().any(|schema| schema.eq_ignore_ascii_case(&name.schema)) {
        let near = near(&name.schema, schemas.into_iter().filter(|schema| schema != registry::SCHEMA));
        return Err(ViewError::NoSchema { view: name.clone(), near });
    }
    if registry::is_lake_view(transaction, name)? {
        return Err(ViewError::NotOurs { view: name.clone(), kind: "view" });
    }
    let found = transaction.table_named(&name.schema, &name.name, transaction.snapshot())?;
    let own = match old {
        Some(view) => {
            let state = registry::state_if_known(transaction, view)?;
            registry::table_id(transaction, view, state.as_ref())?
        }
        None => None,
    };
    match found {
        Some(table) if Some(table.id) != own => Err(ViewError::NotOurs { view: name.clone(), kind: "table" }),
        found => Ok(found),
    }
}

/// A replaced view must not come to read itself.
fn refuse_cycle(
    transaction: &Transaction<'_>,
    view: &View,
    known: &[View],
    sources: &[SourceState],
) -> Result<(), ViewError> {
    let graph = Graph::read(transaction, known)?;
    let start = sources.iter().filter_map(|source| graph.view_over(source.table));
    for first in start {
        if let Some(path) = graph.path(first, &view.id) {
            return Err(ViewError::Cycle { view: view.name.clone(), path });
        }
    }
    Ok(())
}

/// Makes an empty table for the view. A table whose columns stay is emptied and kept, so that views over it go on; its
/// identity is returned.
fn make_table(
    transaction: &Transaction<'_>,
    view: &View,
    replaced: &Replaced<'_>,
    known: &[View],
) -> Result<Option<TableId>, ViewError> {
    let rows = registry::rows_table(transaction, &view.name);
    if let (Some(old), Some(table)) = (replaced.view, &replaced.table) {
        let held = transaction.columns(table.id, transaction.snapshot())?;
        let held = held.iter().filter(|column| column.parent.is_none()).map(|column| &column.name);
        let is_intact = held.eq(old.columns.iter().map(|column| &column.name));
        if is_intact && same_table(&old.columns, &view.columns) {
            transaction.execute(&format!("DELETE FROM {rows}"))?;
            return Ok(Some(table.id));
        }
        let dependents = Graph::read(transaction, known)?.dependents(&old.id);
        if !dependents.is_empty() {
            return Err(ViewError::Dependents { view: view.name.clone(), dependents });
        }
        transaction.execute(&format!("DROP TABLE {rows}"))?;
    }
    registry::create_rows(transaction, &view.name, &view.columns)?;
    Ok(None)
}

fn same_table(old: &[ViewColumn], new: &[ViewColumn]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| old.name == new.name && old.stored_type == new.stored_type)
}

/// The first rows: the user's own SQL, run as it stands; over accumulator tables what the plan gives over them.
fn fill(transaction: &Transaction<'_>, view: &View, bound: &Bound) -> Result<u64, ViewError> {
    let failed = |error| ViewError::Definition { view: view.name.clone(), source: Box::new(error) };
    accumulators::drop_accumulators(transaction, &view.id)?;
    let mut tables = Vec::new();
    for table in &view.class.accumulators {
        table.create(transaction, &view.id)?;
        let name = table.qualified(transaction, &view.id);
        transaction.execute(&format!("INSERT INTO {name} {}", table.stored(&table.query))).map_err(failed)?;
        tables.push((table, name));
    }
    let sql = match &bound.accumulated {
        Some(kept) if !tables.is_empty() => sql::render(&kept.rel, &Over { tables, others: &sql::Current }),
        _ => bound.sql.clone(),
    };
    let select = query::stored(&view.columns, &sql);
    let statement = format!("INSERT INTO {} {select}", registry::rows_table(transaction, &view.name));
    transaction.execute(&statement).map_err(failed)
}
