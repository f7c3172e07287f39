//! Identifiers.

use std::collections::BTreeSet;

/// `name` as a quoted identifier.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Names given out once each. DuckDB's identifiers do not tell upper from lower case.
#[derive(Debug, Default)]
pub(super) struct Names {
    used: BTreeSet<String>,
}

impl Names {
    /// `base`, or `base_2`, `base_3`, … if it is taken.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut count = 1;
        while !self.used.insert(name.to_lowercase()) {
            count += 1;
            name = format!("{base}_{count}");
        }
        name
    }
}

/// The names made unique, in order; DuckDB does the same with a table's columns. An empty name gets one.
pub(super) fn unique(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let made = names.into_iter().map(|name| {
        let base = if name.is_empty() { "column".to_owned() } else { name };
        let mut name = base.clone();
        let mut count = 0;
        while !taken.insert(name.to_lowercase()) {
            count += 1;
            name = format!("{base}_{count}");
        }
        name
    });
    made.collect()
}

/// Words that cannot stand alone as a function's name: reserved ones and those with a grammar of their own.
const WORDS: [&str; 142] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "anti",
    "any",
    "array",
    "as",
    "asc",
    "asof",
    "asymmetric",
    "at",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "by",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "columns",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "describe",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "generated",
    "glob",
    "group",
    "grouping",
    "grouping_id",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lambda",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "map",
    "national",
    "natural",
    "nchar",
    "none",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "pivot",
    "placing",
    "position",
    "positional",
    "precision",
    "primary",
    "qualify",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "semi",
    "setof",
    "show",
    "similar",
    "smallint",
    "some",
    "struct",
    "substring",
    "summarize",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "try",
    "try_cast",
    "union",
    "unique",
    "unpack",
    "unpivot",
    "using",
    "values",
    "varchar",
    "window",
];

/// A function's name, quoted where it must be.
pub(super) fn function(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if plain && !WORDS.contains(&name) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_whatever_their_case() {
        assert_eq!(
            unique(["a".to_owned(), "A".to_owned(), String::new(), "a".to_owned()]),
            ["a", "A_1", "column", "a_2"]
        );
        let mut names = Names::default();
        assert_eq!([names.fresh("Orders"), names.fresh("orders")], ["Orders", "orders_2"]);
    }

    #[test]
    fn functions_are_quoted_where_their_names_are_words_or_signs() {
        assert_eq!(function("upper"), "upper");
        assert_eq!(function("position"), "\"position\"");
        assert_eq!(function("@>"), "\"@>\"");
    }
}
