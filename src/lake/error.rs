//! What can go wrong with a lake, by what the caller can do about it.

use std::path::Path;

use super::{SnapshotId, redact::Redactor};

/// What can go wrong with a lake. No message holds a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LakeError {
    /// There is no lake at this place.
    #[error("lake {uri} does not exist")]
    NotFound {
        /// The place, without credentials.
        uri: String,
    },
    /// The catalog's database or the data files cannot be reached.
    #[error("lake {uri} cannot be reached: {cause}")]
    Unreachable {
        /// The place, without credentials.
        uri: String,
        /// What DuckDB says.
        cause: String,
    },
    /// The catalog's server went away.
    #[error("the lake's catalog cannot be reached: {cause}")]
    Disconnected {
        /// What the server's client says.
        cause: String,
    },
    /// Another process or session holds the catalog.
    #[error("the lake's catalog is held by another process: {cause}")]
    Locked {
        /// What DuckDB says, with the process if it is known.
        cause: String,
    },
    /// The catalog has another format than this DuckLake reads.
    #[error("lake {uri} has catalog format {found}, this DuckLake reads {required}")]
    CatalogVersion {
        /// The place, without credentials.
        uri: String,
        /// The format of the catalog.
        found: String,
        /// The format that can be read.
        required: String,
    },
    /// An extension of DuckDB is neither at hand nor to be fetched.
    #[error("the DuckDB extension {name} is missing: {cause}")]
    MissingExtension {
        /// The extension's name.
        name: String,
        /// Why it was not found or loaded.
        cause: String,
        /// The file that would be used.
        file: String,
        /// The folders where it is looked for, in order.
        folders: Vec<String>,
    },
    /// Another writer committed first.
    #[error("another writer committed first: {message}")]
    Conflict {
        /// What DuckLake says.
        message: String,
    },
    /// The catalog moved on between two reads that have to see the same snapshot.
    #[error("the catalog moved from snapshot {pinned} to {newest} while it was read")]
    MovedOn {
        /// The snapshot that the transaction sees.
        pinned: SnapshotId,
        /// The newest one in the catalog.
        newest: SnapshotId,
    },
    /// The folder of the lake's data files is not where the catalog, or the user, says.
    #[error("the lake's data folder {folder} does not exist{}", below_current(folder))]
    NoDataFolder {
        /// The folder, as the catalog has it or the user gave it.
        folder: String,
    },
    /// A file that the catalog names was gone when it was to be read.
    #[error("{} is missing", file_of(file, table.as_deref()))]
    VanishedFile {
        /// The file; where DuckDB does not name it, all that it says.
        file: String,
        /// The table that it belongs to, where that was looked up.
        table: Option<String>,
    },
    /// A file that the catalog names holds something else than was written.
    #[error("{} is damaged: {cause}", file_of(file, table.as_deref()))]
    DamagedFile {
        /// Its path.
        file: String,
        /// What DuckDB says.
        cause: String,
        /// The table that it belongs to, where the catalog tells.
        table: Option<String>,
    },
    /// The disk or the object store that holds a file does not answer, or not as it should.
    #[error("the store of {path} cannot be used: {cause}")]
    Store {
        /// The file.
        path: String,
        /// What it says, without credentials.
        cause: String,
    },
    /// The object store that holds a file refuses the credentials, or they do not allow what was asked for.
    #[error("the store of {path} refuses the credentials (HTTP {status})")]
    Refused {
        /// The file.
        path: String,
        /// Its answer.
        status: u16,
    },
    /// A snapshot does not exist: never made, or expired.
    #[error("snapshot {snapshot} does not exist")]
    NoSnapshot {
        /// The snapshot asked for.
        snapshot: String,
    },
    /// The rows of a table at an old snapshot cannot be trusted.
    #[error("table {table} cannot be read as it was at snapshot {snapshot}: {detail}")]
    UnreadablePast {
        /// The table.
        table: String,
        /// The snapshot.
        snapshot: SnapshotId,
        /// Why.
        detail: String,
    },
    /// DuckLake itself shows wrong rows of a table as the present ones.
    #[error("table {table} is corrupt at snapshot {snapshot}: {detail}")]
    CorruptTable {
        /// The table.
        table: String,
        /// The snapshot.
        snapshot: SnapshotId,
        /// Why.
        detail: String,
    },
    /// A column has a type that this DuckLake does not know; then it reads no table of the lake at all.
    #[error("the lake cannot be read: {} has the type {data_type:?}, which this DuckLake does not know",
        column.as_deref().unwrap_or("a column"))]
    UnknownType {
        /// The type.
        data_type: String,
        /// The column, as `schema.table.column`, where that was looked up.
        column: Option<String>,
    },
    /// The statement was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The disk is full.
    #[error("the disk is full: {message}")]
    DiskFull {
        /// What DuckDB says.
        message: String,
    },
    /// The memory limit was reached and nothing could be spilled.
    #[error("the memory limit is reached: {message}")]
    OutOfMemory {
        /// What DuckDB says.
        message: String,
    },
    /// The text is not SQL.
    #[error("{message}")]
    Parse {
        /// What DuckDB's parser says.
        message: String,
        /// The byte at which it says so.
        position: Option<usize>,
    },
    /// DuckDB refused a statement.
    #[error("{message}")]
    Sql {
        /// DuckDB's class of the error, such as `Binder` or `Conversion`.
        class: String,
        /// What DuckDB says.
        message: String,
        /// The byte of the statement that it is about, where DuckDB tells.
        position: Option<usize>,
    },
    /// DuckDB failed in itself; the session is of no use any more.
    #[error("DuckDB failed: {message}")]
    Engine {
        /// What DuckDB says.
        message: String,
    },
    /// A value is not of the type that was expected.
    #[error("expected {expected}, found {found}")]
    Value {
        /// What was expected.
        expected: &'static str,
        /// What was there.
        found: &'static str,
    },
    /// A result column has a type that cannot be taken out of DuckDB as it is.
    #[error("column {column} has the type {data_type}, which cannot be read as it is")]
    UnreadableType {
        /// The column's name.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// A statement gave another number of rows than the one that was expected.
    #[error("expected one row, found {found}")]
    NotOneRow {
        /// How many rows there were.
        found: usize,
    },
    /// The metadata of the lake is not what this DuckLake writes.
    #[error("the lake's metadata is not as expected: {message}")]
    Metadata {
        /// What is wrong.
        message: String,
    },
}

