//! What tables were called and made of over a window of snapshots.

use super::{
    ColumnId, Lake, LakeError, SnapshotId, TableColumn, TableId, TableIdentity, Value,
    catalog::{snapshot_of, text_of, unexpected_row},
    text::numbers,
    types::TypeNode,
};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a table was called and made of in a window: the metadata is read once, questions at any snapshot of
/// the window are answered from it.
#[derive(Clone, Debug)]
pub(super) struct TableHistory {
    from: SnapshotId,
    to: SnapshotId,
    names: Vec<NameVersion>,
    columns: Vec<ColumnVersion>,
}

#[derive(Clone, Debug)]
struct NameVersion {
    live: Lifetime,
    identity: TableIdentity,
    schema_folder: Folder,
    folder: Folder,
}

/// Where the files of a schema or a table are kept.
#[derive(Clone, Debug)]
struct Folder {
    path: String,
    /// Below the folder of what it is a part of.
    relative: bool,
}

#[derive(Clone, Debug)]
struct ColumnVersion {
    live: Lifetime,
    id: ColumnId,
    name: String,
    ducklake_type: String,
    nulls_allowed: bool,
    parent: Option<ColumnId>,
    initial_default: Option<String>,
}

/// From `begin` up to, but without, `end`.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    begin: SnapshotId,
    end: Option<SnapshotId>,
}

impl Lifetime {
    fn holds(self, at: SnapshotId) -> bool {
        self.begin <= at && self.end.is_none_or(|end| at < end)
    }
}

/// A top-level column at one snapshot, with what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LiveColumn {
    pub(super) id: ColumnId,
    pub(super) node: TypeNode,
    /// The ids of all its parts, in order.
    pub(super) parts: Vec<ColumnId>,
    pub(super) begin: SnapshotId,
    pub(super) initial_default: Option<String>,
}

