//! The JSON schemas in `docs/schema/` are those of the types that the commands print. `DUCKLAKE_IVM_RECORD=1` writes
//! them anew.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

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
    check::<super::diff::FileList>("diff-files");
    check::<super::diff::Impacts>("diff-impact");
}