/// Is the path a local folder that does not exist?
pub(super) fn is_no_folder(path: &str) -> bool {
    !path.contains("://") && !Path::new(path).exists()
}

/// Where a relative path was looked for.
fn below_current(folder: &str) -> String {
    let current = std::env::current_dir().ok().filter(|_| Path::new(folder).is_relative());
    current.map(|current| format!(" in {}", current.display())).unwrap_or_default()
}

fn file_of(file: &str, table: Option<&str>) -> String {
    match table {
        Some(table) => format!("data file {file} of {table}"),
        None => format!("file {file}"),
    }
}

/// How the client of PostgreSQL says that its server is gone, or not there yet.
const LOST_CONNECTION: [&str; 7] = [
    "no connection to the server",
    "server closed the connection unexpectedly",
    "terminating connection due to",
    "the database system is starting up",
    "the database system is shutting down",
    "the database system is in recovery mode",
    "Connection refused",
];

impl LakeError {
    /// Whether the same work may succeed when it is begun again.
    pub fn retryable(&self) -> bool {
        // DuckDB keeps the broken connections to a lost server (1.5.5), so that only a new session can go on.
        matches!(self, Self::Conflict { .. } | Self::MovedOn { .. } | Self::Locked { .. })
    }

    /// Whether nothing more can be done with the lake for now.
    pub fn is_disconnection(&self) -> bool {
        matches!(self, Self::Disconnected { .. } | Self::Store { .. })
    }

