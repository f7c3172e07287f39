//! How the queries of the corpus would be maintained as views, class by class: `docs/strategies.md` says it, and this
//! test makes sure that it says the truth. `UPDATE_DOCS=1` writes the page anew.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ducklake_ivm::lake::{Lake, LakeOptions};
use ducklake_ivm::plan::Rel;
use ducklake_ivm::plan::facts::{RuleKind, operator_name, rule_kind};
use ducklake_ivm::view::{ViewError, classify};

/// One query of the corpus, classified.
struct Query {
    sql: String,
    /// The operators that set it apart, most demanding first; of none, the kind of rule that it needs is the simplest.
    operators: Vec<&'static str>,
    outcome: Outcome,
}

enum Outcome {
    /// Maintained from changes by rules of this kind.
    Incremental(RuleKind),
    /// Recomputed, for this reason; it can never be anything else if the flag is set.
    Recomputed { reason: String, always: bool },
    /// No view can have its columns.
    Refused(String),
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(root().join("tests/corpus")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|file| !file.ends_with("lake.sql"));
    files
}

fn lake(directory: &Path) -> Lake {
    let mut options = LakeOptions::new(directory.join("corpus.ducklake").to_string_lossy());
    options.create = true;
    options.data_path = Some(directory.join("data").to_string_lossy().into_owned());
    options.threads = Some(1);
    let lake = Lake::open(&options).unwrap();
    let script = fs::read_to_string(root().join("tests/corpus/lake.sql")).unwrap();
    for statement in script.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        lake.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    lake
}

