//! Says whether the past of a table can be trusted.
//!
//! DuckLake dates some deletes back into snapshots that were already read, and some states of its metadata make it read
//! wrong rows. What can be told beforehand is told here; nothing is repaired.

use super::{
    LakeError, SnapshotId, TableId, TableIdentity, Transaction,
    catalog::{VIRTUAL_COLUMNS, live},
    known::TableWindow,
    opening::DISABLED_OPTIMIZERS,
    text::numbers,
};
use serde_json::Value as Json;
use std::fmt;

/// What can make a table's change unreadable as a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// The snapshot at the begin of the window does not exist any more.
    Expired,
    /// The table at the two ends of the window is not the same one.
    Replaced,
    /// The table has another number of rows at the begin of the window than when that snapshot was read.
    BackDated,
    /// A data file has two delete files at once, so its rows are read twice.
    DoubledDeletes,
    /// Deletes are kept as deletion vectors, which change the past.
    DeletionVectors,
    /// Bucket partitioning was added when there were files: reads by equality miss the older ones.
    BucketPartitioning,
    /// A column is named like a virtual one of DuckLake.
    VirtualColumnName,
}

impl fmt::Display for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Expired => "expired",
            Self::Replaced => "replaced",
            Self::BackDated => "back-dated",
            Self::DoubledDeletes => "doubled-deletes",
            Self::DeletionVectors => "deletion-vectors",
            Self::BucketPartitioning => "bucket-partitioning",
            Self::VirtualColumnName => "virtual-column-name",
        })
    }
}

/// A guard that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardFailure {
    /// Which one.
    pub guard: Guard,
    /// What was found.
    pub detail: String,
    /// Whether the rows at the begin of the window can be read as they were when that snapshot was taken in: the
    /// difference of two full reads is right then.
    pub past_readable: bool,
}

