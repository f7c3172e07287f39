//! The program itself, run on lakes in temporary folders.
#![allow(dead_code, unreachable_pub, reason = "every test crate uses its own part of this module")]

use std::path::PathBuf;
use std::process::{Command, Output};

use ducklake_ivm::lake::{Lake, LakeOptions};
use tempfile::TempDir;

/// Where a lake's catalog is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catalog {
    DuckDb,
    Sqlite,
}

/// Two tables with rows.
pub const CUSTOMERS_AND_ORDERS: &str = "
    CREATE TABLE customers (id INTEGER, name VARCHAR, city VARCHAR);
    CREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(8,2));
    INSERT INTO customers VALUES (1, 'Ada', 'Lyon'), (2, 'Bob', 'Porto'), (3, 'Cy', NULL);
    INSERT INTO orders VALUES (1, 1, 10.00), (2, 2, 20.00), (3, 1, 30.00), (4, 3, NULL)";

/// A lake that is opened only while it is used: a catalog in a DuckDB file admits one process at a time.
pub struct Shop {
    pub folder: TempDir,
    pub uri: String,
}

impl Shop {
    /// An empty lake.
    pub fn empty(catalog: Catalog) -> Shop {
        Shop::made(catalog).0
    }

    /// An empty lake, still open.
    pub fn made(catalog: Catalog) -> (Shop, Lake) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let uri = match catalog {
            Catalog::DuckDb => format!("ducklake:{path}/shop.ducklake"),
            Catalog::Sqlite => format!("ducklake:sqlite:{path}/shop.sqlite"),
        };
        let mut options = LakeOptions::new(&uri);
        options.data_path = Some(format!("{path}/data/"));
        options.create = true;
        let lake = Lake::open(&options).unwrap();
        (Shop { folder, uri }, lake)
    }

    /// An empty lake at a place of the caller's choice, still open. The program is told of it by its URI alone.
    pub fn of(options: &LakeOptions, folder: TempDir) -> (Shop, Lake) {
        let lake = Lake::open(options).unwrap();
        (Shop { folder, uri: options.uri.clone() }, lake)
    }

    /// Customers and their orders.
    pub fn new(catalog: Catalog) -> Shop {
        let (shop, lake) = Shop::made(catalog);
        run(&lake, CUSTOMERS_AND_ORDERS);
        shop
    }

    /// Opens the lake in this process.
    pub fn open(&self) -> Lake {
        Lake::open(&LakeOptions::new(&self.uri)).unwrap()
    }

    /// Runs statements.
    pub fn sql(&self, statements: &str) {
        run(&self.open(), statements);
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> u64 {
        self.open().current_snapshot().unwrap().0
    }

    /// The program, told of the lake.
    pub fn program(&self) -> Command {
        let mut program = program();
        program.current_dir(self.folder.path()).env("DUCKLAKE_IVM_LAKE", &self.uri);
        program
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.program().args(arguments).output().unwrap()
    }

    /// Runs the program, which must end with code 0.
    pub fn succeed(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        output
    }

    /// Runs the program and writes down what was typed, and all that came back.
    pub fn transcript(&self, arguments: &[&str]) -> String {
        transcript(arguments, &self.run(arguments))
    }

    /// Whatever stands in the folder of the lake.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Runs statements, separated by semicolons at line ends, each a commit of its own.
pub fn run(lake: &Lake, statements: &str) {
    for statement in statements.split(";\n") {
        lake.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
    }
}

/// The program, in an environment that says nothing.
pub fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ducklake-ivm"));
    for variable in ["DUCKLAKE_IVM_LAKE", "NO_COLOR", "CLICOLOR_FORCE", "RUST_LOG", "FAILPOINTS"] {
        program.env_remove(variable);
    }
    program
}

/// What was typed, and all that came back.
pub fn transcript(arguments: &[&str], output: &Output) -> String {
    let typed: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let heading = if stderr.is_empty() { "" } else { "[stderr]\n" };
    let code = output.status.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
    format!("$ ducklake-ivm {}\n{stdout}{heading}{stderr}[exit code {code}]\n", typed.join(" "))
}

/// An argument as a shell would need it.
fn quoted(argument: &str) -> String {
    let special = |c: char| c.is_whitespace() || "'\"*;|&()".contains(c);
    if argument.is_empty() || argument.contains(special) { format!("'{argument}'") } else { argument.to_owned() }
}

/// Compares a transcript with its recording, in which times and places are left out.
#[macro_export]
macro_rules! assert_transcript {
    ($name:literal, $transcript:expr) => {{
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"\d+ ms\b", "[time]");
        settings.add_filter(r#"("\w*_ms"): \d+"#, r#"$1: "[time]""#);
        settings.add_filter(r"/[^\s'\x22]*/\.tmp\w+", "[folder]");
        settings.add_filter(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00)?", "[moment]");
        settings.add_filter(r"(\d snapshots?), \d+ s\b", "$1, [time]");
        settings.add_filter(r"ducklake-[0-9a-f-]{36}", "ducklake-[uuid]");
        settings.add_filter(r"acc_[0-9a-f]{16}", "acc_[id]");
        settings.add_filter(r"\b\d+(\.\d+)? (B|KiB)\b", "[size]");
        settings.add_filter(r#"("bytes\w*"): [1-9]\d*"#, r#"$1: "[size]""#);
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!($name, $transcript));
    }};
}
