//! The types that a lake holds, and what becomes of the others in a table that the program makes.

use std::collections::BTreeSet;

use super::types::DataType;

/// The type nearest to `data_type` that the lake holds without changing a value, or why there is none.
pub fn stored_type(data_type: &DataType) -> Result<DataType, &'static str> {
    Ok(match data_type {
        // DuckLake writes HUGEINT as DOUBLE, which rounds it.
        DataType::HugeInt | DataType::UHugeInt => DataType::Decimal { width: 38, scale: 0 },
        DataType::Enum(_) | DataType::Varchar { .. } | DataType::Bit => DataType::VARCHAR,
        DataType::Null => DataType::Integer,
        DataType::List(element) | DataType::Array(element, _) => DataType::List(Box::new(stored_type(element)?)),
        DataType::Struct(members) => DataType::Struct(stored_members(members)?),
        DataType::Map(key, value) => DataType::Map(Box::new(stored_type(key)?), Box::new(stored_type(value)?)),
        DataType::TimeTz => return Err("loses its offset in a data file"),
        DataType::TimeNs | DataType::BigNum | DataType::Union(_) => return Err("a lake cannot hold"),
        other => other.clone(),
    })
}

fn stored_members(members: &[(String, DataType)]) -> Result<Vec<(String, DataType)>, &'static str> {
    let mut names = BTreeSet::new();
    let distinct = members.iter().all(|(name, _)| !name.is_empty() && names.insert(name.to_lowercase()));
    if !distinct {
        return Err("has fields without a name of their own");
    }
    let stored = members.iter().map(|(name, member)| Ok((name.clone(), stored_type(member)?)));
    stored.collect()
}

/// May values of the type compare equal and yet differ (`INTERVAL '1 month'` and `'30 days'`, `0.0` and `-0.0`)?
pub fn is_inexact(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float | DataType::Double | DataType::Interval | DataType::TimeTz | DataType::Variant => true,
        DataType::Varchar { collation } => collation.is_some(),
        DataType::List(element) | DataType::Array(element, _) => is_inexact(element),
        DataType::Struct(members) => members.iter().any(|(_, member)| is_inexact(member)),
        DataType::Map(key, value) => is_inexact(key) || is_inexact(value),
        _ => false,
    }
}

/// Does a lake give back every value of the type as it was, and does `=` tell any two apart that differ?
pub fn is_faithful(data_type: &DataType) -> bool {
    is_restored(data_type) && !is_inexact(data_type)
}

/// Does a lake give back every value of the type, after a cast to the type? A floating-point number by itself can be held
/// as text; one inside another value may come back with another last digit.
pub fn is_restored(data_type: &DataType) -> bool {
    let part = |part: &DataType| is_restored(part) && !matches!(part, DataType::Float | DataType::Double);
    match data_type {
        DataType::Null | DataType::Variant | DataType::Varchar { collation: Some(_) } => false,
        DataType::List(element) | DataType::Array(element, _) => part(element),
        DataType::Struct(members) => stored_type(data_type).is_ok() && members.iter().all(|(_, it)| part(it)),
        DataType::Map(key, value) => part(key) && part(value),
        other => stored_type(other).is_ok(),
    }
}
