//! DuckDB's logical types, as far as a view over a lake can meet them.

use std::fmt;

/// A DuckDB logical type. [`fmt::Display`] writes the SQL that names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataType {
    /// The type of a bare `NULL`.
    Null,
    /// `BOOLEAN`
    Boolean,
    /// `TINYINT`
    TinyInt,
    /// `SMALLINT`
    SmallInt,
    /// `INTEGER`
    Integer,
    /// `BIGINT`
    BigInt,
    /// `HUGEINT`: DuckLake stores it as DOUBLE in Parquet, so it never reaches a view table.
    HugeInt,
    /// `UTINYINT`
    UTinyInt,
    /// `USMALLINT`
    USmallInt,
    /// `UINTEGER`
    UInteger,
    /// `UBIGINT`
    UBigInt,
    /// `UHUGEINT`: see [`DataType::HugeInt`].
    UHugeInt,
    /// `FLOAT`
    Float,
    /// `DOUBLE`
    Double,
    /// `DECIMAL(width, scale)`
    Decimal {
        /// Digits in all, 1 to 38.
        width: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// `VARCHAR`, with the collation if one is attached.
    Varchar {
        /// DuckDB's collation name; it changes what `=` means.
        collation: Option<String>,
    },
    /// `BLOB`
    Blob,
    /// `BIT`
    Bit,
    /// `DATE`
    Date,
    /// `TIME`
    Time,
    /// `TIME_NS`
    TimeNs,
    /// `TIME WITH TIME ZONE`
    TimeTz,
    /// `TIMESTAMP`
    Timestamp,
    /// `TIMESTAMP_S`
    TimestampS,
    /// `TIMESTAMP_MS`
    TimestampMs,
    /// `TIMESTAMP_NS`
    TimestampNs,
    /// `TIMESTAMP WITH TIME ZONE`
    TimestampTz,
    /// `INTERVAL`
    Interval,
    /// `UUID`
    Uuid,
    /// `JSON`, an alias of VARCHAR with its own casts.
    Json,
    /// `BIGNUM`
    BigNum,
    /// `GEOMETRY`, with its coordinate reference system if one is attached.
    Geometry {
        /// The coordinate reference system's name.
        crs: Option<String>,
    },
    /// `VARIANT`
    Variant,
    /// `ENUM('a', 'b')`
    Enum(Vec<String>),
    /// `T[]`
    List(Box<DataType>),
    /// `T[n]`
    Array(Box<DataType>, u64),
    /// `STRUCT(name T, …)`; names are empty for an unnamed row.
    Struct(Vec<(String, DataType)>),
    /// `MAP(K, V)`
    Map(Box<DataType>, Box<DataType>),
    /// `UNION(tag T, …)`
    Union(Vec<(String, DataType)>),
}

impl DataType {
    /// `VARCHAR` without a collation.
    pub const VARCHAR: DataType = DataType::Varchar { collation: None };
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = |f: &mut fmt::Formatter<'_>, word: &str, fields: &[(String, DataType)]| {
            write!(f, "{word}(")?;
            for (position, (name, data_type)) in fields.iter().enumerate() {
                let comma = if position == 0 { "" } else { ", " };
                write!(f, "{comma}\"{}\" {data_type}", name.replace('"', "\"\""))?;
            }
            write!(f, ")")
        };
        match self {
            DataType::Null => f.write_str("\"NULL\""),
            DataType::Boolean => f.write_str("BOOLEAN"),
            DataType::TinyInt => f.write_str("TINYINT"),
            DataType::SmallInt => f.write_str("SMALLINT"),
            DataType::Integer => f.write_str("INTEGER"),
            DataType::BigInt => f.write_str("BIGINT"),
            DataType::HugeInt => f.write_str("HUGEINT"),
            DataType::UTinyInt => f.write_str("UTINYINT"),
            DataType::USmallInt => f.write_str("USMALLINT"),
            DataType::UInteger => f.write_str("UINTEGER"),
            DataType::UBigInt => f.write_str("UBIGINT"),
            DataType::UHugeInt => f.write_str("UHUGEINT"),
            DataType::Float => f.write_str("FLOAT"),
            DataType::Double => f.write_str("DOUBLE"),
            DataType::Decimal { width, scale } => write!(f, "DECIMAL({width}, {scale})"),
            DataType::Varchar { .. } => f.write_str("VARCHAR"),
            DataType::Blob => f.write_str("BLOB"),
            DataType::Bit => f.write_str("BIT"),
            DataType::Date => f.write_str("DATE"),
            DataType::Time => f.write_str("TIME"),
            DataType::TimeNs => f.write_str("TIME_NS"),
            DataType::TimeTz => f.write_str("TIME WITH TIME ZONE"),
            DataType::Timestamp => f.write_str("TIMESTAMP"),
            DataType::TimestampS => f.write_str("TIMESTAMP_S"),
            DataType::TimestampMs => f.write_str("TIMESTAMP_MS"),
            DataType::TimestampNs => f.write_str("TIMESTAMP_NS"),
            DataType::TimestampTz => f.write_str("TIMESTAMP WITH TIME ZONE"),
            DataType::Interval => f.write_str("INTERVAL"),
            DataType::Uuid => f.write_str("UUID"),
            DataType::Json => f.write_str("JSON"),
            DataType::BigNum => f.write_str("BIGNUM"),
            DataType::Geometry { crs: None } => f.write_str("GEOMETRY"),
            DataType::Geometry { crs: Some(crs) } => write!(f, "GEOMETRY('{}')", crs.replace('\'', "''")),
            DataType::Variant => f.write_str("VARIANT"),
            DataType::Enum(labels) => {
                f.write_str("ENUM(")?;
                for (position, label) in labels.iter().enumerate() {
                    let comma = if position == 0 { "" } else { ", " };
                    write!(f, "{comma}'{}'", label.replace('\'', "''"))?;
                }
                f.write_str(")")
            }
            DataType::List(element) => write!(f, "{element}[]"),
            DataType::Array(element, length) => write!(f, "{element}[{length}]"),
            DataType::Struct(members) => fields(f, "STRUCT", members),
            DataType::Map(key, value) => write!(f, "MAP({key}, {value})"),
            DataType::Union(members) => fields(f, "UNION", members),
        }
    }
}