    /// Whether somebody asked for the work to stop.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted)
    }

    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { .. } => "check the path; a lake is never created unasked",
            Self::Unreachable { cause, .. } if cause.contains("is not a valid DuckDB database") => {
                "name the catalog of a lake; of SQLite and PostgreSQL as ducklake:sqlite:… and ducklake:postgres:…"
            }
            Self::Unreachable { cause, .. } if cause.contains("sqlite_scanner.duckdb_extension") => {
                "the catalog is a SQLite file: name it as ducklake:sqlite:FILE"
            }
            Self::Unreachable { cause, .. } if cause.contains("file is not a database") => {
                "the catalog is no SQLite file: if it is one of DuckDB's own, name it as ducklake:FILE"
            }
            Self::Unreachable { cause, .. } if cause.contains(".duckdb_extension\" not found") => {
                "what stands before the colon is no kind of catalog: name it as ducklake:FILE, ducklake:sqlite:FILE or \
                 ducklake:postgres:…"
            }
            Self::Disconnected { .. } => "nothing was left half done: sync again once the catalog's server runs",
            Self::Unreachable { .. } => "check that the server runs, and the host, port, database, user and password",
            Self::Locked { .. } => {
                "a DuckDB-file catalog admits one process at a time: end the other one, or move the catalog to SQLite \
                 or PostgreSQL"
            }
            Self::CatalogVersion { .. } => {
                "bring it to the present format, on purpose, with --migrate; older readers cannot read it afterwards"
            }
            Self::MissingExtension { file, folders, .. } => {
                return Some(format!(
                    "fetch {file} for DuckDB 1.5.5 and this platform (INSTALL in DuckDB's own shell does it) and put it \
                     into one of: {}",
                    folders.join(", ")
                ));
            }
            Self::Conflict { .. } | Self::MovedOn { .. } => "try again",
            Self::DamagedFile { .. } => {
                "the lake has lost data: bring the whole file back from a copy, or mend the table"
            }
            Self::NoDataFolder { folder } if Path::new(folder).is_relative() => {
                "run it from the directory that the lake is used from, or say where the folder is with --data-path"
            }
            Self::NoDataFolder { .. } => "say where the folder is with --data-path",
            Self::VanishedFile { table: Some(_), .. } => {
                "the lake has lost data: bring the file back from a copy, or mend the table"
            }
            Self::VanishedFile { table: None, .. } => {
                "no table of the lake has this file: if a view reads it by its path, bring it back, or give the view \
                 another definition"
            }
            Self::Store { .. } => {
                "check that the store can be reached, and the endpoint in its secret; then run it again"
            }
            Self::Refused { .. } => {
                "check the key in the secret of the store, and what it allows; some stores answer like that for a file \
                 that is not there"
            }
            Self::NoSnapshot { .. } => "it may have been expired; see the list of snapshots",
            Self::UnreadablePast { .. } => "recompute what depends on it",
            Self::CorruptTable { .. } => {
                "every reader of the lake sees these rows: fill the table anew from rows that you trust \
                 (CREATE OR REPLACE TABLE … AS …)"
            }
            Self::UnknownType { .. } => {
                "a newer DuckLake wrote it, or somebody changed the catalog by hand: drop or mend that column there"
            }
            Self::DiskFull { .. } => "make room, or name another temp directory",
            Self::OutOfMemory { .. } => "raise the memory limit",
            Self::UnreadableType { .. } => "cast it to VARCHAR",
            Self::Metadata { .. }
            | Self::Interrupted
            | Self::Parse { .. }
            | Self::Sql { .. }
            | Self::Engine { .. }
            | Self::Value { .. }
            | Self::NotOneRow { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// The same error with the table of the file that it is about, if it is about one.
    pub(super) fn of_table(mut self, table_of_file: impl Fn(&str) -> Option<String>) -> Self {
        if let Self::VanishedFile { file, table } | Self::DamagedFile { file, table, .. } = &mut self {
            *table = table_of_file(file);
        }
        self
    }

    /// Whether DuckDB refused a statement because a table or column that it names is not there, or not as expected.
    /// An open transaction goes on.
    pub(crate) fn is_unbound(&self) -> bool {
        matches!(self, Self::Sql { class, .. } if class == "Catalog" || class == "Binder")
    }

    /// Whether a statement failed because a table that it names does not exist.
    pub(super) fn is_missing_table(&self) -> bool {
        matches!(self, Self::Sql { class, message, .. } if class == "Catalog" && message.contains("does not exist"))
    }

    /// What DuckLake says of a table whose past it misses: the schema that it keeps for that moment is an earlier one (see
    /// `pasts`, which loads the right one first; this is for what slips through).
    pub(crate) fn missed_past(&self) -> Option<String> {
        self.to_string().lines().find(|line| line.contains("does not exist at version")).map(str::to_owned)
    }

    /// Makes an error of what DuckDB returned for a statement.
    pub(super) fn from_engine(error: &duckdb::Error, redactor: &Redactor) -> Self {
        Self::from_message(&text_of(error, redactor))
    }

    /// The same error, where a whole folder of files is not there.
    pub(super) fn without_folder(self, data_path: &str) -> Self {
        match self {
            Self::VanishedFile { file, .. } if file.starts_with(data_path) && is_no_folder(data_path) => {
                Self::NoDataFolder { folder: data_path.to_owned() }
            }
            error => error,
        }
    }

    /// The same error, about a file below `data_path` instead of a URL.
    pub(super) fn named_below(mut self, data_path: &str) -> Self {
        if let Self::VanishedFile { file: path, .. }
        | Self::DamagedFile { file: path, .. }
        | Self::Store { path, .. }
        | Self::Refused { path, .. } = &mut self
            && let Some(known) = below(data_path, path)
        {
            *path = known;
        }
        self
    }

    /// Makes an error of a message of DuckDB, which begins with its class: `Binder Error: …`.
    pub(super) fn from_message(text: &str) -> Self {
        let (class, message) = text
            .split_once(" Error: ")
            .map_or(("", text), |(class, message)| if class.len() <= 40 { (class, message) } else { ("", text) });
        let message = message.trim().to_owned();
        let says = |fragment: &str| text.contains(fragment);
        if let Some(error) = of_store(&message) {
            return error;
        }
        // The rest of such a message is the statement that DuckLake had sent.
        let lost = LOST_CONNECTION.iter().find_map(|marker| text.find(marker));
        if let Some(cause) = lost.and_then(|at| text.get(at..)) {
            return Self::Disconnected { cause: cause.lines().next().unwrap_or_default().trim().to_owned() };
        }
        if says("database is locked") || says("Could not set lock on file") || says("Unique file handle conflict") {
            return Self::Locked { cause: message };
        }
        if let Some(error) = of_damage(&message) {
            return error;
        }
        if says("No space left on device") || says("File too large") || says("failed to offload data block") {
            return Self::DiskFull { message };
        }
        if let Some((_, rest)) = message.split_once("Failed to parse DuckLake type - unsupported type '") {
            let data_type = rest.split('\'').next().unwrap_or_default().to_owned();
            return Self::UnknownType { data_type, column: None };
        }
        if let Some(rest) = message.strip_prefix("No snapshot found at ") {
            let snapshot = rest.strip_prefix("version ").unwrap_or(rest).to_owned();
            return Self::NoSnapshot { snapshot };
        }
        match class {
            "INTERRUPT" => Self::Interrupted,
            "Out of Memory" => Self::OutOfMemory { message },
            "FATAL" | "INTERNAL" => Self::Engine { message },
            "Parser" => Self::Parse { message, position: None },
            _ if is_conflict(text) => Self::Conflict { message },
            "TransactionContext" | "Transaction" if says("onflict") => Self::Conflict { message },
            "IO" | "HTTP" if says("No such file or directory") || says("No files found") || says("404") => {
                let file = message.split('"').nth(1).unwrap_or(&message).to_owned();
                Self::VanishedFile { file, table: None }
            }
            _ => Self::Sql { class: class.to_owned(), message, position: None },
        }
    }

    /// Makes an error of a failed `ATTACH`, where most messages mean something else than in a statement.
    pub(super) fn from_attach(error: &duckdb::Error, redactor: &Redactor, uri: &str) -> Self {
        let uri = uri.to_owned();
        let text = text_of(error, redactor);
        let error = Self::from_message(&text);
        let message = match error {
            Self::Locked { .. } | Self::Interrupted | Self::Engine { .. } | Self::NoSnapshot { .. } => return error,
            // The whole message also says which server or file it is about.
            Self::Disconnected { .. } | Self::VanishedFile { .. } => text,
            other => other.to_string(),
        };
        if message.contains("creating a new DuckLake is explicitly disabled") {
            return Self::NotFound { uri };
        }
        if message.contains("catalog version mismatch") {
            let word_after = |marker: &str| {
                let rest = message.split_once(marker).map_or("", |(_, rest)| rest);
                rest.split([',', ' ']).next().unwrap_or_default().trim_end_matches('.').to_owned()
            };
            let (found, required) = (word_after("catalog version is "), word_after("requires version "));
            return Self::CatalogVersion { uri, found, required };
        }
        // DuckLake glues the cause to the path it failed at, without so much as a space.
        let cause = message
            .rsplit_once("Unable to connect to ")
            .map_or(message.clone(), |(_, cause)| format!("unable to connect to {cause}"));
        Self::Unreachable { uri, cause: cause.trim().to_owned() }
    }
}

