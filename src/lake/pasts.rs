//! Schemas of the past that DuckLake would otherwise get wrong.
//!
//! DuckLake keeps the schema of each version in a cache. To read rows that it keeps in the catalog it asks for the schema
//! that they were written with, and takes it, where a table got such rows only after it was made, from the snapshot that
//! made the table, but files it under the later version (DuckLake d8a1881e). Whatever is then read `AT` a snapshot of that
//! version is looked up in the earlier schema: tables made since do not exist, and a name that was used again means the
//! table before. A schema that is in the cache is not loaded again, so the right one must be there first.

use super::catalog::live;
use super::{LakeError, SnapshotId, TableId, Transaction, identifier};

impl Transaction<'_> {
    /// Has DuckLake load the schemas that reading the catalog's rows would load from another snapshot. To be called
    /// before anything else is read.
    pub(super) fn load_schemas_of_late_rows(&self) -> Result<(), LakeError> {
        let metadata = self.metadata();
        let late = self.query(&format!(
            "SELECT table_id::BIGINT, schema_version::BIGINT FROM {metadata}.ducklake_inlined_data_tables \
             ANTI JOIN {metadata}.ducklake_schema_versions USING (table_id, schema_version) ORDER BY ALL"
        ))?;
        for row in &late.rows {
            let [table, version] = row.as_slice() else { continue };
            let late = (TableId(table.as_u64()?), version.as_u64()?);
            if !self.knows_late_rows(late) {
                self.load_schema(late)?;
                self.remember_late_rows(late);
            }
        }
        Ok(())
    }

    /// Looks at a table as it was at the last snapshot of a schema version, if there is one.
    fn load_schema(&self, (table, version): (TableId, u64)) -> Result<(), LakeError> {
        let metadata = self.metadata();
        let found = self.query(&format!(
            "SELECT s.schema_name, t.table_name, p.snapshot_id::BIGINT FROM {metadata}.ducklake_snapshot p \
             JOIN {metadata}.ducklake_table t ON {} JOIN {metadata}.ducklake_schema s ON t.schema_id = s.schema_id AND {} \
             WHERE p.schema_version = {version} AND t.table_id = {} AND p.snapshot_id <= {} ORDER BY 3 DESC LIMIT 1",
            live("t", "p.snapshot_id"),
            live("s", "p.snapshot_id"),
            table.0,
            self.snapshot(),
        ))?;
        let Some([schema, name, at]) = found.rows.first().map(Vec::as_slice) else { return Ok(()) };
        let table =
            format!("{}.{}.{}", identifier(self.alias()), identifier(schema.as_str()?), identifier(name.as_str()?));
        self.query(&format!("SELECT 1 FROM {table} AT (VERSION => {}) LIMIT 0", SnapshotId(at.as_u64()?)))?;
        Ok(())
    }
}
