//! What each commit did to the rows of a table, as far as the metadata tells by itself: one query per table for all
//! commits, however many.

use super::{LakeError, SnapshotId, TableId, Transaction, Value, catalog::unexpected_row, text::identifier};
use std::collections::BTreeMap;

/// What the commits did to the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitRows {
    /// Rows that came and rows that went; `None` where the metadata does not tell.
    commits: BTreeMap<SnapshotId, Option<(u64, u64)>>,
    /// From the first to the last snapshot whose rows or deletes are together in one file.
    mixed: Vec<(SnapshotId, SnapshotId)>,
}

impl CommitRows {
    /// How many rows came, or how many went, in a commit. `None` where rows may have done both, for then only the rows
    /// tell which of them are the same, and where files hold the rows of several commits.
    pub fn of(&self, commit: SnapshotId) -> Option<(u64, u64)> {
        if self.mixed.iter().any(|(first, last)| *first <= commit && commit <= *last) {
            return None;
        }
        match self.commits.get(&commit) {
            None => Some((0, 0)),
            Some(rows) => rows.filter(|(came, went)| *came == 0 || *went == 0),
        }
    }
}

impl Transaction<'_> {
    /// What the commits did to the rows of a table.
    pub fn commit_rows(&self, table: TableId) -> Result<CommitRows, LakeError> {
        let metadata = self.metadata();
        // Whatever ends or deletes in files is left to those who read them.
        let mut parts = vec![
            format!(
                "SELECT begin_snapshot AS first, partial_max AS last, record_count AS came, 0 AS went, \
                 record_count IS NULL AS unclear FROM {metadata}.ducklake_data_file WHERE table_id = {table}"
            ),
            format!(
                "SELECT end_snapshot, NULL, 0, 0, true FROM {metadata}.ducklake_data_file \
                 WHERE table_id = {table} AND end_snapshot IS NOT NULL"
            ),
            format!(
                "SELECT begin_snapshot, partial_max, 0, 0, true FROM {metadata}.ducklake_delete_file \
                 WHERE table_id = {table}"
            ),
            format!(
                "SELECT end_snapshot, NULL, 0, 0, true FROM {metadata}.ducklake_delete_file \
                 WHERE table_id = {table} AND end_snapshot IS NOT NULL"
            ),
        ];
        let stores = self.inlined_stores(table)?;
        for rows in &stores.rows {
            let rows = identifier(rows);
            parts.push(format!(
                "SELECT begin_snapshot, NULL, count(*), 0, false FROM {metadata}.{rows} \
                 WHERE end_snapshot IS NULL OR end_snapshot > begin_snapshot GROUP BY 1"
            ));
            parts.push(format!(
                "SELECT end_snapshot, NULL, 0, count(*), false FROM {metadata}.{rows} \
                 WHERE end_snapshot > begin_snapshot GROUP BY 1"
            ));
        }
        parts.extend(stores.deletes.map(|deletes| {
            let deletes = identifier(&deletes);
            format!("SELECT begin_snapshot, NULL, 0, count(*), false FROM {metadata}.{deletes} GROUP BY 1")
        }));
        let found = self.query(&format!(
            "SELECT first::BIGINT, last::BIGINT, sum(came)::BIGINT, sum(went)::BIGINT, bool_or(unclear) FROM ({}) \
             GROUP BY 1, 2 ORDER BY 1, 2",
            parts.join(" UNION ALL ")
        ))?;
        let mut rows = CommitRows::default();
        for row in &found.rows {
            let [first, last, came, went, unclear] = row.as_slice() else { return Err(unexpected_row()) };
            let first = SnapshotId(first.as_u64()?);
            if let Some(last) = last.optional(Value::as_u64)? {
                rows.mix(first, SnapshotId(last));
                continue;
            }
            let counted = if unclear.as_bool()? { None } else { Some((came.as_u64()?, went.as_u64()?)) };
            let known = rows.commits.entry(first).or_insert(Some((0, 0)));
            *known = known.zip(counted).map(|((came, went), (more, less))| (came + more, went + less));
        }
        Ok(rows)
    }
}

impl CommitRows {
    /// Ranges come in the order of their first commits; those that touch are one.
    fn mix(&mut self, first: SnapshotId, last: SnapshotId) {
        match self.mixed.last_mut() {
            Some((_, end)) if first.0 <= end.0 + 1 => *end = last.max(*end),
            _ => self.mixed.push((first, last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_metadata_does_not_tell_is_not_guessed() {
        let id = SnapshotId;
        let mut rows = CommitRows::default();
        rows.commits.extend([(id(3), Some((4, 0))), (id(4), Some((0, 2))), (id(5), Some((1, 1))), (id(6), None)]);
        rows.commits.insert(id(8), Some((7, 0)));
        rows.mix(id(8), id(9));
        rows.mix(id(9), id(11));
        rows.mix(id(20), id(20));
        let told: Vec<_> = [2, 3, 4, 5, 6, 8, 11, 12, 20].into_iter().map(|commit| rows.of(id(commit))).collect();
        assert_eq!(told, [Some((0, 0)), Some((4, 0)), Some((0, 2)), None, None, None, None, Some((0, 0)), None]);
        assert_eq!(rows.mixed.len(), 2);
    }
}
