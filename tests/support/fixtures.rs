//! Reads the scripts of `catalog_fixtures/` and plays them on a lake.
#![allow(dead_code, unreachable_pub, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, mem, path::Path};

use ducklake_ivm::lake::Lake;

/// A lake's history as a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// The file's name without its extension.
    pub name: String,
    /// What the history is for: the script's first line.
    pub purpose: String,
    /// Views over the tables of the script, by name.
    pub views: Vec<(String, String)>,
    /// The history, one commit after the other.
    pub steps: Vec<Step>,
}

impl Fixture {
    /// Whether any table is partitioned by buckets.
    pub fn has_buckets(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.statements).any(|statement| statement.contains("bucket("))
    }
}

/// One commit: a statement, or the statements of a transaction from its `BEGIN` to its `COMMIT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub statements: Vec<String>,
}

impl Step {
    /// Runs the step; the lake's schemas are those of `USE lake`.
    pub fn run(&self, lake: &Lake) {
        for statement in &self.statements {
            lake.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
    }
}

/// Every fixture, by name.
pub fn all() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog_fixtures");
    let mut fixtures = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let fixture = parse(&name, &fs::read_to_string(&path).unwrap());
            fixtures.push(fixture.unwrap_or_else(|problem| panic!("{}: {problem}", path.display())));
        }
    }
    fixtures.sort_by(|one, other| one.name.cmp(&other.name));
    fixtures
}

/// The fixture called `name`.
pub fn named(name: &str) -> Fixture {
    all().into_iter().find(|fixture| fixture.name == name).unwrap_or_else(|| panic!("no fixture is called {name}"))
}

/// Reads a script: a line on its purpose, lines with views, statements.
pub fn parse(name: &str, script: &str) -> Result<Fixture, String> {
    let mut lines = script.lines();
    let purpose = lines.next().and_then(|line| line.strip_prefix("-- ")).ok_or("does not begin with `-- PURPOSE`")?;
    let mut views = Vec::new();
    for line in lines.map_while(|line| line.strip_prefix("-- view ")) {
        let (view, sql) = line.split_once(": ").ok_or_else(|| format!("no `NAME: SQL` in: -- view {line}"))?;
        views.push((view.to_owned(), sql.to_owned()));
    }
    let mut steps = Vec::new();
    let mut transaction: Option<Vec<String>> = None;
    for statement in statements(script) {
        let begins = statement.eq_ignore_ascii_case("BEGIN");
        let commits = statement.eq_ignore_ascii_case("COMMIT");
        match &mut transaction {
            Some(_) if begins => return Err("BEGIN within a transaction".to_owned()),
            Some(open) => {
                open.push(statement);
                if commits {
                    steps.push(Step { statements: transaction.take().unwrap_or_default() });
                }
            }
            None if begins => transaction = Some(vec![statement]),
            None if commits => return Err("COMMIT without BEGIN".to_owned()),
            None => steps.push(Step { statements: vec![statement] }),
        }
    }
    if transaction.is_some() {
        return Err("BEGIN without COMMIT".to_owned());
    }
    Ok(Fixture { name: name.to_owned(), purpose: purpose.to_owned(), views, steps })
}

/// Splits at semicolons outside quotes, and drops comments.
pub fn statements(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    let mut quote = None;
    let mut characters = script.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) => {
                statement.push(character);
                if character == open {
                    quote = None;
                }
            }
            (None, '-') if characters.peek() == Some(&'-') => {
                characters.by_ref().find(|character| *character == '\n');
            }
            (None, ';') => found.push(mem::take(&mut statement)),
            (None, _) => {
                if matches!(character, '\'' | '"') {
                    quote = Some(character);
                }
                statement.push(character);
            }
        }
    }
    found.push(statement);
    found.iter().map(|statement| statement.trim().to_owned()).filter(|statement| !statement.is_empty()).collect()
}
