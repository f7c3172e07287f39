//! Writing a consolidated delta to a view's table or one of its accumulator tables: at most one DELETE and then one
//! INSERT.
//!
//! Two statements that change the same file in one transaction make DuckLake's change feed wrong for its readers
//! (format 1.0), and a row may stand in the table many times. So the rows to delete are found first, as positions in
//! files: exactly as many copies of each row as the delta takes away. If the view does not hold that many, the delta or
//! the table is wrong, and nothing is written.

use super::SyncError;
use super::failpoint::pass;
use super::nearness::{Tolerance, is_rounded, nearly_same};
use super::rows::{distinctions, keys, names, same_row};
use super::temporary::{Temporary, qualified};
use crate::lake::{LakeError, Transaction, Value, identifier, literal};
use crate::plan::WEIGHT;
use crate::view::{ViewColumn, ViewName};

/// A table of a view's: its own, or an accumulator table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The view, for messages.
    pub view: &'a ViewName,
    /// The table, as a FROM item.
    pub table: &'a str,
    /// Its columns.
    pub columns: &'a [ViewColumn],
    /// How many of the first ones tell its rows apart; `None` if rows may repeat.
    pub key: Option<usize>,
}

impl Target<'_> {
    /// The columns by which a row is found.
    fn matched(&self) -> &[ViewColumn] {
        self.columns.get(..self.key.unwrap_or(self.columns.len())).unwrap_or(self.columns)
    }
}

/// A delta that is ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct StagedDelta {
    /// The temporary table that holds it: the view's columns and the weight, which is never zero.
    pub table: String,
    /// Rows that come.
    pub inserted: u64,
    /// Rows that go.
    pub deleted: u64,
    /// The largest weight.
    pub largest: u64,
}

impl StagedDelta {
    /// Does no row come or go?
    pub(crate) fn is_empty(&self) -> bool {
        self.inserted == 0 && self.deleted == 0
    }

    /// Counts what `table` holds.
    pub(crate) fn count(transaction: &Transaction<'_>, table: String) -> Result<StagedDelta, LakeError> {
        let weight = identifier(WEIGHT);
        let row = transaction.query_one(&format!(
            "SELECT CAST(coalesce(sum({weight}) FILTER ({weight} > 0), 0) AS BIGINT), \
             CAST(coalesce(-sum({weight}) FILTER ({weight} < 0), 0) AS BIGINT), \
             CAST(greatest(coalesce(max({weight}), 0), 0) AS BIGINT) FROM {}",
            qualified(&table)
        ))?;
        let number = |position: usize| row.get(position).unwrap_or(&Value::Null).as_u64();
        Ok(StagedDelta { table, inserted: number(0)?, deleted: number(1)?, largest: number(2)? })
    }
}

/// By what a row of the view's table can be named in a DELETE. A user's column hides the virtual one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowAddress {
    /// File and position in it: unique.
    Position,
    /// DuckLake's row id: unique in a table whose rows are never updated, which holds for ours.
    RowId,
    /// Neither can be had: the table is rewritten.
    None,
}

impl RowAddress {
    fn of(columns: &[ViewColumn]) -> RowAddress {
        let hidden = |name: &str| columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        if !hidden("filename") && !hidden("file_row_number") {
            RowAddress::Position
        } else if hidden("rowid") {
            RowAddress::None
        } else {
            RowAddress::RowId
        }
    }

    fn columns(self) -> &'static str {
        match self {
            RowAddress::Position => "filename, file_row_number",
            RowAddress::RowId | RowAddress::None => "rowid",
        }
    }
}

/// The rows of a view's table that a delta takes away, found before anything is written.
#[derive(Debug)]
pub(crate) enum Match {
    /// No row goes.
    Nothing,
    /// The rows of which `condition` says where they are.
    Rows { condition: String },
    /// The whole new content, held by a temporary table.
    Rewrite { table: String },
}

