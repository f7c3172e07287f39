//! A session: one DuckDB in memory with one lake attached.

use super::{
    LakeError, LakeOptions, SnapshotId, TableId, Transaction, Value,
    extensions::Extensions,
    options::CatalogKind,
    redact::Redactor,
    text::{identifier, literal},
};
use duckdb::{Connection, arrow::datatypes::DataType};
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Optimizers that make reads of old versions (`statistics_propagation`) or shapes that delta plans have
/// (`common_subplan`, `deliminator`) return wrong rows in DuckDB 1.5.5.
const DISABLED_OPTIMIZERS: &str = "statistics_propagation,common_subplan,deliminator";

/// The rows of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, in the order in which DuckDB gave them.
    pub rows: Vec<Vec<Value>>,
}

/// A column that a statement returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its type as DuckDB writes it.
    pub data_type: String,
}

/// What a function promises about its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// The same arguments always give the same result.
    Consistent,
    /// The same arguments give the same result within one query, such as `now()`.
    ConsistentWithinQuery,
    /// Every call may give another result, such as `random()`.
    Volatile,
}

/// What DuckLake says of an attached lake.
struct Attached {
    data_path: String,
    catalog_type: String,
}

/// A session: one DuckDB in memory with one lake attached.
pub struct Lake {
    connection: Connection,
    /// Reads files that never change without a part in the transaction, which a failure would abort.
    side: Connection,
    alias: String,
    metadata: String,
    extensions: Extensions,
    redactor: Redactor,
    pinned_by_attach: bool,
    /// Held as long as the connection, and released after it: fields drop in order.
    _hold: Option<Hold>,
    /// What DuckLake says of itself; it does not change while the lake is attached.
    attached: OnceCell<Attached>,
    /// Tables whose file paths were seen to be what DuckLake calls the files.
    known_paths: RefCell<BTreeSet<(TableId, String)>>,
}

