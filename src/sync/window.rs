//! The windows of a refresh: per source, where the view stands and where it is to stand, and what the table and the
//! columns that the view reads are called at both ends. Tables and columns are followed by their ids.

use std::collections::BTreeMap;

use super::SyncError;
use super::refresh::Request;
use crate::lake::{
    LakeError, LastChanges, SnapshotId, TableColumn, TableId, TableIdentity, TableWindow, Transaction, Value,
    identifier,
};
use crate::plan::facts::Source;
use crate::sql::Relation;
use crate::view::{SourceState, UsedColumn, View, ViewName, ViewState, registry};

/// A source in a refresh.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// What the view knows of it.
    pub source: SourceState,
    /// The watermark.
    pub from: SnapshotId,
    /// The target.
    pub to: SnapshotId,
    /// Did the table change in between?
    pub changed: bool,
    /// The snapshot that made the table, if that is after the begin.
    pub born: Option<SnapshotId>,
    /// The table at `from`; `None` if that snapshot is gone.
    pub old: Option<Face>,
    /// The table at `to`.
    pub new: Face,
    /// Why the plan that the view was bound to no longer fits the table.
    pub misfit: Option<Misfit>,
}

/// A table at one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Face {
    /// The snapshot.
    pub at: SnapshotId,
    /// The table's identity and its name there.
    pub identity: TableIdentity,
    /// What the columns that the view reads are called there, in the order of the source's columns.
    pub columns: Vec<String>,
}

/// Why a bound plan does not fit a table any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The table was dropped, and another one has its name.
    Replaced {
        /// The snapshot that made the other one, while the catalog remembers it.
        at: Option<SnapshotId>,
    },
    /// A column has another type.
    Retyped {
        /// Its name in the plan.
        column: String,
        /// The type in the plan.
        old: String,
        /// The type at the target.
        new: String,
    },
}

impl Window {
    /// The table as the plan names it.
    pub(crate) fn key(&self, catalog: &str) -> Source {
        Source { catalog: catalog.to_owned(), schema: self.source.schema.clone(), table: self.source.name.clone() }
    }

    /// What its change is to be read of; `None` if it did not change or the old state cannot be read.
    pub(crate) fn span(&self) -> Option<TableWindow> {
        let readable = self.changed && self.old.is_some() && self.misfit.is_none();
        readable.then_some(TableWindow { table: self.source.table, from: self.from, to: self.to })
    }

    /// The same window as if the table had changed in it.
    pub(crate) fn assumed_changed(&self) -> Window {
        let old = self.old.clone().unwrap_or_else(|| Face { at: self.from, ..self.new.clone() });
        Window { changed: true, old: Some(old), ..self.clone() }
    }

    /// `schema.table` at the target.
    pub(crate) fn name(&self) -> String {
        self.new.name()
    }

    /// `schema.table` at a snapshot of the window: as it was called at its begin, or is at its end.
    pub(crate) fn name_at(&self, at: SnapshotId) -> String {
        self.old.as_ref().filter(|old| old.at == at && at != self.to).map_or_else(|| self.name(), Face::name)
    }

    /// What happened to the name since the view was bound to the table.
    pub(crate) fn renaming(&self) -> Option<String> {
        let bound = format!("{}.{}", self.source.schema, self.source.name);
        match self.misfit {
            Some(Misfit::Replaced { at: Some(at) }) => Some(format!("replaced at {at}")),
            Some(Misfit::Replaced { at: None }) => Some("replaced".to_owned()),
            _ => (bound != self.name()).then(|| format!("renamed from {bound}")),
        }
    }

    /// Has the table or a column that the view reads another name than in the plan?
    pub(crate) fn renamed(&self) -> bool {
        let (source, new) = (&self.source, &self.new);
        new.identity.schema != source.schema
            || new.identity.name != source.name
            || new.columns.iter().zip(&source.columns).any(|(now, column)| *now != column.name)
    }

    /// Has another table taken the place of the one that the view was bound to?
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self.misfit, Some(Misfit::Replaced { .. }))
    }

    /// The misfit in words.
    pub(crate) fn misfit_reason(&self) -> Option<String> {
        self.misfit.as_ref().map(|misfit| match misfit {
            Misfit::Replaced { .. } => format!("{} was dropped and created again", self.name()),
            Misfit::Retyped { column, old, new } => {
                format!("column {column} of {} changed its type from {old} to {new}", self.name())
            }
        })
    }
}

impl Face {
    /// `schema.table` at that snapshot.
    fn name(&self) -> String {
        format!("{}.{}", self.identity.schema, self.identity.name)
    }

    /// The table at that snapshot, with `columns` under the names that the plan has for them, as an item of a FROM
    /// clause.
    pub(crate) fn relation(&self, catalog: &str, columns: &[UsedColumn]) -> Relation {
        if self.columns.iter().zip(columns).all(|(now, column)| *now == column.name) {
            return Relation { name: self.table(catalog), version: Some(self.at.0) };
        }
        Relation { name: format!("({})", self.select(catalog, columns)), version: None }
    }

