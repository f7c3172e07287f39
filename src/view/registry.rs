//! The registry's tables: their layout, and reading and writing them.
//!
//! | table | rows | written by |
//! |---|---|---|
//! | `views` | one per view: definition, bound plan, class, columns | create, drop, and a refresh that had to bind anew |
//! | `refreshes` | one per refresh, appended ([`history`]) | create and every refresh that writes or fails |
//! | `state_<id>` | exactly one: watermarks | an UPDATE by every refresh that writes |
//!
//! DuckLake's conflicts are per table, so the UPDATE of a view's own state table is what keeps two refreshes of one view
//! from both taking effect, while refreshes of different views never meet.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

use super::{Class, SourceState, Strategy, View, ViewColumn, ViewError, ViewId, ViewName, ViewState, history};
use crate::lake::{Lake, LakeError, SnapshotId, TableId, TableIdentity, Transaction, Value, identifier, literal};

/// The schema in the lake that holds the registry.
pub const SCHEMA: &str = "ducklake_ivm";

/// `"lake"."ducklake_ivm"."table"`
pub(crate) fn registry_table(lake: &Lake, table: &str) -> String {
    format!("{}.{}.{}", identifier(lake.alias()), identifier(SCHEMA), identifier(table))
}

/// The name of the state table of a view.
pub(crate) fn state_table(lake: &Lake, id: &ViewId) -> String {
    registry_table(lake, &format!("state_{}", id.as_str()))
}

/// The view's own table.
pub(crate) fn rows_table(lake: &Lake, name: &ViewName) -> String {
    format!("{}.{}.{}", identifier(lake.alias()), identifier(&name.schema), identifier(&name.name))
}

/// Does the lake have a registry?
pub fn exists(transaction: &Transaction<'_>) -> Result<bool, LakeError> {
    let views = transaction.table_named(SCHEMA, "views", transaction.snapshot())?;
    Ok(views.is_some())
}

/// Makes the registry's tables, in the running transaction.
pub(super) fn create_schema(lake: &Lake) -> Result<(), LakeError> {
    let schema = format!("{}.{}", identifier(lake.alias()), identifier(SCHEMA));
    lake.execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}"))?;
    lake.execute(&format!(
        "CREATE TABLE {} (id VARCHAR, schema_name VARCHAR, view_name VARCHAR, sql VARCHAR, created_snapshot BIGINT, \
         strategy VARCHAR, class VARCHAR, columns VARCHAR, plan VARCHAR, duckdb_version VARCHAR)",
        registry_table(lake, "views")
    ))?;
    history::create(lake)
}

const VIEW_FIELDS: &str =
    "id, schema_name, view_name, sql, created_snapshot, strategy, class, columns, snapshot_id, duckdb_version";

