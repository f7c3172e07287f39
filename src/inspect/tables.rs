//! A table at the two ends of a range of snapshots: its names, its columns, its net change.

use super::InspectError;
use crate::lake::{
    ColumnId, LakeError, NetChangeRequest, ROW_ID, SnapshotId, TableColumn, TableId, TableIdentity, Transaction, Value,
    identifier, literal,
};
use crate::plan::WEIGHT;
use crate::sync::temporary::{Temporary, qualified};
use crate::view::{ViewName, near, registry};

/// What a table was at both ends of a range, where it existed.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    pub(super) id: TableId,
    pub(super) old: Option<End>,
    pub(super) new: Option<End>,
}

/// A table at one snapshot.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) identity: TableIdentity,
    /// Its columns without the parts of nested ones.
    pub(super) columns: Vec<TableColumn>,
}

impl End {
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.identity.schema, self.identity.name)
    }

    /// A name for a column of ours beside the user's.
    pub(super) fn own_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
            name.insert(0, '_');
        }
        name
    }

    /// Is it one of the program's own tables, beside the views?
    pub(super) fn is_of_registry(&self) -> bool {
        self.identity.schema.eq_ignore_ascii_case(registry::SCHEMA)
    }
}

/// How the columns of a staged net change that are not the user's are called; with more underscores where the user has
/// a column of that name.
const ROW_ID_NAME: &str = "_row_id";
const UPDATED_NAME: &str = "_updated";

/// The net change of a table in a temporary table: the row id, the user's columns, the weight, and whether the row is one
/// half of an update.
#[derive(Debug)]
pub(super) struct Staged {
    /// The temporary table.
    pub(super) table: String,
    /// The user's columns in it.
    pub(super) columns: Vec<String>,
    /// The column that holds the row id; of equal rows, the least one.
    pub(super) row_id: String,
    /// The column that says whether the row is one half of an update.
    pub(super) is_updated: String,
    /// Rows that came.
    pub(super) inserted: u64,
    /// Rows that went.
    pub(super) deleted: u64,
    /// Rows that have the same id and other content.
    pub(super) updated: u64,
    /// Why the whole table had to be read, if it had.
    pub(super) reason: Option<String>,
}

