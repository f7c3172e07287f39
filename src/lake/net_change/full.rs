//! The difference of two reads of the whole table, and what every way of staging has in common.

use super::{Faces, Method, NetChange, NetChangeRequest, SnapshotId, Transaction};
use crate::lake::{LakeError, text::identifier};
use crate::plan::WEIGHT;

/// The statement that puts `rows` into the temporary table `into`.
pub(super) fn create(into: &str, rows: &str) -> String {
    format!("CREATE OR REPLACE TEMP TABLE {} AS\n{rows}", identifier(into))
}

/// Stages the difference of the reads at both ends of the window.
pub(super) fn stage(
    transaction: &Transaction<'_>,
    request: &NetChangeRequest<'_>,
    faces: &Faces,
    reason: Option<String>,
) -> Result<NetChange, LakeError> {
    let mut reads = Vec::new();
    let mut read = |at: SnapshotId, weight: i64| {
        // A table that did not exist at one end had no rows there.
        if let Some(table) = faces.history.identity(at) {
            let (columns, rows) = (faces.select(at), transaction.at(table, at));
            reads.push(format!("SELECT {columns}CAST({weight} AS BIGINT) AS {WEIGHT} FROM {rows}"));
        }
    };
    read(request.to, 1);
    read(request.from, -1);
    let rows = if reads.is_empty() { faces.nothing() } else { faces.consolidated(&reads.join("\nUNION ALL\n")) };
    let statement = create(request.into, &rows);
    transaction.execute(&statement)?;
    let staged = weigh(transaction, request.into)?;
    Ok(NetChange {
        inserted: count(staged.inserted)?,
        deleted: count(staged.deleted)?,
        rows: staged.rows,
        consolidated: true,
        count_at_to: transaction.count_of(faces, request.to)?,
        method: Method::FullDifference,
        reason,
        files_read: 0,
        pieces: vec![(request.from, request.to)],
        statements: vec![statement],
    })
}

/// The weights of a staged net change.
pub(super) struct Staged {
    pub(super) inserted: i128,
    pub(super) deleted: i128,
    pub(super) rows: u64,
}

pub(super) fn weigh(transaction: &Transaction<'_>, into: &str) -> Result<Staged, LakeError> {
    let row = transaction.query_one(&format!(
        "SELECT coalesce(sum({WEIGHT}) FILTER ({WEIGHT} > 0), 0)::HUGEINT, \
         coalesce(-sum({WEIGHT}) FILTER ({WEIGHT} < 0), 0)::HUGEINT, count(*) FROM temp.{}",
        identifier(into)
    ))?;
    match row.as_slice() {
        [inserted, deleted, rows] => {
            Ok(Staged { inserted: inserted.as_i128()?, deleted: deleted.as_i128()?, rows: rows.as_u64()? })
        }
        other => Err(LakeError::NotOneRow { found: other.len() }),
    }
}

/// A sum of weights as a number of rows.
pub(super) fn count(weights: i128) -> Result<u64, LakeError> {
    u64::try_from(weights)
        .map_err(|_| LakeError::Metadata { message: format!("{weights} rows are no possible number") })
}
