//! Which column of a view an error about values was about: DuckDB does not say.

use super::query::{position_name, stored};
use super::{AccumulatorTable, ViewColumn, ViewError, ViewName};
use crate::lake::{Lake, LakeError, identifier};

/// The view whose query failed.
pub(crate) struct Failed<'a> {
    /// Its name.
    pub name: &'a ViewName,
    /// Its SQL.
    pub sql: &'a str,
    /// Its columns.
    pub columns: &'a [ViewColumn],
    /// Its accumulator tables.
    pub accumulators: &'a [AccumulatorTable],
}

/// Names the column that could not be computed or held, if that is what `error` was about.
pub(crate) fn misfit(lake: &Lake, view: &Failed<'_>, error: &LakeError) -> Option<ViewError> {
    if !is_about_values(error) {
        return None;
    }
    beyond_type(lake, view, error).or_else(|| beyond_sum(lake, view)).or_else(|| uncomputable(lake, view))
}

/// The column of the view that a failed cast to its type was about, if it was one: the query is run once more per column.
fn beyond_type(lake: &Lake, view: &Failed<'_>, error: &LakeError) -> Option<ViewError> {
    let Failed { name, sql, columns, .. } = view;
    let names: Vec<String> = (0..columns.len()).map(position_name).collect();
    let (_, column) =
        columns.iter().enumerate().filter(|(_, column)| column.is_cast()).find(|(position, column)| {
            let value = &names[*position];
            let found = lake.query(&format!(
            "SELECT 1 FROM (\n{sql}\n) AS v({}) WHERE {value} IS NOT NULL AND TRY_CAST({value} AS {}) IS NULL LIMIT 1",
            names.join(", "),
            column.stored_type
        ));
            found.is_ok_and(|found| !found.rows.is_empty())
        })?;
    Some(ViewError::Overflow {
        view: (*name).clone(),
        column: column.name.as_str().into(),
        stored_type: column.stored_type.as_str().into(),
        message: error.to_string().into(),
    })
}

/// Is the error about values that a type or a function does not take?
fn is_about_values(error: &LakeError) -> bool {
    matches!(error, LakeError::Sql { class, .. } if matches!(class.as_str(), "Conversion" | "Out of Range" | "Invalid Input"))
}

/// The first of `columns` that cannot be computed while the rows of `select` can, and what the engine says of it.
fn failing_column(lake: &Lake, columns: &[&str], select: &str) -> Option<(usize, LakeError)> {
    if lake.query(&format!("SELECT count(*) FROM (\n{select}\n)")).is_err() {
        return None;
    }
    columns.iter().enumerate().find_map(|(place, column)| {
        let found = lake.query(&format!("SELECT count({}) FROM (\n{select}\n)", identifier(column)));
        found.err().filter(|error| !error.is_interruption()).map(|error| (place, error))
    })
}

/// The column of the view that cannot be computed.
fn uncomputable(lake: &Lake, view: &Failed<'_>) -> Option<ViewError> {
    let names: Vec<&str> = view.columns.iter().map(|column| column.name.as_str()).collect();
    let (at, found) = failing_column(lake, &names, &stored(view.columns, view.sql))?;
    let column = names.get(at).copied()?.into();
    Some(ViewError::Uncomputable { view: view.name.clone(), column, message: found.to_string().into() })
}

/// The aggregate that could not be kept, because its value is too large or what it is computed from cannot be: the query
/// that fills a table is run once more per column.
fn beyond_sum(lake: &Lake, view: &Failed<'_>) -> Option<ViewError> {
    view.accumulators.iter().find_map(|table| {
        let behind_groups = table.columns.iter().zip(&table.keeps).skip(table.groups);
        let columns: Vec<&str> = behind_groups.clone().map(|(column, _)| column.name.as_str()).collect();
        let (at, found) = failing_column(lake, &columns, &table.stored(&table.query))?;
        let (column, keeps) = behind_groups.clone().nth(at)?;
        let (view, message) = (view.name.clone(), found.to_string().into());
        let column = (keeps.as_str().into(), column.stored_type.as_str());
        Some(if is_beyond_sums(&found) {
            ViewError::Overflow { view, column: column.0, stored_type: column.1.into(), message }
        } else {
            ViewError::Uncomputable { view, column: column.0, message }
        })
    })
}

/// Was it a sum that became too large, and not what is added up?
fn is_beyond_sums(error: &LakeError) -> bool {
    let text = error.to_string();
    ["HUGEINT addition", "addition of DECIMAL(38)", "to DECIMAL(38"].iter().any(|part| text.contains(part))
}
