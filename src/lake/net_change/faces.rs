//! The select lists that show a table at any snapshot of the window with the columns that were asked for.

use super::{NetChangeRequest, ROW_ID, SnapshotId, Transaction};
use crate::lake::{
    ColumnId, LakeError, TableIdentity,
    catalog::VIRTUAL_COLUMNS,
    history::{LiveColumn, TableHistory},
    text::identifier,
};
use crate::plan::WEIGHT;
use std::rc::Rc;

/// Columns that DuckLake itself adds to the tables of inlined rows.
const COLUMNS_OF_INLINED_ROWS: [&str; 3] = ["row_id", "begin_snapshot", "end_snapshot"];

/// A table in a window, as the request wants to see it.
pub(super) struct Faces {
    pub(super) history: Rc<TableHistory>,
    pub(super) from: SnapshotId,
    pub(super) to: SnapshotId,
    columns: Vec<Wanted>,
}

/// A column that was asked for.
struct Wanted {
    id: ColumnId,
    output: String,
    /// Its type at `to`.
    data_type: String,
    coarse: bool,
}

impl Faces {
    pub(super) fn load(transaction: &Transaction<'_>, request: &NetChangeRequest<'_>) -> Result<Self, LakeError> {
        if request.from > request.to {
            let message = format!("the window ({}, {}] ends before it begins", request.from, request.to);
            return Err(LakeError::Metadata { message });
        }
        let history = transaction.history(request.table, request.from, request.to)?;
        // A table that is gone at `to` still has the columns that it had.
        let last = if history.identity(request.to).is_some() { request.to } else { request.from };
        let live = history.live_columns(last);
        let wanted = |(id, output): &(ColumnId, String)| {
            if *id == ROW_ID {
                return Ok(Wanted { id: *id, output: output.clone(), data_type: "BIGINT".to_owned(), coarse: false });
            }
            let column = live.iter().find(|column| column.id == *id).ok_or_else(|| LakeError::Metadata {
                message: format!("table {} has no column {id} at snapshot {last}", request.table),
            })?;
            Ok(Wanted {
                id: *id,
                output: output.clone(),
                data_type: column.node.sql(),
                coarse: column.node.equality_is_coarse(),
            })
        };
        let columns = request.columns.iter().map(wanted).collect::<Result<Vec<_>, LakeError>>()?;
        Ok(Self { history, from: request.from, to: request.to, columns })
    }

    /// Why the window cannot be taken apart by files, if it cannot.
    pub(super) fn obstacle(&self) -> Option<String> {
        if self.history.identity(self.from).is_none() || self.history.identity(self.to).is_none() {
            return Some(format!("the table does not exist at both {} and {}", self.from, self.to));
        }
        if let Some(name) = self.history.name_ever_among(&VIRTUAL_COLUMNS) {
            return Some(format!("column {name} hides DuckLake's virtual column of that name"));
        }
        let (old, new) = (self.history.live_columns(self.from), self.history.live_columns(self.to));
        for wanted in &self.columns {
            let name = |column: &LiveColumn| column.node.name.clone();
            match (find(&old, wanted.id), find(&new, wanted.id)) {
                (None, Some(column)) if column.initial_default.is_some() => {
                    return Some(format!("column {} was added with a value for every row", name(column)));
                }
                (Some(before), Some(after)) if before.parts != after.parts => {
                    return Some(format!("the parts of column {} have changed", name(after)));
                }
                _ => {}
            }
        }
        None
    }

    /// The asked columns at a snapshot, as the rest of a select list; a column that did not exist then is NULL.
    pub(super) fn select(&self, at: SnapshotId) -> String {
        let live = self.history.live_columns(at);
        let expressions: Vec<String> = self
            .columns
            .iter()
            .map(|wanted| {
                let value = match find(&live, wanted.id) {
                    Some(column) => identifier(&column.node.name),
                    // A column of the user's may hide it.
                    None if wanted.id == ROW_ID && self.history.name_ever_among(&["rowid"]).is_none() => {
                        "rowid".to_owned()
                    }
                    None => "NULL".to_owned(),
                };
                format!("CAST({value} AS {}) AS {}, ", wanted.data_type, identifier(&wanted.output))
            })
            .collect();
        expressions.concat()
    }

    /// A select without rows.
    pub(super) fn nothing(&self) -> String {
        let expressions: Vec<String> = self
            .columns
            .iter()
            .map(|wanted| format!("CAST(NULL AS {}) AS {}, ", wanted.data_type, identifier(&wanted.output)))
            .collect();
        format!("SELECT {}CAST(0 AS BIGINT) AS {WEIGHT} WHERE false", expressions.concat())
    }

    /// `rows` with equal rows made one and their weights added; rows of weight 0 left out.
    pub(super) fn consolidated(&self, rows: &str) -> String {
        let names: Vec<String> = self.columns.iter().map(|wanted| identifier(&wanted.output)).collect();
        // Rows are equal only if they are the same: equality alone would cancel 0.0 against -0.0.
        let exact = self.columns.iter().filter(|wanted| wanted.coarse);
        let texts = exact.map(|wanted| format!("CAST({} AS VARCHAR)", identifier(&wanted.output)));
        let keys: Vec<String> = names.iter().cloned().chain(texts).collect();
        let group = if keys.is_empty() { String::new() } else { format!("GROUP BY {} ", keys.join(", ")) };
        let list = if names.is_empty() { String::new() } else { format!("{}, ", names.join(", ")) };
        format!(
            "SELECT {list}CAST(sum({WEIGHT}) AS BIGINT) AS {WEIGHT} FROM (\n{rows}\n) {group}HAVING sum({WEIGHT}) <> 0"
        )
    }

    /// Whether inlined rows that begun at `oldest` or later may be read from the catalog's own tables at `at`: all their
    /// columns must be called and typed as at `at`, and kept there just as they are.
    pub(super) fn inlined_rows_are_plain(&self, at: SnapshotId, oldest: SnapshotId) -> bool {
        self.columns.iter().all(|wanted| wanted.id != ROW_ID)
            && self.history.name_ever_among(&COLUMNS_OF_INLINED_ROWS).is_none()
            && self.history.live_columns(at).iter().all(|column| column.node.is_plain() && column.begin <= oldest)
    }

    /// The table at a snapshot of the window.
    pub(super) fn table(&self, at: SnapshotId) -> Result<&TableIdentity, LakeError> {
        self.history
            .identity(at)
            .ok_or_else(|| LakeError::Metadata { message: format!("the table has no name at snapshot {at}") })
    }

    /// The error that says why the past of the table cannot be read.
    pub(super) fn unreadable(&self, detail: &str) -> LakeError {
        let table = self.history.identity(self.to).or_else(|| self.history.identity(self.from));
        LakeError::UnreadablePast {
            table: table.map_or_else(String::new, |table| format!("{}.{}", table.schema, table.name)),
            snapshot: self.from,
            detail: detail.to_owned(),
        }
    }
}

fn find(columns: &[LiveColumn], id: ColumnId) -> Option<&LiveColumn> {
    columns.iter().find(|column| column.id == id)
}