/// The classes, most demanding first, with what their operators are called in messages.
const CLASSES: [(&str, &[&str]); 19] = [
    ("recursive CTE", &["recursive CTE"]),
    ("POSITIONAL JOIN", &["POSITIONAL JOIN"]),
    ("ASOF JOIN", &["ASOF JOIN"]),
    ("LIMIT, OFFSET", &["LIMIT"]),
    ("DISTINCT ON", &["DISTINCT ON"]),
    ("window functions, QUALIFY", &["window function"]),
    ("correlated subquery, LATERAL", &["correlated subquery"]),
    ("IN, ANY, ALL, EXISTS as a value or under OR", &["IN, ANY, ALL or EXISTS"]),
    ("scalar subquery", &["scalar subquery"]),
    ("GROUPING SETS, ROLLUP, CUBE", &["GROUPING SETS"]),
    ("EXCEPT, INTERSECT", &["EXCEPT", "INTERSECT"]),
    ("ungrouped aggregate", &["ungrouped aggregate"]),
    ("GROUP BY, PIVOT", &["GROUP BY"]),
    ("LEFT, RIGHT, FULL JOIN", &["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]),
    ("EXISTS, IN, NOT IN in WHERE; SEMI, ANTI JOIN", &["SEMI JOIN", "ANTI JOIN"]),
    ("DISTINCT, UNION", &["DISTINCT", "UNION"]),
    ("inner and cross joins", &["INNER JOIN"]),
    ("UNION ALL, unnest, table functions", &["UNION ALL", "unnest", "table function"]),
    ("SELECT list and WHERE", &[]),
];

fn operators(rel: &Rel) -> Vec<&'static str> {
    let mut names = Vec::new();
    rel.walk(&mut |node| names.push(operator_name(node)));
    let says = |name: &str, word: &str| {
        name == word
            || name.strip_prefix(word).is_some_and(|rest| {
                (rest.starts_with(' ') && !matches!(word, "DISTINCT" | "UNION")) || rest == " ALL" && word != "UNION"
            })
    };
    let found: Vec<&str> = CLASSES
        .iter()
        .filter(|(_, words)| words.iter().any(|word| names.iter().any(|name| says(name, word))))
        .map(|(class, _)| *class)
        .collect();
    if found.is_empty() { vec![CLASSES[CLASSES.len() - 1].0] } else { found }
}

fn hardest(rel: &Rel) -> RuleKind {
    let mut kind = RuleKind::Linear;
    rel.walk(&mut |node| kind = kind.max(rule_kind(node)));
    kind
}

/// The queries that DuckDB binds as one SELECT.
fn queries(lake: &Lake) -> Vec<Query> {
    let mut queries = Vec::new();
    for file in files() {
        for block in fs::read_to_string(&file).unwrap().split("\n\n") {
            let lines: Vec<&str> = block.lines().filter(|line| !line.trim().starts_with("--")).collect();
            let sql = lines.join("\n").trim().to_owned();
            if sql.is_empty() {
                continue;
            }
            queries.push(classified(lake, sql));
        }
    }
    queries
}

fn classified(lake: &Lake, sql: String) -> Query {
    let (rel, outcome) = match classify(lake, &sql) {
        Ok(found) => {
            let outcome = match (&found.class.obstacle, &found.rel) {
                (None, Some(rel)) => Outcome::Incremental(hardest(rel)),
                (Some(obstacle), _) => {
                    Outcome::Recomputed { reason: obstacle.to_string(), always: found.class.full_only }
                }
                (None, None) => panic!("{sql}: neither a plan nor an obstacle"),
            };
            (found.rel, outcome)
        }
        Err(error @ (ViewError::Column { .. } | ViewError::Definition { .. })) => {
            (None, Outcome::Refused(error.to_string()))
        }
        Err(error) => panic!("{sql}: {error}"),
    };
    let operators = rel.as_ref().map_or_else(Vec::new, operators);
    Query { sql, operators, outcome }
}

/// The page.
fn page(queries: &[Query]) -> String {
    let bound: Vec<&Query> = queries.iter().filter(|query| !matches!(query.outcome, Outcome::Refused(_))).collect();
    let incremental = bound.iter().filter(|query| matches!(query.outcome, Outcome::Incremental(_))).count();
    let always = bound.iter().filter(|query| matches!(query.outcome, Outcome::Recomputed { always: true, .. })).count();
    let mut text = String::from(
        "# Which queries are maintained how\n\n\
         Made by `UPDATE_DOCS=1 cargo xtask test --test strategies` from the queries of `tests/corpus`, and compared with \
         what the program\nsays in every test run. A query counts in each class whose operator its plan holds.\n\n",
    );
    writeln!(
        text,
        "Of {} queries that a view can hold, {incremental} are maintained from changes, {always} are not decided by \
         the rows of the lake's tables\n(`FULL_ONLY`: they depend on the clock, on chance, on files, on tables outside the \
         lake, on the order of rows), and {} are recomputed\nfor another reason.\n",
        bound.len(),
        bound.len() - incremental - always
    )
    .unwrap();
    text.push_str("| class | queries | from changes | by rules up to | recomputed |\n|---|---|---|---|---|\n");
    for (class, _) in CLASSES {
        let of: Vec<&&Query> = bound.iter().filter(|query| query.operators.contains(&class)).collect();
        let mut kinds: Vec<RuleKind> = of
            .iter()
            .filter_map(|query| if let Outcome::Incremental(kind) = query.outcome { Some(kind) } else { None })
            .collect();
        let from_changes = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        let kinds: Vec<&str> = kinds.into_iter().map(RuleKind::word).collect();
        writeln!(
            text,
            "| {class} | {} | {from_changes} | {} | {} |",
            of.len(),
            if kinds.is_empty() { "–".to_owned() } else { kinds.join(", ") },
            of.len() - from_changes
        )
        .unwrap();
    }
    text.push_str("\n## Recomputed, and why\n\n| queries | reason | for example |\n|---|---|---|\n");
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for query in &bound {
        if let Outcome::Recomputed { reason, .. } = &query.outcome {
            reasons.entry(reason).or_default().push(&query.sql);
        }
    }
    for (reason, examples) in reasons {
        writeln!(text, "| {} | {} | {} |", examples.len(), cell(reason, 120), code(examples[0])).unwrap();
    }
    text.push_str("\n## Refused as a view\n\n");
    for query in queries {
        if let Outcome::Refused(reason) = &query.outcome {
            writeln!(text, "- {}: {}", code(&query.sql), cell(reason, 160)).unwrap();
        }
    }
    text
}

fn cell(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default().replace('|', "\\|");
    if line.chars().count() <= most { line } else { line.chars().take(most).chain(['…']).collect() }
}

fn code(sql: &str) -> String {
    format!("`{}`", cell(&sql.replace('\n', " ").replace('`', "'"), 100))
}

#[test]
fn the_page_says_how_each_class_of_queries_is_maintained() {
    let directory = tempfile::tempdir().unwrap();
    let queries = queries(&lake(directory.path()));
    assert!(queries.len() >= 400, "the corpus has {} queries", queries.len());
    let made = page(&queries);
    let path = root().join("docs/strategies.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).find(|(made, found)| made != found);
    assert!(made == found, "docs/strategies.md is not up to date (UPDATE_DOCS=1 writes it): {differs:?}");
}
