//! Writing the rows of a temporary table in formats that other programs read, some thousand rows at a time: what does
//! not fit into memory is DuckDB's to spill.

use std::io::Write;
use std::path::Path;

use duckdb::arrow::{error::ArrowError, ipc::writer::StreamWriter};

use super::text::{identifier, literal};
use super::{Lake, LakeError, OutputColumn, Value};

/// How many rows are taken out of DuckDB at once.
const CHUNK: u64 = 8_192;

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// They could not be read.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// They could not be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// They have no such form.
    #[error("the rows cannot be written as Arrow: {0}")]
    Arrow(String),
}

impl From<ArrowError> for ExportError {
    fn from(error: ArrowError) -> ExportError {
        match error {
            ArrowError::IoError(_, error) => ExportError::Write(error),
            other => ExportError::Arrow(other.to_string()),
        }
    }
}

/// Takes a row of texts; NULL is none.
pub type EachRow<'a> = dyn FnMut(&[Option<&str>]) -> Result<(), ExportError> + 'a;

impl Lake {
    /// Puts `records`, a JSON array of objects, into the temporary table `table`. A column has a name and a type as
    /// DuckDB's `from_json` takes it.
    pub fn stage_records(
        &self,
        table: &str,
        columns: &[(&str, serde_json::Value)],
        records: &serde_json::Value,
    ) -> Result<(), LakeError> {
        let structure: serde_json::Map<String, serde_json::Value> =
            columns.iter().map(|(name, data_type)| ((*name).to_owned(), data_type.clone())).collect();
        let structure = serde_json::Value::Array(vec![structure.into()]);
        self.execute(&format!(
            "CREATE OR REPLACE TEMP TABLE {} AS SELECT unnest(from_json({}, {}), max_depth := 2)",
            identifier(table),
            literal(&records.to_string()),
            literal(&structure.to_string()),
        ))?;
        Ok(())
    }

    /// The columns of a temporary table.
    pub fn temporary_columns(&self, table: &str) -> Result<Vec<OutputColumn>, LakeError> {
        self.describe(&format!("SELECT * FROM temp.main.{}", identifier(table)))
    }

    /// Calls `each` for every row of a temporary table, in its order, with the texts of `expressions` over it.
    pub fn each_row(&self, table: &str, expressions: &[String], each: &mut EachRow<'_>) -> Result<(), ExportError> {
        let texts: Vec<String> =
            expressions.iter().map(|expression| format!("CAST({expression} AS VARCHAR)")).collect();
        self.each_chunk(table, &mut |rows| {
            let sql = format!("SELECT {} FROM {rows}", texts.join(", "));
            for row in &self.query(&sql)?.rows {
                let row = row.iter().map(|value| value.optional(Value::as_str)).collect::<Result<Vec<_>, _>>()?;
                each(&row)?;
            }
            Ok(())
        })
    }

    /// Writes the rows of a temporary table as an Arrow IPC stream.
    pub fn write_arrow(&self, table: &str, out: &mut dyn Write) -> Result<(), ExportError> {
        // A result that is complete cannot fail any more while its batches are taken.
        let mut statement = self
            .connection
            .prepare(&format!("SELECT * FROM temp.main.{} LIMIT 0", identifier(table)))
            .map_err(|error| self.error(&error))?;
        let schema = statement.query_arrow([]).map_err(|error| self.error(&error))?.get_schema();
        let mut writer = StreamWriter::try_new(out, &schema)?;
        self.each_chunk(table, &mut |rows| {
            let mut statement =
                self.connection.prepare(&format!("SELECT * FROM {rows}")).map_err(|error| self.error(&error))?;
            for batch in statement.query_arrow([]).map_err(|error| self.error(&error))? {
                writer.write(&batch)?;
            }
            Ok(())
        })?;
        writer.finish()?;
        Ok(())
    }

    /// Writes the rows of a temporary table into a Parquet file.
    pub fn write_parquet(&self, table: &str, path: &Path) -> Result<(), LakeError> {
        let path = literal(&path.to_string_lossy());
        self.execute(&format!("COPY (SELECT * FROM temp.main.{}) TO {path} (FORMAT parquet)", identifier(table)))?;
        Ok(())
    }

    /// Calls `each` with a FROM item, and what else belongs to it, for one piece of a temporary table after the other.
    fn each_chunk(
        &self,
        table: &str,
        each: &mut dyn FnMut(&str) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let table = format!("temp.main.{}", identifier(table));
        let end = self.query_value(&format!("SELECT coalesce(max(rowid) + 1, 0) FROM {table}"))?.as_u64()?;
        let mut begin = 0;
        while begin < end {
            each(&format!("{table} WHERE rowid >= {begin} AND rowid < {} ORDER BY rowid", begin + CHUNK))?;
            begin += CHUNK;
        }
        Ok(())
    }
}