/// What DuckDB's reader of Parquet files (1.5.5) says of one that is cut off, or was written over.
fn of_damage(message: &str) -> Option<LakeError> {
    const CUT: [&str; 3] = [
        "No magic bytes found at end of file '",
        "' too small to be a Parquet file",
        "Invalid footer length provided for file '",
    ];
    // These are about the footer itself, and name no file.
    const FOOTER: [&str; 2] = ["TProtocolException: ", "don't know what type:"];
    let damaged = |file: &str, cause: String| LakeError::DamagedFile { file: file.to_owned(), cause, table: None };
    if CUT.iter().any(|words| message.contains(words)) {
        let file = message.split('\'').nth(1).unwrap_or(message);
        return Some(damaged(file, "it is cut off, or no Parquet file".to_owned()));
    }
    if FOOTER.iter().any(|words| message.starts_with(words)) {
        let cause = format!("its footer cannot be read ({})", message.trim_end_matches([':', ' ']));
        return Some(damaged("that DuckDB does not name", cause));
    }
    let rest = ["Failed to read Parquet file \"", "Failed to read file \""]
        .iter()
        .find_map(|words| message.strip_prefix(words));
    let (file, cause) = rest?.split_once("\": ")?;
    Some(damaged(file, cause.lines().next().unwrap_or_default().trim().to_owned()))
}

