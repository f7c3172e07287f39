//! A session: a connection to a DuckDB in memory with one lake attached.

use super::{
    LakeError, SnapshotId, TableId, Transaction, Value, extensions::Extensions, opening::Hold, options::Secrets,
    redact::Redactor, text::literal,
};
use duckdb::{Connection, arrow::datatypes::DataType};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

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

/// What the text of a SELECT holds, as DuckDB parses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Syntax {
    /// How many SELECT statements.
    pub statements: usize,
    /// How many tables are read with an `AT` clause of their own.
    pub at_clauses: usize,
    /// The parameters (`$1`, `?`, `$name`), which nobody gives a value to.
    pub parameters: BTreeSet<String>,
    /// `DESCRIBE`, `SUMMARIZE` or `SHOW`, which tell of tables instead of reading them.
    pub describes: bool,
}

impl Syntax {
    fn collect(&mut self, node: &serde_json::Value) {
        match node {
            serde_json::Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            serde_json::Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
                self.at_clauses += usize::from(fields.get("at_clause").is_some_and(serde_json::Value::is_object));
                self.describes |= text("type") == "SHOW_REF";
                if text("type") == "VALUE_PARAMETER" {
                    self.parameters.insert(text("identifier").to_owned());
                }
                fields.values().for_each(|value| self.collect(value));
            }
            _ => {}
        }
    }
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
pub(super) struct Attached {
    data_path: String,
    catalog_type: String,
}

/// A session: a connection to a DuckDB in memory with one lake attached.
pub struct Lake {
    pub(super) connection: Connection,
    /// Reads files that never change without a part in the transaction, which a failure would abort.
    pub(super) side: Connection,
    pub(super) in_transaction: Cell<bool>,
    pub(super) shared: Arc<Shared>,
}

/// What all sessions of one DuckDB have in common.
pub(super) struct Shared {
    pub(super) alias: String,
    pub(super) metadata: String,
    pub(super) extensions: Extensions,
    pub(super) redactor: Redactor,
    pub(super) pinned_by_attach: bool,
    pub(super) secrets: Secrets,
    /// Released after the last connection: the fields of a session drop in order.
    pub(super) _hold: Option<Hold>,
    /// What DuckLake says of itself; it does not change while the lake is attached.
    pub(super) attached: OnceLock<Attached>,
    /// Tables whose file paths were seen to be what DuckLake calls the files.
    pub(super) known_paths: Mutex<BTreeSet<(TableId, String)>>,
    /// Tables, and versions of their rows in the catalog, whose schemas are loaded.
    pub(super) late_rows: Mutex<BTreeSet<(TableId, u64)>>,
}

impl Shared {
    fn late_rows(&self) -> MutexGuard<'_, BTreeSet<(TableId, u64)>> {
        self.late_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_paths(&self) -> MutexGuard<'_, BTreeSet<(TableId, String)>> {
        self.known_paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Lake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lake").field("alias", &self.shared.alias).finish_non_exhaustive()
    }
}

impl Lake {
    /// Loads an extension of DuckDB from where this installation keeps them.
    pub fn load_extension(&self, name: &str) -> Result<(), LakeError> {
        self.shared.extensions.load(&self.connection, name)
    }

    /// Runs statements and returns how many rows the last one changed.
    pub fn execute(&self, sql: &str) -> Result<u64, LakeError> {
        tracing::trace!(sql = %self.shared.redactor.redact(sql), "execute");
        let changed = self.in_one_transaction(sql, || {
            let changed = self.connection.execute(sql, []).map_err(|error| self.error(&error))?;
            Ok(changed as u64)
        });
        self.follow_transaction(sql);
        changed
    }

    /// Runs a statement and returns its rows.
    pub fn query(&self, sql: &str) -> Result<Rows, LakeError> {
        tracing::trace!(sql = %self.shared.redactor.redact(sql), "query");
        self.in_one_transaction(sql, || self.query_on(&self.connection, sql))
    }

