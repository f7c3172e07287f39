//! What a bound plan reads, taken from DuckDB's JSON itself: also of plans that the decoder does not know.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A table that a bound plan reads, by the names of the session that bound it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundTable {
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// All columns that the table had, in order: what a position in the plan means.
    pub all_columns: Vec<String>,
    /// The positions among them that the plan reads, ascending.
    pub used: Vec<usize>,
}

/// The inputs of a bound plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    /// Tables of the lake, each once, in the plan's order.
    pub tables: Vec<BoundTable>,
    /// Inputs whose changes cannot be told from the lake: files, other databases, virtual columns.
    pub untracked: Vec<String>,
    /// The files among them, as their paths are written.
    pub files: Vec<String>,
    /// How many scans are pinned to a snapshot by the user's own `AT`.
    pub pinned: usize,
}

/// Positions from here on are virtual columns (`rowid`, `filename`, …), whose values maintenance changes.
const FIRST_VIRTUAL: u64 = 1 << 63;
/// The position that stands for "no column at all" (`count(*)`).
const NO_COLUMN: u64 = u64::MAX - 1;
/// Table functions that read nothing but their arguments.
const CONSTANT_FUNCTIONS: [&str; 6] = ["range", "generate_series", "repeat", "repeat_row", "unnest", "json_each"];

impl Binding {
    /// Collects the inputs of `plan`, bound while `catalog` was at snapshot `current`. A scan that the user pinned to
    /// another snapshot is a constant and not among them.
    pub fn of(plan: &Json, catalog: &str, current: u64) -> Binding {
        let mut binding = Binding::default();
        binding.collect(plan, catalog, current);
        binding
    }

    fn collect(&mut self, node: &Json, catalog: &str, current: u64) {
        match node {
            Json::Array(items) => items.iter().for_each(|item| self.collect(item, catalog, current)),
            Json::Object(fields) => {
                if text(node, "type") == "LOGICAL_GET" {
                    self.input(node, catalog, current);
                }
                fields.values().for_each(|value| self.collect(value, catalog, current));
            }
            _ => {}
        }
    }

    fn input(&mut self, get: &Json, catalog: &str, current: u64) {
        let function = text(get, "name");
        let data = &get["function_data"];
        if function != "ducklake_scan" {
            if !CONSTANT_FUNCTIONS.contains(&function) {
                self.add_untracked(format!("{function}()"));
                if function.starts_with("read_") || function.starts_with("parquet_") || function == "glob" {
                    texts(&data["files"], &mut self.files);
                    let given = get["parameters"].as_array().into_iter().flatten();
                    given.for_each(|parameter| texts(&parameter["value"], &mut self.files));
                }
            }
            return;
        }
        let (schema, table) = (text(data, "schema_name"), text(data, "table_name"));
        if text(data, "catalog_name") != catalog {
            self.add_untracked(format!("the table {}.{schema}.{table} of another lake", text(data, "catalog_name")));
            return;
        }
        if data["snapshot"]["snapshot_id"].as_u64() != Some(current) {
            self.pinned += 1;
            return;
        }
        let positions = positions(get);
        if positions.iter().any(|&position| position >= FIRST_VIRTUAL && position != NO_COLUMN) {
            self.add_untracked(format!("a virtual column of {schema}.{table}"));
        }
        let all_columns: Vec<String> = names(get);
        let used = positions.into_iter().filter_map(|position| usize::try_from(position).ok());
        let used = used.filter(|&position| position < all_columns.len()).collect();
        self.add_table(BoundTable { schema: schema.to_owned(), table: table.to_owned(), all_columns, used });
    }

    fn add_untracked(&mut self, input: String) {
        if !self.untracked.contains(&input) {
            self.untracked.push(input);
        }
    }

    fn add_table(&mut self, mut table: BoundTable) {
        let known = self.tables.iter_mut().find(|known| known.schema == table.schema && known.table == table.table);
        match known {
            Some(known) => {
                known.used.append(&mut table.used);
                known.used.sort_unstable();
                known.used.dedup();
            }
            None => {
                table.used.sort_unstable();
                table.used.dedup();
                self.tables.push(table);
            }
        }
    }
}

