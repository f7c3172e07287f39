//! Constants, printed so that DuckDB gives them the same type again.

use std::fmt::Write as _;

use crate::plan::expr::{Constant, Literal};
use crate::plan::types::DataType;

/// The text of a constant.
pub(super) fn literal(literal: &Literal) -> String {
    let Literal { value, data_type } = literal;
    let Some(value) = value else {
        return if *data_type == DataType::Null { "NULL".to_owned() } else { cast("NULL", data_type) };
    };
    let (text, natural) = bare(value, data_type);
    if natural.as_ref() == Some(data_type) { text } else { cast(&text, data_type) }
}

fn cast(text: &str, data_type: &DataType) -> String {
    format!("CAST({text} AS {data_type})")
}

/// The shortest text of a value, and the type that DuckDB gives to it, if it is known.
pub(super) fn bare(value: &Constant, data_type: &DataType) -> (String, Option<DataType>) {
    match value {
        Constant::Boolean(value) => (if *value { "TRUE" } else { "FALSE" }.to_owned(), Some(DataType::Boolean)),
        Constant::Integer(digits) => number(digits, data_type),
        Constant::Double(value) if value.is_finite() && !(*value == 0.0 && value.is_sign_negative()) => {
            (format!("{value:e}"), Some(DataType::Double))
        }
        Constant::Double(value) if value.is_nan() => ("'NaN'".to_owned(), None),
        Constant::Double(value) if value.is_infinite() => {
            (if *value > 0.0 { "'Infinity'" } else { "'-Infinity'" }.to_owned(), None)
        }
        Constant::Double(_) => ("'-0.0'".to_owned(), None),
        Constant::Text(text) => (string(text), Some(DataType::VARCHAR)),
        Constant::Bytes(bytes) => {
            let mut text = String::from("'");
            for byte in bytes {
                let _ = write!(text, "\\x{byte:02X}");
            }
            text.push('\'');
            (text, None)
        }
        Constant::List(elements) => {
            let natural = match (elements.first(), data_type) {
                // `[…]` of elements of one type is a list of that type.
                (Some(first), DataType::List(_)) => Some(DataType::List(Box::new(first.data_type.clone()))),
                _ => None,
            };
            (format!("[{}]", commas(elements.iter().map(self::literal))), natural)
        }
        Constant::Struct(members) => structure(members, data_type),
        Constant::Map(entries) => {
            let pair = |(key, value): &(Literal, Literal)| format!("{}: {}", self::literal(key), self::literal(value));
            (format!("MAP {{{}}}", commas(entries.iter().map(pair))), None)
        }
        Constant::Union(tag, value) => {
            let name = match data_type {
                DataType::Union(members) => members.get(*tag).map_or("", |(name, _)| name.as_str()),
                _ => "",
            };
            (format!("union_value({} := {})", super::quoted(name), self::literal(value)), None)
        }
    }
}

fn structure(members: &[Literal], data_type: &DataType) -> (String, Option<DataType>) {
    let fields = match data_type {
        DataType::Struct(fields) => fields.as_slice(),
        _ => &[],
    };
    let types = members.iter().map(|member| member.data_type.clone());
    if fields.iter().any(|(name, _)| name.is_empty()) {
        let natural = DataType::Struct(types.map(|member| (String::new(), member)).collect());
        return (format!("row({})", commas(members.iter().map(self::literal))), Some(natural));
    }
    let pairs = fields.iter().zip(members);
    let text = commas(pairs.map(|((name, _), member)| format!("{} := {}", super::quoted(name), self::literal(member))));
    let natural = fields.iter().map(|(name, _)| name.clone()).zip(types).collect();
    (format!("struct_pack({text})"), Some(DataType::Struct(natural)))
}

