//! DuckLake's names of types, in DuckDB's words.

use super::text::identifier;

/// A column of a nested type as DuckLake keeps it: a name, a type, and its own children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeNode {
    pub(super) name: String,
    pub(super) ducklake_type: String,
    pub(super) children: Vec<TypeNode>,
}

impl TypeNode {
    /// The type as DuckDB reads it. Field names are always quoted.
    pub(super) fn sql(&self) -> String {
        let child = |name: &str| {
            let found = self.children.iter().find(|child| child.name == name);
            found.or_else(|| self.children.first()).map_or_else(|| "VARCHAR".to_owned(), Self::sql)
        };
        match self.ducklake_type.as_str() {
            "list" => format!("{}[]", child("element")),
            "map" => {
                let value = self.children.iter().find(|child| child.name == "value").map(Self::sql);
                format!("MAP({}, {})", child("key"), value.unwrap_or_else(|| "VARCHAR".to_owned()))
            }
            "struct" => {
                let fields: Vec<String> =
                    self.children.iter().map(|field| format!("{} {}", identifier(&field.name), field.sql())).collect();
                format!("STRUCT({})", fields.join(", "))
            }
            scalar => scalar_sql(scalar),
        }
    }

    /// Whether two values of the type that compare as equal may still be different ones: `0.0` and `-0.0`,
    /// `INTERVAL '1 month'` and `INTERVAL '30 days'`.
    pub(super) fn equality_is_coarse(&self) -> bool {
        let coarse = matches!(self.ducklake_type.as_str(), "float32" | "float64" | "interval" | "timetz" | "variant");
        coarse || self.children.iter().any(Self::equality_is_coarse)
    }

    /// Whether the type is stored in the catalog's own tables just as it is.
    pub(super) fn is_plain(&self) -> bool {
        let scalar = self.ducklake_type.as_str();
        self.children.is_empty()
            && (scalar.starts_with("decimal(")
                || matches!(
                    scalar,
                    "boolean"
                        | "int8"
                        | "int16"
                        | "int32"
                        | "int64"
                        | "int128"
                        | "uint8"
                        | "uint16"
                        | "uint32"
                        | "uint64"
                        | "uint128"
                        | "float32"
                        | "float64"
                        | "varchar"
                        | "blob"
                        | "date"
                        | "time"
                        | "timestamp"
                        | "timestamp_s"
                        | "timestamp_ms"
                        | "timestamp_ns"
                        | "timestamptz"
                        | "uuid"
                ))
    }
}

fn scalar_sql(scalar: &str) -> String {
    let name = match scalar {
        "int8" => "TINYINT",
        "int16" => "SMALLINT",
        "int32" => "INTEGER",
        "int64" => "BIGINT",
        "int128" => "HUGEINT",
        "uint8" => "UTINYINT",
        "uint16" => "USMALLINT",
        "uint32" => "UINTEGER",
        "uint64" => "UBIGINT",
        "uint128" => "UHUGEINT",
        "float32" => "FLOAT",
        "float64" => "DOUBLE",
        "timetz" => "TIME WITH TIME ZONE",
        "timestamptz" => "TIMESTAMP WITH TIME ZONE",
        "timestamp_us" => "TIMESTAMP",
        other => return other.to_ascii_uppercase(),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, ducklake_type: &str, children: Vec<TypeNode>) -> TypeNode {
        TypeNode { name: name.to_owned(), ducklake_type: ducklake_type.to_owned(), children }
    }

    #[test]
    fn nested_types_are_spelt_out() {
        let fields = vec![
            node("a", "int32", vec![]),
            node("b c", "list", vec![node("element", "decimal(10,2)", vec![])]),
            node("m", "map", vec![node("key", "varchar", vec![]), node("value", "timestamptz", vec![])]),
        ];
        let sql = node("s", "struct", fields).sql();
        assert_eq!(sql, "STRUCT(\"a\" INTEGER, \"b c\" DECIMAL(10,2)[], \"m\" MAP(VARCHAR, TIMESTAMP WITH TIME ZONE))");
    }

    #[test]
    fn coarse_equality_is_found_inside() {
        assert!(node("l", "list", vec![node("element", "float64", vec![])]).equality_is_coarse());
        assert!(!node("d", "decimal(10,2)", vec![]).equality_is_coarse());
    }
}