impl TableHistory {
    /// What the tables `ids` were called and made of from `from` to `to`, both included: two queries for all.
    pub(super) fn load(
        lake: &Lake,
        ids: &BTreeSet<TableId>,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<BTreeMap<TableId, Self>, LakeError> {
        let nothing = Self { from, to, names: Vec::new(), columns: Vec::new() };
        let mut histories: BTreeMap<TableId, Self> = ids.iter().map(|id| (*id, nothing.clone())).collect();
        if ids.is_empty() {
            return Ok(histories);
        }
        let (metadata, listed) = (lake.metadata(), numbers(ids));
        let overlaps = |table: &str| {
            format!(
                "{table}.begin_snapshot <= {to} AND ({table}.end_snapshot IS NULL OR {table}.end_snapshot > {from})"
            )
        };
        let names = lake.query(&format!(
            "SELECT t.table_id::BIGINT, greatest(t.begin_snapshot, s.begin_snapshot)::BIGINT, \
             least(t.end_snapshot, s.end_snapshot)::BIGINT, t.table_uuid::VARCHAR, s.schema_name, t.table_name, \
             s.path, s.path_is_relative::BOOLEAN, t.path, t.path_is_relative::BOOLEAN \
             FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
             WHERE t.table_id IN ({listed}) AND {} AND {} ORDER BY 1, 2",
            overlaps("t"),
            overlaps("s"),
        ))?;
        for row in &names.rows {
            let version = name_version(row)?;
            histories.entry(version.identity.id).or_insert_with(|| nothing.clone()).names.push(version);
        }
        let columns = lake.query(&format!(
            "SELECT c.table_id::BIGINT, c.begin_snapshot::BIGINT, c.end_snapshot::BIGINT, c.column_id::BIGINT, \
             c.column_name, c.column_type, c.nulls_allowed::BOOLEAN, c.parent_column::BIGINT, \
             c.initial_default::VARCHAR FROM {metadata}.ducklake_column c \
             WHERE c.table_id IN ({listed}) AND {} ORDER BY c.table_id, c.column_order, c.column_id, c.begin_snapshot",
            overlaps("c")
        ))?;
        for row in &columns.rows {
            let (table, version) = column_version(row)?;
            histories.entry(table).or_insert_with(|| nothing.clone()).columns.push(version);
        }
        Ok(histories)
    }

    /// The range of snapshots that it tells of.
    pub(super) fn range(&self) -> (SnapshotId, SnapshotId) {
        (self.from, self.to)
    }

    /// The part of it from `from` to `to`, if it tells of all of them.
    pub(super) fn within(&self, from: SnapshotId, to: SnapshotId) -> Option<Self> {
        let overlaps = |live: Lifetime| live.begin <= to && live.end.is_none_or(|end| end > from);
        (self.from <= from && to <= self.to).then(|| Self {
            from,
            to,
            names: self.names.iter().filter(|version| overlaps(version.live)).cloned().collect(),
            columns: self.columns.iter().filter(|version| overlaps(version.live)).cloned().collect(),
        })
    }

    /// What the relative paths of the table's files hang on at a snapshot of the window; `data_path` is the lake's.
    pub(super) fn base_path(&self, at: SnapshotId, data_path: &str) -> Option<String> {
        let version = self.names.iter().find(|version| version.live.holds(at))?;
        let (schema, table) = (&version.schema_folder, &version.folder);
        Some(match (table.relative, schema.relative) {
            (false, _) => table.path.clone(),
            (true, false) => format!("{}{}", schema.path, table.path),
            (true, true) => format!("{data_path}{}{}", schema.path, table.path),
        })
    }

    /// The table at a snapshot of the window, if it existed then.
    pub(super) fn identity(&self, at: SnapshotId) -> Option<&TableIdentity> {
        self.names.iter().find(|version| version.live.holds(at)).map(|version| &version.identity)
    }

    /// The columns, and the parts of nested ones, at a snapshot of the window.
    pub(super) fn columns(&self, at: SnapshotId) -> Vec<TableColumn> {
        self.live(at)
            .map(|column| TableColumn {
                id: column.id,
                name: column.name.clone(),
                data_type: self.node(column, at).sql(),
                ducklake_type: column.ducklake_type.clone(),
                nulls_allowed: column.nulls_allowed,
                parent: column.parent,
                initial_default: column.initial_default.clone(),
            })
            .collect()
    }

    /// The top-level columns at a snapshot of the window, in their order.
    pub(super) fn live_columns(&self, at: SnapshotId) -> Vec<LiveColumn> {
        self.live(at)
            .filter(|column| column.parent.is_none())
            .map(|column| {
                let mut parts = Vec::new();
                self.parts(column.id, at, &mut parts);
                LiveColumn {
                    id: column.id,
                    node: self.node(column, at),
                    parts,
                    begin: column.live.begin,
                    initial_default: column.initial_default.clone(),
                }
            })
            .collect()
    }

    /// One of `names` that a top-level column has had in the window.
    pub(super) fn name_ever_among(&self, names: &[&str]) -> Option<String> {
        let mut columns = self.columns.iter().filter(|column| column.parent.is_none());
        let found = columns.find(|column| names.iter().any(|name| column.name.eq_ignore_ascii_case(name)));
        found.map(|column| column.name.clone())
    }

    fn live(&self, at: SnapshotId) -> impl Iterator<Item = &ColumnVersion> {
        self.columns.iter().filter(move |column| column.live.holds(at))
    }

    fn node(&self, column: &ColumnVersion, at: SnapshotId) -> TypeNode {
        let children = self.live(at).filter(|child| child.parent == Some(column.id));
        TypeNode {
            name: column.name.clone(),
            ducklake_type: column.ducklake_type.clone(),
            children: children.map(|child| self.node(child, at)).collect(),
        }
    }

    fn parts(&self, of: ColumnId, at: SnapshotId, into: &mut Vec<ColumnId>) {
        for child in self.live(at).filter(|child| child.parent == Some(of)) {
            into.push(child.id);
            self.parts(child.id, at, into);
        }
    }
}

fn name_version(row: &[Value]) -> Result<NameVersion, LakeError> {
    let [id, begin, end, uuid, schema, name, schema_path, schema_relative, path, relative] = row else {
        return Err(unexpected_row());
    };
    let folder = |path: &Value, relative: &Value| {
        // A catalog that was migrated from an old format may know no folder: the files have whole paths then.
        let path = path.optional(text_of)?;
        let relative = relative.optional(Value::as_bool)?.unwrap_or_default() && path.is_some();
        Ok::<_, LakeError>(Folder { path: path.unwrap_or_default(), relative })
    };
    let id = TableId(id.as_u64()?);
    Ok(NameVersion {
        live: Lifetime { begin: snapshot_of(begin)?, end: end.optional(snapshot_of)? },
        identity: TableIdentity { id, uuid: text_of(uuid)?, schema: text_of(schema)?, name: text_of(name)? },
        schema_folder: folder(schema_path, schema_relative)?,
        folder: folder(path, relative)?,
    })
}

fn column_version(row: &[Value]) -> Result<(TableId, ColumnVersion), LakeError> {
    let [table, begin, end, id, name, ducklake_type, nulls_allowed, parent, initial_default] = row else {
        return Err(unexpected_row());
    };
    let version = ColumnVersion {
        live: Lifetime { begin: snapshot_of(begin)?, end: end.optional(snapshot_of)? },
        id: ColumnId(id.as_u64()?),
        name: text_of(name)?,
        ducklake_type: text_of(ducklake_type)?,
        nulls_allowed: nulls_allowed.as_bool()?,
        parent: parent.optional(Value::as_u64)?.map(ColumnId),
        initial_default: initial_default.optional(text_of)?,
    };
    Ok((TableId(table.as_u64()?), version))
}
