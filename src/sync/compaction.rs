//! Keeping a view's tables in few files. DuckLake's own compaction is kept away from them, because it can lose the small
//! deletes that it races with; so a refresh that writes to a table of many small files anyway writes all of it anew, in
//! its own transaction.
//!
//! What a refresh pays for this on average is the writing of [`ROWS_PER_FILE`] rows per file that it added.

use super::SyncError;
use super::apply::{self, Match, StagedDelta, Target};
use super::temporary::{Temporary, qualified};
use crate::lake::{LakeError, TableId, Transaction, Value, identifier, literal};
use crate::plan::WEIGHT;
use crate::view::{View, registry, table_name};
use std::collections::BTreeMap;

/// So many files are not many.
const FEW_FILES: u64 = 64;

/// Files that hold more rows than this on average are not small.
const ROWS_PER_FILE: u64 = 20_000;

/// The files that a table consists of, those with deletes included.
#[derive(Debug, Clone, Copy, Default)]
struct Files {
    count: u64,
    rows: u64,
}

/// The files of a view's tables.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    view: Files,
    accumulators: BTreeMap<String, Files>,
}

impl Gathered {
    /// By the view that stands in `table` and its accumulator tables.
    pub(crate) fn load(
        transaction: &Transaction<'_>,
        view: &View,
        table: Option<TableId>,
    ) -> Result<Gathered, LakeError> {
        let metadata = transaction.metadata();
        let prefix = table_name(&view.id, "");
        let id = table.map_or_else(|| "NULL".to_owned(), |table| table.to_string());
        let rows = transaction.query(&format!(
            "WITH t AS (SELECT t.table_id, CASE WHEN t.table_id = {id} THEN NULL ELSE t.table_name END AS name \
             FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
             WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND (t.table_id = {id} \
             OR s.schema_name = {} AND starts_with(t.table_name, {}))), \
             f AS (SELECT table_id, record_count FROM {metadata}.ducklake_data_file WHERE end_snapshot IS NULL \
             UNION ALL SELECT table_id, 0 FROM {metadata}.ducklake_delete_file WHERE end_snapshot IS NULL) \
             SELECT t.name, count(*), sum(f.record_count)::HUGEINT FROM t JOIN f USING (table_id) GROUP BY 1 ORDER BY 1",
            literal(registry::SCHEMA),
            literal(&prefix)
        ))?;
        let mut gathered = Gathered::default();
        for row in &rows.rows {
            let [name, count, rows] = row.as_slice() else { return Err(LakeError::NotOneRow { found: row.len() }) };
            let files = Files { count: count.as_u64()?, rows: rows.as_u64()? };
            match name.optional(|name| name.as_str().map(str::to_owned))? {
                None => gathered.view = files,
                Some(name) => {
                    gathered.accumulators.insert(name.strip_prefix(&prefix).unwrap_or_default().to_owned(), files);
                }
            }
        }
        Ok(gathered)
    }

    /// Are the view's own files many and small?
    pub(crate) fn of_view(&self) -> Option<u64> {
        self.view.too_many()
    }

    /// Are those of an accumulator table?
    pub(crate) fn of_accumulator(&self, name: &str) -> Option<u64> {
        self.accumulators.get(name).and_then(|files| files.too_many())
    }
}

impl Files {
    fn too_many(self) -> Option<u64> {
        let small = self.rows <= self.count.saturating_mul(ROWS_PER_FILE);
        (self.count >= FEW_FILES && small).then_some(self.count)
    }
}

/// What stands in `target` after `delta`, of which the rows that go have been `found`.
pub(crate) fn whole(
    transaction: &Transaction<'_>,
    target: Target<'_>,
    delta: &StagedDelta,
    found: Match,
    temporary: &Temporary,
) -> Result<Match, SyncError> {
    let condition = match found {
        Match::Nothing => String::new(),
        Match::Rows { condition } => format!(" WHERE ({condition}) IS NOT TRUE"),
        whole @ Match::Rewrite { .. } => return Ok(whole),
    };
    let table = temporary.name("compacted");
    let content = apply::content(target, &condition, delta);
    transaction.execute(&format!("CREATE TEMP TABLE {} AS {content}", identifier(&table)))?;
    let count = format!(
        "SELECT (SELECT count(*) FROM {}), (SELECT CAST(coalesce(sum({}), 0) AS BIGINT) FROM {})",
        target.table,
        identifier(WEIGHT),
        qualified(&table)
    );
    let row = transaction.query_one(&count)?;
    let number = |position: usize| row.get(position).unwrap_or(&Value::Null).as_u64();
    let (before, after) = (number(0)?, number(1)?);
    if before + delta.inserted != after + delta.deleted {
        let found = (before + delta.inserted).saturating_sub(after);
        return Err(SyncError::RowsMissing { view: target.view.clone(), expected: delta.deleted, found });
    }
    Ok(Match::Rewrite { table })
}