    /// Outside of a transaction the client prepares a statement in one and runs it in another, which DuckLake's
    /// maintenance functions refuse.
    fn in_one_transaction<T>(&self, sql: &str, run: impl FnOnce() -> Result<T, LakeError>) -> Result<T, LakeError> {
        if first_word(sql) != "CALL" || self.in_transaction.get() {
            return run();
        }
        self.batch("BEGIN")?;
        match run() {
            Ok(result) => self.batch("COMMIT").map(|()| result),
            Err(error) => {
                // The error of the statement says more than one of the rollback would.
                let _ = self.batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// The client does not tell whether a transaction is open.
    fn follow_transaction(&self, sql: &str) {
        match first_word(sql).as_str() {
            "BEGIN" | "START" => self.in_transaction.set(true),
            "COMMIT" | "END" | "ROLLBACK" | "ABORT" => self.in_transaction.set(false),
            _ => {}
        }
    }

    /// Runs a statement outside of any transaction and returns its rows.
    pub(super) fn query_aside(&self, sql: &str) -> Result<Rows, LakeError> {
        tracing::trace!(sql = %self.shared.redactor.redact(sql), "query aside");
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

    /// What DuckDB's parser says of `sql`; any other statement than SELECT and wrong syntax are errors.
    pub fn syntax(&self, sql: &str) -> Result<Syntax, LakeError> {
        let answer = self.serialized("json_serialize_sql", sql)?;
        let statements = answer.get("statements").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
        let mut syntax = Syntax { statements, ..Syntax::default() };
        syntax.collect(&answer);
        Ok(syntax)
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
        let mut message = self.shared.redactor.redact(text("error_message"));
        if message.starts_with("Only SELECT statements can be serialized") {
            "it is no SELECT statement".clone_into(&mut message);
        }
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
        &self.shared.alias
    }

    /// What stands, with a dot, before the name of a metadata table; quoted.
    pub fn metadata(&self) -> &str {
        &self.shared.metadata
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
        if let Some(attached) = self.shared.attached.get() {
            return Ok(attached);
        }
        let sql = format!("SELECT data_path, catalog_type FROM ducklake_settings({})", literal(&self.shared.alias));
        let row = self.query_one(&sql)?;
        let text = |index: usize| row.get(index).unwrap_or(&Value::Null).as_str().map(str::to_owned);
        let attached = Attached { data_path: text(0)?, catalog_type: text(1)? };
        Ok(self.shared.attached.get_or_init(|| attached))
    }

    pub(super) fn knows_path(&self, table: TableId, base: &str) -> bool {
        self.shared.known_paths().contains(&(table, base.to_owned()))
    }

    pub(super) fn knows_late_rows(&self, rows: (TableId, u64)) -> bool {
        self.shared.late_rows().contains(&rows)
    }

    pub(super) fn remember_late_rows(&self, rows: (TableId, u64)) {
        self.shared.late_rows().insert(rows);
    }

    pub(super) fn remember_path(&self, table: TableId, base: &str) {
        self.shared.known_paths().insert((table, base.to_owned()));
    }

    /// Whether the data files are encrypted.
    pub fn is_encrypted(&self) -> Result<bool, LakeError> {
        let sql = format!(
            "SELECT count(*) FILTER (lower(value) = 'true') > 0 FROM {}.ducklake_metadata WHERE key = 'encrypted'",
            self.shared.metadata
        );
        self.query_value(&sql)?.as_bool()
    }

    /// The version of DuckDB, such as `v1.5.5`.
    pub fn engine_version(&self) -> Result<String, LakeError> {
        self.connection.version().map_err(|error| self.error(&error))
    }

    /// The newest snapshot of the lake.
    pub fn current_snapshot(&self) -> Result<SnapshotId, LakeError> {
        let sql = format!("SELECT id FROM ducklake_current_snapshot({}) AS s(id)", literal(&self.shared.alias));
        Ok(SnapshotId(self.query_value(&sql)?.as_u64()?))
    }

    /// Whether the lake is attached as it was at one snapshot.
    pub(super) fn is_pinned_by_attach(&self) -> bool {
        self.shared.pinned_by_attach
    }

    /// Runs statements without looking at what they return.
    pub(super) fn batch(&self, sql: &str) -> Result<(), LakeError> {
        let result = self.connection.execute_batch(sql).map_err(|error| self.error(&error));
        self.follow_transaction(sql);
        result
    }

    pub(super) fn error(&self, error: &duckdb::Error) -> LakeError {
        let error = LakeError::from_engine(error, &self.shared.redactor);
        match (self.shared.attached.get(), error) {
            (_, LakeError::UnknownType { data_type, .. }) => {
                let column = self.column_of_type(&data_type);
                LakeError::UnknownType { data_type, column }
            }
            (Some(attached), error) => error
                .named_below(&attached.data_path)
                .without_folder(&attached.data_path)
                .of_table(|file| self.table_of_file(file)),
            (None, error) => error,
        }
    }

    /// A column that has a type, as `schema.table.column`.
    fn column_of_type(&self, data_type: &str) -> Option<String> {
        let metadata = self.metadata();
        let sql = format!(
            "SELECT s.schema_name || '.' || t.table_name || '.' || c.column_name FROM {metadata}.ducklake_column c \
             JOIN {metadata}.ducklake_table t USING (table_id) JOIN {metadata}.ducklake_schema s USING (schema_id) \
             WHERE c.end_snapshot IS NULL AND t.end_snapshot IS NULL AND lower(c.column_type) = lower({}) \
             ORDER BY 1 LIMIT 1",
            literal(data_type)
        );
        self.text_aside(&sql)
    }

    /// The text that a query gives, asked beside an error that it is about: another error would say nothing more.
    pub(super) fn text_aside(&self, sql: &str) -> Option<String> {
        let mut statement = self.side.prepare(sql).ok()?;
        statement.query_row([], |row| row.get(0)).ok()
    }
}

fn first_word(sql: &str) -> String {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    word.unwrap_or_default().to_ascii_uppercase()
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
