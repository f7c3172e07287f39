//! What the lake's metadata says about tables, columns and snapshots.
//!
//! Everything is asked at an explicit snapshot. Names are resolved as DuckLake does: without regard to case.

use super::{
    ColumnId, Lake, LakeError, SnapshotId, TableId, Transaction, Value,
    history::TableHistory,
    text::{identifier, literal},
};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

/// Virtual columns of DuckLake's scans. A column of the user's with such a name hides the virtual one.
pub(super) const VIRTUAL_COLUMNS: [&str; 4] = ["filename", "file_row_number", "snapshot_id", "rowid"];

/// A table at one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIdentity {
    /// Stays through renames; another one after `CREATE OR REPLACE`.
    pub id: TableId,
    /// As unique, across lakes.
    pub uuid: String,
    /// The name of its schema at that snapshot, as it was typed.
    pub schema: String,
    /// Its name at that snapshot, as it was typed.
    pub name: String,
}

/// A column, or a part of a nested one, at one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Stays through renames and promotions.
    pub id: ColumnId,
    /// Its name; parts of lists and maps are called `element`, `key` and `value`.
    pub name: String,
    /// Its type as DuckDB reads it; the names of struct fields are always quoted.
    pub data_type: String,
    /// Its type as DuckLake calls it.
    pub ducklake_type: String,
    /// Whether it may be NULL.
    pub nulls_allowed: bool,
    /// The column that this one is a part of.
    pub parent: Option<ColumnId>,
    /// What rows show that are older than the column.
    pub initial_default: Option<String>,
}

/// A commit of the lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number.
    pub id: SnapshotId,
    /// When it was made, in UTC.
    pub time: String,
    /// DuckLake's tokens, such as `inserted_into_table:1`, separated by commas.
    pub changes_made: String,
    /// Who committed, where it was said.
    pub author: Option<String>,
    /// Why.
    pub message: Option<String>,
    /// What else was said.
    pub extra_info: Option<String>,
}

/// The tables that commits of a window may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTables {
    /// The tables that the commits name.
    pub tables: BTreeSet<TableId>,
    /// Whether every snapshot of the window still exists. If not, a table that is not named may have changed too:
    /// ask [`Transaction::changed`].
    pub complete: bool,
}

pub(super) fn snapshot_of(value: &Value) -> Result<SnapshotId, LakeError> {
    value.as_u64().map(SnapshotId)
}

pub(super) fn text_of(value: &Value) -> Result<String, LakeError> {
    value.as_str().map(str::to_owned)
}

pub(super) fn unexpected_row() -> LakeError {
    LakeError::Metadata { message: "a row has another number of columns than asked for".to_owned() }
}

impl Lake {
    /// The table called `schema.name` at a snapshot.
    pub fn table_named(&self, schema: &str, name: &str, at: SnapshotId) -> Result<Option<TableIdentity>, LakeError> {
        let (schema, name) = (literal(schema), literal(name));
        self.table_where(at, &format!("lower(s.schema_name) = lower({schema}) AND lower(t.table_name) = lower({name})"))
    }

    /// The table with this id at a snapshot, under the name that it had then.
    pub fn table_by_id(&self, id: TableId, at: SnapshotId) -> Result<Option<TableIdentity>, LakeError> {
        self.table_where(at, &format!("t.table_id = {id}"))
    }

    /// All tables at a snapshot, by schema and name.
    pub fn tables(&self, at: SnapshotId) -> Result<Vec<TableIdentity>, LakeError> {
        self.tables_where(at, "true")
    }

