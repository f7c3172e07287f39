//! The columns of a view's table: names that a table can have, types that the lake can hold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::plan::storage::{is_inexact, stored_type};
use crate::plan::{DataType, WEIGHT};

/// An output column of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Its name in the table.
    pub name: String,
    /// The type that the query gives, as SQL.
    pub data_type: String,
    /// The type that the table has, as SQL.
    pub stored_type: String,
    /// Values of the type may compare equal and yet differ (`INTERVAL '1 month'` and `'30 days'`, `0.0` and `-0.0`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inexact: bool,
}

impl ViewColumn {
    /// Is the value changed in type on its way into the table?
    pub fn is_cast(&self) -> bool {
        self.data_type != self.stored_type
    }
}

/// Why a column cannot stand in a view's table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// The lake has no type for its values.
    #[error("column {column:?} has the type {data_type}, which {reason}")]
    Type {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The lake keeps the name for itself.
    #[error("column {column:?} has a name that {reason}")]
    Reserved {
        /// The column.
        column: String,
        /// Who keeps it.
        reason: &'static str,
    },
}

/// Names that DuckLake refuses while it may keep rows in the catalog.
const RESERVED: [&str; 3] = ["row_id", "begin_snapshot", "end_snapshot"];
const RESERVED_PREFIX: &str = "_ducklake_internal_";

/// The columns of the table that holds what a query returns. Names that occur twice (without regard to case) become
/// `id`, `id_1`, `id_2`, as in DuckDB's own `CREATE TABLE … AS`.
pub(super) fn columns(outputs: &[(String, DataType)]) -> Result<Vec<ViewColumn>, ColumnError> {
    let mut taken = BTreeSet::new();
    let mut columns = Vec::new();
    for (name, data_type) in outputs {
        let name = unique(name, &mut taken);
        refuse_reserved(&name)?;
        let stored = stored_type(data_type).map_err(|reason| ColumnError::Type {
            column: name.clone(),
            data_type: data_type.to_string(),
            reason,
        })?;
        columns.push(ViewColumn {
            name,
            data_type: data_type.to_string(),
            stored_type: stored.to_string(),
            inexact: is_inexact(&stored),
        });
    }
    Ok(columns)
}

fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut suffix = 0;
    while !taken.insert(candidate.to_lowercase()) {
        suffix += 1;
        candidate = format!("{name}_{suffix}");
    }
    candidate
}

fn refuse_reserved(name: &str) -> Result<(), ColumnError> {
    let folded = name.to_lowercase();
    let reason = if RESERVED.contains(&folded.as_str()) || folded.starts_with(RESERVED_PREFIX) {
        "DuckLake keeps for itself"
    } else if folded == WEIGHT {
        "ducklake-ivm keeps for itself"
    } else {
        return Ok(());
    };
    Err(ColumnError::Reserved { column: name.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(outputs: &[(&str, DataType)]) -> Result<Vec<(String, String)>, ColumnError> {
        let outputs: Vec<_> = outputs.iter().map(|(name, data_type)| ((*name).to_owned(), data_type.clone())).collect();
        let made = columns(&outputs)?.into_iter().map(|column| (column.name, column.stored_type));
        Ok(made.collect())
    }

    #[test]
    fn names_are_made_unique_without_regard_to_case() {
        let names = made(&[("a", DataType::Integer), ("A", DataType::Integer), ("a_1", DataType::Integer)]).unwrap();
        let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "A_1", "a_1_1"]);
    }

    #[test]
    fn types_that_the_lake_cannot_hold_are_mapped_at_any_depth() {
        let huge = DataType::Struct(vec![("s".into(), DataType::List(Box::new(DataType::HugeInt)))]);
        let made = made(&[
            ("sum", DataType::HugeInt),
            ("kind", DataType::Enum(vec!["x".into()])),
            ("point", DataType::Array(Box::new(DataType::Double), 2)),
            ("nested", huge),
        ]);
        let types: Vec<_> = made.unwrap().into_iter().map(|(_, stored)| stored).collect();
        assert_eq!(types, ["DECIMAL(38, 0)", "VARCHAR", "DOUBLE[]", "STRUCT(\"s\" DECIMAL(38, 0)[])"]);
    }

    #[test]
    fn what_cannot_be_held_is_refused_by_name() {
        let error = made(&[("clock", DataType::TimeTz)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column \"clock\" has the type TIME WITH TIME ZONE, which loses its offset in a data file"
        );
        assert!(made(&[("Row_Id", DataType::Integer)]).is_err());
        assert!(made(&[("__WEIGHT", DataType::Integer)]).is_err());
        assert!(made(&[("u", DataType::Union(vec![("a".into(), DataType::Integer)]))]).is_err());
        assert!(made(&[("r", DataType::Struct(vec![(String::new(), DataType::Integer)]))]).is_err());
    }
}
