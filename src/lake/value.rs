//! The values that leave DuckDB, and how they are read.

use super::LakeError;
use duckdb::types::{TimeUnit, Value as EngineValue};

/// One value of a result row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A truth value.
    Boolean(bool),
    /// An integer of any width that fits; the few UHUGEINT values that do not are [`Value::Text`].
    Integer(i128),
    /// FLOAT or DOUBLE.
    Double(f64),
    /// Text; and every type without a variant of its own (DECIMAL, dates, times, …) as DuckDB would print it.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// A list or array.
    List(Vec<Value>),
    /// The fields of a struct, in order.
    Struct(Vec<(String, Value)>),
    /// The entries of a map, in order.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The integer, or an error that names what was wanted.
    pub fn as_i128(&self) -> Result<i128, LakeError> {
        match self {
            Self::Integer(integer) => Ok(*integer),
            other => Err(other.unexpected("an integer")),
        }
    }

    /// The integer as a signed 64-bit one.
    pub fn as_i64(&self) -> Result<i64, LakeError> {
        i64::try_from(self.as_i128()?).map_err(|_| self.unexpected("a 64-bit integer"))
    }

    /// The integer as an unsigned 64-bit one.
    pub fn as_u64(&self) -> Result<u64, LakeError> {
        u64::try_from(self.as_i128()?).map_err(|_| self.unexpected("a number that is not negative"))
    }

    /// The truth value.
    pub fn as_bool(&self) -> Result<bool, LakeError> {
        match self {
            Self::Boolean(truth) => Ok(*truth),
            other => Err(other.unexpected("a truth value")),
        }
    }

    /// The text.
    pub fn as_str(&self) -> Result<&str, LakeError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.unexpected("text")),
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Result<&[Value], LakeError> {
        match self {
            Self::List(items) => Ok(items),
            other => Err(other.unexpected("a list")),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// `None` for NULL, else what `read` makes of the value.
    pub fn optional<'a, T>(
        &'a self,
        read: impl FnOnce(&'a Self) -> Result<T, LakeError>,
    ) -> Result<Option<T>, LakeError> {
        if self.is_null() { Ok(None) } else { read(self).map(Some) }
    }

    fn unexpected(&self, expected: &'static str) -> LakeError {
        let found = match self {
            Self::Null => "NULL",
            Self::Boolean(_) => "a truth value",
            Self::Integer(_) => "an integer",
            Self::Double(_) => "a floating-point number",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
            Self::List(_) => "a list",
            Self::Struct(_) => "a struct",
            Self::Map(_) => "a map",
        };
        LakeError::Value { expected, found }
    }

    pub(super) fn from_engine(value: EngineValue) -> Self {
        match value {
            EngineValue::Null => Self::Null,
            EngineValue::Boolean(truth) => Self::Boolean(truth),
            EngineValue::TinyInt(integer) => Self::Integer(integer.into()),
            EngineValue::SmallInt(integer) => Self::Integer(integer.into()),
            EngineValue::Int(integer) => Self::Integer(integer.into()),
            EngineValue::BigInt(integer) => Self::Integer(integer.into()),
            EngineValue::HugeInt(integer) => Self::Integer(integer),
            EngineValue::UTinyInt(integer) => Self::Integer(integer.into()),
            EngineValue::USmallInt(integer) => Self::Integer(integer.into()),
            EngineValue::UInt(integer) => Self::Integer(integer.into()),
            EngineValue::UBigInt(integer) => Self::Integer(integer.into()),
            EngineValue::UHugeInt(integer) => {
                i128::try_from(integer).map_or_else(|_| Self::Text(integer.to_string()), Self::Integer)
            }
            EngineValue::Float(number) => Self::Double(number.into()),
            EngineValue::Double(number) => Self::Double(number),
            EngineValue::Text(text) | EngineValue::Enum(text) => Self::Text(text),
            EngineValue::Blob(bytes) | EngineValue::Geometry(bytes) => Self::Blob(bytes),
            EngineValue::Date32(days) => Self::Text(date_text(days.into())),
            EngineValue::Time64(unit, time) => Self::Text(time_text(unit, time)),
            EngineValue::Timestamp(unit, time) => Self::Text(timestamp_text(unit, time)),
            EngineValue::Interval { months, days, nanos } => Self::Text(interval_text(months, days, nanos)),
            EngineValue::List(items) | EngineValue::Array(items) => {
                Self::List(items.into_iter().map(Self::from_engine).collect())
            }
            EngineValue::Struct(fields) => Self::Struct(
                fields.iter().map(|(name, value)| (name.clone(), Self::from_engine(value.clone()))).collect(),
            ),
            EngineValue::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (Self::from_engine(key.clone()), Self::from_engine(value.clone())))
                    .collect(),
            ),
            EngineValue::Union(value) => Self::from_engine(*value),
            EngineValue::Decimal(decimal) => Self::Text(decimal.to_string()),
            // The enum of the client is open; what it may add is shown as it shows itself.
            other => Self::Text(format!("{other:?}")),
        }
    }
}