    fn table_where(&self, at: SnapshotId, condition: &str) -> Result<Option<TableIdentity>, LakeError> {
        let mut found = self.tables_where(at, condition)?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            more => Err(LakeError::Metadata { message: format!("{more} tables of one name or id at snapshot {at}") }),
        }
    }

    fn tables_where(&self, at: SnapshotId, condition: &str) -> Result<Vec<TableIdentity>, LakeError> {
        let metadata = self.metadata();
        let rows = self.query(&format!(
            "SELECT t.table_id::BIGINT, t.table_uuid::VARCHAR, s.schema_name, t.table_name \
             FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
             WHERE {} AND {} AND {condition} ORDER BY s.schema_name, t.table_name, 1",
            live("t", at),
            live("s", at),
        ))?;
        let identity = |row: &Vec<Value>| {
            let [id, uuid, schema, name] = row.as_slice() else { return Err(unexpected_row()) };
            let id = TableId(id.as_u64()?);
            Ok(TableIdentity { id, uuid: text_of(uuid)?, schema: text_of(schema)?, name: text_of(name)? })
        };
        rows.rows.iter().map(identity).collect()
    }

    /// The columns of a table at a snapshot, in their order, each nested one followed by its parts. None for a table that
    /// did not exist then.
    pub fn columns(&self, id: TableId, at: SnapshotId) -> Result<Vec<TableColumn>, LakeError> {
        let histories = TableHistory::load(self, &BTreeSet::from([id]), at, at)?;
        Ok(histories.get(&id).map(|history| history.columns(at)).unwrap_or_default())
    }

    /// Whether a snapshot exists: made, and not expired.
    pub fn snapshot_exists(&self, id: SnapshotId) -> Result<bool, LakeError> {
        let metadata = self.metadata();
        let sql = format!("SELECT count(*) > 0 FROM {metadata}.ducklake_snapshot WHERE snapshot_id = {id}");
        self.query_value(&sql)?.as_bool()
    }

    /// The oldest snapshot that is not expired.
    pub fn oldest_snapshot(&self) -> Result<SnapshotId, LakeError> {
        let sql = format!("SELECT min(snapshot_id)::BIGINT FROM {}.ducklake_snapshot", self.metadata());
        snapshot_of(&self.query_value(&sql)?)
    }

    /// What moves whenever snapshots come or go: the newest one, and how many there are.
    pub(crate) fn snapshot_mark(&self) -> Result<(u64, u64), LakeError> {
        let metadata = self.metadata();
        let row =
            self.query_one(&format!("SELECT max(snapshot_id)::BIGINT, count(*) FROM {metadata}.ducklake_snapshot"))?;
        let [newest, count] = row.as_slice() else { return Err(unexpected_row()) };
        Ok((newest.as_u64()?, count.as_u64()?))
    }

    /// The table that a file of the lake belongs to, as `schema.table`, under its last name.
    pub(super) fn table_of_file(&self, path: &str) -> Option<String> {
        let (metadata, whole) = (self.metadata(), self.whole_path().ok()?);
        let of = |files: &str| {
            format!(
                "SELECT s.schema_name || '.' || t.table_name AS name, t.begin_snapshot FROM {metadata}.{files} f \
                 JOIN {metadata}.ducklake_table t USING (table_id) JOIN {metadata}.ducklake_schema s USING (schema_id) \
                 WHERE {whole} = {}",
                literal(path)
            )
        };
        let sql = format!("{} UNION {} ORDER BY 2 DESC, 1", of("ducklake_data_file"), of("ducklake_delete_file"));
        self.text_aside(&sql)
    }

    /// The whole path of a file `f` of a table `t` in a schema `s`, rows of the metadata, as an expression.
    pub(crate) fn whole_path(&self) -> Result<String, LakeError> {
        Ok(format!(
            "CASE WHEN NOT f.path_is_relative THEN f.path WHEN NOT t.path_is_relative THEN t.path || f.path \
             WHEN NOT s.path_is_relative THEN s.path || t.path || f.path \
             ELSE {} || s.path || t.path || f.path END",
            literal(&self.data_path()?)
        ))
    }

    /// When a snapshot was made, in UTC; `None` if it does not exist.
    pub fn snapshot_time(&self, id: SnapshotId) -> Result<Option<String>, LakeError> {
        Ok(self.snapshots(id..=id)?.pop().map(|snapshot| snapshot.time))
    }

    /// The numbers of the snapshots of a range that are not expired, oldest first.
    pub fn snapshot_ids(&self, range: RangeInclusive<SnapshotId>) -> Result<Vec<SnapshotId>, LakeError> {
        let sql = format!(
            "SELECT snapshot_id::BIGINT FROM {}.ducklake_snapshot WHERE snapshot_id BETWEEN {} AND {} ORDER BY 1",
            self.metadata(),
            range.start(),
            range.end()
        );
        self.query(&sql)?.rows.iter().flatten().map(snapshot_of).collect()
    }

    /// The snapshots of a range, oldest first.
    pub fn snapshots(&self, range: RangeInclusive<SnapshotId>) -> Result<Vec<Snapshot>, LakeError> {
        let metadata = self.metadata();
        let rows = self.query(&format!(
            "SELECT s.snapshot_id::BIGINT, s.snapshot_time::TIMESTAMPTZ::VARCHAR, coalesce(c.changes_made, ''), \
             c.author::VARCHAR, c.commit_message::VARCHAR, c.commit_extra_info::VARCHAR \
             FROM {metadata}.ducklake_snapshot s LEFT JOIN {metadata}.ducklake_snapshot_changes c USING (snapshot_id) \
             WHERE s.snapshot_id BETWEEN {} AND {} ORDER BY 1",
            range.start(),
            range.end()
        ))?;
        let snapshot = |row: &Vec<Value>| {
            let [id, time, changes_made, author, message, extra_info] = row.as_slice() else {
                return Err(unexpected_row());
            };
            Ok(Snapshot {
                id: snapshot_of(id)?,
                time: text_of(time)?,
                changes_made: text_of(changes_made)?,
                author: author.optional(text_of)?,
                message: message.optional(text_of)?,
                extra_info: extra_info.optional(text_of)?,
            })
        };
        rows.rows.iter().map(snapshot).collect()
    }

    /// The settings of the lake that hold for all its tables, by name.
    pub fn settings(&self) -> Result<Vec<(String, String)>, LakeError> {
        let rows = self.query(&format!(
            "SELECT key, coalesce(value, '')::VARCHAR FROM {}.ducklake_metadata WHERE scope IS NULL ORDER BY 1",
            self.metadata()
        ))?;
        let setting = |row: &Vec<Value>| {
            let [key, value] = row.as_slice() else { return Err(unexpected_row()) };
            Ok((text_of(key)?, text_of(value)?))
        };
        rows.rows.iter().map(setting).collect()
    }

    /// The FROM item that reads a table as it was at a snapshot.
    pub fn at(&self, table: &TableIdentity, at: SnapshotId) -> String {
        format!(
            "{}.{}.{} AT (VERSION => {at})",
            identifier(self.alias()),
            identifier(&table.schema),
            identifier(&table.name)
        )
    }

    /// Whether the metadata has a table of this name; some are made only when they are first needed.
    pub(super) fn has_metadata_table(&self, name: &str) -> Result<bool, LakeError> {
        // They are listed nowhere. A name that does not exist is found out while binding, which leaves an open
        // transaction as it is.
        match self.query(&format!("SELECT 1 FROM {}.{} LIMIT 0", self.metadata(), identifier(name))) {
            Ok(_) => Ok(true),
            Err(error) if error.is_missing_table() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The condition that a row of the metadata, of the table called `table` in the statement, holds at a snapshot: a number,
/// or the name of a column.
pub(super) fn live(table: &str, at: impl fmt::Display) -> String {
    format!("{table}.begin_snapshot <= {at} AND ({table}.end_snapshot IS NULL OR {at} < {table}.end_snapshot)")
}

/// The beginning of a statement: `s`, the commits of a window, and `change`, the tables that they may have changed.
pub(super) fn changes_of(metadata: &str, from: SnapshotId, to: SnapshotId) -> String {
    // Quoted names go first, for they may hold anything. A token that is not known to leave a table's rows alone
    // counts as a change of the table that it names.
    format!(
        r#"WITH s AS (
            SELECT snapshot_id, changes_made FROM {metadata}.ducklake_snapshot_changes
            WHERE snapshot_id > {from} AND snapshot_id <= {to}
        ), token AS (
            SELECT snapshot_id, trim(unnest(string_split(
                regexp_replace(coalesce(changes_made, ''), '"([^"]|"")*"', '', 'g'), ','))) AS x FROM s
        ), change AS (
            SELECT snapshot_id, TRY_CAST(split_part(x, ':', 2) AS BIGINT) AS id FROM token
            WHERE regexp_full_match(x, '[a-z_]+:[0-9]+') AND split_part(x, ':', 1) NOT IN (
                'inline_flush', 'flushed_inlined', 'merge_adjacent', 'rewrite_delete', 'compacted_table',
                'dropped_schema', 'dropped_view', 'altered_view', 'dropped_scalar_macro', 'dropped_table_macro')
        )"#
    )
}

impl Transaction<'_> {
    /// The tables that the commits after `from`, up to `to`, may have changed: one query for all views of a lake.
    pub fn changed_tables(&self, from: SnapshotId, to: SnapshotId) -> Result<ChangedTables, LakeError> {
        let rows = self.query(&format!(
            "{} SELECT NULL::BIGINT, (SELECT count(*) FROM s)::BIGINT \
             UNION ALL SELECT DISTINCT id, NULL::BIGINT FROM change ORDER BY 1",
            changes_of(self.metadata(), from, to)
        ))?;
        let mut changed = ChangedTables { tables: BTreeSet::new(), complete: from >= to };
        for row in &rows.rows {
            match row.as_slice() {
                [Value::Null, count] => {
                    // Snapshot ids are contiguous, so a smaller count means that some were expired.
                    changed.complete |= count.as_u64()? == to.0.saturating_sub(from.0);
                }
                [table, _] => {
                    changed.tables.insert(TableId(table.as_u64()?));
                }
                _ => return Err(unexpected_row()),
            }
        }
        Ok(changed)
    }

    /// Whether a table may have changed after `from`, up to `to`. `false` is certain, provided that the table at `from`
    /// and the one at `to` are the same one.
    pub fn changed(&self, id: TableId, from: SnapshotId, to: SnapshotId) -> Result<bool, LakeError> {
        let changed = self.changed_tables(from, to)?;
        if changed.tables.contains(&id) || changed.complete {
            return Ok(changed.tables.contains(&id));
        }
        // With `from` itself gone, what was only visible there is gone from the metadata too: a delete leaves no trace.
        Ok(!self.snapshot_exists(from)? || self.state_changed(id, from, to)?)
    }

    /// The same from the state of files, rows and columns alone: right also where snapshots inside the window are gone.
    pub(super) fn state_changed(&self, id: TableId, from: SnapshotId, to: SnapshotId) -> Result<bool, LakeError> {
        let metadata = self.metadata();
        let window = format!(
            "((begin_snapshot > {from} AND begin_snapshot <= {to}) OR (end_snapshot > {from} AND end_snapshot <= {to}))"
        );
        let touched = format!("({window} OR (partial_max > {from} AND begin_snapshot <= {to}))");
        let mut conditions = vec![
            format!("EXISTS (SELECT 1 FROM {metadata}.ducklake_data_file WHERE table_id = {id} AND {touched})"),
            // A delete file without labels may have been made by a flush that dates it back.
            format!(
                "EXISTS (SELECT 1 FROM {metadata}.ducklake_delete_file d WHERE table_id = {id} AND ({touched} \
                 OR (begin_snapshot <= {to} AND (end_snapshot IS NULL OR end_snapshot > {from}) AND partial_max IS NULL \
                 AND delete_count > 1 AND delete_file_id >= coalesce((SELECT next_file_id \
                 FROM {metadata}.ducklake_snapshot s WHERE s.snapshot_id = d.begin_snapshot), 0))))"
            ),
            format!("EXISTS (SELECT 1 FROM {metadata}.ducklake_column WHERE table_id = {id} AND {window})"),
            format!("EXISTS (SELECT 1 FROM {metadata}.ducklake_table WHERE table_id = {id} AND {window})"),
        ];
        let stores = self.inlined_stores(id)?;
        if let Some(deletes) = &stores.deletes {
            conditions.push(format!(
                "EXISTS (SELECT 1 FROM {metadata}.{} WHERE begin_snapshot > {from} AND begin_snapshot <= {to})",
                identifier(deletes)
            ));
        }
        for rows in &stores.rows {
            conditions.push(format!("EXISTS (SELECT 1 FROM {metadata}.{} WHERE {window})", identifier(rows)));
        }
        self.query_value(&format!("SELECT {}", conditions.join(" OR ")))?.as_bool()
    }
}
