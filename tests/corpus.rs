//! Every query of `tests/corpus/*.sql` is bound by DuckDB, decoded, printed again and run: the printed statement must
//! return the same columns, types and rows (as a bag) as the original.
//!
//! A query is a line, or several up to a blank line; lines that begin with `--` are comments. `-- refused: text` before
//! a query says that the decoder refuses it and what its message contains; `-- rows differ` that its rows are not the
//! same from run to run, so that only columns and types are compared; `-- only by name` that the printed plan, bound
//! again, differs from the original beyond what `same_meaning` sees through.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what was refused")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ducklake_ivm::lake::{Lake, LakeOptions, OutputColumn};
use ducklake_ivm::plan::decode::{DecodeContext, decode};
use ducklake_ivm::plan::normalise::normalise;
use ducklake_ivm::plan::rel::Rel;
use ducklake_ivm::sql::{self, Current};

/// A query of the corpus with what is known about it.
struct Query {
    place: String,
    sql: String,
    refused: Option<String>,
    rows_differ: bool,
    differs: bool,
}

/// The queries of all files; those of `CORPUS=file` or `CORPUS=file:line` alone where that is set.
fn queries() -> Vec<Query> {
    let mut files: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut queries = Vec::new();
    for file in files {
        let family = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = if family == "lake" { String::new() } else { fs::read_to_string(&file).unwrap() };
        let mut line = 1;
        for block in text.split("\n\n") {
            queries.push(query(format!("{family}:{line}"), block));
            line += block.lines().count() + 1;
        }
    }
    queries.retain(|query| !query.sql.is_empty() && query.place.starts_with(&only));
    queries
}

fn query(place: String, block: &str) -> Query {
    let mut query = Query { place, sql: String::new(), refused: None, rows_differ: false, differs: false };
    let mut lines = Vec::new();
    for line in block.lines() {
        match line.trim().strip_prefix("--").map(str::trim) {
            Some("rows differ") => query.rows_differ = true,
            Some("only by name") => query.differs = true,
            Some(note) => query.refused = note.strip_prefix("refused: ").map(str::to_owned).or(query.refused),
            None => lines.push(line),
        }
    }
    lines.join("\n").trim().clone_into(&mut query.sql);
    query
}

/// `CORPUS_FOLDER` tries the queries of another folder, with its own `lake.sql`.
fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    std::env::var_os("CORPUS_FOLDER").map_or(own, PathBuf::from)
}

fn lake(directory: &Path) -> Lake {
    let mut options = LakeOptions::new(directory.join("corpus.ducklake").to_string_lossy());
    options.create = true;
    options.data_path = Some(directory.join("data").to_string_lossy().into_owned());
    options.threads = Some(1);
    options.memory_limit = Some("1GB".to_owned());
    let lake = Lake::open(&options).unwrap();
    let script = fs::read_to_string(folder().join("lake.sql")).unwrap();
    for statement in script.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        lake.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    lake
}

/// The rows of a statement with these columns as text, sorted.
fn bag(lake: &Lake, sql: &str, columns: &[OutputColumn]) -> Result<Vec<String>, String> {
    // Types without a value of their own in Rust are compared as DuckDB prints them.
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        names.push(format!("c{index}"));
        texts.push(if column.data_type == "BLOB" { format!("hex(c{index})") } else { format!("c{index}::VARCHAR") });
    }
    let sql = format!("SELECT {} FROM (\n{sql}\n) AS bag({})", texts.join(", "), names.join(", "));
    let rows = lake.query(&sql).map_err(|error| error.to_string())?;
    let mut rows: Vec<String> = rows.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    Ok(rows)
}

