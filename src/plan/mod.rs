//! The relational IR: what a view's SQL means, as DuckDB bound it.
//!
//! | stage | in | out |
//! |---|---|---|
//! | [`decode`] | the JSON of DuckDB's bound, unoptimised plan | [`Rel`] |
//! | [`normalise`] | a decoded [`Rel`] | the same rows as a [`Rel`] with flat N-ary inner joins and single-leg predicates at their legs |
//! | [`facts`] | a [`Rel`] | what holds of it: sources, volatility, rule kinds |
//! | [`storage`] | a type | the type that a lake holds its values in |
//! | [`ties`] | a [`Rel`] | where its result is not decided by its tables alone |
//!
//! Nothing here knows a snapshot, a connection, a clock or a file. Columns are positions: an [`Expr::Column`] with
//! index `i` is output column `i` of the node's input (for joins: of the inputs' columns side by side).

pub mod decode;
pub mod expr;
pub mod facts;
pub(crate) mod limits;
pub mod normalise;
pub(crate) mod pushdown;
pub mod quantified;
pub mod rel;
pub mod shape;
pub mod storage;
pub mod ties;
pub mod types;

pub use expr::{Expr, SortKey};
pub use rel::{Column, Rel};
pub use shape::WEIGHT;
pub use types::DataType;