/// All views, by name.
pub fn views(transaction: &Transaction<'_>) -> Result<Vec<View>, ViewError> {
    if !exists(transaction)? {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {VIEW_FIELDS} FROM {}", registry_table(transaction, "views"));
    let mut views = transaction.query(&sql)?.rows.iter().map(|row| view(row)).collect::<Result<Vec<_>, _>>()?;
    views.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(views)
}

/// The view with that identity, as it is now.
pub fn view_by_id(transaction: &Transaction<'_>, id: &ViewId) -> Result<Option<View>, ViewError> {
    let (table, id) = (registry_table(transaction, "views"), literal(id.as_str()));
    let rows = transaction.query(&format!("SELECT {VIEW_FIELDS} FROM {table} WHERE id = {id}"))?.rows;
    rows.first().map(|row| view(row)).transpose()
}

fn view(row: &[Value]) -> Result<View, ViewError> {
    let [id, schema, name, sql, created, strategy, class, columns, registered, duckdb_version] = row else {
        return Err(ViewError::registry("views", "has other columns than expected"));
    };
    let name = ViewName::new(schema.as_str()?, name.as_str()?);
    Ok(View {
        id: ViewId(id.as_str()?.to_owned()),
        sql: sql.as_str()?.to_owned(),
        created: SnapshotId(created.as_u64()?),
        registered: SnapshotId(registered.as_u64()?),
        strategy: from_json::<Strategy>(&format!("\"{}\"", strategy.as_str()?), &name)?,
        class: from_json::<Class>(class.as_str()?, &name)?,
        columns: from_json(columns.as_str()?, &name)?,
        duckdb_version: duckdb_version.as_str()?.to_owned(),
        name,
    })
}

/// The same with its bound plan, still as text.
pub(crate) fn view_with_plan(
    transaction: &Transaction<'_>,
    id: &ViewId,
) -> Result<Option<(View, PlanText)>, ViewError> {
    let (table, id) = (registry_table(transaction, "views"), literal(id.as_str()));
    let rows = transaction.query(&format!("SELECT plan, {VIEW_FIELDS} FROM {table} WHERE id = {id}"))?.rows;
    let Some((plan, fields)) = rows.first().and_then(|row| row.split_first()) else { return Ok(None) };
    Ok(Some((view(fields)?, PlanText(plan.as_str()?.to_owned()))))
}

/// The bound plan of a view.
pub(crate) fn plan(transaction: &Transaction<'_>, view: &View) -> Result<PlanText, ViewError> {
    let sql =
        format!("SELECT plan FROM {} WHERE id = {}", registry_table(transaction, "views"), literal(view.id.as_str()));
    Ok(PlanText(transaction.query_value(&sql)?.as_str()?.to_owned()))
}

/// A bound plan as the registry keeps it.
#[derive(Debug, Clone)]
pub(crate) struct PlanText(String);

impl PlanText {
    /// Reads it.
    pub(crate) fn parse(&self, view: &ViewName) -> Result<serde_json::Value, ViewError> {
        let mut reader = serde_json::Deserializer::from_str(&self.0);
        // A plan has several levels per join; how deep it may be was settled when DuckDB bound it.
        reader.disable_recursion_limit();
        serde::Deserialize::deserialize(&mut reader).map_err(|error| ViewError::registry(&view.to_string(), error))
    }
}

/// Writes a view's definition, in place of an older one with the same id.
pub(crate) fn write_view(lake: &Lake, view: &View, plan: &serde_json::Value) -> Result<(), ViewError> {
    let table = registry_table(lake, "views");
    lake.execute(&format!("DELETE FROM {table} WHERE id = {}", literal(view.id.as_str())))?;
    lake.execute(&format!(
        "INSERT INTO {table} VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, {})",
        literal(view.id.as_str()),
        literal(&view.name.schema),
        literal(&view.name.name),
        literal(&view.sql),
        view.created,
        literal(view.strategy.word()),
        literal(&to_json(&view.class, &view.name)?),
        literal(&to_json(&view.columns, &view.name)?),
        literal(&plan.to_string()),
        literal(&view.duckdb_version),
    ))?;
    Ok(())
}

/// How far a view has come. [`ViewError::State`] if that is lost.
pub fn state(transaction: &Transaction<'_>, view: &View) -> Result<ViewState, ViewError> {
    let lost = |detail: String| ViewError::State { view: view.name.clone(), detail };
    let sql = format!(
        "SELECT snapshot, snapshot_id, table_id, table_rows, sources FROM {}",
        state_table(transaction, &view.id)
    );
    let rows = match transaction.query(&sql) {
        Ok(found) => found.rows,
        Err(error) if error.is_unbound() => return Err(lost(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let [row] = rows.as_slice() else { return Err(lost(format!("its table has {} rows instead of one", rows.len()))) };
    state_of(row, &view.name).map_err(|error| lost(error.to_string()))
}

fn state_of(row: &[Value], view: &ViewName) -> Result<ViewState, ViewError> {
    let [snapshot, landed, table, table_rows, sources] = row else {
        return Err(ViewError::registry(&view.to_string(), "has other state columns than expected"));
    };
    Ok(ViewState {
        snapshot: SnapshotId(snapshot.as_u64()?),
        landed: SnapshotId(landed.as_u64()?),
        table: table.optional(Value::as_u64)?.map(TableId),
        rows: table_rows.as_u64()?,
        sources: from_json(sources.as_str()?, view)?,
    })
}

/// The same; `None` if it is lost.
pub(crate) fn state_if_known(transaction: &Transaction<'_>, view: &View) -> Result<Option<ViewState>, ViewError> {
    match state(transaction, view) {
        Ok(state) => Ok(Some(state)),
        Err(ViewError::State { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the state table of a view, in place of whatever has its name.
pub(crate) fn create_state(lake: &Lake, view: &View) -> Result<(), ViewError> {
    let table = state_table(lake, &view.id);
    lake.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
    lake.execute(&format!(
        "CREATE TABLE {table} (snapshot BIGINT, table_id BIGINT, table_rows BIGINT, sources VARCHAR)"
    ))?;
    lake.execute(&format!("INSERT INTO {table} VALUES (0, NULL, 0, '[]')"))?;
    Ok(())
}

/// Records how far a view has come. Conflicts with every other refresh of the same view.
pub(crate) fn write_state(
    lake: &Lake,
    view: &View,
    snapshot: SnapshotId,
    table: Option<TableId>,
    rows: u64,
    sources: &[SourceState],
) -> Result<(), ViewError> {
    let changed = lake.execute(&format!(
        "UPDATE {} SET snapshot = {snapshot}, table_id = {}, table_rows = {rows}, sources = {}",
        state_table(lake, &view.id),
        table.map_or_else(|| "NULL".to_owned(), |table| table.to_string()),
        literal(&to_json(sources, &view.name)?),
    ))?;
    if changed == 1 {
        Ok(())
    } else {
        Err(ViewError::registry(&view.name.to_string(), "has not exactly one state row"))
    }
}

/// Whether a view of the lake itself, which is a stored SELECT and no table, has that name.
pub(crate) fn is_lake_view(transaction: &Transaction<'_>, name: &ViewName) -> Result<bool, LakeError> {
    let metadata = transaction.metadata();
    let found = transaction.query_value(&format!(
        "SELECT count(*) > 0 FROM {metadata}.ducklake_view v JOIN {metadata}.ducklake_schema s USING (schema_id) \
         WHERE v.end_snapshot IS NULL AND s.end_snapshot IS NULL AND lower(s.schema_name) = lower({}) \
         AND lower(v.view_name) = lower({})",
        literal(&name.schema),
        literal(&name.name)
    ))?;
    found.as_bool()
}

/// The table that holds a view's rows, under its present name; `None` if it is gone.
pub fn table(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
) -> Result<Option<TableIdentity>, LakeError> {
    let id = table_id(transaction, view, Some(state))?;
    id.map_or(Ok(None), |id| transaction.table_by_id(id, transaction.snapshot()))
}

/// The identity of that table, also if it is gone.
pub(super) fn table_id(
    transaction: &Transaction<'_>,
    view: &View,
    state: Option<&ViewState>,
) -> Result<Option<TableId>, LakeError> {
    match state.and_then(|state| state.table) {
        Some(id) => Ok(Some(id)),
        None => {
            let named = transaction.table_named(&view.name.schema, &view.name.name, view.registered)?;
            Ok(named.map(|table| table.id))
        }
    }
}

/// The tables that hold the rows of `views`, also those that are gone, with one look at the catalog for all that still have their names.
pub fn tables(transaction: &Transaction<'_>, views: &[View]) -> Result<BTreeMap<TableId, ViewId>, ViewError> {
    let mut found = BTreeMap::new();
    if views.is_empty() {
        return Ok(found);
    }
    let now = transaction.tables(transaction.snapshot())?;
    let begun = begun(transaction)?;
    for view in views {
        let named = now.iter().find(|table| {
            table.schema.eq_ignore_ascii_case(&view.name.schema) && table.name.eq_ignore_ascii_case(&view.name.name)
        });
        // A table of that name that is younger than the registry entry is not the view's.
        let own = named.filter(|table| begun.get(&table.id).is_some_and(|begun| *begun <= view.registered));
        let id = match own {
            Some(own) => Some(own.id),
            None => table_id(transaction, view, state_if_known(transaction, view)?.as_ref())?,
        };
        found.extend(id.map(|id| (id, view.id.clone())));
    }
    Ok(found)
}

/// Since when each table has existed.
fn begun(transaction: &Transaction<'_>) -> Result<BTreeMap<TableId, SnapshotId>, LakeError> {
    let metadata = transaction.metadata();
    let sql =
        format!("SELECT table_id, min(begin_snapshot) FROM {metadata}.ducklake_table GROUP BY table_id ORDER BY 1");
    let mut begun = BTreeMap::new();
    for row in &transaction.query(&sql)?.rows {
        if let [id, snapshot] = row.as_slice() {
            begun.insert(TableId(id.as_u64()?), SnapshotId(snapshot.as_u64()?));
        }
    }
    Ok(begun)
}

/// Makes an empty table for a view's rows.
pub(crate) fn create_rows(lake: &Lake, name: &ViewName, columns: &[ViewColumn]) -> Result<(), LakeError> {
    let columns: Vec<String> =
        columns.iter().map(|column| format!("{} {}", identifier(&column.name), column.stored_type)).collect();
    lake.execute(&format!("CREATE TABLE {} ({})", rows_table(lake, name), columns.join(", ")))?;
    Ok(())
}

pub(super) fn to_json<T: Serialize + ?Sized>(value: &T, view: &ViewName) -> Result<String, ViewError> {
    serde_json::to_string(value).map_err(|error| ViewError::registry(&view.to_string(), error))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str, view: &ViewName) -> Result<T, ViewError> {
    serde_json::from_str(text).map_err(|error| ViewError::registry(&view.to_string(), error))
}
