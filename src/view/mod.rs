//! The registry of views, kept in the lake itself: definitions, watermarks, dependency order.
//!
//! A view is an ordinary table that holds exactly the columns of the user's SELECT. Beside it, the schema
//! `ducklake_ivm` holds what is known about it ([`registry`]). A view means what its SQL meant when it was created: the
//! plan that DuckDB bound then. Sources are followed by table id and column id, whatever they are called later.

mod accumulators;
mod binding;
mod columns;
mod create;
mod definition;
mod drop;
mod error;
mod graph;
pub(crate) mod history;
mod meaning;
mod misfit;
mod name;
mod order;
pub(crate) mod protection;
mod query;
mod record;
pub mod registry;
mod retry;
mod sources;
mod statement;

pub use accumulators::{AccumulatorTable, StandingTable};
pub use binding::{Binding, BoundTable, comparable};
pub use columns::{ColumnError, ViewColumn};
pub use create::{Created, Creation, Outcome, create};
pub use definition::{Class, Obstacle, SourceState, Strategy, UsedColumn, View, ViewId, ViewState};
pub use drop::drop_view;
pub use error::ViewError;
pub use graph::Graph;
pub use name::{DEFAULT_SCHEMA, NameError, ViewName};
pub use order::dependency_order;
pub use query::{Classified, classify};
pub use record::{ObservedView, RefreshRecord, SourceWindow};
pub use statement::{skip_comments, statements};

pub(crate) use accumulators::{Accumulated, Over, drop_accumulators, standing, table_name};
pub(crate) use create::AUTHOR;
pub(crate) use meaning::{Meaning, drift, meaning, meaning_of, redefinitions};
pub(crate) use misfit::{Failed, misfit};
pub(crate) use name::near;
pub(crate) use query::{Bound, bind, current_sql, stored, stored_with_weight};
pub(crate) use retry::{retrying, with_fresh_files};
pub(crate) use sources::resolve;
