//! Rows of a temporary table on their way out: CSV, JSON, Arrow and Parquet.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use crate::lake::{ExportError, Lake, OutputColumn, identifier};

/// Writes CSV as RFC 4180 has it: a header, a comma, quotes where needed. NULL is nothing at all, and an empty text two
/// quotes; the writers of well-known crates cannot tell the two apart.
pub(super) fn csv(lake: &Lake, table: &str, out: &mut dyn Write) -> Result<(), ExportError> {
    let columns = lake.temporary_columns(table)?;
    let header: Vec<String> = columns.iter().map(|column| csv_field(&column.name)).collect();
    writeln!(out, "{}", header.join(","))?;
    let expressions: Vec<String> = columns.iter().map(|column| identifier(&column.name)).collect();
    lake.each_row(table, &expressions, &mut |row| {
        let fields: Vec<String> = row.iter().map(|field| field.map_or_else(String::new, csv_field)).collect();
        Ok(writeln!(out, "{}", fields.join(","))?)
    })
}

fn csv_field(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Writes the rows as a JSON array of objects. Integers and decimals of any length are written as numbers, digit by
/// digit; what JSON has no number for (`inf`, `nan`), and every other type, as text; lists, structs and maps as DuckDB's
/// `to_json` does, but for the numbers that JSON does not have.
pub(super) fn json(lake: &Lake, table: &str, indent: &str, out: &mut dyn Write) -> Result<(), ExportError> {
    let columns = lake.temporary_columns(table)?;
    let expressions: Vec<String> = columns.iter().map(json_token).collect();
    let names = columns.iter().map(|column| serde_json::to_string(&column.name)).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(io::Error::from)?;
    let mut separator = "";
    write!(out, "[")?;
    lake.each_row(table, &expressions, &mut |row| {
        let fields: Vec<String> =
            names.iter().zip(row).map(|(name, token)| format!("{name}: {}", valid(token.unwrap_or("null")))).collect();
        write!(out, "{separator}\n{indent}  {{{}}}", fields.join(", "))?;
        separator = ",";
        Ok(())
    })?;
    if separator.is_empty() {
        write!(out, "]")?;
    } else {
        write!(out, "\n{indent}]")?;
    }
    Ok(())
}

/// An expression that gives a column's value as JSON.
fn json_token(column: &OutputColumn) -> String {
    let name = identifier(&column.name);
    let data_type = column.data_type.as_str();
    let nested = data_type.ends_with(']') || data_type.starts_with("STRUCT(") || data_type.starts_with("MAP(");
    match data_type {
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT" | "UINTEGER"
        | "UBIGINT" | "UHUGEINT" | "BIGNUM" | "BOOLEAN" => name,
        "FLOAT" | "DOUBLE" => format!(
            "CASE WHEN isfinite({name}) THEN CAST({name} AS VARCHAR) ELSE CAST(to_json(CAST({name} AS VARCHAR)) AS VARCHAR) END"
        ),
        _ if data_type.starts_with("DECIMAL(") && !nested => name,
        _ if nested => format!("to_json({name})"),
        _ => format!("to_json(CAST({name} AS VARCHAR))"),
    }
}

/// The token with text in place of what `to_json` of DuckDB 1.5.5 writes bare inside lists, structs and maps though JSON has
/// no such number.
fn valid(token: &str) -> Cow<'_, str> {
    const NO_NUMBERS: [(&str, &str); 3] = [("NaN", "\"nan\""), ("-Infinity", "\"-inf\""), ("Infinity", "\"inf\"")];
    if !NO_NUMBERS.iter().any(|(bare, _)| token.contains(bare)) {
        return token.into();
    }
    let (mut written, mut rest, mut in_text) = (String::new(), token, false);
    while let Some(c) = rest.chars().next() {
        let bare = NO_NUMBERS.iter().find(|(bare, _)| !in_text && rest.starts_with(bare));
        let length = match (bare, c) {
            (Some((bare, text)), _) => {
                written.push_str(text);
                rest = rest.get(bare.len()..).unwrap_or_default();
                continue;
            }
            (None, '\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (None, _) => c.len_utf8(),
        };
        in_text ^= c == '"';
        let (head, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
        written.push_str(head);
        rest = tail;
    }
    written.into()
}

/// Writes the rows as an Arrow IPC stream.
pub(super) fn arrow(lake: &Lake, table: &str, out: &mut dyn Write) -> Result<(), ExportError> {
    lake.write_arrow(table, out)
}

/// Writes the rows into a Parquet file.
pub(super) fn parquet(lake: &Lake, table: &str, path: &Path) -> Result<(), ExportError> {
    lake.write_parquet(table, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_has_no_number_for_is_text() {
        let nested = r#"[NaN,-Infinity,{"NaN":Infinity,"t":"a \" NaN","u":"ä\\"},1.5]"#;
        assert_eq!(valid(nested), r#"["nan","-inf",{"NaN":"inf","t":"a \" NaN","u":"ä\\"},1.5]"#);
        assert_eq!(valid(r#""NaN""#), r#""NaN""#);
    }

    #[test]
    fn a_field_is_quoted_where_it_must_be() {
        let fields = ["a", "", "a,b", "say \"hi\"", "two\nlines", "NULL"];
        let quoted = ["a", "\"\"", "\"a,b\"", "\"say \"\"hi\"\"\"", "\"two\nlines\"", "NULL"];
        assert_eq!(fields.map(csv_field), quoted);
    }
}
