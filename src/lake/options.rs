//! How a lake is to be opened.

use super::{SnapshotId, redact::redact, text};
use std::{fmt, path::PathBuf};

/// Whether a session may write to the lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Reads only; the catalog is attached so that a write is refused.
    ReadOnly,
    /// Reads and writes.
    #[default]
    ReadWrite,
}

/// Whether SQL of a session can read the values of DuckDB's secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Secrets {
    /// It cannot.
    #[default]
    Hidden,
    /// It can, which [`Lake::file_sizes`](super::Lake::file_sizes) needs; for sessions that run no SQL of a user's.
    Revealed,
}

/// How a lake is to be opened. Its `Debug` output holds no credential.
#[derive(Clone)]
pub struct LakeOptions {
    /// What DuckDB's `ATTACH` takes: `ducklake:meta.ducklake`, `ducklake:sqlite:meta.sqlite`,
    /// `ducklake:postgres:dbname=… host=…`. The prefix `ducklake:` may be left out.
    pub uri: String,
    /// Where the data files are, when the catalog is new or does not say it rightly.
    pub data_path: Option<String>,
    /// The name under which the lake is attached.
    pub alias: String,
    /// Whether the session may write.
    pub access: Access,
    /// Makes a lake that does not exist. Everything but demos and tests leaves this off, so that a typing error does not
    /// make an empty lake.
    pub create: bool,
    /// The schema of the catalog database that holds DuckLake's tables.
    pub metadata_schema: Option<String>,
    /// Encrypts the data files of a lake made now.
    pub encrypted: bool,
    /// Lets DuckLake bring an old catalog to the present format, in place.
    pub migrate: bool,
    /// Attaches the lake as it was at this snapshot; read-only.
    pub at: Option<SnapshotId>,
    /// DuckDB's `memory_limit`, such as `4GB`.
    pub memory_limit: Option<String>,
    /// Where DuckDB spills what does not fit into memory.
    pub temp_directory: Option<PathBuf>,
    /// How many threads DuckDB uses.
    pub threads: Option<u32>,
    /// Statements to run before the lake is attached, such as `CREATE SECRET …`; never printed.
    pub setup: Vec<String>,
    /// Whether SQL of the session can read the values of DuckDB's secrets.
    pub secrets: Secrets,
}

/// The kind of database that holds a lake's catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CatalogKind {
    /// A DuckDB file.
    DuckDb,
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
    /// Any other that an extension of DuckDB may attach.
    Other,
}

impl LakeOptions {
    /// Opens the lake at `uri` for reading and writing, with DuckDB's own limits.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            data_path: None,
            alias: "lake".to_owned(),
            access: Access::default(),
            create: false,
            metadata_schema: None,
            encrypted: false,
            migrate: false,
            at: None,
            memory_limit: None,
            temp_directory: None,
            threads: None,
            setup: Vec::new(),
            secrets: Secrets::default(),
        }
    }

    /// The URI without the prefix `ducklake:`.
    pub(super) fn catalog(&self) -> &str {
        self.uri.strip_prefix("ducklake:").unwrap_or(&self.uri)
    }

    pub(super) fn catalog_kind(&self) -> CatalogKind {
        let catalog = self.catalog();
        match catalog.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite" | "sqlite_scanner") => CatalogKind::Sqlite,
            Some("postgres" | "postgresql" | "postgres_scanner") => CatalogKind::Postgres,
            Some("duckdb") | None => CatalogKind::DuckDb,
            // `C:\lake.ducklake` is a file, `s3://bucket/lake.ducklake` one far away.
            Some(scheme) if scheme.len() == 1 || catalog.contains("://") => CatalogKind::DuckDb,
            Some(_) => CatalogKind::Other,
        }
    }

    /// The local file that holds the catalog, if it is one.
    pub(super) fn catalog_file(&self) -> Option<&str> {
        let catalog = self.catalog();
        let path = match self.catalog_kind() {
            CatalogKind::DuckDb => catalog.strip_prefix("duckdb:").unwrap_or(catalog),
            CatalogKind::Sqlite => catalog.split_once(':')?.1,
            CatalogKind::Postgres | CatalogKind::Other => return None,
        };
        // A bare word may be the name of a DuckLake secret instead.
        let is_path = path.contains(['/', '\\', '.']);
        (is_path && !path.contains("://")).then_some(path)
    }

    /// The URI as it may be printed.
    pub fn redacted_uri(&self) -> String {
        redact(&self.uri)
    }

    /// The statement that attaches the lake.
    pub(super) fn attach_statement(&self) -> String {
        let read_only = self.access == Access::ReadOnly || self.at.is_some();
        let mut options = Vec::new();
        if !self.create {
            options.push("CREATE_IF_NOT_EXISTS false".to_owned());
        }
        if let Some(path) = &self.data_path {
            options.push(format!("DATA_PATH {}", text::literal(path)));
            if !self.create {
                // Without it DuckLake refuses any path but the one it recorded, however it is spelt.
                options.push("OVERRIDE_DATA_PATH true".to_owned());
            }
        }
        if read_only {
            options.push("READ_ONLY".to_owned());
        }
        if let Some(schema) = &self.metadata_schema {
            options.push(format!("METADATA_SCHEMA {}", text::literal(schema)));
        }
        if self.encrypted {
            options.push("ENCRYPTED".to_owned());
        }
        if self.migrate {
            options.push("AUTOMATIC_MIGRATION true".to_owned());
        }
        if let Some(snapshot) = self.at {
            options.push(format!("SNAPSHOT_VERSION {snapshot}"));
        }
        if self.catalog_kind() == CatalogKind::Sqlite && !read_only {
            // In SQLite's default journal an open read transaction makes the commits of other processes fail.
            options.push("META_JOURNAL_MODE 'WAL'".to_owned());
        }
        let uri = format!("ducklake:{}", self.catalog());
        let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join(", ")) };
        format!("ATTACH {} AS {}{options}", text::literal(&uri), text::identifier(&self.alias))
    }
}

