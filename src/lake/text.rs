//! Quoting of names and strings for the statements of this room.

/// `name` as a quoted SQL identifier.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` as an SQL string literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A moment as DuckDB prints it where the time zone is UTC, in the form of ISO 8601, which names the zone.
pub fn utc(moment: &str) -> String {
    let moment = moment.strip_suffix("+00").unwrap_or(moment);
    format!("{}Z", moment.replacen(' ', "T", 1))
}

/// A comma-separated list of string literals.
pub(super) fn literals<I>(texts: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let quoted: Vec<String> = texts.into_iter().map(|text| literal(text.as_ref())).collect();
    quoted.join(", ")
}

/// A comma-separated list of numbers.
pub(super) fn numbers<I>(numbers: I) -> String
where
    I: IntoIterator,
    I::Item: std::fmt::Display,
{
    let written: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    written.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literals(["a", "b'"]), "'a', 'b'''");
    }
}
