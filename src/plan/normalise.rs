//! Flat joins, predicates at their legs.
