//! Running the view's own query at the target and finding what differs from the view's rows.

use super::SyncError;
use super::accumulators::Filled;
use super::apply::StagedDelta;
use super::incremental::places;
use super::rebinding::bound_anew;
use super::rows::{consolidated, names};
use super::temporary::{Temporary, qualified};
use super::window::Window;
use crate::lake::{LakeError, SnapshotId, Transaction, identifier};
use crate::plan::rel::State;
use crate::plan::{Rel, WEIGHT};
use crate::sql::{self, Relations};
use crate::view::{Accumulated, Bound, Class, Meaning, View, ViewColumn, comparable, stored};

/// The query that gives the view's rows at the target.
#[derive(Debug)]
pub(crate) struct Query {
    /// Its text; columns in the view's order.
    pub sql: String,
    /// The definition bound anew, if the stored plan no longer fits the sources.
    pub rebound: Option<Box<Bound>>,
}

/// Finds the text that means at `target` what the view meant when it was created: the user's own SQL, if it still binds
/// to the same plan and no source has moved between its target and the transaction's snapshot; else the stored plan,
/// printed over the sources at their targets.
pub(crate) fn query(
    transaction: &Transaction<'_>,
    view: &View,
    meaning: &Meaning,
    windows: &[Window],
    target: SnapshotId,
) -> Result<Query, SyncError> {
    let misfit = windows.iter().find_map(Window::misfit_reason);
    let moved = moved_since(transaction, windows)?;
    if let Some(misfit) = misfit {
        return bound_anew(transaction, view, meaning, windows, target, &misfit, moved);
    }
    let (alias, current) = (transaction.alias(), transaction.snapshot());
    // After a rename the text may bind to another table or column of the old name.
    let bound = transaction.bound_plan(&view.sql);
    let same = !windows.iter().any(Window::renamed)
        && bound
            .as_ref()
            .is_ok_and(|now| comparable(now, alias, current.0) == comparable(&meaning.plan, alias, view.created.0));
    if same && moved.is_none() {
        return Ok(Query { sql: view.sql.clone(), rebound: None });
    }
    if let Some(rel) = &meaning.rel {
        return Ok(Query { sql: printed(transaction, rel, windows), rebound: None });
    }
    match moved {
        Some(table) if same => Err(SyncError::TargetUnreachable {
            view: view.name.clone(),
            target,
            detail: format!("{table} has moved on, and the query can only be run as it stands"),
        }),
        _ => Err(match bound {
            Err(error @ (LakeError::VanishedFile { .. } | LakeError::DamagedFile { .. })) => error.into(),
            Err(error) => {
                let detail = format!("its query no longer binds: {error}");
                SyncError::MeaningChanged { view: view.name.clone(), detail }
            }
            Ok(_) => SyncError::MeaningChanged {
                view: view.name.clone(),
                detail: "its tables or columns were renamed, and its query can only be run as it stands".to_owned(),
            },
        }),
    }
}

/// The stored plan over the sources at their targets.
pub(crate) fn printed(transaction: &Transaction<'_>, rel: &Rel, windows: &[Window]) -> String {
    let places = places(transaction, windows, &|_| None);
    sql::render(&rel.clone().at(State::New), &places)
}

/// A source that has changed between its target and the transaction's snapshot.
fn moved_since(transaction: &Transaction<'_>, windows: &[Window]) -> Result<Option<String>, LakeError> {
    let current = transaction.snapshot();
    for window in windows {
        let id = window.new.identity.id;
        let here = transaction.table_by_id(id, current)?;
        let same_name =
            here.is_some_and(|here| here.schema == window.new.identity.schema && here.name == window.new.identity.name);
        if !same_name || (window.to < current && transaction.changed(id, window.to, current)?) {
            return Ok(Some(window.name()));
        }
    }
    Ok(None)
}