fn text<'a>(node: &'a Json, field: &str) -> &'a str {
    node[field].as_str().unwrap_or_default()
}

/// The texts in a value or in a list of values.
fn texts(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(fields) => {
            for (_, inner) in fields.iter().filter(|(name, _)| matches!(name.as_str(), "children" | "value")) {
                texts(inner, found);
            }
        }
        _ => {}
    }
}

fn names(get: &Json) -> Vec<String> {
    let names = get["names"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The positions that a scan reads; a field that is left out is zero.
fn positions(get: &Json) -> Vec<u64> {
    let indexes = get["column_indexes"].as_array().into_iter().flatten();
    indexes.map(|index| index["index"].as_u64().unwrap_or(0)).collect()
}

/// The same plan without what changes from one binding to the next although the meaning stays: the snapshot that an
/// unpinned scan was bound at, and places in the query's text. A table outside `catalog` has snapshots of its own.
pub fn comparable(plan: &Json, catalog: &str, current: u64) -> Json {
    match plan {
        Json::Array(items) => Json::Array(items.iter().map(|item| comparable(item, catalog, current)).collect()),
        Json::Object(fields) => {
            let outside = fields.get("catalog_name").and_then(Json::as_str).is_some_and(|name| name != catalog);
            let kept = fields.iter().filter(|(name, value)| match name.as_str() {
                "query_location" | "extra_info" => false,
                "snapshot" => !outside && value["snapshot_id"].as_u64() != Some(current),
                _ => true,
            });
            Json::Object(kept.map(|(name, value)| (name.clone(), comparable(value, catalog, current))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scan(table: &str, snapshot: u64, positions: &[u64]) -> Json {
        let indexes: Vec<Json> = positions.iter().map(|index| json!({"index": index})).collect();
        json!({"type": "LOGICAL_GET", "name": "ducklake_scan", "names": ["a", "b", "c"], "column_indexes": indexes,
               "function_data": {"catalog_name": "lake", "schema_name": "main", "table_name": table,
                                 "snapshot": {"snapshot_id": snapshot}}})
    }

    #[test]
    fn a_table_read_twice_is_one_input_with_all_its_columns() {
        let plan = json!({"children": [scan("t", 7, &[2]), scan("t", 7, &[0, 2]), scan("u", 7, &[1])]});
        let binding = Binding::of(&plan, "lake", 7);
        assert_eq!(binding.tables.len(), 2);
        assert_eq!(binding.tables[0].used, vec![0, 2]);
        assert!(binding.untracked.is_empty());
    }

    #[test]
    fn pinned_scans_are_no_inputs_and_files_are_untracked() {
        let file = json!({"type": "LOGICAL_GET", "name": "read_parquet"});
        let plan = json!({"children": [scan("t", 3, &[0]), file]});
        let binding = Binding::of(&plan, "lake", 7);
        assert!(binding.tables.is_empty());
        assert_eq!(binding.untracked, vec!["read_parquet()"]);
    }

    #[test]
    fn virtual_columns_are_untracked_but_no_column_is_not() {
        let binding = Binding::of(&scan("t", 7, &[NO_COLUMN]), "lake", 7);
        assert!(binding.untracked.is_empty() && binding.tables[0].used.is_empty());
        let binding = Binding::of(&scan("t", 7, &[u64::MAX]), "lake", 7);
        assert_eq!(binding.untracked, vec!["a virtual column of main.t"]);
    }

    #[test]
    fn two_bindings_of_one_meaning_compare_equal() {
        let of = |snapshot, catalog, current| comparable(&scan("t", snapshot, &[0]), catalog, current);
        assert_eq!(of(7, "lake", 7), of(9, "lake", 9));
        assert_ne!(of(7, "lake", 7), of(7, "lake", 9));
        assert_eq!(of(3, "another", 7), of(4, "another", 9));
    }
}
