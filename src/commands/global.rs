//! The options of every command, and what becomes of them together with the configuration file.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::configuration::{Configuration, FILE_NAME};
use super::failure::Failure;
use super::interrupts::{Attached, Interrupts};
use super::output::{Format, Output, Verbosity};
use crate::lake::{Access, Lake, LakeOptions, Secrets};

/// The options of every command.
#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub(super) struct GlobalArguments {
    /// The lake, as DuckDB's ATTACH takes it: ducklake:meta.ducklake, ducklake:sqlite:meta.sqlite,
    /// ducklake:postgres:dbname=…
    #[arg(long, value_name = "URI", global = true, env = "DUCKLAKE_IVM_LAKE", hide_env_values = true)]
    lake: Option<String>,
    /// Where the data files are, if not where the catalog says: a folder, or `s3://bucket/path`
    #[arg(long, value_name = "PATH", global = true)]
    data_path: Option<String>,
    /// The schema of the catalog database that holds DuckLake's tables
    #[arg(long, value_name = "NAME", global = true)]
    metadata_schema: Option<String>,
    /// Configuration file [default: ducklake-ivm.toml in the working directory, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// How results are written to stdout [default: table]
    #[arg(long, value_enum, global = true)]
    format: Option<Format>,
    /// Write results to this file instead of stdout
    #[arg(long, short = 'o', value_name = "FILE", global = true)]
    output: Option<PathBuf>,
    /// The memory that DuckDB may use before it spills to disk, such as 4GB
    #[arg(long, value_name = "SIZE", global = true)]
    memory_limit: Option<String>,
    /// Where DuckDB spills to
    #[arg(long, value_name = "DIR", global = true)]
    temp_directory: Option<PathBuf>,
    /// How many threads DuckDB uses
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Bring a catalog of an older DuckLake format to the present one, in place
    #[arg(long, global = true)]
    migrate: bool,
    /// Say more on stderr; -vv and -vvv say still more
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "quiet")]
    pub(super) verbose: u8,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
}

/// What a command works with.
pub(super) struct Session {
    /// The printer.
    pub(super) output: Output,
    /// Whether the program was asked to end.
    pub(super) interrupts: Interrupts,
    arguments: GlobalArguments,
    configuration: Configuration,
}

/// An open lake whose statements are interrupted by signals.
pub(super) struct OpenLake<'a> {
    /// Dropped first: signals must not reach a lake that is gone.
    _attached: Attached<'a>,
    lake: Lake,
}

impl std::ops::Deref for OpenLake<'_> {
    type Target = Lake;

    fn deref(&self) -> &Lake {
        &self.lake
    }
}

impl Session {
    /// Reads the configuration file.
    pub(super) fn new(arguments: GlobalArguments, interrupts: Interrupts) -> Result<Session, Failure> {
        let configuration = Configuration::load(arguments.config.as_deref())?;
        let verbosity = match (arguments.quiet, arguments.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        };
        let format = arguments.format.or(configuration.format).unwrap_or_default();
        let output = Output { format, file: arguments.output.clone(), verbosity };
        Ok(Session { output, interrupts, arguments, configuration })
    }

    /// Opens the lake.
    pub(super) fn open(&self, access: Access) -> Result<OpenLake<'_>, Failure> {
        let options = self.options()?;
        // A catalog that is attached to be read only cannot be migrated.
        let access = if options.migrate { Access::ReadWrite } else { access };
        self.open_with(&LakeOptions { access, ..options })
    }

    /// Opens the lake to read it and to ask the store for its files.
    pub(super) fn open_for_files(&self) -> Result<OpenLake<'_>, Failure> {
        self.open_with(&LakeOptions { access: Access::ReadOnly, secrets: Secrets::Revealed, ..self.options()? })
    }

    /// Opens the lake of `options`.
    pub(super) fn open_with(&self, options: &LakeOptions) -> Result<OpenLake<'_>, Failure> {
        let lake = Lake::open(options)?;
        let attached = self.interrupts.attach(lake.interrupt_handle());
        Ok(OpenLake { _attached: attached, lake })
    }

    /// DuckDB's limits, without any lake.
    pub(super) fn limits(&self) -> LakeOptions {
        let (arguments, file) = (&self.arguments, &self.configuration);
        let mut options = LakeOptions::new("");
        options.memory_limit = arguments.memory_limit.clone().or_else(|| file.memory_limit.clone());
        options.temp_directory = arguments.temp_directory.clone().or_else(|| file.temp_directory.clone());
        options.threads = arguments.threads.or(file.threads);
        options
    }

    fn options(&self) -> Result<LakeOptions, Failure> {
        let (arguments, file) = (&self.arguments, &self.configuration);
        let uri = arguments.lake.clone().or_else(|| file.lake.clone()).filter(|uri| !uri.is_empty());
        let uri = uri.ok_or_else(|| {
            Failure::usage("no lake is named")
                .hint(format!("give --lake URI, set DUCKLAKE_IVM_LAKE, or write lake = \"…\" into {FILE_NAME}"))
        })?;
        let mut options = self.limits();
        options.uri = uri;
        options.data_path = arguments.data_path.clone().or_else(|| file.data_path.clone());
        options.metadata_schema = arguments.metadata_schema.clone().or_else(|| file.metadata_schema.clone());
        options.migrate = arguments.migrate;
        options.setup = file.setup(|name| std::env::var(name).ok())?;
        Ok(options)
    }
}