impl std::fmt::Debug for Lake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lake").field("alias", &self.alias).finish_non_exhaustive()
    }
}

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
        let connection = Connection::open_in_memory().map_err(|error| LakeError::from_engine(&error, &redactor))?;
        let extensions = Extensions::new(&connection)?;
        let schema = options.metadata_schema.as_deref().map(|schema| format!(".{}", identifier(schema)));
        let metadata =
            format!("{}{}", identifier(&format!("__ducklake_metadata_{}", options.alias)), schema.unwrap_or_default());
        let side = connection.try_clone().map_err(|error| LakeError::from_engine(&error, &redactor))?;
        let lake = Self {
            connection,
            side,
            alias: options.alias.clone(),
            metadata,
            extensions,
            redactor,
            pinned_by_attach: options.at.is_some(),
            _hold: hold,
            attached: OnceCell::new(),
            known_paths: RefCell::default(),
        };
        lake.configure(options)?;
        lake.load_extensions(options)?;
        for statement in &options.setup {
            lake.batch(statement)?;
        }
        lake.connection
            .execute_batch(&options.attach_statement())
            .map_err(|error| LakeError::from_attach(&error, &lake.redactor, &uri))?;
        lake.batch(&format!("USE {}", identifier(&lake.alias)))?;
        lake.load_extensions_of_data()?;
        Ok(lake)
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
        let spill = options
            .temp_directory
            .clone()
            .unwrap_or_else(|| std::env::temp_dir().join(format!("ducklake-ivm-spill-{}", std::process::id())));
        self.batch(&format!("SET GLOBAL temp_directory = {}", literal(&spill.to_string_lossy())))?;
        if let Some(threads) = options.threads {
            self.batch(&format!("SET GLOBAL threads = {threads}"))?;
        }
        if self.extensions.has_folder() {
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
        let remote = [Some(options.catalog()), options.data_path.as_deref()];
        if remote.into_iter().flatten().any(is_remote) && options.catalog_kind() != CatalogKind::Postgres
            || options.data_path.as_deref().is_some_and(is_remote)
        {
            self.load_extension("httpfs")?;
        }
        let asks_for = |word: &str| options.setup.iter().any(|statement| statement.to_ascii_lowercase().contains(word));
        if asks_for("credential_chain") {
            self.load_extension("aws")?;
        }
        if asks_for("secret") && asks_for("s3") {
            self.load_extension("httpfs")?;
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

    /// Loads an extension of DuckDB from where this installation keeps them.
    pub fn load_extension(&self, name: &str) -> Result<(), LakeError> {
        self.extensions.load(&self.connection, name)
    }

    /// Runs statements and returns how many rows the last one changed.
    pub fn execute(&self, sql: &str) -> Result<u64, LakeError> {
        tracing::trace!(sql = %self.redactor.redact(sql), "execute");
        let changed = self.connection.execute(sql, []).map_err(|error| self.error(&error))?;
        Ok(changed as u64)
    }

    /// Runs a statement and returns its rows.
    pub fn query(&self, sql: &str) -> Result<Rows, LakeError> {
        tracing::trace!(sql = %self.redactor.redact(sql), "query");
        self.query_on(&self.connection, sql)
    }

    /// Runs a statement outside of any transaction and returns its rows.
    pub(super) fn query_aside(&self, sql: &str) -> Result<Rows, LakeError> {
        tracing::trace!(sql = %self.redactor.redact(sql), "query aside");
        self.query_on(&self.side, sql)
    }

    fn query_on(&self, connection: &Connection, sql: &str) -> Result<Rows, LakeError> {
        let mut statement = connection.prepare(sql).map_err(|error| self.error(&error))?;
        statement.raw_execute().map_err(|error| self.error(&error))?;
        let schema = statement.schema();
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        for field in schema.fields() {
            if !is_readable(field.data_type()) {
                let (column, data_type) = (field.name().clone(), field.data_type().to_string());
                return Err(LakeError::UnreadableType { column, data_type });
            }
        }
        let mut rows = Vec::new();
        let mut cursor = statement.raw_query();
        while let Some(row) = cursor.next().map_err(|error| self.error(&error))? {
            let values = (0..columns.len())
                .map(|index| row.get::<_, duckdb::types::Value>(index).map(Value::from_engine))
                .collect::<Result<Vec<Value>, _>>();
            rows.push(values.map_err(|error| self.error(&error))?);
        }
        Ok(Rows { columns, rows })
    }

    /// Runs a statement that returns exactly one row.
    pub fn query_one(&self, sql: &str) -> Result<Vec<Value>, LakeError> {
        let mut rows = self.query(sql)?.rows;
        match (rows.pop(), rows.len()) {
            (Some(row), 0) => Ok(row),
            (row, more) => Err(LakeError::NotOneRow { found: more + usize::from(row.is_some()) }),
        }
    }

    /// Runs a statement that returns exactly one value.
    pub fn query_value(&self, sql: &str) -> Result<Value, LakeError> {
        let mut row = self.query_one(sql)?;
        let value = row.pop().unwrap_or(Value::Null);
        if row.is_empty() { Ok(value) } else { Err(LakeError::NotOneRow { found: row.len() + 1 }) }
    }

    /// DuckDB's bound, unoptimised plan of one SELECT.
    pub fn bound_plan(&self, sql: &str) -> Result<serde_json::Value, LakeError> {
        let mut answer = self.serialized("json_serialize_plan", sql)?;
        match answer.get_mut("plans").and_then(serde_json::Value::as_array_mut) {
            Some(plans) if plans.len() == 1 => Ok(plans.swap_remove(0)),
            Some(plans) => Err(LakeError::Parse {
                message: format!("expected one SELECT statement, found {}", plans.len()),
                position: None,
            }),
            None => Err(LakeError::Engine { message: "json_serialize_plan returned no plan".to_owned() }),
        }
    }

    /// How many SELECT statements `sql` holds; any other statement and wrong syntax are errors.
    pub fn statements(&self, sql: &str) -> Result<usize, LakeError> {
        let answer = self.serialized("json_serialize_sql", sql)?;
        Ok(answer.get("statements").and_then(serde_json::Value::as_array).map_or(0, Vec::len))
    }

    fn serialized(&self, function: &str, sql: &str) -> Result<serde_json::Value, LakeError> {
        // Everything is asked for: skip_empty would drop empty grouping sets and empty texts inside lists.
        let answer = self.query_value(&format!("SELECT {function}({})::VARCHAR", literal(sql)))?;
        let answer = nested_json(answer.as_str()?)
            .map_err(|error| LakeError::Engine { message: format!("{function} returned no JSON: {error}") })?;
        if answer.get("error").and_then(serde_json::Value::as_bool) != Some(true) {
            return Ok(answer);
        }
        let text = |key: &str| answer.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
        let message = self.redactor.redact(text("error_message"));
        let position = text("position").parse().ok();
        Err(match text("error_type") {
            "parser" | "syntax" => LakeError::Parse { message, position },
            class => {
                let mut class = class.to_owned();
                if let Some(first) = class.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                LakeError::Sql { class, message, position }
            }
        })
    }

    /// The names and types of the columns that a SELECT returns.
    pub fn describe(&self, sql: &str) -> Result<Vec<OutputColumn>, LakeError> {
        let rows = self.query(&format!("DESCRIBE {sql}"))?.rows;
        rows.iter()
            .map(|row| match row.as_slice() {
                [name, data_type, ..] => {
                    Ok(OutputColumn { name: name.as_str()?.to_owned(), data_type: data_type.as_str()?.to_owned() })
                }
                _ => Err(LakeError::Engine { message: "DESCRIBE returned no types".to_owned() }),
            })
            .collect()
    }

    /// The functions that DuckDB does not call consistent, each with the weakest promise among its overloads.
    pub fn unstable_functions(&self) -> Result<BTreeMap<String, Stability>, LakeError> {
        let rows = self.query(
            "SELECT function_name, stability FROM duckdb_functions() \
             WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') GROUP BY ALL ORDER BY ALL",
        )?;
        let mut functions = BTreeMap::new();
        for row in &rows.rows {
            if let [name, stability] = row.as_slice() {
                let stability = match stability.as_str()? {
                    "VOLATILE" => Stability::Volatile,
                    _ => Stability::ConsistentWithinQuery,
                };
                let known = functions.entry(name.as_str()?.to_owned()).or_insert(stability);
                *known = stability.max(*known);
            }
        }
        Ok(functions)
    }

    /// Begins a transaction that sees one snapshot of the lake.
    pub fn begin(&self) -> Result<Transaction<'_>, LakeError> {
        Transaction::begin(self)
    }

    /// A handle that interrupts the statement that is running, from any thread.
    pub fn interrupt_handle(&self) -> impl Fn() + Send + Sync + 'static {
        let handles = [self.connection.interrupt_handle(), self.side.interrupt_handle()];
        move || handles.iter().for_each(|handle| handle.interrupt())
    }

    /// The name under which the lake is attached.
    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// What stands, with a dot, before the name of a metadata table; quoted.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// Where the data files are, as attached.
    pub fn data_path(&self) -> Result<String, LakeError> {
        Ok(self.attached()?.data_path.clone())
    }

    /// The kind of the catalog's database, as DuckLake calls it: `duckdb`, `sqlite`, `postgres`.
    pub fn catalog_type(&self) -> Result<String, LakeError> {
        Ok(self.attached()?.catalog_type.clone())
    }

    fn attached(&self) -> Result<&Attached, LakeError> {
        if let Some(attached) = self.attached.get() {
            return Ok(attached);
        }
        let sql = format!("SELECT data_path, catalog_type FROM ducklake_settings({})", literal(&self.alias));
        let row = self.query_one(&sql)?;
        let text = |index: usize| row.get(index).unwrap_or(&Value::Null).as_str().map(str::to_owned);
        let attached = Attached { data_path: text(0)?, catalog_type: text(1)? };
        Ok(self.attached.get_or_init(|| attached))
    }

    pub(super) fn knows_path(&self, table: TableId, base: &str) -> bool {
        self.known_paths.borrow().contains(&(table, base.to_owned()))
    }

    pub(super) fn remember_path(&self, table: TableId, base: &str) {
        self.known_paths.borrow_mut().insert((table, base.to_owned()));
    }

    /// Whether the data files are encrypted.
    pub fn is_encrypted(&self) -> Result<bool, LakeError> {
        let sql = format!(
            "SELECT count(*) FILTER (lower(value) = 'true') > 0 FROM {}.ducklake_metadata WHERE key = 'encrypted'",
            self.metadata
        );
        self.query_value(&sql)?.as_bool()
    }

    /// The version of DuckDB, such as `v1.5.5`.
    pub fn engine_version(&self) -> Result<String, LakeError> {
        self.connection.version().map_err(|error| self.error(&error))
    }

    /// The newest snapshot of the lake.
    pub fn current_snapshot(&self) -> Result<SnapshotId, LakeError> {
        let sql = format!("SELECT id FROM ducklake_current_snapshot({}) AS s(id)", literal(&self.alias));
        Ok(SnapshotId(self.query_value(&sql)?.as_u64()?))
    }

    /// Whether the lake is attached as it was at one snapshot.
    pub(super) fn is_pinned_by_attach(&self) -> bool {
        self.pinned_by_attach
    }

    /// Runs statements without looking at what they return.
    pub(super) fn batch(&self, sql: &str) -> Result<(), LakeError> {
        self.connection.execute_batch(sql).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &duckdb::Error) -> LakeError {
        LakeError::from_engine(error, &self.redactor)
    }
}