/// Finds the rows that `delta` takes away from `target`.
pub(crate) fn find(
    transaction: &Transaction<'_>,
    target: Target<'_>,
    delta: &StagedDelta,
    temporary: &Temporary,
) -> Result<Match, SyncError> {
    if delta.deleted == 0 {
        return Ok(Match::Nothing);
    }
    let address = RowAddress::of(target.columns);
    if address == RowAddress::None {
        return rewrite(transaction, target, delta, temporary);
    }
    let (columns, bounds) = (address.columns(), bounds(transaction, target.matched(), delta)?);
    let (table, rows) = (format!("{}{bounds}", target.table), qualified(&delta.table));
    let mut attempts = vec![matching(target.matched(), columns, &table, &rows)];
    if target.matched().iter().any(is_rounded) {
        attempts.push(matching_nearly(target.matched(), columns, &table, &rows));
    }
    let mut found = 0;
    for sql in attempts {
        let table = temporary.name("match");
        transaction.execute(&format!("CREATE TEMP TABLE {} AS {sql}", identifier(&table)))?;
        let (count, files) = matched(transaction, address, &qualified(&table))?;
        if count == delta.deleted {
            let condition = format!("{files}({columns}) IN (SELECT {columns} FROM {})", qualified(&table));
            return Ok(Match::Rows { condition });
        }
        found = found.max(count);
    }
    Err(SyncError::RowsMissing { view: target.view.clone(), expected: delta.deleted, found })
}

/// Up to so many files are named in a statement, so that DuckLake opens no others.
const NAMED_FILES: u64 = 100;

/// How many rows were matched, and a condition that names their files if they are few.
fn matched(transaction: &Transaction<'_>, address: RowAddress, rows: &str) -> Result<(u64, String), LakeError> {
    if address != RowAddress::Position {
        return Ok((transaction.query_value(&format!("SELECT count(*) FROM {rows}"))?.as_u64()?, String::new()));
    }
    let row = transaction.query_one(&format!(
        "SELECT count(*), CASE WHEN count(DISTINCT filename) <= {NAMED_FILES} \
         THEN list(DISTINCT filename ORDER BY filename) END FROM {rows}"
    ))?;
    let (count, files) = match row.as_slice() {
        [count, Value::List(files)] => (count.as_u64()?, files.as_slice()),
        [count, _] => (count.as_u64()?, [].as_slice()),
        other => return Err(LakeError::NotOneRow { found: other.len() }),
    };
    let names = files.iter().map(|file| file.as_str().map(literal)).collect::<Result<Vec<_>, _>>()?;
    let condition = if names.is_empty() { String::new() } else { format!("filename IN ({}) AND ", names.join(", ")) };
    Ok((count, condition))
}

/// As [`matching`], where floating-point numbers may differ in their last digit. Each row of the table stands
/// for at most one row of the delta, the very same one if there is such a one.
fn matching_nearly(columns: &[ViewColumn], address: &str, target: &str, delta: &str) -> String {
    let (rows, weight) = (names(columns), identifier(WEIGHT));
    let conditions = columns.iter().map(|column| nearly_same("v", "g", column, Tolerance::LastDigit));
    let of_v = address.replace(", ", ", v.");
    format!(
        "WITH gone AS MATERIALIZED (SELECT {rows}, {weight}, row_number() OVER () AS id FROM {delta} WHERE {weight} < 0), \
         pairs AS (SELECT v.{of_v}, g.id, g.{weight} AS weight, {} AS same \
         FROM (SELECT {rows}, {address} FROM {target}) AS v JOIN gone AS g ON {}), \
         chosen AS (SELECT *, row_number() OVER (PARTITION BY id ORDER BY same DESC, {address}) AS copy FROM pairs \
         QUALIFY row_number() OVER (PARTITION BY {address} ORDER BY same DESC, id) = 1) \
         SELECT {address} FROM chosen WHERE copy <= -weight",
        same_row("v", "g", columns),
        conditions.collect::<Vec<_>>().join(" AND "),
    )
}

