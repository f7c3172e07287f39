//! Lakes in temporary folders.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use ducklake_ivm::lake::{Lake, LakeOptions};
use tempfile::TempDir;

/// Where the catalog of a test lake is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catalog {
    DuckDb,
    Sqlite,
}

/// A lake that is gone when it is dropped.
pub struct ScratchLake {
    pub lake: Lake,
    pub options: LakeOptions,
    pub folder: TempDir,
}

impl ScratchLake {
    /// An empty lake with DuckLake's own settings.
    pub fn new(catalog: Catalog) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options_in(&folder, catalog);
        let lake = Lake::open(&options).unwrap();
        Self { lake, options, folder }
    }

    /// An empty lake on a DuckDB file that keeps up to `rows` rows of an insert or delete in the catalog.
    pub fn inlining(rows: u32) -> Self {
        let scratch = Self::new(Catalog::DuckDb);
        scratch.run(&format!("CALL lake.set_option('data_inlining_row_limit', {rows})"));
        scratch
    }

    /// The lake opened once more, as another process would.
    pub fn reopen(&self) -> Lake {
        let mut options = self.options.clone();
        options.create = false;
        options.data_path = None;
        Lake::open(&options).unwrap()
    }

    /// Runs statements, separated by semicolons at line ends.
    pub fn run(&self, sql: &str) {
        for statement in sql.split(";\n") {
            if !statement.trim().is_empty() {
                self.lake.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
            }
        }
    }

    /// One integer.
    pub fn integer(&self, sql: &str) -> i128 {
        self.lake.query_value(sql).unwrap_or_else(|error| panic!("{error}\n{sql}")).as_i128().unwrap()
    }

    /// The newest snapshot.
    pub fn current(&self) -> u64 {
        self.lake.current_snapshot().unwrap().0
    }
}

/// Options that make a lake in `folder`.
pub fn options_in(folder: &TempDir, catalog: Catalog) -> LakeOptions {
    let path = folder.path().display();
    let uri = match catalog {
        Catalog::DuckDb => format!("ducklake:{path}/catalog.ducklake"),
        Catalog::Sqlite => format!("ducklake:sqlite:{path}/catalog.sqlite"),
    };
    let mut options = LakeOptions::new(uri);
    options.data_path = Some(format!("{path}/data/"));
    options.create = true;
    options
}
