//! Statements that make the tables, change them and maintain them.

use proptest::prelude::*;

use super::{TABLES, TYPES, Types};

/// A small integer or NULL.
fn small() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just("NULL".to_owned()), 5 => (0..4_i32).prop_map(|value| value.to_string())]
}

/// A value of a type, or NULL.
fn value(at: usize) -> impl Strategy<Value = String> {
    let typed = |value: &&str| format!("CAST({value} AS {})", TYPES[at].data_type);
    let values: Vec<String> = TYPES[at].values.iter().map(typed).collect();
    prop_oneof![1 => Just("NULL".to_owned()), 4 => proptest::sample::select(values)]
}

/// `(1, NULL, 'x'), …`; the small domains make duplicates.
fn rows(at: usize, most: usize) -> impl Strategy<Value = String> {
    let row = (small(), small(), value(at)).prop_map(|(a, b, c)| format!("({a}, {b}, {c})"));
    proptest::collection::vec(row, 1..=most).prop_map(|rows| rows.join(", "))
}

/// `CREATE TABLE` and the first rows.
pub(crate) fn tables(types: Types) -> impl Strategy<Value = Vec<String>> {
    let table = |number: usize| {
        let (name, data_type) = (TABLES[number], TYPES[types[number]].data_type);
        (rows(types[number], 8), any::<bool>()).prop_map(move |(rows, partitioned)| {
            let mut statements = vec![format!("CREATE TABLE lake.main.{name} (a INTEGER, b INTEGER, c {data_type})")];
            if partitioned {
                statements.push(format!("ALTER TABLE lake.main.{name} SET PARTITIONED BY (a)"));
            }
            statements.push(format!("INSERT INTO lake.main.{name} VALUES {rows}"));
            statements
        })
    };
    (table(0), table(1), table(2)).prop_map(|(r, s, t)| [r, s, t].concat())
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..4_i32).prop_map(|value| format!("a = {value}")),
        (0..4_i32).prop_map(|value| format!("b < {value}")),
        Just("a IS NULL".to_owned()),
        Just("a = b".to_owned()),
        Just("true".to_owned()),
    ]
}

/// One statement on one table.
fn statement(types: Types) -> impl Strategy<Value = String> {
    (0..3_usize).prop_flat_map(move |number| {
        let (name, at) = (TABLES[number], types[number]);
        let name = format!("lake.main.{name}");
        let named = move |text: String| text.replace("{table}", &name);
        prop_oneof![
            4 => rows(at, 4).prop_map(|rows| format!("INSERT INTO {{table}} VALUES {rows}")),
            1 => rows(at, 14).prop_map(|rows| format!("INSERT INTO {{table}} VALUES {rows}")),
            1 => condition().prop_map(|condition| format!("INSERT INTO {{table}} FROM {{table}} WHERE {condition}")),
            3 => condition().prop_map(|condition| format!("DELETE FROM {{table}} WHERE {condition}")),
            1 => (small(), condition()).prop_map(|(value, condition)| format!("UPDATE {{table}} SET a = {value} WHERE {condition}")),
            1 => condition().prop_map(|condition| format!("UPDATE {{table}} SET b = b + 1 WHERE {condition}")),
            1 => (value(at), condition()).prop_map(|(value, condition)| format!("UPDATE {{table}} SET c = {value} WHERE {condition}")),
            1 => condition().prop_map(|condition| format!("UPDATE {{table}} SET a = a WHERE {condition}")),
        ]
        .prop_map(named)
    })
}

fn maintenance() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "CALL ducklake_flush_inlined_data('lake')".to_owned(),
        "CALL ducklake_merge_adjacent_files('lake')".to_owned(),
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)".to_owned(),
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)".to_owned(),
        "CHECKPOINT lake".to_owned(),
    ])
}

/// Transactions of one to four statements, with maintenance in between.
pub(crate) fn batch(types: Types) -> impl Strategy<Value = Vec<Vec<String>>> {
    let transaction = prop_oneof![
        5 => proptest::collection::vec(statement(types), 1..=4),
        1 => maintenance().prop_map(|call| vec![call]),
    ];
    proptest::collection::vec(transaction, 0..=4)
}
