//! Logical types.

use serde::Deserialize;
use serde_json::Value as Json;

use super::super::types::DataType;
use super::{DecodeError, Decoder};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogicalType {
    id: String,
    #[serde(default)]
    type_info: Option<TypeInfo>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeInfo {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(default)]
    alias: String,
    #[serde(default)]
    extension_info: Option<Json>,
    #[serde(default)]
    width: Option<u8>,
    #[serde(default)]
    scale: Option<u8>,
    #[serde(default)]
    collation: Option<String>,
    #[serde(default)]
    child_type: Option<Box<LogicalType>>,
    #[serde(default)]
    child_types: Vec<Member>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    values_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    #[serde(default)]
    first: String,
    second: LogicalType,
}

impl Decoder<'_> {
    /// The type `json` describes, without the collation: the binder has pushed what it means into the plan.
    pub(super) fn data_type(&self, json: &Json) -> Result<DataType, DecodeError> {
        let read = LogicalType::deserialize(json).map_err(|error| self.error(format!("a type ({error})")))?;
        self.convert_type(&read)
    }

    /// The collation of the type, if it has one.
    pub(super) fn collation(&self, json: &Json) -> Result<Option<String>, DecodeError> {
        let read = LogicalType::deserialize(json).map_err(|error| self.error(format!("a type ({error})")))?;
        Ok(read.type_info.and_then(|info| info.collation).filter(|collation| !collation.is_empty()))
    }

    /// The types of a list of them.
    pub(super) fn data_types(&self, list: &[Json]) -> Result<Vec<DataType>, DecodeError> {
        list.iter().map(|json| self.data_type(json)).collect()
    }

    fn convert_type(&self, read: &LogicalType) -> Result<DataType, DecodeError> {
        if let Some(info) = &read.type_info {
            if info.extension_info.is_some() {
                return Err(self.error(format!("the type {} with an extension's modifiers", read.id)));
            }
            match (info.alias.as_str(), read.id.as_str()) {
                ("", _) | (_, "ENUM") => {}
                ("JSON", "VARCHAR") => return Ok(DataType::Json),
                ("GEOMETRY", "BLOB") => return Ok(DataType::Geometry { crs: None }),
                (alias, _) => return Err(self.error(format!("the type {alias}"))),
            }
        }
        let simple = match read.id.as_str() {
            "NULL" => DataType::Null,
            "BOOLEAN" => DataType::Boolean,
            "TINYINT" => DataType::TinyInt,
            "SMALLINT" => DataType::SmallInt,
            "INTEGER" => DataType::Integer,
            "BIGINT" => DataType::BigInt,
            "HUGEINT" => DataType::HugeInt,
            "UTINYINT" => DataType::UTinyInt,
            "USMALLINT" => DataType::USmallInt,
            "UINTEGER" => DataType::UInteger,
            "UBIGINT" => DataType::UBigInt,
            "UHUGEINT" => DataType::UHugeInt,
            "FLOAT" => DataType::Float,
            "DOUBLE" => DataType::Double,
            "VARCHAR" => DataType::VARCHAR,
            "BLOB" => DataType::Blob,
            "BIT" => DataType::Bit,
            "DATE" => DataType::Date,
            "TIME" => DataType::Time,
            "TIME_NS" => DataType::TimeNs,
            "TIME WITH TIME ZONE" => DataType::TimeTz,
            "TIMESTAMP" => DataType::Timestamp,
            "TIMESTAMP_S" => DataType::TimestampS,
            "TIMESTAMP_MS" => DataType::TimestampMs,
            "TIMESTAMP_NS" => DataType::TimestampNs,
            "TIMESTAMP WITH TIME ZONE" => DataType::TimestampTz,
            "INTERVAL" => DataType::Interval,
            "UUID" => DataType::Uuid,
            "BIGNUM" => DataType::BigNum,
            "VARIANT" => DataType::Variant,
            _ => return self.nested_type(read),
        };
        Ok(simple)
    }

    fn nested_type(&self, read: &LogicalType) -> Result<DataType, DecodeError> {
        let unknown = || self.error(format!("the type {}", read.id));
        let info = read.type_info.as_ref().ok_or_else(unknown)?;
        let child = || info.child_type.as_deref().ok_or_else(unknown).and_then(|child| self.convert_type(child));
        let members = || {
            let convert = |member: &Member| Ok((member.first.clone(), self.convert_type(&member.second)?));
            info.child_types.iter().map(convert).collect::<Result<Vec<_>, DecodeError>>()
        };
        match read.id.as_str() {
            "DECIMAL" => match (info.width, info.scale) {
                (Some(width), scale) => Ok(DataType::Decimal { width, scale: scale.unwrap_or(0) }),
                (None, _) => Err(unknown()),
            },
            "ENUM" if info.values_count.is_none_or(|count| count == info.values.len()) => {
                Ok(DataType::Enum(info.values.clone()))
            }
            "LIST" => Ok(DataType::List(Box::new(child()?))),
            "ARRAY" => Ok(DataType::Array(Box::new(child()?), info.size.ok_or_else(unknown)?)),
            "STRUCT" => Ok(DataType::Struct(members()?)),
            "MAP" => match child()? {
                DataType::Struct(entry) => match <[_; 2]>::try_from(entry) {
                    Ok([(_, key), (_, value)]) => Ok(DataType::Map(Box::new(key), Box::new(value))),
                    Err(_) => Err(unknown()),
                },
                _ => Err(unknown()),
            },
            // The first member is the tag that says which of the others is there.
            "UNION" => Ok(DataType::Union(members()?.into_iter().skip(1).collect())),
            _ => Err(unknown()),
        }
    }
}

/// Can a cast to the type be written down? One to a struct without names cannot. A geometry's coordinate reference
/// system, which the plan does not tell, is lost from the type by a printed cast, but not from the value.
pub(super) fn castable(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(element) | DataType::Array(element, _) => castable(element),
        DataType::Struct(members) | DataType::Union(members) => {
            members.iter().all(|(name, member)| !name.is_empty() && castable(member))
        }
        DataType::Map(key, value) => castable(key) && castable(value),
        _ => true,
    }
}
