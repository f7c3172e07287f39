//! What can go wrong with a view's definition or its registry entry.

use super::name::near;
use super::{ColumnError, NameError, Obstacle, View, ViewName, registry};
use crate::lake::{LakeError, SnapshotId, Transaction};

/// What can go wrong with a view.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The lake refused.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The text is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such view.
    #[error("view {view} does not exist")]
    Unknown {
        /// The name asked for.
        view: ViewName,
        /// The views that there are.
        known: Vec<ViewName>,
    },
    /// The name is that of something else.
    #[error("{name} is {kind} of the lake, not a materialized view")]
    NotAView {
        /// The name asked for.
        name: ViewName,
        /// `a table` or `an ordinary view`.
        kind: &'static str,
        /// The views that there are.
        known: Vec<ViewName>,
    },
    /// There is such a view already.
    #[error("view {view} exists already")]
    Exists {
        /// Its name.
        view: ViewName,
    },
    /// The name belongs to a table or view of the user's.
    #[error("{view} is a {kind} that ducklake-ivm did not make; it is not touched")]
    NotOurs {
        /// The name.
        view: ViewName,
        /// What it is.
        kind: &'static str,
    },
    /// The schema is not there.
    #[error("view {view}: the schema {:?} does not exist", view.schema)]
    NoSchema {
        /// The view.
        view: ViewName,
        /// Schemas that are called like it.
        near: Vec<String>,
    },
    /// The schema is the program's own.
    #[error("view {view}: the schema {:?} is where ducklake-ivm keeps what it knows of its views", view.schema)]
    OwnSchema {
        /// The view.
        view: ViewName,
    },
    /// The definition names a file by a path that means another one in another directory.
    #[error("view {view}: the path {path:?} is not a whole one, and would mean another file in another directory")]
    RelativePath {
        /// The view.
        view: ViewName,
        /// The path.
        path: Box<str>,
        /// What it means here.
        here: Box<str>,
    },
    /// DuckDB cannot say how it understands the definition.
    #[error("view {view}: a view cannot read {what} files: DuckDB does not tell how it plans to")]
    NoPlan {
        /// The view.
        view: ViewName,
        /// The kind of file.
        what: &'static str,
    },
    /// The definition holds no statement or several.
    #[error("view {view}: the definition holds {found} statements; it must be one SELECT")]
    Statements {
        /// The view.
        view: ViewName,
        /// How many there are.
        found: usize,
    },
    /// The definition tells of tables instead of reading them.
    #[error("view {view}: DESCRIBE, SUMMARIZE and SHOW tell of tables; a view's definition must be a SELECT of rows")]
    Describes {
        /// The view.
        view: ViewName,
    },
    /// The definition leaves a value open.
    #[error("view {view}: the definition has the parameter ${parameter}, which nobody would give a value to")]
    Parameter {
        /// The view.
        view: ViewName,
        /// The parameter, without its dollar sign.
        parameter: Box<str>,
    },
    /// A scan pinned to the newest snapshot is bound like one that is not pinned.
    #[error("view {view}: an AT clause names the newest snapshot, {snapshot}, and would be taken for no AT at all")]
    PinnedToNewest {
        /// The view.
        view: ViewName,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// DuckDB does not accept the definition.
    #[error("view {view}: {source}")]
    Definition {
        /// The view.
        view: ViewName,
        /// What DuckDB says.
        source: Box<LakeError>,
    },
    /// An output column cannot be stored.
    #[error("view {view}: {source}")]
    Column {
        /// The view.
        view: ViewName,
        /// Which, and why.
        source: Box<ColumnError>,
    },
    /// A value does not fit the column's type in the table.
    #[error("view {view}: a value of column {column:?} does not fit its type {stored_type}: {message}")]
    Overflow {
        /// The view.
        view: ViewName,
        /// The column.
        column: Box<str>,
        /// The type of the table's column.
        stored_type: Box<str>,
        /// What DuckDB says.
        message: Box<str>,
    },
    /// A column cannot be computed over the rows that are there.
    #[error("view {view}: column {column:?} cannot be computed: {message}")]
    Uncomputable {
        /// The view.
        view: ViewName,
        /// The column, or the aggregate in it.
        column: Box<str>,
        /// What DuckDB says.
        message: Box<str>,
    },
    /// The user asked for `incremental`, and the definition has no delta.
    #[error("view {view} cannot be maintained incrementally: {obstacle}")]
    NotIncremental {
        /// The view.
        view: ViewName,
        /// Why.
        obstacle: Box<Obstacle>,
    },
    /// Other views read this one.
    #[error("view {view} is read by {}", list(dependents))]
    Dependents {
        /// The view.
        view: ViewName,
        /// Who reads it.
        dependents: Vec<ViewName>,
    },
    /// The definition reads the view itself, through other views or not.
    #[error("view {view} would read itself through {}", list(path))]
    Cycle {
        /// The view.
        view: ViewName,
        /// The way round.
        path: Vec<ViewName>,
    },
    /// `--check` found that the maintained query is not the user's.
    #[error("view {view}: the query that maintains it returns other rows than its own SQL ({rows} rows differ)")]
    CheckFailed {
        /// The view.
        view: ViewName,
        /// How many rows differ.
        rows: u64,
    },
    /// The view's state table is not what a refresh left.
    #[error("view {view} is broken: its state is lost or damaged: {detail}")]
    State {
        /// The view.
        view: ViewName,
        /// What is wrong with it.
        detail: String,
    },
    /// The history is not what a refresh can append to.
    #[error("the history of refreshes is lost or damaged: {detail}")]
    History {
        /// What is wrong with it.
        detail: String,
    },
    /// What the registry holds makes no sense.
    #[error("the registry entry of {entry} cannot be read: {detail}")]
    Registry {
        /// Which.
        entry: String,
        /// Why.
        detail: String,
    },
}

