//! The lake: the only room that names `duckdb::`.
//!
//! It opens a DuckLake catalog in a DuckDB of its own ([`Lake`]), answers questions about snapshots, tables and columns
//! (ids, names and columns at any snapshot), says whether a table's past can be trusted (guards), reads the exact net change of one table
//! between two snapshots (net change), and asks the disk or the object store for the files (stored files).
//!
//! Invariants: a catalog is never created or migrated unasked; the optimizers that make reads of old versions wrong are
//! off before the first read; no error, log line or `Debug` output of this room holds a credential.

use serde::{Deserialize, Serialize};
use std::fmt;

mod catalog;
mod commit_rows;
mod counts;
mod error;
mod export;
mod extensions;
mod guards;
mod history;
mod known;
mod last_change;
mod net_change;
mod opening;
mod options;
mod pasts;
mod redact;
mod session;
mod stored_files;
mod text;
mod transaction;
mod types;
mod value;

pub use catalog::{ChangedTables, Snapshot, TableColumn, TableIdentity};
pub use commit_rows::CommitRows;
pub use counts::InlinedChanges;
pub use error::LakeError;
pub use export::{EachRow, ExportError};
pub use guards::{Guard, GuardFailure};
pub use known::TableWindow;
pub use last_change::{Expired, FirstChanges, LastChanges};
pub use net_change::{Method, NetChange, NetChangeRequest, ROW_ID, Tuning};
pub use options::{Access, LakeOptions, Secrets};
pub use session::{Lake, OutputColumn, Rows, Stability, Syntax};
pub use text::{identifier, literal, utc};
pub use transaction::Transaction;
pub use value::Value;

/// The number of a DuckLake commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SnapshotId(pub u64);

/// The number by which DuckLake knows a table whatever it is called; never used again once the table is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TableId(pub u64);

/// The number by which DuckLake knows a column of a table; it survives renames and promotions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnId(pub u64);

impl fmt::Display for SnapshotId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for ColumnId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