    /// A query for the rows of that relation.
    pub(crate) fn select(&self, catalog: &str, columns: &[UsedColumn]) -> String {
        format!("{} AT (VERSION => {})", self.select_present(catalog, columns), self.at)
    }

    /// The same over the table as it is when the query runs.
    pub(crate) fn select_present(&self, catalog: &str, columns: &[UsedColumn]) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .zip(columns)
            .map(|(now, column)| {
                let (now, bound) = (identifier(now), identifier(&column.name));
                if now == bound { now } else { format!("{now} AS {bound}") }
            })
            .collect();
        format!("SELECT {} FROM {}", names.join(", "), self.table(catalog))
    }

    fn table(&self, catalog: &str) -> String {
        [catalog, &self.identity.schema, &self.identity.name].map(identifier).join(".")
    }
}

/// The target of a refresh, and the windows of all sources up to it. A source that is a view itself is taken as its last
/// refresh left it, so that every view of one sync stands for the same snapshot of the tables below.
pub(crate) fn windows(
    transaction: &Transaction<'_>,
    request: &Request<'_>,
    view: &View,
    state: &ViewState,
    changes: &LastChanges,
) -> Result<(SnapshotId, Vec<Window>), SyncError> {
    let mut below = BTreeMap::new();
    for source in &state.sources {
        let Some((id, standing)) = request.views.get(&source.table) else { continue };
        let Some(source_view) = registry::view_by_id(transaction, id)? else { continue };
        let source_state = registry::state(transaction, &source_view)?;
        let stands_for = standing.map_or(source_state.snapshot, |standing| standing.max(source_state.snapshot));
        below.insert(source.table, (source_state.landed, stands_for));
    }
    let target = below.values().map(|(_, stands_for)| *stands_for).fold(request.target, SnapshotId::max);
    if below.values().any(|(_, stands_for)| *stands_for != target) {
        return Err(SyncError::Overtaken { view: view.name.clone() });
    }
    let ends: Vec<SnapshotId> = state
        .sources
        .iter()
        .map(|source| below.get(&source.table).map_or(target, |(landed, _)| (*landed).max(source.watermark)))
        .collect();
    let spans = state.sources.iter().zip(&ends);
    let spans: Vec<TableWindow> =
        spans.map(|(source, to)| TableWindow { table: source.table, from: source.watermark, to: *to }).collect();
    transaction.foresee_tables(&spans)?;
    let windows =
        state.sources.iter().zip(ends).map(|(source, to)| window(transaction, &view.name, source, to, changes));
    Ok((target, windows.collect::<Result<Vec<_>, _>>()?))
}

/// The window of `source` up to `to`.
pub(crate) fn window(
    transaction: &Transaction<'_>,
    view: &ViewName,
    source: &SourceState,
    to: SnapshotId,
    changes: &LastChanges,
) -> Result<Window, SyncError> {
    let from = source.watermark;
    // A view that is beyond the target already stays where it is; the source may not have existed then.
    let at = to.max(from);
    let Some(identity) = transaction.table_by_id(source.table, at)? else {
        return replaced(transaction, view, source, at);
    };
    let catalog = transaction.columns(source.table, at)?;
    let (columns, misfit) = at_target(transaction, view, source, &catalog)?;
    let mut moved = from < to && has_changed(transaction, changes, source.table, from, to)?;
    if moved && !transaction.snapshot_exists(from)? {
        moved = transaction.changed_since_expired(&identity, from, to, source.rows)?;
    }
    let new = Face { at, identity, columns };
    let old = if moved { face_before(transaction, source, from)? } else { None };
    let is_younger = moved
        && old.is_none()
        && transaction.snapshot_exists(from)?
        && transaction.table_by_id(source.table, from)?.is_none();
    let born = if is_younger { begun(transaction, source.table)? } else { None };
    Ok(Window { source: source.clone(), from, to, changed: moved, born, old, new, misfit })
}

/// Whether a table changed in a window: mostly known for all tables at once.
pub(crate) fn has_changed(
    transaction: &Transaction<'_>,
    changes: &LastChanges,
    table: TableId,
    from: SnapshotId,
    to: SnapshotId,
) -> Result<bool, LakeError> {
    match changes.since(table, from) {
        Some(false) => Ok(false),
        Some(true) if to == transaction.snapshot() => Ok(true),
        _ => transaction.changed(table, from, to),
    }
}

/// The last changes of the lake's tables since the oldest watermark of a view.
pub(crate) fn changes_since(transaction: &Transaction<'_>, state: &ViewState) -> Result<LastChanges, LakeError> {
    let oldest = state.sources.iter().map(|source| source.watermark).fold(state.landed, SnapshotId::min);
    transaction.last_changes(oldest)
}

