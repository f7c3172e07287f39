//! Keeps materialized views over a DuckLake lakehouse up to date by reading only what changed.
//!
//! The rooms, in the order in which a refresh passes through them; dependencies run one way, downwards in this table:
//!
//! | room | in | out |
//! |---|---|---|
//! | [`plan`] | the JSON of DuckDB's bound plan | a relational IR |
//! | [`delta`] | a plan, and which sources changed | a plan over old state, new state and net changes |
//! | [`sql`] | a plan | SQL text |
//! | [`lake`] | a URI, snapshots | rows, table identities, exact net changes |
//! | [`view`] | the lake | definitions, watermarks, dependency order |
//! | [`sync`] | a view and a target snapshot | one committed refresh, and events about it |
//! | [`inspect`] | the lake and its views | answers: status, plan, verify, history, log, diff |
//! | [`commands`] | arguments | an exit code and printed results |

pub mod commands;
pub mod delta;
pub mod inspect;
pub mod lake;
pub mod plan;
pub mod sql;
pub mod sync;
pub mod view;
