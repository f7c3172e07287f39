//! Random cases: three tables `r`, `s`, `t` with two small integers and one column of any storable type, views over
//! them, and batches of transactions.

mod histories;
mod views;

use proptest::prelude::*;

/// One case.
#[derive(Clone)]
pub(crate) struct Case {
    /// `data_inlining_row_limit` of the lake.
    pub(crate) inline_rows: u32,
    /// Statements that make and fill the tables.
    pub(crate) tables: Vec<String>,
    /// The views' SQL.
    pub(crate) views: Vec<String>,
    /// Batches of transactions of statements; after each batch comes a sync.
    pub(crate) batches: Vec<Vec<Vec<String>>>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "inlining {}, {:#?}\n{:#?}\n{:#?}", self.inline_rows, self.tables, self.views, self.batches)
    }
}

/// A storable type and literals of it, some of which compare equal to others.
pub(crate) struct Storable {
    /// Its name.
    pub(crate) data_type: &'static str,
    /// Values.
    pub(crate) values: &'static [&'static str],
}

/// The types of the third column.
pub(crate) const TYPES: &[Storable] = &[
    Storable { data_type: "BOOLEAN", values: &["true", "false"] },
    Storable { data_type: "UTINYINT", values: &["0", "255"] },
    Storable { data_type: "BIGINT", values: &["'-9223372036854775808'", "9223372036854775807", "0"] },
    Storable { data_type: "UBIGINT", values: &["18446744073709551615", "0"] },
    Storable { data_type: "FLOAT", values: &["1.5", "'nan'", "'-inf'"] },
    Storable { data_type: "DOUBLE", values: &["0.1", "'NaN'", "'Infinity'", "'-0.0'", "0.0"] },
    Storable { data_type: "DECIMAL(4,1)", values: &["1.5", "-999.9"] },
    Storable { data_type: "DECIMAL(38,10)", values: &["1234567890123456789012345678.0123456789", "0.0000000001"] },
    Storable { data_type: "VARCHAR", values: &["''", "'it''s'", "'ü😀\n'", "'null'"] },
    Storable { data_type: "BLOB", values: &["''::BLOB", "'\\xAA\\x00'::BLOB"] },
    Storable { data_type: "DATE", values: &["DATE '2026-02-28'", "'infinity'", "DATE '0001-01-01'"] },
    Storable { data_type: "TIMESTAMP", values: &["TIMESTAMP '2026-01-01 12:00:00.123456'", "'-infinity'"] },
    Storable {
        data_type: "TIMESTAMPTZ",
        values: &["TIMESTAMPTZ '2026-01-01 12:00:00+02'", "TIMESTAMPTZ '2026-01-01 10:00:00+00'"],
    },
    Storable { data_type: "TIMESTAMP_NS", values: &["'2026-01-01 12:00:00.123456789'::TIMESTAMP_NS"] },
    Storable { data_type: "TIME", values: &["TIME '23:59:59.999999'", "TIME '00:00:00'"] },
    Storable {
        data_type: "INTERVAL",
        values: &["INTERVAL '1 month'", "INTERVAL '30 days'", "INTERVAL '1 day 3 seconds'"],
    },
    Storable {
        data_type: "UUID",
        values: &["'00000000-0000-0000-0000-000000000001'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    },
    Storable { data_type: "JSON", values: &["'{\"a\": [1, null]}'", "'[]'"] },
    Storable { data_type: "INTEGER[]", values: &["[1, 2, NULL]", "[]", "[1, 1]"] },
    Storable {
        data_type: "STRUCT(x INTEGER, y VARCHAR[])",
        values: &["{'x': 1, 'y': ['a', NULL]}", "{'x': NULL, 'y': NULL}"],
    },
    Storable { data_type: "MAP(VARCHAR, INTEGER)", values: &["MAP {'a': 1}", "MAP {}"] },
];

/// The third column's type in each table, as positions in [`TYPES`].
pub(crate) type Types = [usize; 3];

/// The tables' names.
pub(crate) const TABLES: [&str; 3] = ["r", "s", "t"];

/// Cases of one view or two, and one batch or two.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let types = proptest::array::uniform3(0..TYPES.len());
    (types, prop_oneof![Just(0_u32), Just(10), Just(1_000)]).prop_flat_map(|(types, inline_rows)| {
        let batches = proptest::collection::vec(histories::batch(types), 1..=2);
        let views = proptest::collection::vec(views::view(types), 1..=2);
        (histories::tables(types), views, batches).prop_map(move |(tables, views, batches)| Case {
            inline_rows,
            tables,
            views,
            batches,
        })
    })
}
