//! Compares a net change with the difference of two reads.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use ducklake_ivm::lake::{
    ColumnId, NetChange, NetChangeRequest, SnapshotId, TableColumn, TableId, Transaction, Tuning, identifier,
};

/// The top-level columns of a table.
pub fn columns(transaction: &Transaction<'_>, table: TableId, at: SnapshotId) -> Vec<TableColumn> {
    let columns = transaction.columns(table, at).unwrap();
    columns.into_iter().filter(|column| column.parent.is_none()).collect()
}

/// Stages the net change of all columns into `delta` (columns `o0`, `o1`, …) and checks it.
pub fn assert_exact(transaction: &Transaction<'_>, table: TableId, from: u64, to: u64, tuning: &Tuning) -> NetChange {
    let (from, to) = (SnapshotId(from), SnapshotId(to));
    let wanted = columns(transaction, table, to);
    let request_columns: Vec<(ColumnId, String)> =
        wanted.iter().enumerate().map(|(index, column)| (column.id, format!("o{index}"))).collect();
    let request = NetChangeRequest { table, from, to, columns: &request_columns, into: "delta" };
    let change = transaction.stage_net_change_with(&request, tuning).unwrap();
    let rows = |at: SnapshotId| {
        let live = columns(transaction, table, at);
        let values: Vec<String> = wanted
            .iter()
            .map(|column| {
                let found = live.iter().find(|old| old.id == column.id);
                let value = found.map_or("NULL".to_owned(), |old| identifier(&old.name));
                format!("CAST({value} AS {})", column.data_type)
            })
            .collect();
        let identity = transaction.table_by_id(table, at).unwrap();
        let source = identity.map_or_else(
            || {
                format!(
                    "(SELECT * FROM {} WHERE false)",
                    transaction.at(&transaction.table_by_id(table, to).unwrap().unwrap(), to)
                )
            },
            |identity| transaction.at(&identity, at),
        );
        format!("SELECT {} FROM {source}", values.join(", "))
    };
    let names: Vec<String> = (0..wanted.len()).map(|index| format!("o{index}")).collect();
    let names = names.join(", ");
    // Text tells values apart that compare as equal, such as 0.0 and -0.0.
    let sql = format!(
        "SELECT {names}, sum(w) FROM (SELECT COLUMNS(* EXCLUDE w)::VARCHAR, w FROM (\
         SELECT *, 1 AS w FROM ({}) t({names}) UNION ALL SELECT *, -1 FROM ({}) t({names}) \
         UNION ALL SELECT {names}, __weight FROM delta)) GROUP BY ALL HAVING sum(w) <> 0",
        rows(from),
        rows(to)
    );
    let difference = transaction.query(&sql).unwrap_or_else(|error| panic!("{error}\n{sql}")).rows;
    assert!(difference.is_empty(), "({from}, {to}] {change:#?}\n{difference:?}");
    let types = transaction.describe("SELECT * FROM delta").unwrap();
    let table_at_to = transaction.table_by_id(table, to).unwrap().unwrap();
    let expected = transaction.describe(&format!("SELECT * FROM {}", transaction.at(&table_at_to, to))).unwrap();
    let types_of = |columns: &[ducklake_ivm::lake::OutputColumn]| -> Vec<String> {
        columns.iter().map(|column| column.data_type.clone()).collect()
    };
    assert_eq!(types_of(&types[..wanted.len()]), types_of(&expected));
    assert_eq!((types[wanted.len()].name.as_str(), types[wanted.len()].data_type.as_str()), ("__weight", "BIGINT"));
    change
}

/// Checks every window between two snapshots that exist and hold the table; returns how many there were.
pub fn assert_every_window_exact(transaction: &Transaction<'_>, table: TableId, tuning: &Tuning) -> u64 {
    let there = |at: &u64| {
        let at = SnapshotId(*at);
        transaction.snapshot_exists(at).unwrap() && transaction.table_by_id(table, at).unwrap().is_some()
    };
    let snapshots: Vec<u64> = (0..=transaction.snapshot().0).filter(there).collect();
    let mut windows = 0;
    for from in &snapshots {
        for to in snapshots.iter().filter(|to| *to > from) {
            assert_exact(transaction, table, *from, *to, tuning);
            windows += 1;
        }
    }
    windows
}