impl Ends {
    /// Looks the table up.
    pub(super) fn of(
        transaction: &Transaction<'_>,
        id: TableId,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<Ends, LakeError> {
        let end = |at: SnapshotId| -> Result<Option<End>, LakeError> {
            let Some(identity) = transaction.table_by_id(id, at)? else { return Ok(None) };
            let columns = transaction.columns(id, at)?;
            let columns = columns.into_iter().filter(|column| column.parent.is_none()).collect();
            Ok(Some(End { identity, columns }))
        };
        Ok(Ends { id, old: end(from)?, new: end(to)? })
    }

    /// The later of the two.
    pub(super) fn last(&self) -> Option<&End> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// What happened to a table that is not there at both ends: `created at 10`, `dropped at 12`. Of a commit that has
    /// expired, not even the number is certain.
    pub(super) fn fate(&self, transaction: &Transaction<'_>) -> Result<Option<String>, LakeError> {
        // A table may be older than its name, where the first commits have expired: its columns tell.
        let (what, snapshot, table) = match (&self.old, &self.new) {
            (None, Some(_)) => ("created", "min(begin_snapshot)", "ducklake_column"),
            (Some(_), None) => ("dropped", "max(end_snapshot)", "ducklake_table"),
            _ => return Ok(None),
        };
        let metadata = transaction.metadata();
        let sql = format!("SELECT {snapshot}::BIGINT FROM {metadata}.{table} WHERE table_id = {}", self.id);
        match transaction.query_value(&sql)?.optional(Value::as_u64)?.map(SnapshotId) {
            Some(at) if transaction.snapshot_exists(at)? => Ok(Some(format!("{what} at {at}"))),
            _ => Ok(Some(what.to_owned())),
        }
    }

    /// Stages the net change of the columns that `wanted` takes; of a table that is gone, of those that it had.
    pub(super) fn stage(
        &self,
        transaction: &Transaction<'_>,
        (from, to): (SnapshotId, SnapshotId),
        temporary: &Temporary,
        wanted: &dyn Fn(&TableColumn) -> bool,
    ) -> Result<Option<Staged>, LakeError> {
        let Some(last) = self.last() else { return Ok(None) };
        let (row_id, is_updated) = (last.own_name(ROW_ID_NAME), last.own_name(UPDATED_NAME));
        let wanted: Vec<&TableColumn> = last.columns.iter().filter(|column| wanted(column)).collect();
        let mut columns: Vec<(ColumnId, String)> =
            wanted.iter().map(|column| (column.id, column.name.clone())).collect();
        columns.push((ROW_ID, row_id.clone()));
        let raw = temporary.name("diff");
        let request = NetChangeRequest { table: self.id, from, to, columns: &columns, into: &raw };
        let change = transaction.stage_net_change(&request)?;
        let table = temporary.name("net");
        let names = (row_id.as_str(), is_updated.as_str());
        let select = told_apart(&qualified(&raw), &wanted, names, change.inserted > 0 && change.deleted > 0);
        transaction.execute(&format!("CREATE OR REPLACE TEMP TABLE {} AS {select}", identifier(&table)))?;
        // Of a large change there is no room for more copies than must be.
        transaction.execute(&format!("DROP TABLE IF EXISTS {}", qualified(&raw)))?;
        let is_updated_name = identifier(&is_updated);
        let counts = transaction.query_one(&format!(
            "SELECT CAST(coalesce(sum({WEIGHT}) FILTER ({WEIGHT} > 0 AND NOT {is_updated_name}), 0) AS BIGINT), \
             CAST(coalesce(-sum({WEIGHT}) FILTER ({WEIGHT} < 0 AND NOT {is_updated_name}), 0) AS BIGINT), \
             count(*) FILTER ({WEIGHT} > 0 AND {is_updated_name}) FROM {}",
            qualified(&table)
        ))?;
        let count = |position: usize| counts.get(position).unwrap_or(&Value::Null).as_u64();
        Ok(Some(Staged {
            columns: wanted.iter().map(|column| column.name.clone()).collect(),
            inserted: count(0)?,
            deleted: count(1)?,
            updated: count(2)?,
            reason: change.reason,
            table,
            row_id,
            is_updated,
        }))
    }
}

/// The rows of a net change with updates told from rows that came and went. A row is updated if its id stands there once
/// with each sign; of the others, equal ones cancel, whatever their ids.
fn told_apart(raw: &str, columns: &[&TableColumn], (row_id, is_updated): (&str, &str), both_signs: bool) -> String {
    let (row_id, is_updated) = (identifier(row_id), identifier(is_updated));
    let names: String = columns.iter().flat_map(|column| [identifier(&column.name), ", ".to_owned()]).collect();
    if !both_signs {
        return format!("SELECT {row_id}, {names}{WEIGHT}, false AS {is_updated} FROM {raw}");
    }
    let ids = format!(
        "SELECT {row_id} FROM {raw} WHERE {row_id} IS NOT NULL GROUP BY {row_id} \
         HAVING count(*) = 2 AND min({WEIGHT}) = -1 AND max({WEIGHT}) = 1"
    );
    // Some values compare equal and are not the same: 0.0 and -0.0, one month and thirty days.
    let keys: Vec<String> = columns
        .iter()
        .map(|column| {
            let name = identifier(&column.name);
            if is_plain(&column.data_type) { name } else { format!("{name}, CAST({name} AS VARCHAR)") }
        })
        .collect();
    let group = if keys.is_empty() { String::new() } else { format!("GROUP BY {} ", keys.join(", ")) };
    format!(
        "SELECT {row_id}, {names}{WEIGHT}, true AS {is_updated} FROM {raw} WHERE {row_id} IN ({ids}) \
         UNION ALL SELECT min({row_id}), {names}CAST(sum({WEIGHT}) AS BIGINT), false FROM {raw} \
         WHERE {row_id} IS NULL OR {row_id} NOT IN ({ids}) {group}HAVING sum({WEIGHT}) <> 0"
    )
}

/// Are values of the type equal only if they are the same?
fn is_plain(data_type: &str) -> bool {
    const PLAIN: [&str; 14] = [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "UUID",
        "VARCHAR",
    ];
    PLAIN.contains(&data_type) || (data_type.starts_with("DECIMAL(") && data_type.ends_with(')'))
}

/// The error about a table that is not there, with names that are like its own.
pub(super) fn unknown(
    transaction: &Transaction<'_>,
    table: &ViewName,
    span: Option<(SnapshotId, SnapshotId)>,
) -> Result<InspectError, LakeError> {
    let metadata = transaction.metadata();
    let views = transaction.query(&format!(
        "SELECT 1 FROM {metadata}.ducklake_view v JOIN {metadata}.ducklake_schema s USING (schema_id) \
         WHERE lower(s.schema_name) = lower({}) AND lower(v.view_name) = lower({}) LIMIT 1",
        literal(&table.schema),
        literal(&table.name)
    ))?;
    if !views.rows.is_empty() {
        return Ok(InspectError::LakeView { table: table.clone() });
    }
    let mut names: Vec<String> = Vec::new();
    for at in span.map_or_else(|| vec![transaction.snapshot()], |(from, to)| vec![from, to]) {
        let tables = transaction.tables(at)?.into_iter();
        let tables = tables.filter(|table| !table.schema.eq_ignore_ascii_case(registry::SCHEMA));
        names.extend(tables.map(|table| format!("{}.{}", table.schema, table.name)));
    }
    names.sort();
    names.dedup();
    let lived = span.map_or_else(|| Ok(Vec::new()), |_| lifetimes(transaction, table))?;
    Ok(InspectError::UnknownTable { table: table.clone(), span, lived, near: near(&table.to_string(), names) })
}

/// From which snapshot to which there was a table of that name; to none, if there is one.
fn lifetimes(
    transaction: &Transaction<'_>,
    table: &ViewName,
) -> Result<Vec<(SnapshotId, Option<SnapshotId>)>, LakeError> {
    let metadata = transaction.metadata();
    let rows = transaction.query(&format!(
        "SELECT t.begin_snapshot::BIGINT, (t.end_snapshot - 1)::BIGINT FROM {metadata}.ducklake_table t \
         JOIN {metadata}.ducklake_schema s USING (schema_id) \
         WHERE lower(s.schema_name) = lower({}) AND lower(t.table_name) = lower({}) ORDER BY 1",
        literal(&table.schema),
        literal(&table.name)
    ))?;
    let lifetime = |row: &Vec<Value>| match row.as_slice() {
        [begin, end] => Ok((SnapshotId(begin.as_u64()?), end.optional(Value::as_u64)?.map(SnapshotId))),
        other => Err(LakeError::NotOneRow { found: other.len() }),
    };
    rows.rows.iter().map(lifetime).collect()
}