/// The addresses of the rows of `target` that the negative rows of `delta` take away. Copies of the very same row come
/// first; for want of them, rows that compare equal: Parquet's dictionary keeps one of several equal values (DuckDB
/// 1.5.5), so that a view may hold `30 days` where `1 month` was written.
fn matching(columns: &[ViewColumn], address: &str, target: &str, delta: &str) -> String {
    let (rows, weight) = (names(columns), identifier(WEIGHT));
    let gone = format!("SELECT {rows}, {weight} FROM {delta} WHERE {weight} < 0");
    if !columns.iter().any(|column| column.inexact) {
        return format!(
            "SELECT {address} FROM (\
             SELECT {address}, d.{weight} AS weight, row_number() OVER (PARTITION BY {} ORDER BY {address}) AS copy \
             FROM (SELECT {rows}, {address} FROM {target}) AS v JOIN ({gone}) AS d ON {}) WHERE copy <= -weight",
            keys("d", columns).join(", "),
            same_row("v", "d", columns),
        );
    }
    // What tells equal values apart is taken before the joins: behind one, DuckDB 1.5.5 may put the equal value of the
    // other side in a column's place.
    let told_apart = distinctions("r", columns);
    let numbered = |letter: &str, count: usize| (1..=count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let (values, marks) = (numbered("k", columns.len()), numbered("m", told_apart.len()));
    let same = |one: &str, other: &str, names: &[String]| {
        let pairs = names.iter().map(|name| format!("{one}.{name} IS NOT DISTINCT FROM {other}.{name}"));
        pairs.collect::<Vec<_>>().join(" AND ")
    };
    let (all, told_apart) = ([values.as_slice(), &marks].concat(), told_apart.join(", "));
    format!(
        "WITH gone({every}, weight) AS MATERIALIZED (SELECT {rows}, {told_apart}, {weight} FROM ({gone}) AS r), \
         classes AS (SELECT {key}, sum(weight) AS class_weight FROM gone GROUP BY {key}), \
         v AS (SELECT * FROM (SELECT {rows}, {told_apart}, {address} FROM (SELECT {rows}, {address} FROM {target}) AS r) \
         AS r({every}, {address})), \
         held AS (SELECT v.*, class_weight, row_number() OVER (PARTITION BY {of_v} ORDER BY {address}) AS copy \
         FROM v JOIN classes AS c ON {same_class}), \
         ranked AS (SELECT {address}, class_weight, row_number() OVER (PARTITION BY {of_h} \
         ORDER BY copy <= -coalesce(g.weight, 0) DESC, {address}) AS place FROM held AS h LEFT JOIN gone AS g ON {same_row}) \
         SELECT {address} FROM ranked WHERE place <= -class_weight",
        every = all.join(", "),
        key = values.join(", "),
        of_v = all.iter().map(|name| format!("v.{name}")).collect::<Vec<_>>().join(", "),
        of_h = values.iter().map(|name| format!("h.{name}")).collect::<Vec<_>>().join(", "),
        same_class = same("v", "c", &values),
        same_row = same("h", "g", &all),
    )
}

/// A condition that every row to delete fulfils and that DuckLake can skip files by; empty if there is none.
fn bounds(transaction: &Transaction<'_>, columns: &[ViewColumn], delta: &StagedDelta) -> Result<String, LakeError> {
    let ordered: Vec<&ViewColumn> = columns.iter().filter(|column| is_ordered(&column.stored_type)).collect();
    if ordered.is_empty() {
        return Ok(String::new());
    }
    let asked: Vec<String> = ordered
        .iter()
        .map(|column| {
            let name = identifier(&column.name);
            format!("CASE WHEN count(*) = count({name}) THEN [CAST(min({name}) AS VARCHAR), CAST(max({name}) AS VARCHAR)] END")
        })
        .collect();
    let row = transaction.query_one(&format!(
        "SELECT {} FROM {} WHERE {} < 0",
        asked.join(", "),
        qualified(&delta.table),
        identifier(WEIGHT)
    ))?;
    let mut conditions = Vec::new();
    for (column, bounds) in ordered.iter().zip(&row) {
        if let Value::List(bounds) = bounds
            && let [Value::Text(least), Value::Text(greatest)] = bounds.as_slice()
        {
            let (name, data_type) = (identifier(&column.name), &column.stored_type);
            let (least, greatest) = (literal(least), literal(greatest));
            conditions.push(format!("{name} BETWEEN CAST({least} AS {data_type}) AND CAST({greatest} AS {data_type})"));
        }
    }
    Ok(if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) })
}

/// Types whose least and greatest value DuckLake keeps per file, and whose text reads back as the same value.
fn is_ordered(stored_type: &str) -> bool {
    const ORDERED: [&str; 10] = [
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "DATE",
        "TIMESTAMP",
    ];
    ORDERED.contains(&stored_type) || (stored_type.starts_with("DECIMAL(") && !stored_type.ends_with("[]"))
}