/// Days since 1970-01-01 as a date of the proleptic Gregorian calendar.
fn date_text(days: i64) -> String {
    match i32::try_from(days) {
        Ok(i32::MAX) => return "infinity".to_owned(),
        Ok(value) if value == -i32::MAX => return "-infinity".to_owned(),
        _ => {}
    }
    let (year, month, day) = civil(days);
    if year > 0 {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{:04}-{month:02}-{day:02} (BC)", 1 - year)
    }
}

/// Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn units_per_second(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

fn time_text(unit: TimeUnit, time: i64) -> String {
    let (per_second, digits) = units_per_second(unit);
    let (seconds, fraction) = (time.div_euclid(per_second), time.rem_euclid(per_second));
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let fraction = format!("{fraction:0digits$}");
        text.push('.');
        text.push_str(fraction.trim_end_matches('0'));
    }
    text
}

fn timestamp_text(unit: TimeUnit, time: i64) -> String {
    match time {
        i64::MAX => return "infinity".to_owned(),
        time if time == -i64::MAX => return "-infinity".to_owned(),
        _ => {}
    }
    let per_day = units_per_second(unit).0 * 86_400;
    format!("{} {}", date_text(time.div_euclid(per_day)), time_text(unit, time.rem_euclid(per_day)))
}

fn interval_text(months: i32, days: i32, nanos: i64) -> String {
    let mut parts = Vec::new();
    let mut part = |count: i32, unit: &str| {
        if count != 0 {
            parts.push(format!("{count} {unit}{}", if count.abs() == 1 { "" } else { "s" }));
        }
    };
    part(months / 12, "year");
    part(months % 12, "month");
    part(days, "day");
    if nanos != 0 || parts.is_empty() {
        let sign = if nanos < 0 { "-" } else { "" };
        parts.push(format!("{sign}{}", time_text(TimeUnit::Nanosecond, nanos.saturating_abs())));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_read_as_duckdb_prints_them() {
        assert_eq!(date_text(0), "1970-01-01");
        assert_eq!(date_text(-719_163), "0001-12-31 (BC)");
        assert_eq!(date_text(19_782), "2024-02-29");
        assert_eq!(timestamp_text(TimeUnit::Microsecond, -1), "1969-12-31 23:59:59.999999");
        assert_eq!(timestamp_text(TimeUnit::Millisecond, 1_500), "1970-01-01 00:00:01.5");
        assert_eq!(interval_text(14, -1, 3_600_000_000_000), "1 year 2 months -1 day 01:00:00");
        assert_eq!(interval_text(0, 0, 0), "00:00:00");
    }

    #[test]
    fn getters_say_what_they_found() {
        let error = Value::Null.as_u64().unwrap_err().to_string();
        assert_eq!(error, "expected an integer, found NULL");
        assert!(Value::Integer(-1).as_u64().is_err());
        assert_eq!(Value::Null.optional(Value::as_u64).unwrap(), None);
    }
}