/// With more views than this, they are not all named in a hint.
const LISTED: usize = 10;

fn list(names: &[ViewName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl ViewError {
    /// There is no view of that name among `views`; what has the name instead is looked up.
    pub(crate) fn unknown(transaction: &Transaction<'_>, name: &ViewName, views: &[View]) -> ViewError {
        let known = views.iter().map(|view| view.name.clone()).collect();
        let table = transaction.table_named(&name.schema, &name.name, transaction.snapshot());
        let lake_view = registry::is_lake_view(transaction, name);
        match (table, lake_view) {
            (Err(error), _) | (_, Err(error)) => error.into(),
            (Ok(Some(_)), _) => ViewError::NotAView { name: name.clone(), kind: "a table", known },
            (_, Ok(true)) => ViewError::NotAView { name: name.clone(), kind: "an ordinary view", known },
            _ => ViewError::Unknown { view: name.clone(), known },
        }
    }

    /// A registry entry that cannot be read.
    pub(crate) fn registry(entry: &str, detail: impl std::fmt::Display) -> ViewError {
        ViewError::Registry { entry: entry.to_owned(), detail: detail.to_string() }
    }

    /// May the same work succeed when it is begun again?
    pub fn retryable(&self) -> bool {
        match self {
            ViewError::Lake(error) => error.retryable(),
            ViewError::Definition { source, .. } => source.retryable(),
            _ => false,
        }
    }

    /// The lake's error behind this one.
    pub(crate) fn lake_error(&mut self) -> Option<&mut LakeError> {
        match self {
            ViewError::Lake(error) => Some(error),
            ViewError::Definition { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether somebody asked for the work to stop.
    pub fn is_interruption(&self) -> bool {
        match self {
            ViewError::Lake(error) => error.is_interruption(),
            ViewError::Definition { source, .. } => source.is_interruption(),
            _ => false,
        }
    }

    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ViewError::Lake(error) => return error.hint(),
            ViewError::Definition { source, .. } => return source.hint(),
            ViewError::Unknown { known, .. } | ViewError::NotAView { known, .. } if known.is_empty() => {
                "the lake has no views yet: create one".to_owned()
            }
            ViewError::Unknown { view: name, known } | ViewError::NotAView { name, known, .. } => {
                let like = near(&name.to_string(), known.iter().map(ToString::to_string));
                match (like.is_empty(), known.len() > LISTED) {
                    (false, _) => format!("did you mean {}?", like.join(" or ")),
                    (true, false) => format!("the views are {}", list(known)),
                    (true, true) => format!("status lists the {} views that there are", known.len()),
                }
            }
            ViewError::Exists { .. } => "replace it with --or-replace, or keep it with --if-not-exists".to_owned(),
            ViewError::NotOurs { .. } => "choose another name, or drop or rename that one yourself".to_owned(),
            ViewError::NoSchema { view, near } => {
                let create = format!("CREATE SCHEMA \"{}\"", view.schema);
                if near.is_empty() {
                    format!("create it first: {create}")
                } else {
                    format!("did you mean {}? or create it first: {create}", near.join(" or "))
                }
            }
            ViewError::OwnSchema { .. } => "choose another schema".to_owned(),
            ViewError::RelativePath { here, .. } => format!("write '{here}'"),
            ViewError::NoPlan { .. } => "load them into a table of the lake, or make them Parquet files".to_owned(),
            ViewError::PinnedToNewest { .. } => {
                "name an older snapshot, or create the view after the next commit to the lake".to_owned()
            }
            ViewError::Statements { .. } => "give exactly one SELECT statement".to_owned(),
            ViewError::Describes { .. } => "write the SELECT whose rows the view is to hold".to_owned(),
            ViewError::Parameter { .. } => "write the value itself in its place".to_owned(),
            ViewError::Column { source, .. } => match **source {
                ColumnError::Type { .. } => "cast it in the query, to VARCHAR say".to_owned(),
                ColumnError::Reserved { .. } => "give it another name with AS".to_owned(),
            },
            ViewError::Overflow { .. } => {
                "cast the column to a wider type in the query, DOUBLE or VARCHAR say".to_owned()
            }
            ViewError::Uncomputable { .. } => {
                "cast what it is computed from to a wider type in the query, or use TRY_CAST".to_owned()
            }
            ViewError::NotIncremental { .. } => "leave --strategy at auto, or rewrite the query".to_owned(),
            ViewError::Dependents { .. } => "drop those first, or keep the columns as they are".to_owned(),
            ViewError::Cycle { .. } => "a view can only read tables and views that do not read it".to_owned(),
            ViewError::CheckFailed { .. } => "create it with --strategy recompute, and report the query".to_owned(),
            ViewError::State { .. } => "rebuild it with sync --repair".to_owned(),
            ViewError::History { .. } => "sync --repair makes it anew".to_owned(),
            ViewError::Registry { .. } => {
                "the tables of the schema ducklake_ivm were changed by hand, or by another version".to_owned()
            }
            ViewError::Name(_) => "write name or schema.name".to_owned(),
        })
    }
}