impl Transaction<'_> {
    /// The guards of a table that do not hold for a window; none if its change can be read as a change.
    /// `recorded_count` is how many rows it had when `from` was taken in.
    pub fn check_guards(
        &self,
        id: TableId,
        from: SnapshotId,
        to: SnapshotId,
        recorded_count: Option<u64>,
    ) -> Result<Vec<GuardFailure>, LakeError> {
        let mut failures = Vec::new();
        let mut fail = |guard: Guard, past_readable: bool, detail: String| {
            failures.push(GuardFailure { guard, detail, past_readable });
        };
        if !self.snapshot_exists(from)? {
            fail(Guard::Expired, false, format!("snapshot {from} was expired"));
            return Ok(failures);
        }
        let history = self.history(id, from, to)?;
        let (Some(old), Some(_)) = (history.identity(from), history.identity(to)) else {
            fail(Guard::Replaced, false, format!("table {id} does not exist at both {from} and {to}"));
            return Ok(failures);
        };
        let soundness = self.soundness(TableWindow { table: id, from, to })?;
        if soundness.deletion_vectors {
            fail(Guard::DeletionVectors, false, "a delete file is a deletion vector".to_owned());
        }
        let doubled = [(from, false, soundness.doubled_at_from), (to, true, soundness.doubled_at_to)];
        for (at, past_readable, files) in doubled {
            if !files.is_empty() {
                let detail = format!("two delete files at {at} for data file {}", numbers(files));
                fail(Guard::DoubledDeletes, past_readable, detail);
            }
        }
        if let Some(recorded) = recorded_count {
            let count = self.count_at(old, from)?;
            if count != recorded {
                let detail = format!("{count} rows at {from}, where {recorded} were read");
                fail(Guard::BackDated, false, detail);
            }
        }
        if soundness.late_buckets {
            let detail = "files are older than the table's bucket partitioning".to_owned();
            fail(Guard::BucketPartitioning, true, detail);
        }
        if let Some(name) = history.name_ever_among(&VIRTUAL_COLUMNS) {
            fail(Guard::VirtualColumnName, true, format!("column {name}"));
        }
        Ok(failures)
    }

    /// Refuses tables of which DuckLake reads a file twice at a snapshot: what it shows there is not what was written, and
    /// a view must not carry it on. Each table comes with its name for the message.
    pub fn refuse_doubled_reads(&self, tables: &[(TableId, String, SnapshotId)]) -> Result<(), LakeError> {
        if tables.is_empty() {
            return Ok(());
        }
        let places: Vec<String> =
            tables.iter().map(|(id, _, at)| format!("(d.table_id = {id} AND {})", live("d", *at))).collect();
        let rows = self.query(&format!(
            "SELECT d.table_id::BIGINT, d.data_file_id::BIGINT FROM {}.ducklake_delete_file d WHERE {} \
             GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1",
            self.metadata(),
            places.join(" OR ")
        ))?;
        let Some([table, file]) = rows.rows.first().map(Vec::as_slice) else { return Ok(()) };
        let (table, file) = (TableId(table.as_u64()?), file.as_u64()?);
        let Some((_, name, at)) = tables.iter().find(|(id, ..)| *id == table) else { return Ok(()) };
        let (table, snapshot) = (name.clone(), *at);
        let detail = format!("data file {file} has two delete files at once, and DuckLake reads its rows twice");
        Err(if snapshot == self.snapshot() {
            LakeError::CorruptTable { table, snapshot, detail }
        } else {
            LakeError::UnreadablePast { table, snapshot, detail }
        })
    }

    /// Whether a table may hold other rows at `to` than it did at `from`, a snapshot that has expired. `recorded_count` is
    /// how many rows it had then. A row that came since carries a later snapshot; if none does, rows can only have gone,
    /// and then there are fewer.
    pub fn changed_since_expired(
        &self,
        table: &TableIdentity,
        from: SnapshotId,
        to: SnapshotId,
        recorded_count: u64,
    ) -> Result<bool, LakeError> {
        Ok(self.state_changed(table.id, from, to)? || self.count_at(table, to)? != recorded_count)
    }

    /// If any of `tables` got bucket partitioning when it had files already, makes DuckDB read all files from here on, in
    /// every session of its instance: reads by a key, from a constant or from a join, skip the older files (DuckDB 1.5.5).
    pub fn read_all_files_of_late_buckets(&self, tables: &[TableId]) -> Result<(), LakeError> {
        if tables.is_empty() {
            return Ok(());
        }
        let metadata = self.metadata();
        let ids = numbers(tables);
        let late = self.query_value(&format!(
            "SELECT count(*) > 0 FROM {metadata}.ducklake_partition_column pc \
             JOIN {metadata}.ducklake_data_file f USING (table_id) \
             WHERE pc.table_id IN ({ids}) AND pc.transform LIKE 'bucket%' \
             AND f.partition_id IS DISTINCT FROM pc.partition_id"
        ))?;
        if late.as_bool()? {
            let more = "filter_pushdown,join_filter_pushdown";
            self.batch(&format!("SET GLOBAL disabled_optimizers = '{DISABLED_OPTIMIZERS},{more}'"))?;
        }
        Ok(())
    }

    /// Keeps DuckDB from passing the values that a join looks for down to where they do harm, for what is run until the next
    /// call. DuckDB 1.5.5 passes them on below an `ORDER BY … LIMIT` of a bound plan, which then takes its first rows from
    /// those that join (github.com/duckdb/duckdb/issues/22924), and to the files of `tables` whose column has another type
    /// by now, which it fails to read by them. Other plans keep that optimizer: it saves most of the reading.
    pub fn restrict_join_filters(&self, plan: &Json, tables: &[TableId]) -> Result<(), LakeError> {
        let now = self.query_value("SELECT current_setting('disabled_optimizers')")?;
        let off: Vec<&str> = now.as_str()?.split(',').map(str::trim).collect();
        let cautious = has_limit_below_join(plan, false) || self.have_retyped_columns(tables)?;
        // What was set for the buckets of a table stays.
        if off.contains(&"filter_pushdown") || off.contains(&"join_filter_pushdown") == cautious {
            return Ok(());
        }
        let more = if cautious { ",join_filter_pushdown" } else { "" };
        self.batch(&format!("SET GLOBAL disabled_optimizers = '{DISABLED_OPTIMIZERS}{more}'"))
    }

    /// Has a column of the tables had another type, as far as the lake remembers?
    fn have_retyped_columns(&self, tables: &[TableId]) -> Result<bool, LakeError> {
        if tables.is_empty() {
            return Ok(false);
        }
        let retyped = self.query_value(&format!(
            "SELECT count(*) > 0 FROM (SELECT table_id, column_id FROM {}.ducklake_column \
             WHERE table_id IN ({}) GROUP BY ALL HAVING count(DISTINCT column_type) > 1)",
            self.metadata(),
            numbers(tables)
        ))?;
        retyped.as_bool()
    }
}

/// Is there a `LIMIT` below a node with two inputs or more, or in a subquery?
fn has_limit_below_join(node: &Json, below: bool) -> bool {
    match node {
        Json::Array(items) => items.iter().any(|item| has_limit_below_join(item, below)),
        Json::Object(fields) => {
            if below && fields.get("type").and_then(Json::as_str) == Some("LOGICAL_LIMIT") {
                return true;
            }
            let inputs = fields.get("children").and_then(Json::as_array).map_or(0, Vec::len);
            fields.values().any(|value| has_limit_below_join(value, below || inputs > 1))
        }
        _ => false,
    }
}
