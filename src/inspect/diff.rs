//! What changed between two snapshots, table by table: rows net of everything in between, files, and the schema in words.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::InspectError;
use super::files::{FileTotals, files};
use super::lag;
use super::log::is_maintenance;
use super::revision::{Range, Revision};
use super::row_counts::RowCounts;
use super::tables::{End, Ends, unknown};
use crate::lake::{Lake, LakeError, SnapshotId, TableId, TableIdentity, Transaction};
use crate::sync::temporary::Temporary;
use crate::view::{ViewName, registry};

/// What changed; serialised, this is `diff --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diff {
    /// After this snapshot,
    pub from: SnapshotId,
    /// up to this one.
    pub to: SnapshotId,
    /// How many commits are left in between, `to` included.
    pub snapshots: u64,
    /// Those of them that only reorganised files.
    pub maintenance: Vec<SnapshotId>,
    /// The view that the range begins with; then only what it reads counts.
    pub view: Option<String>,
    /// The tables that changed, by name.
    pub tables: Vec<TableDiff>,
}

/// What changed in a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableDiff {
    /// Its name at the end, or its last one.
    pub table: String,
    /// The view whose rows it holds.
    pub view: Option<String>,
    /// `created`, `dropped`, `changed`, or `compacted` if only its files changed.
    pub change: &'static str,
    /// Rows at the begin; null where it did not exist.
    pub rows_before: Option<u64>,
    /// Rows at the end; null where it is gone.
    pub rows_after: Option<u64>,
    /// Rows that came.
    pub inserted: u64,
    /// Rows that went.
    pub deleted: u64,
    /// Rows that have the same row id and other content.
    pub updated: u64,
    /// Rows that came less rows that went.
    pub net: i64,
    /// Data and delete files.
    pub files: FileTotals,
    /// What happened to it, its name and its columns, in words.
    pub schema: Vec<String>,
    /// What was not as usual about reading it.
    pub note: Option<String>,
}

/// The tables of a range that are worth a look.
pub(super) struct Touched {
    pub(super) span: (SnapshotId, SnapshotId),
    pub(super) tables: Vec<Ends>,
    snapshots: u64,
    maintenance: Vec<SnapshotId>,
    views: BTreeMap<TableId, String>,
    /// The view whose sources these are, if only they were asked for.
    read_by: Option<String>,
}

/// Tells what changed in a range: in `names`, or in all tables but those of the registry.
pub fn diff(lake: &Lake, range: &Range, names: &[ViewName]) -> Result<Diff, InspectError> {
    let transaction = lake.begin()?;
    let touched = touched(&transaction, range, names)?;
    let temporary = Temporary::default();
    let mut tables = Vec::new();
    for ends in &touched.tables {
        if let Some(table) = table_diff(&transaction, ends, &touched, &temporary)? {
            tables.push(table);
        }
        temporary.clear(&transaction)?;
    }
    tables.sort_by(|one, other| one.table.cmp(&other.table).then_with(|| other.change.cmp(one.change)));
    let (from, to) = touched.span;
    let Touched { snapshots, maintenance, read_by: view, .. } = touched;
    Ok(Diff { from, to, snapshots, maintenance, view, tables })
}

/// Finds the tables that may have changed in a range; `names` limits them, and each must be there. Without names, a range
/// that begins with a view is about what that view has not taken in: the tables that it reads.
pub(super) fn touched(
    transaction: &Transaction<'_>,
    range: &Range,
    names: &[ViewName],
) -> Result<Touched, InspectError> {
    touched_with(transaction, range, names, Registry::LeftOut)
}

/// Whether the tables of the registry count where no table is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registry {
    /// They do.
    Included,
    /// They do not.
    LeftOut,
}

/// The same, with or without the tables of the registry.
pub(super) fn touched_with(
    transaction: &Transaction<'_>,
    range: &Range,
    names: &[ViewName],
    of_registry: Registry,
) -> Result<Touched, InspectError> {
    let (from, to) = range.resolve(transaction)?;
    let snapshots = transaction.snapshots(SnapshotId(from.0 + 1)..=to)?;
    let mut maintenance = Vec::new();
    let rows = RowCounts::new(transaction);
    for snapshot in &snapshots {
        if is_maintenance(&rows, snapshot)? {
            maintenance.push(snapshot.id);
        }
    }
    let (before, after) = (transaction.tables(from)?, transaction.tables(to)?);
    for name in names {
        let is_it = |schema: &str, table: &str| {
            schema.eq_ignore_ascii_case(&name.schema) && table.eq_ignore_ascii_case(&name.name)
        };
        if !before.iter().chain(&after).any(|table| is_it(&table.schema, &table.name)) {
            return Err(unknown(transaction, name, Some((from, to)))?);
        }
    }
    let read = match &range.from {
        Revision::View(view) if names.is_empty() => Some(lag::sources(transaction, view, to)?),
        _ => None,
    };
    let read_by = read.as_ref().map(|read| read.view.to_string());
    let changed = transaction.changed_tables(from, to)?;
    let compacted: BTreeSet<TableId> =
        snapshots.iter().flat_map(|snapshot| super::log::tables_named(&snapshot.changes_made)).collect();
    let ids = |tables: &[TableIdentity]| tables.iter().map(|table| table.id).collect::<BTreeSet<_>>();
    let (old_ids, new_ids) = (ids(&before), ids(&after));
    let mut tables = Vec::new();
    for id in old_ids.union(&new_ids).copied() {
        let both = old_ids.contains(&id) && new_ids.contains(&id);
        let identity = |tables: &[TableIdentity]| tables.iter().find(|table| table.id == id).cloned();
        let renamed = both && identity(&before) != identity(&after);
        let may_have = renamed || changed.tables.contains(&id) || compacted.contains(&id);
        // Of maintenance whose snapshot has expired, only the files themselves tell.
        let is_unchanged =
            || Ok::<_, LakeError>(of_registry == Registry::LeftOut && !transaction.changed(id, from, to)?);
        if both && !may_have && names.is_empty() && (changed.complete || is_unchanged()?) {
            continue;
        }
        let ends = Ends::of(transaction, id, from, to)?;
        let called = |end: &Option<End>, name: &ViewName| {
            end.as_ref()
                .is_some_and(|end| ViewName::new(end.identity.schema.clone(), end.identity.name.clone()) == *name)
        };
        let is_wanted = if names.is_empty() {
            ends.last().is_some_and(|end| {
                (of_registry == Registry::Included || !end.is_of_registry())
                    && read.as_ref().is_none_or(|read| read.tables.contains(&end.identity.id))
            })
        } else {
            names.iter().any(|name| called(&ends.old, name) || called(&ends.new, name))
        };
        if is_wanted {
            tables.push(ends);
        }
    }
    tables.sort_by_key(|ends| ends.last().map(End::name));
    let views = view_tables(transaction)?;
    Ok(Touched { span: (from, to), tables, snapshots: snapshots.len() as u64, maintenance, views, read_by })
}

