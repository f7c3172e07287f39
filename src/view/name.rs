//! Names of views as people type them: `sales`, `mart.sales`, `"Sales 2026"`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The schema of a name that does not say one: the lake's own default.
pub const DEFAULT_SCHEMA: &str = "main";

/// A view's schema and name. Compared like DuckDB does, without regard to case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ViewName {
    /// The schema.
    pub schema: String,
    /// The table's name in it.
    pub name: String,
}

/// A text that is no view name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a view name: {reason}")]
pub struct NameError {
    text: String,
    reason: &'static str,
}

impl ViewName {
    /// Makes a name of its two parts.
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> ViewName {
        ViewName { schema: schema.into(), name: name.into() }
    }

    /// Reads `name` or `schema.name`; either part may be in double quotes.
    pub fn parse(text: &str) -> Result<ViewName, NameError> {
        let error = |reason| NameError { text: text.to_owned(), reason };
        let mut parts = split(text.trim()).map_err(error)?;
        if parts.iter().any(String::is_empty) {
            return Err(error("a part of it is empty"));
        }
        match (parts.pop(), parts.pop(), parts.is_empty()) {
            (Some(name), None, true) => Ok(ViewName::new(DEFAULT_SCHEMA, name)),
            (Some(name), Some(schema), true) => Ok(ViewName::new(schema, name)),
            _ => Err(error("it has more than two parts (schema.name)")),
        }
    }

    fn folded(&self) -> (String, String) {
        (self.schema.to_lowercase(), self.name.to_lowercase())
    }
}

/// The parts between the dots that stand outside quotes.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                push(&mut parts, '"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            other => push(&mut parts, other),
        }
    }
    if quoted { Err("a quote is not closed") } else { Ok(parts) }
}

fn push(parts: &mut [String], character: char) {
    if let Some(last) = parts.last_mut() {
        last.push(character);
    }
}

impl PartialEq for ViewName {
    fn eq(&self, other: &ViewName) -> bool {
        self.folded() == other.folded()
    }
}

impl Eq for ViewName {}

impl PartialOrd for ViewName {
    fn partial_cmp(&self, other: &ViewName) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ViewName {
    fn cmp(&self, other: &ViewName) -> std::cmp::Ordering {
        self.folded().cmp(&other.folded())
    }
}

impl fmt::Display for ViewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// Up to three of `names` that are most like `wanted`, the likest first. What stands before the last dot of both counts
/// for nothing.
pub(crate) fn near(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    const LIKE: f64 = 0.75;
    let last_part = |name: &str| name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let folded = last_part(wanted);
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&folded, &last_part(&name)), name))
        .filter(|(score, _)| *score >= LIKE)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_lies_in_main() {
        assert_eq!(ViewName::parse("sales").unwrap(), ViewName::new("main", "sales"));
    }

    #[test]
    fn quotes_keep_dots_and_quotes() {
        assert_eq!(ViewName::parse(r#"mart."a.""b""#).unwrap(), ViewName::new("mart", r#"a."b"#));
        let error = ViewName::parse(r#"mart."a"#).unwrap_err();
        assert_eq!(error.to_string(), r#""mart.\"a" is not a view name: a quote is not closed"#);
    }

    #[test]
    fn three_parts_and_empty_parts_are_refused() {
        assert!(ViewName::parse("a.b.c").is_err());
        assert!(ViewName::parse("a.").is_err());
        assert!(ViewName::parse("").is_err());
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(ViewName::new("Main", "X"), ViewName::new("main", "x"));
    }
}
