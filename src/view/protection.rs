//! DuckLake's settings for our tables: its maintenance leaves them alone, and bookkeeping stays in the catalog.

use super::AUTHOR;
use super::registry::SCHEMA;
use crate::lake::{LakeError, TableId, Transaction, Value, identifier, literal};

/// Up to so many rows that one commit writes to a table of bookkeeping are kept in the catalog.
const ROWS_IN_CATALOG: u32 = 1000;

/// Makes the settings of our tables, those of the views being `tables`, as far as they are not made. DuckLake takes them
/// only for tables that are committed, so every sync looks again. Another writer who is faster leaves it to the next.
///
/// Maintenance that races with a small delete loses the delete or doubles rows (DuckLake d8a1881e, format 1.0).
pub(crate) fn protect(transaction: Transaction<'_>, tables: &[TableId]) -> Result<(), LakeError> {
    let compaction = forbid_compaction(&transaction, tables)?;
    let bookkeeping = keep_in_catalog(&transaction)?;
    if !compaction && !bookkeeping {
        return Ok(());
    }
    match transaction.commit() {
        Err(error) if error.retryable() => {
            tracing::debug!(%error, "the settings of our tables are left to the next sync");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Whether there was something to do.
fn forbid_compaction(transaction: &Transaction<'_>, tables: &[TableId]) -> Result<bool, LakeError> {
    let (metadata, alias, schema) = (transaction.metadata(), identifier(transaction.alias()), literal(SCHEMA));
    let set = transaction.query(&format!(
        "SELECT CASE m.scope WHEN 'table' THEN m.scope_id END::BIGINT FROM {metadata}.ducklake_metadata m \
         LEFT JOIN {metadata}.ducklake_schema s \
         ON m.scope = 'schema' AND m.scope_id = s.schema_id AND s.end_snapshot IS NULL \
         WHERE m.key = 'auto_compact' AND m.value = 'false' AND (m.scope = 'table' OR s.schema_name = {schema})"
    ))?;
    let is_set = |table: Option<TableId>| {
        set.rows.iter().flatten().any(|id| id.optional(Value::as_u64).is_ok_and(|id| id.map(TableId) == table))
    };
    let mut changed = false;
    if !is_set(None) {
        transaction.execute(&format!("CALL {alias}.set_option('auto_compact', false, schema => {schema})"))?;
        changed = true;
    }
    for table in tables.iter().filter(|table| !is_set(Some(**table))) {
        let Some(table) = transaction.table_by_id(*table, transaction.snapshot())? else { continue };
        transaction.execute(&format!(
            "CALL {alias}.set_option('auto_compact', false, schema => {}, table_name => {})",
            literal(&table.schema),
            literal(&table.name)
        ))?;
        changed = true;
    }
    Ok(changed)
}

/// Where the lake itself keeps no rows in its catalog, each refresh would leave small files that nothing compacts. Whether
/// there was something to do.
///
/// Set for the schema, the option would make DuckLake 1.0 fail to commit a new table with rows. A table that first gets
/// rows in the catalog later has no schema version for them, which costs every reader a detour (`lake/pasts.rs`); a
/// rename makes one.
fn keep_in_catalog(transaction: &Transaction<'_>) -> Result<bool, LakeError> {
    let (metadata, alias, schema) = (transaction.metadata(), identifier(transaction.alias()), literal(SCHEMA));
    let unset = transaction.query(&format!(
        "SELECT t.table_name, EXISTS (SELECT 1 FROM {metadata}.ducklake_inlined_data_tables i \
         JOIN {metadata}.ducklake_schema_versions v USING (table_id, schema_version) WHERE i.table_id = t.table_id) \
         FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
         LEFT JOIN {metadata}.ducklake_metadata m \
         ON m.scope = 'table' AND m.scope_id = t.table_id AND m.key = 'data_inlining_row_limit' \
         WHERE s.schema_name = {schema} AND s.end_snapshot IS NULL AND t.end_snapshot IS NULL AND m.key IS NULL \
         ORDER BY 1"
    ))?;
    let mut renamed = false;
    for row in &unset.rows {
        let [table, has_version] = row.as_slice() else { continue };
        let table = table.as_str()?;
        transaction.execute(&format!(
            "CALL {alias}.set_option('data_inlining_row_limit', {ROWS_IN_CATALOG}, schema => {schema}, \
             table_name => {})",
            literal(table)
        ))?;
        if !has_version.as_bool()? {
            let (name, other) = (identifier(table), identifier(&format!("{table}_renamed")));
            for (from, to) in [(&name, &other), (&other, &name)] {
                transaction.execute(&format!("ALTER TABLE {alias}.{}.{from} RENAME TO {to}", identifier(SCHEMA)))?;
            }
            renamed = true;
        }
    }
    if renamed {
        let commit_id = uuid::Uuid::new_v4().to_string();
        transaction.set_commit_message(AUTHOR, "keep bookkeeping in the catalog", Some(&commit_id))?;
    }
    Ok(!unset.rows.is_empty())
}