/// The claim of this process on a DuckDB file.
///
/// DuckDB's own lock on the file keeps other processes out, but not a second DuckDB in this one, and two of them
/// writing the same file corrupt it.
struct Hold(PathBuf);

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

/// Whether a path or URI is read through the network.
fn is_remote(path: &str) -> bool {
    path.contains("://") && !path.starts_with("file:")
}

/// Whether the client turns values of this Arrow type into its own; it panics on the others.
fn is_readable(data_type: &DataType) -> bool {
    use duckdb::arrow::datatypes::{IntervalUnit, TimeUnit};
    match data_type {
        DataType::Time64(unit) => *unit == TimeUnit::Microsecond,
        DataType::Interval(unit) => *unit == IntervalUnit::MonthDayNano,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_readable(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_readable(field.data_type())),
        DataType::Union(fields, _) => fields.iter().all(|(_, field)| is_readable(field.data_type())),
        DataType::Dictionary(key, _) => matches!(**key, DataType::UInt8 | DataType::UInt16 | DataType::UInt32),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_)
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Timestamp(..)
        | DataType::Date32 => true,
        _ => false,
    }
}

/// Deeper JSON than any plan that can be decoded would only overflow the stack.
const DEEPEST_JSON: usize = 2000;

/// `text` as JSON of any reasonable depth: a plan has two or three levels per join, function call or operator.
fn nested_json(text: &str) -> Result<serde_json::Value, String> {
    let mut depth = 0_usize;
    let mut escaped = false;
    let mut quoted = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_JSON {
            return Err("it is nested too deep".to_owned());
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut reader).map_err(|error| error.to_string())
}
