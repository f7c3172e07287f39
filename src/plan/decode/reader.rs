//! JSON objects with a closed set of fields: a field that is not known may change the meaning, so it is an error.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::{DecodeError, Decoder};

/// An object of the plan.
#[derive(Clone, Copy)]
pub(super) struct Fields<'j> {
    object: &'j Map<String, Json>,
    /// What the object describes, for messages.
    of: &'j str,
}

impl<'j> Fields<'j> {
    /// The field `name`; DuckDB's `null` counts as missing.
    pub(super) fn get(self, name: &str) -> Option<&'j Json> {
        self.object.get(name).filter(|value| !value.is_null())
    }
}

/// What DuckDB writes for an index that is not there.
pub(super) const NO_INDEX: u64 = u64::MAX;

/// Fields that many kinds of plan nodes have.
const NODE: [&str; 3] = ["type", "children", "table_index"];

impl Decoder<'_> {
    /// `json` as an object, with any fields.
    pub(super) fn object<'j>(&self, json: &'j Json, of: &'j str) -> Result<Fields<'j>, DecodeError> {
        match json.as_object() {
            Some(object) => Ok(Fields { object, of }),
            None => Err(self.error(format!("{of} that is no JSON object"))),
        }
    }

    /// `json` as an object with no other fields than `known`.
    pub(super) fn fields<'j>(&self, json: &'j Json, of: &'j str, known: &[&str]) -> Result<Fields<'j>, DecodeError> {
        let fields = self.object(json, of)?;
        self.only(fields, known)?;
        Ok(fields)
    }

    /// Refuses fields of `fields` that are not `known`.
    pub(super) fn only(&self, fields: Fields<'_>, known: &[&str]) -> Result<(), DecodeError> {
        match fields.object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.error(format!("the field {key:?} of {}", fields.of))),
            None => Ok(()),
        }
    }

    /// Refuses fields of a plan node that are neither its `own` nor common to many kinds of nodes.
    pub(super) fn only_node(&self, fields: Fields<'_>, own: &[&str]) -> Result<(), DecodeError> {
        self.only(fields, &NODE.iter().chain(own).copied().collect::<Vec<_>>())
    }

    /// The field `name`, which must be there.
    pub(super) fn required<'j>(&self, fields: Fields<'j>, name: &str) -> Result<&'j Json, DecodeError> {
        fields.get(name).ok_or_else(|| self.error(format!("{} without the field {name:?}", fields.of)))
    }

    /// The text `name`; missing is empty.
    pub(super) fn text<'j>(&self, fields: Fields<'j>, name: &str) -> Result<&'j str, DecodeError> {
        match fields.get(name) {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| self.wrong(fields, name, value)),
        }
    }

    /// The number `name`, which must be there.
    pub(super) fn number(&self, fields: Fields<'_>, name: &str) -> Result<u64, DecodeError> {
        let value = self.required(fields, name)?;
        value.as_u64().ok_or_else(|| self.wrong(fields, name, value))
    }

    /// The number `name`, which must be there, as a position.
    pub(super) fn position(&self, fields: Fields<'_>, name: &str) -> Result<usize, DecodeError> {
        let number = self.number(fields, name)?;
        usize::try_from(number).map_err(|_| self.error(format!("{name} {number} of {}", fields.of)))
    }

    /// The flag `name`; missing is false.
    pub(super) fn flag(&self, fields: Fields<'_>, name: &str) -> Result<bool, DecodeError> {
        match fields.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(fields, name, value)),
        }
    }

    /// The list `name`; missing is empty.
    pub(super) fn list<'j>(&self, fields: Fields<'j>, name: &str) -> Result<&'j [Json], DecodeError> {
        match fields.get(name) {
            None => Ok(&[]),
            Some(value) => match value.as_array() {
                Some(list) => Ok(list),
                None => Err(self.wrong(fields, name, value)),
            },
        }
    }

    /// The field `name` as a value of `T`.
    pub(super) fn typed<T: DeserializeOwned>(&self, fields: Fields<'_>, name: &str) -> Result<T, DecodeError> {
        let value = self.required(fields, name)?;
        T::deserialize(value).map_err(|_| self.wrong(fields, name, value))
    }

    /// Refuses a list `name` that is not empty.
    pub(super) fn must_be_empty(&self, fields: Fields<'_>, name: &str) -> Result<(), DecodeError> {
        if self.list(fields, name)?.is_empty() {
            return Ok(());
        }
        Err(self.error(format!("{name} of {}", fields.of)))
    }

    fn wrong(&self, fields: Fields<'_>, name: &str, value: &Json) -> DecodeError {
        let mut text = value.to_string();
        if text.len() > 60 {
            let end = (0..=60).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        self.error(format!("{name} {text} of {}", fields.of))
    }
}