/// Integers, and the unscaled digits of a DECIMAL.
fn number(digits: &str, data_type: &DataType) -> (String, Option<DataType>) {
    if let DataType::Decimal { scale, .. } = data_type {
        let scale = usize::from(*scale);
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", digits),
        };
        let padded = format!("{digits:0>width$}", width = scale + 1);
        if scale == 0 {
            return (format!("'{sign}{digits}'"), None);
        }
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let text = format!("{sign}{whole}.{fraction}");
        return match (u8::try_from(padded.len()), u8::try_from(scale)) {
            (Ok(width), Ok(scale)) if width <= 38 => (text, Some(DataType::Decimal { width, scale })),
            _ => (format!("'{text}'"), None),
        };
    }
    let natural = match digits.parse::<i128>() {
        // The smallest number of a type is read as a minus before a number that the type does not hold.
        Ok(value) if value.unsigned_abs() <= i32::MAX.unsigned_abs().into() => Some(DataType::Integer),
        Ok(value) if value.unsigned_abs() <= i64::MAX.unsigned_abs().into() => Some(DataType::BigInt),
        _ => None,
    };
    if natural.is_some() { (digits.to_owned(), natural) } else { (format!("'{digits}'"), None) }
}

/// `text` as a string literal.
pub(super) fn string(text: &str) -> String {
    if text.contains('\0') {
        // SQL text itself cannot hold the character.
        let parts: Vec<String> = text.split('\0').map(string).collect();
        return format!("({})", parts.join(" || chr(0) || "));
    }
    if !text.contains(['\n', '\r', '\t']) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let escaped = text.replace('\\', "\\\\").replace('\'', "''");
    let escaped = escaped.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    format!("E'{escaped}'")
}

/// The parts with commas between them.
pub(super) fn commas(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Constant, data_type: DataType) -> String {
        literal(&Literal { value: Some(value), data_type })
    }

    #[test]
    fn numbers_keep_their_types() {
        let integer = |digits: &str, data_type| of(Constant::Integer(digits.to_owned()), data_type);
        assert_eq!(integer("-5", DataType::Integer), "-5");
        assert_eq!(integer("5", DataType::BigInt), "CAST(5 AS BIGINT)");
        assert_eq!(integer("5000000000", DataType::BigInt), "5000000000");
        assert_eq!(integer("-2147483648", DataType::Integer), "CAST(-2147483648 AS INTEGER)");
        assert_eq!(
            integer("-170141183460469231731687303715884105728", DataType::HugeInt),
            "CAST('-170141183460469231731687303715884105728' AS HUGEINT)"
        );
        assert_eq!(integer("5", DataType::Decimal { width: 3, scale: 2 }), "0.05");
        assert_eq!(integer("-15", DataType::Decimal { width: 10, scale: 1 }), "CAST(-1.5 AS DECIMAL(10, 1))");
        assert_eq!(integer("15", DataType::Decimal { width: 10, scale: 0 }), "CAST('15' AS DECIMAL(10, 0))");
        assert_eq!(of(Constant::Double(1000.0), DataType::Double), "1e3");
        assert_eq!(of(Constant::Double(0.1), DataType::Float), "CAST(1e-1 AS FLOAT)");
        assert_eq!(of(Constant::Double(f64::NAN), DataType::Double), "CAST('NaN' AS DOUBLE)");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(string("it's"), "'it''s'");
        assert_eq!(string("a\\\n'"), "E'a\\\\\\n'''");
        assert_eq!(string("a\0b"), "('a' || chr(0) || 'b')");
    }

    #[test]
    fn nested_constants_are_cast_where_their_type_is_not_obvious() {
        let one = Literal { value: Some(Constant::Integer("1".to_owned())), data_type: DataType::Integer };
        let list = DataType::List(Box::new(DataType::Integer));
        assert_eq!(of(Constant::List(vec![one.clone()]), list.clone()), "[1]");
        assert_eq!(of(Constant::List(Vec::new()), list), "CAST([] AS INTEGER[])");
        let unnamed = DataType::Struct(vec![(String::new(), DataType::Integer)]);
        assert_eq!(of(Constant::Struct(vec![one]), unnamed), "row(1)");
    }
}
