//! Opens a lake: settings, extensions, ATTACH.

use super::{
    Lake, LakeError, LakeOptions,
    error::is_no_folder,
    extensions::Extensions,
    options::{Access, CatalogKind, Secrets},
    redact::Redactor,
    session::Shared,
    text::{identifier, literal},
};
use duckdb::{Config, Connection};
use std::{
    cell::Cell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Optimizers that make reads of old versions (`statistics_propagation`) or shapes that delta plans have
/// (`common_subplan`, `deliminator`) return wrong rows in DuckDB 1.5.5.
pub(super) const DISABLED_OPTIMIZERS: &str = "statistics_propagation,common_subplan,deliminator";

impl Lake {
    /// Opens a lake in a DuckDB of its own.
    pub fn open(options: &LakeOptions) -> Result<Self, LakeError> {
        let uri = options.redacted_uri();
        if let Some(file) = options.catalog_file().filter(|_| !options.create) {
            // DuckDB makes an empty database file of a path that does not exist even where DuckLake then refuses it.
            if !Path::new(file).exists() {
                return Err(LakeError::NotFound { uri });
            }
        }
        let hold = options.catalog_file().map(Path::new).map(|file| Hold::take(file, options)).transpose()?.flatten();
        let redactor = Redactor::new(
            options.setup.iter().map(String::as_str).chain([options.uri.as_str()]).chain(options.data_path.as_deref()),
        );
        let connection = connect(options).map_err(|error| LakeError::from_engine(&error, &redactor))?;
        let extensions = Extensions::new(&connection)?;
        let schema = options.metadata_schema.as_deref().map(|schema| format!(".{}", identifier(schema)));
        let metadata =
            format!("{}{}", identifier(&format!("__ducklake_metadata_{}", options.alias)), schema.unwrap_or_default());
        let side = connection.try_clone().map_err(|error| LakeError::from_engine(&error, &redactor))?;
        let shared = Shared {
            alias: options.alias.clone(),
            metadata,
            extensions,
            redactor,
            pinned_by_attach: options.at.is_some(),
            secrets: options.secrets,
            _hold: hold,
            attached: OnceLock::new(),
            known_paths: Mutex::default(),
            late_rows: Mutex::default(),
        };
        let lake = Self { connection, side, in_transaction: Cell::new(false), shared: Arc::new(shared) };
        lake.configure(options)?;
        lake.load_extensions(options)?;
        for statement in &options.setup {
            lake.batch(statement)?;
        }
        lake.connection
            .execute_batch(&options.attach_statement())
            .map_err(|error| LakeError::from_attach(&error, &lake.shared.redactor, &uri))?;
        lake.use_lake()?;
        lake.load_extensions_of_data()?;
        if options.access == Access::ReadWrite && options.at.is_none() {
            // A relative path means another folder in each directory, and the user's may be misspelt: DuckLake would make
            // a second one.
            lake.refuse_no_folder()?;
        }
        Ok(lake)
    }

    /// Fails if the lake has files in its data folder, and that folder is not there.
    pub(crate) fn refuse_no_folder(&self) -> Result<(), LakeError> {
        let folder = self.data_path()?;
        if !is_no_folder(&folder) {
            return Ok(());
        }
        let files = format!("SELECT count(*) FROM {}.ducklake_data_file WHERE path_is_relative", self.metadata());
        if self.query_value(&files)?.as_u64()? == 0 { Ok(()) } else { Err(LakeError::NoDataFolder { folder }) }
    }

    /// A session beside this one, with transactions and temporary tables of its own. The way to work in parallel on a
    /// lake whose catalog admits one process.
    pub fn another_session(&self) -> Result<Self, LakeError> {
        let connect = || self.connection.try_clone().map_err(|error| self.error(&error));
        let session = Self {
            connection: connect()?,
            side: connect()?,
            in_transaction: Cell::new(false),
            shared: Arc::clone(&self.shared),
        };
        session.use_lake()?;
        Ok(session)
    }

    fn use_lake(&self) -> Result<(), LakeError> {
        self.batch(&format!("USE {}", identifier(self.alias())))
    }

    fn configure(&self, options: &LakeOptions) -> Result<(), LakeError> {
        // Before any read: the option can be set for the whole instance only.
        self.batch(&format!("SET GLOBAL disabled_optimizers = '{DISABLED_OPTIMIZERS}'"))?;
        // The text of a TIMESTAMPTZ, and so a view's result, must not depend on the machine that runs the refresh.
        self.batch("SET GLOBAL TimeZone = 'UTC'")?;
        if let Some(limit) = &options.memory_limit {
            self.batch(&format!("SET GLOBAL memory_limit = {}", literal(limit)))?;
        }
        // An instance in memory would spill into a folder `.tmp` of whatever directory it was started in.
        let spill = options.temp_directory.clone().unwrap_or_else(|| spill_folder(&std::env::temp_dir()));
        self.batch(&format!("SET GLOBAL temp_directory = {}", literal(&spill.to_string_lossy())))?;
        if let Some(threads) = options.threads {
            self.batch(&format!("SET GLOBAL threads = {threads}"))?;
        }
        if self.shared.extensions.has_folder() {
            // Extensions of our own are loaded by path; DuckDB need not try to reach the network for the same ones.
            self.batch("SET GLOBAL autoinstall_known_extensions = false")?;
        }
        Ok(())
    }

    fn load_extensions(&self, options: &LakeOptions) -> Result<(), LakeError> {
        self.load_extension("ducklake")?;
        match options.catalog_kind() {
            CatalogKind::Sqlite => self.load_extension("sqlite")?,
            CatalogKind::Postgres => self.load_extension("postgres")?,
            CatalogKind::DuckDb | CatalogKind::Other => {}
        }
        let catalog = Some(options.catalog()).filter(|_| options.catalog_kind() == CatalogKind::DuckDb);
        if catalog.into_iter().chain(options.data_path.as_deref()).any(is_remote) {
            self.load_extension("httpfs")?;
        }
        for statement in &options.setup {
            for extension in extensions_of_secret(statement) {
                self.load_extension(extension)?;
            }
        }
        Ok(())
    }

    /// What the catalog itself says about the data can need more than the options did.
    fn load_extensions_of_data(&self) -> Result<(), LakeError> {
        if is_remote(&self.data_path()?) {
            self.load_extension("httpfs")?;
        } else if self.is_encrypted()? {
            // Only writing needs the crypto library of httpfs: without it DuckDB itself says so when it comes to that.
            if let Err(error) = self.load_extension("httpfs") {
                tracing::debug!(%error, "encrypted lake without httpfs: reads only");
            }
        }
        Ok(())
    }
}

/// A DuckDB in memory.
fn connect(options: &LakeOptions) -> duckdb::Result<Connection> {
    if options.secrets == Secrets::Hidden {
        return Connection::open_in_memory();
    }
    // It cannot be set once the instance runs.
    Connection::open_in_memory_with_flags(Config::default().with("allow_unredacted_secrets", "true")?)
}

/// The claim of this process on a DuckDB file.
///
/// DuckDB's own lock on the file keeps other processes out, but not a second DuckDB in this one, and two of them
/// writing the same file corrupt it.
pub(super) struct Hold(PathBuf);

/// The DuckDB files that sessions of this process have attached.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

impl Hold {
    fn take(file: &Path, options: &LakeOptions) -> Result<Option<Self>, LakeError> {
        if options.catalog_kind() != CatalogKind::DuckDb {
            return Ok(None);
        }
        // A file that is still to be made has no canonical path yet, but its folder has.
        let path = match (file.canonicalize(), file.parent(), file.file_name()) {
            (Ok(path), ..) => path,
            (Err(_), Some(folder), Some(name)) => folder.canonicalize().unwrap_or_else(|_| folder.into()).join(name),
            _ => file.to_owned(),
        };
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.insert(path.clone()) {
            return Ok(Some(Self(path)));
        }
        Err(LakeError::Locked { cause: format!("{} is already open in this process", path.display()) })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// How the folders begin that sessions spill to when they are not told another place; the process id follows.
const SPILL: &str = "ducklake-ivm-spill-";

/// The folder that this process spills to. What processes that were killed left behind is removed first.
fn spill_folder(temporary: &Path) -> PathBuf {
    let processes = Path::new("/proc");
    if processes.join("self").exists() {
        for entry in temporary.read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(SPILL));
            if process.is_some_and(|process| process.parse::<u32>().is_ok() && !processes.join(process).exists())
                && let Err(error) = std::fs::remove_dir_all(entry.path())
            {
                tracing::debug!(%error, folder = %entry.path().display(), "left behind");
            }
        }
    }
    temporary.join(format!("{SPILL}{}", std::process::id()))
}

/// Whether a path or URI is read through the network.
fn is_remote(path: &str) -> bool {
    path.contains("://") && !path.starts_with("file:")
}

/// The extensions that a `CREATE SECRET` needs: the one that knows the type, and the one that knows the provider.
fn extensions_of_secret(statement: &str) -> Vec<&'static str> {
    let lower = statement.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    if !words.contains(&"secret") {
        return Vec::new();
    }
    let extension_of = |pair: &[&str]| match pair {
        ["type", "s3" | "gcs" | "r2" | "http" | "huggingface"] => Some("httpfs"),
        ["type", "azure"] => Some("azure"),
        ["type", "postgres"] => Some("postgres"),
        ["type", "mysql"] => Some("mysql"),
        ["provider", "credential_chain"] => Some("aws"),
        _ => None,
    };
    let mut extensions: Vec<&str> = words.windows(2).filter_map(extension_of).collect();
    if extensions.contains(&"azure") {
        // Azure has a provider of the same name in its own extension.
        extensions.retain(|extension| *extension != "aws");
    }
    extensions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_say_which_extensions_they_need() {
        for (statement, extensions) in [
            ("CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')", vec!["httpfs"]),
            ("create or replace secret x (type 's3', provider credential_chain)", vec!["httpfs", "aws"]),
            ("CREATE SECRET (TYPE azure, PROVIDER credential_chain)", vec!["azure"]),
            ("CREATE SECRET (TYPE ducklake, METADATA_PATH 'x')", vec![]),
            ("SET s3_region = 'eu'", vec![]),
        ] {
            assert_eq!(extensions_of_secret(statement), extensions, "{statement}");
        }
    }

    #[test]
    fn what_dead_processes_spilled_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        // Process ids do not go that far.
        let (dead, other) =
            (temporary.path().join(format!("{SPILL}4194999")), temporary.path().join(format!("{SPILL}x")));
        let own = temporary.path().join(format!("{SPILL}{}", std::process::id()));
        for folder in [&dead, &other, &own] {
            std::fs::create_dir(folder).unwrap();
        }
        assert_eq!(spill_folder(temporary.path()), own);
        assert_eq!([&dead, &other, &own].map(|folder| folder.exists()), [false, true, true]);
    }

    #[test]
    fn a_session_can_move_to_another_thread() {
        fn moves<T: Send>() {}
        moves::<Lake>();
    }
}
