//! JSON of DuckDB's bound plan to the IR.