/// The tables that hold views, and the views.
fn view_tables(transaction: &Transaction<'_>) -> Result<BTreeMap<TableId, String>, InspectError> {
    let views = registry::views(transaction)?;
    let tables = registry::tables(transaction, &views)?;
    let named = tables.into_iter().filter_map(|(table, id)| {
        let view = views.iter().find(|view| view.id == id)?;
        Some((table, view.name.to_string()))
    });
    Ok(named.collect())
}

/// What changed in one table; `None` if nothing did.
fn table_diff(
    transaction: &Transaction<'_>,
    ends: &Ends,
    touched: &Touched,
    temporary: &Temporary,
) -> Result<Option<TableDiff>, InspectError> {
    let (from, to) = touched.span;
    let Some(last) = ends.last() else { return Ok(None) };
    let count =
        |end: &Option<End>, at: SnapshotId| end.as_ref().map(|end| transaction.count_at(&end.identity, at)).transpose();
    let (rows_before, rows_after) = (count(&ends.old, from)?, count(&ends.new, to)?);
    let files = FileTotals::of(&files(transaction, ends.id, &last.name(), touched.span)?);
    let schema = schema_changes(transaction, ends)?;
    // Of a table that is there at one end only, the rows need not be read: all of them came or went.
    let (inserted, deleted, updated, reason) = match (rows_before, rows_after) {
        (None, Some(rows)) => (rows, 0, 0, None),
        (Some(rows), None) => (0, rows, 0, None),
        _ => {
            let Some(staged) = ends.stage(transaction, touched.span, temporary, &|_| true)? else { return Ok(None) };
            (staged.inserted, staged.deleted, staged.updated, staged.reason)
        }
    };
    let change = match (&ends.old, &ends.new) {
        (None, _) => "created",
        (_, None) => "dropped",
        _ if inserted + deleted + updated == 0 && schema.is_empty() => "compacted",
        _ => "changed",
    };
    if change == "compacted" && files == FileTotals::default() {
        return Ok(None);
    }
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(Some(TableDiff {
        table: last.name(),
        view: touched.views.get(&ends.id).cloned(),
        change,
        rows_before,
        rows_after,
        inserted,
        deleted,
        updated,
        net: signed(inserted) - signed(deleted),
        files,
        schema,
        note: reason.filter(|_| change == "changed").map(|reason| format!("read as a whole: {reason}")),
    }))
}

/// What happened to the name and the columns of a table.
fn schema_changes(transaction: &Transaction<'_>, ends: &Ends) -> Result<Vec<String>, LakeError> {
    let (Some(old), Some(new)) = (&ends.old, &ends.new) else {
        return Ok(ends.fate(transaction)?.into_iter().collect());
    };
    let mut changes = Vec::new();
    if old.name() != new.name() {
        changes.push(format!("renamed from {}", old.name()));
    }
    for column in &new.columns {
        let name = &column.name;
        match old.columns.iter().find(|before| before.id == column.id) {
            None => changes.push(format!("column {name} {} added", column.data_type)),
            Some(before) => {
                if before.name != *name {
                    changes.push(format!("column {} renamed to {name}", before.name));
                }
                if before.data_type != column.data_type {
                    changes.push(format!("column {name} promoted from {} to {}", before.data_type, column.data_type));
                }
                if before.nulls_allowed != column.nulls_allowed {
                    let may = if column.nulls_allowed { "may now be NULL" } else { "may no longer be NULL" };
                    changes.push(format!("column {name} {may}"));
                }
            }
        }
    }
    let gone = old.columns.iter().filter(|column| !new.columns.iter().any(|now| now.id == column.id));
    changes.extend(gone.map(|column| format!("column {} {} dropped", column.name, column.data_type)));
    Ok(changes)
}