/// What an object store answered, or that it did not, in the words of DuckDB's client: `HTTP GET error reading '…' in
/// region '' (HTTP 404 Not Found)`, `Could not connect to server error for HTTP PUT to '…'`.
fn of_store(message: &str) -> Option<LakeError> {
    const METHODS: [&str; 5] = ["HTTP GET ", "HTTP HEAD ", "HTTP PUT ", "HTTP POST ", "HTTP DELETE "];
    let method = METHODS.iter().find(|method| message.contains(*method))?;
    let url = message.split(['\'', '"']).find(|part| part.starts_with("http://") || part.starts_with("https://"))?;
    let path = url.to_owned();
    let status = message.split_once("(HTTP ").and_then(|(_, rest)| rest.get(..3)?.parse::<u16>().ok());
    let reads = matches!(*method, "HTTP GET " | "HTTP HEAD ");
    Some(match status {
        Some(404) if reads => LakeError::VanishedFile { file: path, table: None },
        // It ends before the place where the catalog says that its footer is.
        Some(416) if reads => LakeError::DamagedFile { file: path, cause: "it is cut off".to_owned(), table: None },
        Some(status @ (401 | 403)) => LakeError::Refused { path, status },
        _ => {
            let line = message.lines().next().unwrap_or_default();
            let cause = line.replace(&format!("'{url}'"), "it").replace(&format!("\"{url}\""), "it");
            LakeError::Store { path, cause }
        }
    })
}

