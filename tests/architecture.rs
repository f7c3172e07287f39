//! The invariants of `docs/architecture.md` as tests: they read the source text, and name the files that break one.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the sources shall fail")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each room, and the rooms that it may name. `main.rs` and `lib.rs` stand above all of them.
const ROOMS: [(&str, &[&str]); 8] = [
    ("plan", &[]),
    ("delta", &["plan"]),
    ("sql", &["plan"]),
    ("lake", &["plan", "delta", "sql"]),
    ("view", &["plan", "delta", "sql", "lake"]),
    ("sync", &["plan", "delta", "sql", "lake", "view"]),
    ("inspect", &["plan", "delta", "sql", "lake", "view", "sync"]),
    ("commands", &["plan", "delta", "sql", "lake", "view", "sync", "inspect"]),
];

/// Rooms that are functions of values: no connection, clock, file, environment, process or thread.
const PURE_ROOMS: [&str; 3] = ["plan", "delta", "sql"];
const IMPURE_MODULES: [&str; 7] = ["env", "fs", "io", "net", "process", "thread", "time"];

/// Lines of code of a file, without comments, blank lines and tests.
const LARGEST_FILE: usize = 500;

#[test]
fn rooms_depend_one_way() {
    assert_none(&offences(|file| {
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == file.room) else { return Vec::new() };
        names_below("crate", &file.code)
            .into_iter()
            .filter(|name| ROOMS.iter().any(|(room, _)| room == name))
            .filter(|name| *name != file.room && !allowed.contains(&name.as_str()))
            .map(|name| format!("names crate::{name}, but `{}` may only name {allowed:?}", file.room))
            .collect()
    }));
}

#[test]
fn only_the_lake_names_duckdb() {
    assert_none(&offences(|file| {
        let named = file.room != "lake" && !names_below("duckdb", &file.code).is_empty();
        named.then(|| "names duckdb::".to_owned()).into_iter().collect()
    }));
}

#[test]
fn plan_delta_and_sql_are_pure() {
    assert_none(&offences(|file| {
        if !PURE_ROOMS.contains(&file.room.as_str()) {
            return Vec::new();
        }
        names_below("std", &file.code)
            .into_iter()
            .filter(|name| IMPURE_MODULES.contains(&name.as_str()))
            .map(|name| format!("names std::{name}"))
            .collect()
    }));
}

#[test]
fn files_are_small() {
    assert_none(&offences(|file| {
        let lines = file.code.lines().filter(|line| !line.trim().is_empty()).count();
        let large = lines > LARGEST_FILE;
        large.then(|| format!("has {lines} lines of code, more than {LARGEST_FILE}")).into_iter().collect()
    }));
}

#[test]
fn files_say_what_they_are_for() {
    assert_none(&offences(|file| {
        let silent = !file.text.starts_with("//!");
        silent.then(|| "does not begin with a `//!` comment".to_owned()).into_iter().collect()
    }));
}

#[test]
fn every_room_is_known_and_in_the_stage_table() {
    let source = source_folder();
    let table = fs::read_to_string(source.join("lib.rs")).unwrap();
    let mut problems = Vec::new();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name == "lib" || name == "main" {
            continue;
        }
        if !ROOMS.iter().any(|(room, _)| *room == name) {
            problems.push(format!("src/{name} is a room that tests/architecture.rs does not know"));
        }
        if !table.contains(&format!("[`{name}`]")) {
            problems.push(format!("src/{name} is missing from the stage table of src/lib.rs"));
        }
    }
    assert_none(&problems);
}

