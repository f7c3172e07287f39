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
    /// A whole number has more digits than any type of these formats holds.
    #[error("column {column} holds {value}, and these formats have no whole number of more than 38 digits")]
    TooLong {
        /// The column.
        column: String,
        /// The value, or the list or struct that it is in.
        value: String,
    },
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
        let columns = self.exact_columns(table)?;
        // A result that is complete cannot fail any more while its batches are taken.
        let mut statement = self
            .connection
            .prepare(&format!("SELECT {columns} FROM temp.main.{} LIMIT 0", identifier(table)))
            .map_err(|error| self.error(&error))?;
        let schema = statement.query_arrow([]).map_err(|error| self.error(&error))?.get_schema();
        let mut writer = StreamWriter::try_new(out, &schema)?;
        self.each_chunk(table, &mut |rows| {
            let mut statement = self
                .connection
                .prepare(&format!("SELECT {columns} FROM {rows}"))
                .map_err(|error| self.error(&error))?;
            for batch in statement.query_arrow([]).map_err(|error| self.error(&error))? {
                writer.write(&batch)?;
            }
            Ok(())
        })?;
        writer.finish()?;
        Ok(())
    }

    /// Writes the rows of a temporary table into a Parquet file.
    pub fn write_parquet(&self, table: &str, path: &Path) -> Result<(), ExportError> {
        let columns = self.exact_columns(table)?;
        let (table, path) = (identifier(table), literal(&path.to_string_lossy()));
        self.execute(&format!("COPY (SELECT {columns} FROM temp.main.{table}) TO {path} (FORMAT parquet)"))?;
        Ok(())
    }

    /// The columns of a temporary table for SELECT, with the types under which DuckDB's Parquet and Arrow keep every digit.
    /// Fails if a value has more of them than such a type.
    fn exact_columns(&self, table: &str) -> Result<String, ExportError> {
        let mut list = Vec::new();
        for OutputColumn { name, data_type, .. } in self.temporary_columns(table)? {
            let column = identifier(&name);
            let Some(exact) = exact_type(&data_type) else {
                list.push(column);
                continue;
            };
            let rows = self.query(&format!(
                "SELECT CAST({column} AS VARCHAR) FROM temp.main.{} \
                 WHERE CAST(TRY_CAST({column} AS {exact}) AS VARCHAR) IS DISTINCT FROM CAST({column} AS VARCHAR) LIMIT 1",
                identifier(table)
            ))?;
            if let Some(value) = rows.rows.first().and_then(|row| row.first()) {
                return Err(ExportError::TooLong { column: name, value: value.as_str()?.to_owned() });
            }
            list.push(format!("CAST({column} AS {exact}) AS {column}"));
        }
        Ok(list.join(", "))
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

/// The type that stands in for one with whole numbers of 128 bits, which DuckDB writes as DOUBLE into Parquet, and into Arrow
/// as decimals of 38 digits also if they have 39; none if there are none in it.
fn exact_type(data_type: &str) -> Option<String> {
    const EXACT: &str = "DECIMAL(38,0)";
    let mut exact = String::new();
    // What stands in quotes is a name.
    for (position, part) in data_type.split('"').enumerate() {
        if position > 0 {
            exact.push('"');
        }
        if position % 2 == 1 {
            exact.push_str(part);
            continue;
        }
        let mut rest = part;
        while let Some(at) = rest.find(|character: char| character.is_ascii_alphanumeric() || character == '_') {
            let (between, word) = rest.split_at(at);
            let end = word.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
            let (word, after) = word.split_at(end.unwrap_or(word.len()));
            // The name of a field comes before a space, its type does not.
            let is_wide = matches!(word, "HUGEINT" | "UHUGEINT") && !after.starts_with(' ');
            exact.push_str(between);
            exact.push_str(if is_wide { EXACT } else { word });
            rest = after;
        }
        exact.push_str(rest);
    }
    (exact != data_type).then_some(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_128_bits_become_decimals_wherever_they_are() {
        let exact = |data_type| exact_type(data_type).unwrap_or_default();
        assert_eq!(exact("HUGEINT"), "DECIMAL(38,0)");
        assert_eq!(exact("MAP(HUGEINT, UHUGEINT[])"), "MAP(DECIMAL(38,0), DECIMAL(38,0)[])");
        assert_eq!(
            exact("STRUCT(HUGEINT INTEGER, \"a HUGEINT\" HUGEINT, MY_HUGEINT BIGINT)"),
            "STRUCT(HUGEINT INTEGER, \"a HUGEINT\" DECIMAL(38,0), MY_HUGEINT BIGINT)"
        );
        for data_type in ["BIGINT", "DECIMAL(38,10)", "STRUCT(HUGEINT INTEGER, \"HUGEINT,\" INTEGER[])"] {
            assert_eq!(exact_type(data_type), None);
        }
    }
}