/// A file of a lake by the URL under which it was asked for, as the lake knows it: below its data path.
fn below(data_path: &str, url: &str) -> Option<String> {
    let (scheme, place) = data_path.split_once("://")?;
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let (host, rest) = url.split_once("://")?.1.split_once('/')?;
    let key =
        if host.starts_with(&format!("{bucket}.")) { rest } else { rest.strip_prefix(bucket)?.strip_prefix('/')? };
    key.starts_with(prefix).then(|| format!("{scheme}://{bucket}/{key}"))
}

/// Whether a commit failed because somebody else was faster. DuckLake begins every failure of a commit with the same
/// words, and takes those whose cause holds one of these for a conflict (1.5.5).
fn is_conflict(text: &str) -> bool {
    // "Unique" alone is also in "Map keys must be unique", which no second attempt mends; and DuckLake speaks of its number
    // of attempts after each of them.
    const CAUSES: [&str; 5] = ["primary key", "unique constraint", "conflict", "concurrent", "deadlock"];
    let lower = text.to_lowercase();
    lower.contains("transaction conflict")
        || lower.contains("failed to commit ducklake transaction") && CAUSES.iter().any(|cause| lower.contains(cause))
}

/// What DuckDB says, without credentials.
fn text_of(error: &duckdb::Error, redactor: &Redactor) -> String {
    let text = match error {
        duckdb::Error::DuckDBFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    redactor.redact(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attach_error(text: &str) -> LakeError {
        let failure = duckdb::Error::DuckDBFailure(duckdb::ffi::Error::new(1), Some(text.to_owned()));
        LakeError::from_attach(&failure, &Redactor::default(), "ducklake:l")
    }

    #[test]
    fn messages_become_kinds() {
        assert!(matches!(
            LakeError::from_message("Parser Error: syntax error at or near \"selec\""),
            LakeError::Parse { .. }
        ));
        assert!(matches!(LakeError::from_message("INTERRUPT Error: Interrupted!"), LakeError::Interrupted));
        let conflict = "TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction. Transaction \
                        conflict - attempting to insert into table with index \"1\"";
        assert!(LakeError::from_message(conflict).retryable());
        assert!(LakeError::from_message("Invalid Error: database is locked").retryable());
        let commit = "TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\n";
        let overtaken = "could not serialize access due to concurrent update";
        assert!(LakeError::from_message(&format!("{commit}{overtaken}")).retryable());
        let attempts = "Exceeded the maximum retry count of 10 set by the ducklake_max_retry_count setting.\n";
        let refused = LakeError::from_message(&format!("{commit}{attempts}Map keys must be unique."));
        assert!(!refused.retryable(), "{refused}");
        let broken = LakeError::from_message(&format!("{commit}permission denied for table ducklake_snapshot"));
        assert!(!broken.retryable(), "{broken:?}");
        let missing = LakeError::from_message("Catalog Error: Table with name t does not exist!\nDid you mean");
        assert!(missing.is_missing_table() && !missing.retryable());
        let gone = "IO Error: Cannot open file \"/d/x.parquet\": No such file or directory";
        assert!(matches!(LakeError::from_message(gone), LakeError::VanishedFile { .. }));
        let lost = "IO Error: Failed to prepare query \"SELECT 1\" (no result returned): no connection to the server\nLINE 2: x";
        let lost = LakeError::from_message(lost);
        assert!(lost.is_disconnection() && !lost.retryable());
        assert_eq!(lost.to_string(), "the lake's catalog cannot be reached: no connection to the server");
        let expired = LakeError::from_message("Invalid Input Error: No snapshot found at version 99");
        assert_eq!(expired.to_string(), "snapshot 99 does not exist");
    }

    #[test]
    fn damaged_parquet_files_are_told_from_other_errors() {
        let of = |text: &str| match LakeError::from_message(text) {
            error @ LakeError::DamagedFile { .. } => error.to_string(),
            other => panic!("{text}: {other:?}"),
        };
        let cut = "file /d/x.parquet is damaged: it is cut off, or no Parquet file";
        for text in [
            "Invalid Input Error: No magic bytes found at end of file '/d/x.parquet'",
            "Invalid Input Error: File '/d/x.parquet' too small to be a Parquet file",
            "Invalid Input Error: Invalid footer length provided for file '/d/x.parquet'",
        ] {
            assert_eq!(of(text), cut);
        }
        let page = "Invalid Input Error: Failed to read file \"/d/x.parquet\": Snappy decompression failure";
        assert_eq!(of(page), "file /d/x.parquet is damaged: Snappy decompression failure");
        let footer = "file that DuckDB does not name is damaged: its footer cannot be read ";
        assert_eq!(of("TProtocolException: Invalid data"), format!("{footer}(TProtocolException: Invalid data)"));
        assert_eq!(of("don't know what type: "), format!("{footer}(don't know what type)"));
    }

    #[test]
    fn answers_of_a_store_become_kinds_and_name_the_file_of_the_lake() {
        let of = |text: &str| LakeError::from_message(text).named_below("s3://b/p/").to_string();
        let get = "HTTP Error: HTTP GET error reading 'http://h:9/b/p/t/x.parquet' in region ''";
        assert_eq!(of(&format!("{get} (HTTP 404 Not Found)")), "file s3://b/p/t/x.parquet is missing");
        let refused = of(&format!("{get} (HTTP 403 Forbidden)\nAuthentication Failure - this is usually"));
        assert_eq!(refused, "the store of s3://b/p/t/x.parquet refuses the credentials (HTTP 403)");
        let down = "IO Error: Could not connect to server error for HTTP PUT to 'https://b.h/p/t/x.parquet'";
        assert!(LakeError::from_message(down).is_disconnection());
        assert_eq!(
            of(down),
            "the store of s3://b/p/t/x.parquet cannot be used: Could not connect to server error for HTTP PUT to it"
        );
        assert_eq!(below("s3://b/p/", "http://h/other/p/x"), None);
        assert_eq!(below("/disk/", "http://h/b/x"), None);
    }

    #[test]
    fn attach_failures_say_what_is_the_matter() {
        let mismatch = "Invalid Input Error: DuckLake catalog version mismatch: catalog version is 0.3, but the \
                        extension requires version 1.0. To automatically migrate, set AUTOMATIC_MIGRATION to TRUE";
        assert_eq!(
            attach_error(mismatch).to_string(),
            "lake ducklake:l has catalog format 0.3, this DuckLake reads 1.0"
        );
        let lock = "IO Error: Failed to attach DuckLake MetaData \"m\" at path + \"c\"Could not set lock on file \
                    \"/c\": Conflicting lock is held in /bin/x (PID 7)";
        assert!(matches!(attach_error(lock), LakeError::Locked { .. }));
        let refused = "IO Error: Failed to attach DuckLake MetaData \"m\" at path + \"postgres:host=h \
                       password=geheim\"Unable to connect to Postgres at \"host=h password=geheim\": connection refused";
        let sqlite = "IO Error: Failed to attach DuckLake MetaData \"m\" at path + \"/s\"Extension \
                      \"/x/sqlite_scanner.duckdb_extension\" not found.";
        assert!(attach_error(sqlite).hint().unwrap().contains("ducklake:sqlite:FILE"));
        let socket = "IO Error: Failed to attach DuckLake MetaData \"m\" at path + \"postgres:host=/tmp\"Unable to \
                      connect to Postgres at \"host=/tmp\": connection to server on socket \"/tmp/.s.PGSQL.5432\" \
                      failed: No such file or directory";
        assert!(attach_error(socket).to_string().contains("unable to connect to Postgres"), "{}", attach_error(socket));
        let error = attach_error(refused);
        assert!(matches!(error, LakeError::Unreachable { .. }));
        assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
    }
}