/// What is wrong with a query; nothing if it came through.
fn check(lake: &Lake, query: &Query) -> Result<(), String> {
    let sql = &query.sql;
    let plan = lake.bound_plan(sql).map_err(|error| format!("does not bind: {error}"))?;
    let columns = lake.describe(sql).map_err(|error| error.to_string())?;
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let context = DecodeContext::of_lake(lake.alias(), lake.current_snapshot().unwrap().0);
    let own = context.clone().with_output_names(names);
    let rel = match (decode(&plan, &own), &query.refused) {
        (Ok(_), Some(reason)) => return Err(format!("is not refused any more: {reason}")),
        (Err(error), Some(reason)) if error.to_string().contains(reason.as_str()) => return Ok(()),
        (Err(error), _) => return Err(format!("refused: {error}")),
        (Ok(rel), None) => rel,
    };
    let printed = sql::render(&rel, &Current);
    if decode(&plan, &own).map(|again| sql::render(&again, &Current)).as_ref() != Ok(&printed) {
        return Err("prints differently a second time".to_owned());
    }
    let show = |what: String| format!("{what}\n{printed}");
    let found = lake.describe(&printed).map_err(|error| show(format!("printed does not bind: {error}")))?;
    same_columns(&columns, &found).map_err(show)?;
    if !query.rows_differ {
        same_rows(lake, query, &rel, &printed, &columns)?;
    }
    let normal = normalise(rel.clone()).rel;
    let printed_normal = sql::render(&normal, &Current);
    let rebound = lake.bound_plan(&printed_normal).map_err(|error| format!("{error}\n{printed_normal}"))?;
    let again = decode(&rebound, &context).map_err(|error| format!("{error}\n{printed_normal}"))?;
    if let (Err(difference), false) = (sql::same_meaning(&normal, &again), query.differs) {
        return Err(format!("the normal form, bound again, differs: {difference:?}\n{printed_normal}"));
    }
    let rebound = lake.bound_plan(&printed).map_err(|error| show(format!("printed does not bind: {error}")))?;
    let again = decode(&rebound, &context).map_err(|error| show(format!("printed: {error}")))?;
    match (sql::same_meaning(&rel, &again), query.differs) {
        (Ok(()), false) | (Err(_), true) => Ok(()),
        (Ok(()), true) => Err("is marked `only by name`, but the plan is the same".to_owned()),
        (Err(difference), false) => Err(show(format!("bound again it differs: {difference:?}"))),
    }
}

fn same_columns(expected: &[OutputColumn], found: &[OutputColumn]) -> Result<(), String> {
    let types = |columns: &[OutputColumn]| columns.iter().map(|column| column.data_type.clone()).collect::<Vec<_>>();
    if types(expected) != types(found) {
        return Err(format!("types {:?} became {:?}", types(expected), types(found)));
    }
    // DuckDB allows the same name twice in a result; the printed statement does not use that.
    let names: BTreeSet<String> = expected.iter().map(|column| column.name.to_lowercase()).collect();
    let unique = names.len() == expected.len();
    if unique && expected.iter().zip(found).any(|(expected, found)| expected.name != found.name) {
        return Err(format!("names {names:?} changed: {found:?}"));
    }
    Ok(())
}

/// Do the printed plan, and the printed normal form of it, return the rows of the original?
fn same_rows(lake: &Lake, query: &Query, rel: &Rel, printed: &str, columns: &[OutputColumn]) -> Result<(), String> {
    let (original, again) = (bag(lake, &query.sql, columns), bag(lake, printed, columns));
    match (&original, &again) {
        (Ok(original), Ok(again)) if original != again => {
            return Err(format!("rows differ:\n{original:#?}\n{again:#?}\n{printed}"));
        }
        (Ok(_), Err(error)) => return Err(format!("printed fails: {error}\n{printed}")),
        (Err(error), Ok(_)) => return Err(format!("only the original fails: {error}\n{printed}")),
        _ => {}
    }
    let normal = sql::render(&normalise(rel.clone()).rel, &Current);
    // A limit without its order, which the normal form drops, may keep other rows.
    let limited = query.sql.to_lowercase().contains("limit");
    match (bag(lake, &normal, columns), &original) {
        (_, Err(_)) => Ok(()),
        (Ok(rows), Ok(original)) if rows == *original || limited => Ok(()),
        (other, _) => Err(format!("the normal form differs: {other:#?}\n{normal}")),
    }
}

#[test]
fn printed_plans_return_what_the_original_does() {
    let directory = tempfile::tempdir().unwrap();
    let lake = lake(directory.path());
    let mut failures = Vec::new();
    let mut refused = Vec::new();
    let mut differing = 0;
    let mut families: BTreeMap<String, usize> = BTreeMap::new();
    let queries = queries();
    for query in &queries {
        *families.entry(query.place.split(':').next().unwrap().to_owned()).or_default() += 1;
        differing += usize::from(query.differs);
        if let Some(reason) = &query.refused {
            refused.push(format!("{}: {reason}", query.place));
        }
        if let Err(problem) = check(&lake, query) {
            failures.push(format!("== {}\n{}\n-- {problem}\n", query.place, query.sql));
        }
    }
    println!("{} queries: {families:?}", queries.len());
    println!("{differing} print as another plan with the same rows; {} are refused:", refused.len());
    println!("  {}", refused.join("\n  "));
    assert!(failures.is_empty(), "{} of {} queries:\n{}", failures.len(), queries.len(), failures.join("\n"));
    let whole = ["CORPUS", "CORPUS_FOLDER"].iter().all(|name| std::env::var_os(name).is_none());
    assert!(!whole || queries.len() >= 400, "the corpus shrank to {}", queries.len());
}
