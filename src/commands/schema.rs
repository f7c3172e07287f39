//! The JSON schemas in `docs/schema/` are those of the types that the commands print. `DUCKLAKE_IVM_RECORD=1` writes
//! them anew.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// What `diff --rows` prints, row by row.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use: rows are written as they come")]
struct RowsAnswer {
    /// The snapshot that the range begins with.
    from: u64,
    /// The one that it ends with.
    to: u64,
    /// The tables that have such rows, and those that were named.
    tables: Vec<RowsOfTable>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
struct RowsOfTable {
    /// The table, as `schema.name`.
    table: String,
    /// What happened to it, if it is not there at both ends: `created at 10`, `dropped at 12`.
    fate: Option<String>,
    /// How many rows there are, also those beyond the limit.
    total: u64,
    /// The rows: `_change` (`insert`, `delete`, `update_preimage`, `update_postimage`), `_copies`, `_row_id` (each with one
    /// more underscore where the table has a column of that name), and the columns of the table.
    rows: Vec<serde_json::Map<String, serde_json::Value>>,
}

fn check<T: JsonSchema>(command: &str) {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schema/{command}.json"));
    if std::env::var_os("DUCKLAKE_IVM_RECORD").is_some() {
        std::fs::write(&file, &text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(recorded == text, "{} is another schema; DUCKLAKE_IVM_RECORD=1 writes it anew", file.display());
}

#[test]
fn the_documented_schemas_are_those_of_the_answers() {
    check::<super::create::CreateAnswer>("create");
    check::<super::drop::DropAnswer>("drop");
    check::<super::apply::ApplyAnswer>("apply");
    check::<crate::sync::Report>("sync");
    check::<crate::inspect::Explanation>("plan");
    check::<super::status::StatusAnswer>("status");
    check::<super::verify::VerifyAnswer>("verify");
    check::<super::history::HistoryAnswer>("history");
    check::<super::snapshots::Log>("snapshots");
    check::<crate::inspect::Diff>("diff");
    check::<RowsAnswer>("diff-rows");
    check::<super::diff::FileList>("diff-files");
    check::<super::diff::Impacts>("diff-impact");
}
