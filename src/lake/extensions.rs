//! Finds and loads the extensions of DuckDB that a lake needs.
//!
//! Looked for in this order: the folder that `DUCKLAKE_IVM_EXTENSION_DIR` names, a folder `extensions` beside the
//! executable, the one that a development build was set up with, what DuckDB finds installed, and at last DuckDB's own
//! `INSTALL`. The folders have the layout of DuckDB's `extension_directory`: `v1.5.5/linux_amd64/NAME.duckdb_extension`.

use super::{LakeError, redact::Redactor, text};
use duckdb::Connection;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Names the folder in which extensions are looked for first.
pub(super) const DIRECTORY_VARIABLE: &str = "DUCKLAKE_IVM_EXTENSION_DIR";

/// An extension, and the name of the file under which DuckDB itself knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extension<'a> {
    name: &'a str,
    /// DuckDB derives the entry point of the library from this name.
    file_stem: &'a str,
}

impl<'a> Extension<'a> {
    fn named(name: &'a str) -> Self {
        let file_stem = match name {
            "sqlite" => "sqlite_scanner",
            "postgres" => "postgres_scanner",
            "mysql" => "mysql_scanner",
            other => other,
        };
        Self { name, file_stem }
    }
}

/// Where the extensions of one DuckDB are.
pub(super) struct Extensions {
    folders: Vec<PathBuf>,
    platform: String,
    version: String,
}

impl Extensions {
    /// Learns DuckDB's version and platform and the folders of this installation.
    pub(super) fn new(connection: &Connection) -> Result<Self, LakeError> {
        let failed = |error: duckdb::Error| LakeError::from_engine(&error, &Redactor::default());
        let platform = connection.query_row("PRAGMA platform", [], |row| row.get(0)).map_err(failed)?;
        let version = connection.version().map_err(failed)?;
        let mut folders = Vec::new();
        if let Some(folder) = env::var_os(DIRECTORY_VARIABLE).filter(|folder| !folder.is_empty()) {
            folders.push(PathBuf::from(folder));
        }
        if let Some(beside) = env::current_exe().ok().and_then(|path| Some(path.parent()?.join("extensions"))) {
            folders.push(beside);
        }
        if let Some(folder) = option_env!("DUCKLAKE_IVM_BUILD_EXTENSION_DIR") {
            folders.push(PathBuf::from(folder));
        }
        folders.dedup();
        Ok(Self { folders, platform, version })
    }

    /// Whether any folder of ours is there.
    pub(super) fn has_folder(&self) -> bool {
        self.folders.iter().any(|folder| self.subfolder(folder).is_dir())
    }

    fn subfolder(&self, folder: &Path) -> PathBuf {
        folder.join(&self.version).join(&self.platform)
    }

    /// Loads the extension called `name`.
    pub(super) fn load(&self, connection: &Connection, name: &str) -> Result<(), LakeError> {
        let extension = Extension::named(name);
        if is_loaded(connection, extension) {
            return Ok(());
        }
        for folder in &self.folders {
            let folder = self.subfolder(folder);
            for stem in [extension.file_stem, extension.name] {
                let file = folder.join(format!("{stem}.duckdb_extension"));
                if file.is_file() {
                    return load_file(connection, &file, extension).map_err(|cause| self.missing(extension, &cause));
                }
            }
        }
        // A name, not text of a user's: it needs no quotes, and LOAD takes quoted names for paths.
        let run = |statement: String| connection.execute_batch(&statement);
        if run(format!("LOAD {}", extension.name)).is_ok() {
            return Ok(());
        }
        run(format!("INSTALL {name}; LOAD {name}", name = extension.name))
            .map_err(|error| self.missing(extension, &error.to_string()))
    }

    fn missing(&self, extension: Extension<'_>, cause: &str) -> LakeError {
        let mut folders: Vec<String> =
            self.folders.iter().map(|folder| self.subfolder(folder).display().to_string()).collect();
        folders.push(format!("~/.duckdb/extensions/{}/{}", self.version, self.platform));
        LakeError::MissingExtension {
            name: extension.name.to_owned(),
            cause: cause.lines().next().unwrap_or_default().to_owned(),
            file: format!("{}.duckdb_extension", extension.file_stem),
            folders,
        }
    }
}

fn is_loaded(connection: &Connection, extension: Extension<'_>) -> bool {
    let statement = format!(
        "SELECT count(*) > 0 FROM duckdb_extensions() WHERE loaded AND extension_name IN ({})",
        text::literals([extension.name, extension.file_stem])
    );
    connection.query_row(&statement, [], |row| row.get(0)).unwrap_or(false)
}

/// Loads a file; under another name first if it does not have the one from which DuckDB derives the entry point.
fn load_file(connection: &Connection, file: &Path, extension: Extension<'_>) -> Result<(), String> {
    let load = |path: &Path| {
        connection
            .execute_batch(&format!("LOAD {}", text::literal(&path.to_string_lossy())))
            .map_err(|error| error.to_string())
    };
    if file.file_stem().is_some_and(|stem| stem == extension.file_stem) {
        return load(file);
    }
    let folder = env::temp_dir().join(format!("ducklake-ivm-extension-{}", uuid::Uuid::new_v4()));
    let renamed = folder.join(format!("{}.duckdb_extension", extension.file_stem));
    let loaded = fs::create_dir_all(&folder)
        .and_then(|()| link(file, &renamed))
        .map_err(|error| format!("{}: {error}", renamed.display()))
        .and_then(|()| load(&renamed));
    // The library stays mapped; a leftover in the system's temp folder does no harm.
    let _ = fs::remove_dir_all(&folder);
    loaded
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(fs::canonicalize(from)?, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_extension_names_the_file_and_the_folders() {
        let extensions = Extensions {
            folders: vec![PathBuf::from("/opt/extensions")],
            platform: "linux_amd64".to_owned(),
            version: "v1.5.5".to_owned(),
        };
        let error = extensions.missing(Extension::named("sqlite"), "no network\nand more");
        assert_eq!(error.to_string(), "the DuckDB extension sqlite is missing: no network");
        let hint = error.hint().unwrap();
        for part in ["sqlite_scanner.duckdb_extension", "/opt/extensions/v1.5.5/linux_amd64"] {
            assert!(hint.contains(part), "{hint}");
        }
    }
}
