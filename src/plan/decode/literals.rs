//! Constants.

use serde_json::Value as Json;

use super::super::expr::{Constant, Literal};
use super::super::types::DataType;
use super::reader::Fields;
use super::{DecodeError, Decoder, temporal};

impl Decoder<'_> {
    /// A typed value of the plan.
    pub(super) fn literal(&self, json: &Json) -> Result<Literal, DecodeError> {
        let fields = self.fields(json, "a constant", &["type", "is_null", "value"])?;
        let data_type = self.data_type(self.required(fields, "type")?)?;
        if self.flag(fields, "is_null")? {
            return Ok(Literal { value: None, data_type });
        }
        let value = Some(self.constant(fields, &data_type)?);
        Ok(Literal { value, data_type })
    }

    fn constant(&self, fields: Fields<'_>, data_type: &DataType) -> Result<Constant, DecodeError> {
        use DataType as T;
        let constant = match data_type {
            T::Boolean => Constant::Boolean(self.flag(fields, "value")?),
            T::TinyInt | T::SmallInt | T::Integer | T::BigInt => {
                Constant::Integer(self.typed::<i64>(fields, "value")?.to_string())
            }
            T::UTinyInt | T::USmallInt | T::UInteger | T::UBigInt => {
                Constant::Integer(self.typed::<u64>(fields, "value")?.to_string())
            }
            T::HugeInt => Constant::Integer(self.wide(fields)?.to_string()),
            T::UHugeInt => Constant::Integer(self.wide(fields)?.cast_unsigned().to_string()),
            T::Decimal { width, .. } if *width > 18 => Constant::Integer(self.wide(fields)?.to_string()),
            T::Decimal { .. } => Constant::Integer(self.typed::<i64>(fields, "value")?.to_string()),
            T::Float | T::Double => Constant::Double(self.typed::<f64>(fields, "value")?),
            T::Varchar { .. } | T::Json => Constant::Text(self.text(fields, "value")?.to_owned()),
            T::Blob => Constant::Bytes(self.bytes(self.text(fields, "value")?)?),
            T::Enum(labels) => {
                let index: usize = self.typed(fields, "value")?;
                let label = labels.get(index).ok_or_else(|| self.error(format!("label {index} of {data_type}")))?;
                Constant::Text(label.clone())
            }
            T::List(_) | T::Array(..) => Constant::List(self.children(fields)?),
            T::Struct(_) => Constant::Struct(self.children(fields)?),
            T::Map(..) => {
                let entries = self.children(fields)?.into_iter().map(|entry| match entry.value {
                    Some(Constant::Struct(members)) => match <[Literal; 2]>::try_from(members) {
                        Ok([key, value]) => Ok((key, value)),
                        Err(_) => Err(self.error("a map entry that is no pair")),
                    },
                    _ => Err(self.error("a map entry that is no pair")),
                });
                Constant::Map(entries.collect::<Result<_, _>>()?)
            }
            _ => Constant::Text(self.temporal(fields, data_type)?),
        };
        Ok(constant)
    }

    /// The types that are written as text: dates, times, intervals, UUID.
    fn temporal(&self, fields: Fields<'_>, data_type: &DataType) -> Result<String, DecodeError> {
        let units = || self.typed::<i64>(fields, "value");
        let text = match data_type {
            DataType::Date => temporal::date(units()?),
            DataType::Time => temporal::time(units()?, 1_000_000),
            DataType::TimeNs => temporal::time(units()?, 1_000_000_000),
            DataType::Timestamp => temporal::timestamp(units()?, 1_000_000),
            DataType::TimestampS => temporal::timestamp(units()?, 1),
            DataType::TimestampMs => temporal::timestamp(units()?, 1000),
            DataType::TimestampNs => temporal::timestamp(units()?, 1_000_000_000),
            DataType::TimestampTz => match temporal::timestamp(units()?, 1_000_000) {
                infinite if infinite.ends_with("infinity") => infinite,
                finite => format!("{finite}+00"),
            },
            DataType::Interval => {
                let known = ["months", "days", "micros"];
                let interval = self.fields(self.required(fields, "value")?, "an interval", &known)?;
                let [months, days, micros] = known.map(|name| self.typed::<i64>(interval, name));
                format!("{} months {} days {} microseconds", months?, days?, micros?)
            }
            DataType::Uuid => {
                // DuckDB flips the sign bit so that the numbers sort like the texts.
                let hex = format!("{:032x}", self.wide(fields)?.cast_unsigned() ^ (1 << 127));
                let ends = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
                ends.map(|(start, end)| hex[start..end].to_owned()).join("-")
            }
            other => return Err(self.error(format!("a constant of the type {other}"))),
        };
        Ok(text)
    }

    fn children(&self, fields: Fields<'_>) -> Result<Vec<Literal>, DecodeError> {
        let nested = self.fields(self.required(fields, "value")?, "a nested constant", &["children"])?;
        self.list(nested, "children")?.iter().map(|child| self.literal(child)).collect()
    }

    fn wide(&self, fields: Fields<'_>) -> Result<i128, DecodeError> {
        let halves = self.fields(self.required(fields, "value")?, "a wide integer", &["upper", "lower"])?;
        let upper = self.required(halves, "upper")?;
        // The upper half of an unsigned number is unsigned; its bits are the same.
        let upper = match (upper.as_i64(), upper.as_u64()) {
            (Some(upper), _) => upper,
            (None, Some(upper)) => upper.cast_signed(),
            (None, None) => return Err(self.error("a wide integer that is no number")),
        };
        Ok((i128::from(upper) << 64) | i128::from(self.number(halves, "lower")?))
    }

    /// The bytes behind DuckDB's text for them: printable ASCII as it is, others as `\xAB`.
    fn bytes(&self, text: &str) -> Result<Vec<u8>, DecodeError> {
        let wrong = || self.error(format!("the bytes {text:?}"));
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first != b'\\' {
                bytes.push(first);
                rest = tail;
                continue;
            }
            let hex = tail.strip_prefix(b"x").and_then(|tail| tail.split_at_checked(2)).ok_or_else(wrong)?;
            let digits = str::from_utf8(hex.0).map_err(|_| wrong())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
            rest = hex.1;
        }
        Ok(bytes)
    }
}
