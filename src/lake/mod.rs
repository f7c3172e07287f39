//! The lake: the only room that names `duckdb::`.
