//! Files of `CREATE MATERIALIZED VIEW name AS SELECT …;`.

use std::path::{Path, PathBuf};

use crate::commands::failure::Failure;
use crate::view::{self, ViewName};

/// A view as a file defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// Its name.
    pub(super) name: ViewName,
    /// Its SELECT.
    pub(super) sql: String,
    /// Where it stands: file and line.
    pub(super) place: String,
}

/// The definitions in files, and in the `.sql` files of folders, in order.
pub(super) fn load(paths: &[PathBuf]) -> Result<Vec<Definition>, Failure> {
    let mut definitions: Vec<Definition> = Vec::new();
    for path in paths {
        for file in files(path)? {
            let text = crate::commands::create::read(&file)?;
            for definition in parse(&text, &file)? {
                if let Some(first) = definitions.iter().find(|first| first.name == definition.name) {
                    let Definition { name, place, .. } = &definition;
                    return Err(Failure::usage(format!("{place}: view {name} is defined a second time"))
                        .hint(format!("the first definition is at {}", first.place)));
                }
                definitions.push(definition);
            }
        }
    }
    Ok(definitions)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|extension| extension == "sql") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::usage(format!("{} holds no .sql files", path.display())));
    }
    Ok(files)
}

fn parse(text: &str, file: &Path) -> Result<Vec<Definition>, Failure> {
    let mut definitions = Vec::new();
    for statement in view::statements(text) {
        let offset = statement.as_ptr() as usize - text.as_ptr() as usize;
        let head = Head::read(statement);
        let line = 1 + text[..offset + head.start].matches('\n').count();
        let place = format!("{}:{line}", file.display());
        let (name, sql) = head.finish().ok_or_else(|| {
            Failure::usage(format!("{place}: expected CREATE MATERIALIZED VIEW name AS SELECT …"))
                .hint("the files may hold definitions of views only, each ended by a semicolon")
        })?;
        let name = ViewName::parse(name).map_err(|error| Failure::usage(format!("{place}: {error}")))?;
        definitions.push(Definition { name, sql: sql.to_owned(), place });
    }
    Ok(definitions)
}

/// Reads the words that a statement begins with.
struct Head<'a> {
    statement: &'a str,
    /// Where the first word begins, after comments.
    start: usize,
}

impl<'a> Head<'a> {
    fn read(statement: &'a str) -> Head<'a> {
        let start = statement.len() - view::skip_comments(statement).len();
        Head { statement, start }
    }

    /// The view's name and its SELECT, if the statement is a definition.
    fn finish(self) -> Option<(&'a str, &'a str)> {
        let rest = words(&self.statement[self.start..], &["CREATE"])?;
        let rest = words(rest, &["OR", "REPLACE"]).unwrap_or(rest);
        let rest = words(rest, &["MATERIALIZED", "VIEW"])?;
        let rest = words(rest, &["IF", "NOT", "EXISTS"]).unwrap_or(rest);
        let (name, rest) = name(view::skip_comments(rest));
        let sql = view::skip_comments(words(rest, &["AS"])?);
        (!name.is_empty() && !sql.is_empty()).then_some((name, sql))
    }
}

/// What follows `expected`, if that comes first.
fn words<'a>(text: &'a str, expected: &[&str]) -> Option<&'a str> {
    expected.iter().try_fold(text, |text, expected| {
        let text = view::skip_comments(text);
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..end].eq_ignore_ascii_case(expected).then(|| &text[end..])
    })
}

/// A name, quoted or not, with its schema or not.
fn name(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let end = text.find(|c: char| {
        quoted ^= c == '"';
        !quoted && (c.is_whitespace() || c == '(')
    });
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String, String)>, String> {
        let definitions = parse(text, Path::new("v.sql")).map_err(|failure| failure.message)?;
        Ok(definitions.into_iter().map(|d| (d.name.to_string(), d.sql, d.place)).collect())
    }

    #[test]
    fn definitions_are_read_with_their_lines() {
        let text = "-- one; two\nCREATE MATERIALIZED VIEW a AS SELECT ';' ;\n\n/* b */ create or replace materialized view\n \
                    s.\"b c\"\nas SELECT 2;\n-- the end\n";
        let of = |name: &str, sql: &str, place: &str| (name.to_owned(), sql.to_owned(), place.to_owned());
        assert_eq!(parsed(text).unwrap(), [of("main.a", "SELECT ';'", "v.sql:2"), of("s.b c", "SELECT 2", "v.sql:4")]);
    }

    #[test]
    fn anything_else_is_refused_with_its_line() {
        for (text, message) in [
            ("\nDROP TABLE x;", "v.sql:2: expected CREATE MATERIALIZED VIEW name AS SELECT …"),
            ("CREATE VIEW x AS SELECT 1", "v.sql:1: expected CREATE MATERIALIZED VIEW name AS SELECT …"),
            ("CREATE MATERIALIZED VIEW x", "v.sql:1: expected CREATE MATERIALIZED VIEW name AS SELECT …"),
            (
                "CREATE MATERIALIZED VIEW x (a) AS SELECT 1",
                "v.sql:1: expected CREATE MATERIALIZED VIEW name AS SELECT …",
            ),
            (
                "CREATE MATERIALIZED VIEW a.b.c AS SELECT 1",
                "v.sql:1: \"a.b.c\" is not a view name: it has more than two \
                                                            parts (schema.name)",
            ),
        ] {
            assert_eq!(parsed(text).unwrap_err(), message);
        }
    }
}