/// A view's content, computed anew.
#[derive(Debug)]
pub(crate) struct Recomputed {
    /// The query that says what it is.
    pub query: Query,
    /// The plan over the accumulator tables that the view is to have.
    pub kept: Option<Accumulated>,
    /// The temporary table with the view's rows.
    pub rows: String,
    /// The accumulator tables' rows.
    pub filled: Filled,
}

impl Recomputed {
    /// The columns of the view's table.
    pub(crate) fn columns<'a>(&'a self, view: &'a View) -> &'a [ViewColumn] {
        self.query.rebound.as_ref().map_or(&view.columns, |bound| &bound.columns)
    }

    /// What the registry should say of the view, and its plan if that is another one; `None` if it says so already.
    pub(crate) fn entry(&self, view: &View) -> Option<(Class, Option<&serde_json::Value>)> {
        let accumulators = self.kept.as_ref().map_or_else(Vec::new, |kept| kept.tables.clone());
        let rebound = self.query.rebound.as_ref();
        let known = rebound.map_or(&view.class, |bound| &bound.class);
        let class = Class { accumulators, ..known.clone() };
        (rebound.is_some() || class != view.class).then(|| (class, rebound.map(|bound| &bound.plan)))
    }
}

/// Computes the rows of the view and of its accumulator tables. Where there are such tables, the view is what its plan
/// gives over them; else what its query returns.
pub(crate) fn stage(
    transaction: &Transaction<'_>,
    view: &View,
    query: Query,
    rel: Option<&Rel>,
    windows: &[Window],
    temporary: &Temporary,
) -> Result<Recomputed, SyncError> {
    let statement = |error| SyncError::Statement { view: view.name.clone(), source: Box::new(error) };
    let (class, rel) = match &query.rebound {
        Some(bound) => (&bound.class, bound.rel.as_ref()),
        None => (&view.class, rel),
    };
    let maintained = class.obstacle.is_none() && view.strategy.reads_changes();
    let kept = match rel.filter(|_| maintained) {
        Some(rel) => Some(Accumulated::of(rel, &view.name)?).filter(|kept| !kept.tables.is_empty()),
        None => None,
    };
    let places = places(transaction, windows, &|_| None);
    let sources: &dyn Relations = if query.rebound.is_some() { &sql::Current } else { &places };
    let (filled, sql) = match &kept {
        Some(kept) => {
            let filled = Filled::stage(transaction, kept, sources, temporary).map_err(statement)?;
            let sql = filled.query(kept, sources);
            (filled, sql)
        }
        None => (Filled::default(), query.sql.clone()),
    };
    let columns = query.rebound.as_ref().map_or(&view.columns, |bound| &bound.columns);
    let rows = stage_rows(transaction, columns, &sql, temporary).map_err(statement)?;
    Ok(Recomputed { query, kept, rows, filled })
}

/// Runs the query into a temporary table with the columns of the view's table.
pub(crate) fn stage_rows(
    transaction: &Transaction<'_>,
    columns: &[ViewColumn],
    sql: &str,
    temporary: &Temporary,
) -> Result<String, LakeError> {
    let table = temporary.name("rows");
    transaction.execute(&format!("CREATE TEMP TABLE {} AS {}", identifier(&table), stored(columns, sql)))?;
    Ok(table)
}

/// What has to be written so that `target` holds the rows of the temporary table `rows`.
pub(crate) fn stage_difference(
    transaction: &Transaction<'_>,
    view: &View,
    target: &str,
    rows: &str,
    temporary: &Temporary,
) -> Result<StagedDelta, LakeError> {
    let (columns, weight) = (names(&view.columns), identifier(WEIGHT));
    let both = format!(
        "(SELECT {columns}, CAST(1 AS BIGINT) AS {weight} FROM {} UNION ALL SELECT {columns}, CAST(-1 AS BIGINT) FROM {target})",
        qualified(rows)
    );
    let table = temporary.name("difference");
    let sql = consolidated(&both, &view.columns, WEIGHT);
    transaction.execute(&format!("CREATE TEMP TABLE {} AS {sql}", identifier(&table)))?;
    StagedDelta::count(transaction, table)
}