/// A source file, as the checks see it.
struct SourceFile {
    /// The folder below `src`, or the file's own name for files directly in it.
    room: String,
    text: String,
    /// The text without comments, the insides of string literals, and everything from the tests on.
    code: String,
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Runs a check over every source file, and puts the file's name before what it finds.
fn offences(check: impl Fn(&SourceFile) -> Vec<String>) -> Vec<String> {
    let source = source_folder();
    let mut paths = Vec::new();
    collect(&source, &mut paths);
    paths.sort();
    assert!(paths.len() > ROOMS.len(), "too few files below {}", source.display());
    let mut found = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(&source).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let file = SourceFile {
            room: relative
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy()
                .trim_end_matches(".rs")
                .to_owned(),
            code: code_of(&text),
            text,
        };
        found.extend(check(&file).into_iter().map(|offence| format!("src/{}: {offence}", relative.display())));
    }
    found
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if is_test_module(&path) {
            continue;
        }
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// Whether the parent module declares this file or folder under `#[cfg(test)]`.
fn is_test_module(path: &Path) -> bool {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let folder = path.parent().unwrap();
    let parents = [folder.join("mod.rs"), folder.with_extension("rs"), folder.join("lib.rs")];
    parents.iter().filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| {
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        lines.windows(2).any(|pair| pair[0] == "#[cfg(test)]" && pair[1] == format!("mod {name};"))
    })
}

/// Removes comments, the insides of string literals, and the tests at the end.
fn code_of(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let characters: Vec<char> = text[..end].chars().collect();
    let mut code = String::new();
    let mut position = 0;
    while position < characters.len() {
        let rest = &characters[position..];
        position += match rest {
            ['/', '/', ..] => length_until(rest, &['\n']),
            ['/', '*', ..] => length_until(rest, &['*', '/']) + 2,
            ['\'', '"', '\'', ..] => 3,
            ['\'', '\\', _, '\'', ..] => 4,
            ['r', '#', '"', ..] => length_until(&rest[3..], &['"', '#']) + 5,
            ['r', '"', ..] => length_until(&rest[2..], &['"']) + 3,
            ['"', ..] => {
                code.push_str("\"\"");
                string_length(rest)
            }
            [character, ..] => {
                code.push(*character);
                1
            }
            [] => 0,
        };
    }
    code
}

fn length_until(characters: &[char], end: &[char]) -> usize {
    characters.windows(end.len()).position(|window| window == end).unwrap_or(characters.len())
}

fn string_length(characters: &[char]) -> usize {
    let mut length = 1;
    while length < characters.len() && characters[length] != '"' {
        length += if characters[length] == '\\' { 2 } else { 1 };
    }
    length + 1
}

/// The names that follow `root::` anywhere in the code, also inside braces: `root::{a, b::c}` gives `a` and `b`.
fn names_below(root: &str, code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let start = format!("{root}::");
    for (position, _) in code.match_indices(&start) {
        let before = code[..position].chars().next_back();
        if before.is_some_and(|character| character.is_alphanumeric() || "_:".contains(character)) {
            continue; // a longer name that ends like the root, or a path through another module
        }
        let rest = &code[position + start.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads_of_group(group)),
            None => names.extend(identifier(rest)),
        }
    }
    names
}

fn heads_of_group(group: &str) -> Vec<String> {
    let mut depth = 1;
    let mut heads = Vec::new();
    let mut at_head = true;
    for (position, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_head = true,
            _ if at_head && !character.is_whitespace() => {
                heads.extend(identifier(&group[position..]));
                at_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
    (!name.is_empty()).then_some(name)
}

fn assert_none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn the_reader_finds_names_and_skips_comments_strings_and_tests() {
    let text = "//! crate::one\nuse crate::{\n    two::{deep, deeper},\n    three,\n};\nlet a = \"crate::four \\\" crate::five\";\n\
                let b = crate::six::f(); // crate::seven\nlet c = mycrate::eight;\nlet d = r#\"crate::nine\"#; let e = '\"';\n\
                use crate::ten;\n#[cfg(test)]\nmod tests { use crate::eleven; }";
    assert_eq!(names_below("crate", &code_of(text)), ["two", "three", "six", "ten"]);
}