impl fmt::Debug for LakeOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LakeOptions")
            .field("uri", &self.redacted_uri())
            .field("data_path", &self.data_path.as_deref().map(redact))
            .field("alias", &self.alias)
            .field("access", &self.access)
            .field("create", &self.create)
            .field("metadata_schema", &self.metadata_schema)
            .field("encrypted", &self.encrypted)
            .field("migrate", &self.migrate)
            .field("at", &self.at)
            .field("memory_limit", &self.memory_limit)
            .field("temp_directory", &self.temp_directory)
            .field("threads", &self.threads)
            .field("setup", &format_args!("[{} statements]", self.setup.len()))
            .field("secrets", &self.secrets)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogs_are_told_apart() {
        for (uri, kind, file) in [
            ("ducklake:a/b.ducklake", CatalogKind::DuckDb, Some("a/b.ducklake")),
            ("b.ducklake", CatalogKind::DuckDb, Some("b.ducklake")),
            ("ducklake:duckdb:b.db", CatalogKind::DuckDb, Some("b.db")),
            ("ducklake:my_secret", CatalogKind::DuckDb, None),
            ("ducklake:s3://bucket/b.ducklake", CatalogKind::DuckDb, None),
            ("ducklake:sqlite:b.sqlite", CatalogKind::Sqlite, Some("b.sqlite")),
            ("ducklake:postgres:host=/run/pg", CatalogKind::Postgres, None),
            ("ducklake:postgres:postgresql://u:p@h/d", CatalogKind::Postgres, None),
            ("ducklake:mysql:host=h", CatalogKind::Other, None),
            (r"ducklake:C:\b.ducklake", CatalogKind::DuckDb, Some(r"C:\b.ducklake")),
        ] {
            let options = LakeOptions::new(uri);
            assert_eq!((options.catalog_kind(), options.catalog_file()), (kind, file), "{uri}");
        }
    }

    #[test]
    fn attaching_neither_creates_nor_migrates() {
        let statement = LakeOptions::new("b.ducklake").attach_statement();
        assert_eq!(statement, "ATTACH 'ducklake:b.ducklake' AS \"lake\" (CREATE_IF_NOT_EXISTS false)");
    }

    #[test]
    fn debug_output_hides_credentials() {
        let mut options = LakeOptions::new("ducklake:postgres:host=h password=geheim");
        options.setup = vec!["CREATE SECRET (TYPE s3, SECRET 'geheim')".to_owned()];
        assert!(!format!("{options:?}").contains("geheim"));
    }
}
