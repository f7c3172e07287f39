//! A predicate that is true for every row of the named files and lets DuckLake skip most of the others.

use super::{SnapshotId, TableId, Transaction};
use crate::lake::{LakeError, catalog::live, text::identifier};

/// For tables of many files: DuckLake lists all of them before it looks at a filter on `filename`, but a filter on a
/// column with statistics works while listing.
///
/// The column is an integer or a date without NULLs in the files `ids`, with the bounds that DuckLake itself prunes with;
/// the predicate changes no result. Empty if there is no such column.
pub(super) fn predicate(
    transaction: &Transaction<'_>,
    table: TableId,
    at: SnapshotId,
    ids: &[u64],
) -> Result<String, LakeError> {
    if ids.is_empty() {
        return Ok(String::new());
    }
    let metadata = transaction.metadata();
    let list: Vec<String> = ids.iter().map(u64::to_string).collect();
    let bound = |value: &str| {
        format!(
            "TRY(CASE WHEN k.column_type = 'date' THEN s.{value}::DATE - DATE '1970-01-01' ELSE s.{value}::BIGINT END)\
             ::HUGEINT"
        )
    };
    // The upper bound of a single value is raised by one: DuckLake takes a range of one value for an equality, which
    // misses older files once bucket partitioning was added.
    let rows = transaction.query(&format!(
        "WITH s AS MATERIALIZED (
            SELECT s.data_file_id, s.column_id, s.null_count, k.column_name, k.column_type = 'date' AS is_date,
                {} AS lo, {} AS hi
            FROM {metadata}.ducklake_file_column_stats s JOIN {metadata}.ducklake_column k USING (table_id, column_id)
            WHERE s.table_id = {table} AND {} AND k.parent_column IS NULL
                AND k.column_type IN ('int8', 'int16', 'int32', 'int64', 'date')
        ), b AS (
            SELECT column_id, column_name, is_date, min(lo) AS lo, max(hi) AS hi FROM s
            WHERE data_file_id IN ({}) GROUP BY ALL
            HAVING count(*) FILTER (null_count = 0 AND lo <= hi
                AND NOT (is_date AND (lo < -9999999 OR hi > 9999999))) = {}
        )
        SELECT column_name, is_date, lo, hi + (lo = hi)::INT FROM b
        ORDER BY (SELECT count(*) FROM s WHERE s.column_id = b.column_id AND s.hi >= b.lo AND s.lo <= b.hi), column_id
        LIMIT 1",
        bound("min_value"),
        bound("max_value"),
        live("k", at),
        list.join(", "),
        ids.len()
    ))?;
    let Some([name, is_date, low, high]) = rows.rows.first().map(Vec::as_slice) else { return Ok(String::new()) };
    let (low, high) = (low.as_i128()?, high.as_i128()?);
    let value = |value: i128| {
        if is_date.as_bool().unwrap_or(false) { format!("(DATE '1970-01-01' + {value})") } else { value.to_string() }
    };
    Ok(format!(" AND {} BETWEEN {} AND {}", identifier(name.as_str()?), value(low), value(high)))
}
