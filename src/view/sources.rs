//! From the names in a bound plan to tables and columns that keep their identity.

use super::{Binding, BoundTable, SourceState, UsedColumn, ViewError, ViewName};
use crate::lake::{SnapshotId, Transaction};

/// The tables that `binding` names, as they are at `at`, taken in up to there.
pub(crate) fn resolve(
    transaction: &Transaction<'_>,
    view: &ViewName,
    binding: &Binding,
    at: SnapshotId,
) -> Result<Vec<SourceState>, ViewError> {
    binding.tables.iter().map(|table| source(transaction, view, table, at)).collect()
}

fn source(
    transaction: &Transaction<'_>,
    view: &ViewName,
    table: &BoundTable,
    at: SnapshotId,
) -> Result<SourceState, ViewError> {
    let missing = |what: &str| {
        let detail = format!("{what} of the bound plan is not in the catalog at snapshot {at}");
        ViewError::registry(&view.to_string(), detail)
    };
    let identity = transaction
        .table_named(&table.schema, &table.table, at)?
        .ok_or_else(|| missing(&format!("table {}.{}", table.schema, table.table)))?;
    let catalog = transaction.columns(identity.id, at)?;
    let mut columns = Vec::new();
    for &position in &table.used {
        let name = &table.all_columns[position];
        let column = catalog
            .iter()
            .find(|column| column.parent.is_none() && column.name == *name)
            .ok_or_else(|| missing(&format!("column {}.{}.{name}", table.schema, table.table)))?;
        columns.push(UsedColumn { id: column.id, name: name.clone(), data_type: column.data_type.clone() });
    }
    // Where the snapshot itself is gone, its rows cannot be counted any more.
    let rows = if transaction.snapshot_exists(at)? { transaction.count_at(&identity, at)? } else { 0 };
    Ok(SourceState {
        schema: table.schema.clone(),
        name: table.table.clone(),
        table: identity.id,
        uuid: identity.uuid,
        columns,
        bound_columns: table.all_columns.clone(),
        watermark: at,
        rows,
    })
}
