//! What the registry knows about a view.

use serde::{Deserialize, Serialize};

use super::{AccumulatorTable, ViewColumn, ViewName};
use crate::lake::{ColumnId, SnapshotId, TableId};

/// The identity of a view, whatever it is called: part of the names of its helper tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ViewId(pub(super) String);

impl ViewId {
    /// A new one. Two processes that create views at once must not meet, and if they did, the second creation of the
    /// same state table would fail.
    pub(super) fn random() -> ViewId {
        let mut text = uuid::Uuid::new_v4().simple().to_string();
        text.truncate(16);
        ViewId(text)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a view is to be brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// The cheaper of incremental and recompute, by estimate.
    #[default]
    Auto,
    /// From the changes, whenever that is possible.
    Incremental,
    /// The query is run, and the difference to the view's rows written.
    Recompute,
    /// The query is run and all rows are replaced.
    Full,
}

impl Strategy {
    /// May a view of this strategy be refreshed from changes, so that accumulators are of use?
    pub fn reads_changes(self) -> bool {
        matches!(self, Strategy::Auto | Strategy::Incremental)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Incremental => "incremental",
            Strategy::Recompute => "recompute",
            Strategy::Full => "full",
        }
    }
}

/// What kind of maintenance a definition allows; found when the view is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Class {
    /// Why there is no delta: the operator in the way and the reason. `None` for a view that is maintained from changes.
    pub obstacle: Option<Obstacle>,
    /// The result depends on more than the lake's tables (the clock, a file): every sync recomputes it.
    pub untracked: bool,
    /// No delta can exist: the result is untracked, or the rows of the tables do not decide it.
    #[serde(default)]
    pub full_only: bool,
    /// The plan can be printed as SQL that DuckDB binds to the same plan.
    pub printable: bool,
    /// How many terms a delta can have.
    pub terms: usize,
    /// The accumulator tables that are kept for it; none in a view made by a program that kept none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accumulators: Vec<AccumulatorTable>,
    /// The tables or columns that its text names are called otherwise since it was bound anew, and the names may be those
    /// of others: only the bound plan tells what the view means.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renamed: bool,
}

impl Class {
    /// Why two runs of the query over the same inputs may differ; `None` if they do not. `outside` are its inputs outside
    /// the lake: what they hold is not kept, but it can be read again.
    pub(crate) fn volatility(&self, outside: &[String]) -> Option<&Obstacle> {
        self.obstacle.as_ref().filter(|obstacle| self.untracked && !outside.contains(&obstacle.operator))
    }
}

/// What is in the way of a delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Obstacle {
    /// The operator, as a user writes it.
    pub operator: String,
    /// What is the matter with it.
    pub reason: String,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.operator, self.reason)
    }
}

/// A registered view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its identity.
    pub id: ViewId,
    /// Its name.
    pub name: ViewName,
    /// The user's own SELECT.
    pub sql: String,
    /// The snapshot that the definition was bound at.
    pub created: SnapshotId,
    /// The commit that wrote this registry entry; the view's table had the view's name then.
    pub registered: SnapshotId,
    /// The DuckDB that bound the definition.
    pub duckdb_version: String,
    /// What the user asked for.
    pub strategy: Strategy,
    /// What the definition allows.
    pub class: Class,
    /// The columns of the table.
    pub columns: Vec<ViewColumn>,
}

/// A column of a source that the view reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedColumn {
    /// Its identity, which survives renames.
    pub id: ColumnId,
    /// Its name when the view was bound: what the bound plan calls it.
    pub name: String,
    /// Its type then, as SQL.
    pub data_type: String,
}

/// A table that a view reads, and how far the view has taken it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceState {
    /// The schema in the bound plan.
    pub schema: String,
    /// The table in the bound plan.
    pub name: String,
    /// The table's identity.
    pub table: TableId,
    /// DuckLake's uuid of it.
    pub uuid: String,
    /// The columns that the view reads, by position in the bound table.
    pub columns: Vec<UsedColumn>,
    /// All column names of the bound table, in order: what a position in the plan means.
    pub bound_columns: Vec<String>,
    /// The snapshot up to which the view has taken the table in.
    pub watermark: SnapshotId,
    /// How many rows the table had there.
    pub rows: u64,
}

/// How far a view has come: the one row of its state table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewState {
    /// The snapshot of the lake that the view's rows stand for.
    pub snapshot: SnapshotId,
    /// The commit that put them there.
    pub landed: SnapshotId,
    /// The view's table, once a refresh has seen it committed.
    pub table: Option<TableId>,
    /// How many rows it has.
    pub rows: u64,
    /// What it reads.
    pub sources: Vec<SourceState>,
}