/// The names of the used columns at the target, and whether their types still fit.
fn at_target(
    transaction: &Transaction<'_>,
    view: &ViewName,
    source: &SourceState,
    catalog: &[TableColumn],
) -> Result<(Vec<String>, Option<Misfit>), SyncError> {
    let mut misfit = None;
    let mut names = Vec::new();
    for column in &source.columns {
        let Some(now) = catalog.iter().find(|now| now.id == column.id) else {
            return Err(SyncError::ColumnDropped {
                view: view.clone(),
                table: format!("{}.{}", source.schema, source.name),
                column: column.name.clone(),
                snapshot: ended(
                    transaction,
                    "ducklake_column",
                    &format!("table_id = {} AND column_id = {}", source.table, column.id),
                )?,
            });
        };
        if now.data_type != column.data_type && misfit.is_none() {
            misfit = Some(Misfit::Retyped {
                column: column.name.clone(),
                old: column.data_type.clone(),
                new: now.data_type.clone(),
            });
        }
        names.push(now.name.clone());
    }
    Ok((names, misfit))
}

/// The table at the watermark, if that can still be read.
fn face_before(
    transaction: &Transaction<'_>,
    source: &SourceState,
    from: SnapshotId,
) -> Result<Option<Face>, LakeError> {
    if !transaction.snapshot_exists(from)? {
        return Ok(None);
    }
    let Some(identity) = transaction.table_by_id(source.table, from)? else { return Ok(None) };
    let catalog = transaction.columns(source.table, from)?;
    let columns: Option<Vec<String>> = source
        .columns
        .iter()
        .map(|column| catalog.iter().find(|then| then.id == column.id).map(|then| then.name.clone()))
        .collect();
    Ok(columns.map(|columns| Face { at: from, identity, columns }))
}

/// The table is gone at the target; another one with its name may stand in for it, column by column.
fn replaced(
    transaction: &Transaction<'_>,
    view: &ViewName,
    source: &SourceState,
    to: SnapshotId,
) -> Result<Window, SyncError> {
    let born = begun(transaction, source.table)?;
    if let Some(born) = born.filter(|born| *born > to) {
        let table = format!("{}.{}", source.schema, source.name);
        return Err(SyncError::SourceNotYet { view: view.clone(), table, born, target: to });
    }
    let Some(identity) = transaction.table_named(&source.schema, &source.name, to)? else {
        return Err(SyncError::SourceDropped {
            view: view.clone(),
            table: format!("{}.{}", source.schema, source.name),
            snapshot: ended(transaction, "ducklake_table", &format!("table_id = {}", source.table))?,
        });
    };
    let catalog = transaction.columns(identity.id, to)?;
    for column in &source.columns {
        let found = catalog.iter().any(|now| now.parent.is_none() && now.name.eq_ignore_ascii_case(&column.name));
        if !found {
            return Err(SyncError::ColumnDropped {
                view: view.clone(),
                table: format!("{}.{}", source.schema, source.name),
                column: column.name.clone(),
                snapshot: ended(transaction, "ducklake_table", &format!("table_id = {}", source.table))?,
            });
        }
    }
    let columns = source.columns.iter().map(|column| column.name.clone()).collect();
    let born = begun(transaction, identity.id)?;
    Ok(Window {
        source: source.clone(),
        from: source.watermark,
        to,
        changed: true,
        born: None,
        old: None,
        new: Face { at: to, identity, columns },
        misfit: Some(Misfit::Replaced { at: born }),
    })
}

/// The snapshot that made a table, while the catalog remembers it.
fn begun(transaction: &Transaction<'_>, table: TableId) -> Result<Option<SnapshotId>, LakeError> {
    let metadata = transaction.metadata();
    let sql = format!("SELECT min(begin_snapshot) FROM {metadata}.ducklake_table WHERE table_id = {table}");
    Ok(transaction.query_value(&sql)?.optional(Value::as_u64)?.map(SnapshotId))
}

/// The snapshot at which a row of a metadata table ended, while the catalog remembers it.
fn ended(transaction: &Transaction<'_>, table: &str, condition: &str) -> Result<Option<SnapshotId>, LakeError> {
    let sql = format!("SELECT max(end_snapshot) FROM {}.{table} WHERE {condition}", transaction.metadata());
    Ok(transaction.query_value(&sql)?.optional(Value::as_u64)?.map(SnapshotId))
}

/// The source as the view knows it once it stands at the window's end.
pub(crate) fn advanced(window: &Window, rows: u64) -> SourceState {
    SourceState { watermark: window.to, rows, ..window.source.clone() }
}

/// The tables of the windows and the snapshots that they are read at in the end.
pub(crate) fn reads_of(windows: &[Window]) -> Vec<(TableId, String, SnapshotId)> {
    windows.iter().map(|window| (window.new.identity.id, window.name(), window.to)).collect()
}

/// The id of a table in a window.
pub(crate) fn table_of(window: &Window) -> TableId {
    window.new.identity.id
}