/// The whole content after the delta, for a table whose rows have no address.
fn rewrite(
    transaction: &Transaction<'_>,
    target: Target<'_>,
    delta: &StagedDelta,
    temporary: &Temporary,
) -> Result<Match, SyncError> {
    let table = temporary.name("rewrite");
    let (columns, weight) = (names(target.columns), identifier(WEIGHT));
    let both = format!(
        "(SELECT {columns}, CAST(1 AS BIGINT) AS {weight} FROM {} UNION ALL SELECT {columns}, {weight} FROM {})",
        target.table,
        qualified(&delta.table)
    );
    let sql = super::rows::consolidated(&both, target.columns, WEIGHT);
    transaction.execute(&format!("CREATE TEMP TABLE {} AS {sql}", identifier(&table)))?;
    let missing = transaction
        .query_value(&format!(
            "SELECT CAST(coalesce(-sum({weight}), 0) AS BIGINT) FROM {} WHERE {weight} < 0",
            qualified(&table)
        ))?
        .as_u64()?;
    if missing > 0 {
        let (view, expected) = (target.view.clone(), delta.deleted);
        return Err(SyncError::RowsMissing { view, expected, found: expected.saturating_sub(missing) });
    }
    Ok(Match::Rewrite { table })
}

/// A query for the rows of `target` that fulfil `condition`, and those that come with `delta`; each with a weight.
pub(crate) fn content(target: Target<'_>, condition: &str, delta: &StagedDelta) -> String {
    let (columns, weight) = (names(target.columns), identifier(WEIGHT));
    format!(
        "SELECT {columns}, CAST(1 AS BIGINT) AS {weight} FROM {}{condition} \
         UNION ALL SELECT {columns}, {weight} FROM {} WHERE {weight} > 0",
        target.table,
        qualified(&delta.table)
    )
}

/// Writes `delta` to `target`.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    target: Target<'_>,
    delta: &StagedDelta,
    found: &Match,
) -> Result<(), SyncError> {
    match found {
        Match::Nothing => {}
        Match::Rows { condition } => {
            let deleted = transaction.execute(&format!("DELETE FROM {} WHERE {condition}", target.table))?;
            if deleted != delta.deleted {
                let (view, expected) = (target.view.clone(), delta.deleted);
                return Err(SyncError::RowsMissing { view, expected, found: deleted });
            }
        }
        Match::Rewrite { table } => {
            transaction.execute(&format!("DELETE FROM {}", target.table))?;
            pass!("after_delete");
            insert(transaction, target, table, u64::MAX)?;
            pass!("after_insert");
            return Ok(());
        }
    }
    pass!("after_delete");
    if delta.inserted > 0 {
        insert(transaction, target, &delta.table, delta.largest)?;
    }
    pass!("after_insert");
    Ok(())
}

/// Inserts the rows of a temporary table, each as often as its positive weight says.
fn insert(transaction: &Transaction<'_>, target: Target<'_>, table: &str, largest: u64) -> Result<(), LakeError> {
    let (columns, weight, rows) = (names(target.columns), identifier(WEIGHT), qualified(table));
    let selected = if largest == 1 {
        format!("SELECT {columns} FROM {rows} WHERE {weight} > 0")
    } else {
        format!(
            "SELECT {columns} FROM (SELECT {columns}, unnest(range({weight})) AS {weight} FROM {rows} WHERE {weight} > 0)"
        )
    };
    transaction.execute(&format!("INSERT INTO {} ({columns}) {selected}", target.table))?;
    Ok(())
}

/// Replaces all rows of `target` by those of the temporary table `rows`; says how many came and went.
pub(crate) fn replace(transaction: &Transaction<'_>, target: Target<'_>, rows: &str) -> Result<(u64, u64), LakeError> {
    let deleted = transaction.execute(&format!("DELETE FROM {}", target.table))?;
    pass!("after_delete");
    let columns = names(target.columns);
    let inserted = transaction.execute(&format!(
        "INSERT INTO {} ({columns}) SELECT {columns} FROM {}",
        target.table,
        qualified(rows)
    ))?;
    pass!("after_insert");
    Ok((inserted, deleted))
}
