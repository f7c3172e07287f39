//! Scans of tables, and table functions.

use serde_json::Value as Json;

use super::super::expr::{Argument, Constant, Expr, FunctionCall, Literal};
use super::super::rel::{Column, ROWID_POSITION, Rel, Scan, State, TableFunction, TableKind, Unnest};
use super::super::types::DataType;
use super::reader::{Fields, NO_INDEX};
use super::{DecodeError, Decoded, Decoder, Slot};

/// What DuckDB writes for the columns of a scan that reads none.
const EMPTY: u64 = u64::MAX - 1;
/// From here on a column index means a virtual column.
const VIRTUAL: u64 = 1 << 63;

/// Bookkeeping of other stages, without meaning in an unoptimised plan.
const GET: [&str; 20] = [
    "returned_types",
    "names",
    "projection_ids",
    "table_filters",
    "name",
    "arguments",
    "original_arguments",
    "catalog_name",
    "schema_name",
    "has_serialize",
    "function_data",
    "parameters",
    "named_parameters",
    "input_table_types",
    "input_table_names",
    "projected_input",
    "column_indexes",
    "extra_info",
    "ordinality_idx",
    "row_group_order_options",
];

impl Decoder<'_> {
    /// A scan or a table function.
    pub(super) fn get(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &GET)?;
        self.must_be_empty(fields, "projection_ids")?;
        if let Some(filters) = fields.get("table_filters") {
            let filters = self.fields(filters, "table filters", &["filters"])?;
            self.must_be_empty(filters, "filters")?;
        }
        if let Some(info) = fields.get("extra_info") {
            let known = ["file_filters", "total_files", "filtered_files", "sample_options"];
            let info = self.fields(info, "a scan's notes", &known)?;
            if !self.text(info, "file_filters")?.is_empty() || info.get("sample_options").is_some() {
                return Err(self.error("a scan with a pushed filter or sample"));
            }
        }
        if fields.get("row_group_order_options").is_some() {
            return Err(self.error("a scan in the order of its row groups"));
        }
        let name = self.text(fields, "name")?;
        if self.number(fields, "ordinality_idx")? != NO_INDEX && name != "unnest" {
            return Err(self.error(format!("WITH ORDINALITY over {name}")));
        }
        match name {
            "ducklake_scan" => self.lake_scan(fields),
            "seq_scan" => self.table_scan(fields),
            _ => self.table_function(fields, name),
        }
    }

    fn lake_scan(&self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        let known = ["catalog_name", "schema_name", "table_name", "snapshot", "scan_type", "has_start_snapshot"];
        let data = self.fields(self.required(fields, "function_data")?, "the bind data of a scan", &known)?;
        if self.number(data, "scan_type")? != 0 || self.flag(data, "has_start_snapshot")? {
            return Err(self.error("the change feed of a table"));
        }
        let catalog = self.text(data, "catalog_name")?;
        let snapshot = self.object(self.required(data, "snapshot")?, "a snapshot")?;
        let snapshot = self.number(snapshot, "snapshot_id")?;
        let current = self.context.snapshots.get(catalog);
        let current = *current.ok_or_else(|| self.error(format!("a scan of the lake {catalog}")))?;
        let scan = Scan {
            catalog: catalog.to_owned(),
            schema: self.text(data, "schema_name")?.to_owned(),
            table: self.text(data, "table_name")?.to_owned(),
            kind: TableKind::Lake,
            columns: Vec::new(),
            positions: Vec::new(),
            pinned: (snapshot != current).then_some(snapshot),
            state: State::Current,
        };
        self.scan_columns(fields, scan)
    }

    fn table_scan(&self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        let known = ["catalog", "schema", "table", "is_index_scan", "is_create_index", "result_ids"];
        let data = self.fields(self.required(fields, "function_data")?, "the bind data of a scan", &known)?;
        if self.flag(data, "is_index_scan")? || self.flag(data, "is_create_index")? {
            return Err(self.error("an index scan"));
        }
        let scan = Scan {
            catalog: self.text(data, "catalog")?.to_owned(),
            schema: self.text(data, "schema")?.to_owned(),
            table: self.text(data, "table")?.to_owned(),
            kind: TableKind::DuckDb,
            columns: Vec::new(),
            positions: Vec::new(),
            pinned: None,
            state: State::Current,
        };
        self.scan_columns(fields, scan)
    }

    fn scan_columns(&self, fields: Fields<'_>, mut scan: Scan) -> Result<Decoded, DecodeError> {
        let binding = self.number(fields, "table_index")?;
        let mut slots = Vec::new();
        for (count, index) in (0_u64..).zip(self.column_indexes(fields)?) {
            if index == EMPTY {
                let column = Column::new("nothing", DataType::Boolean);
                slots.push(Slot { binding: (binding, count), position: None, column });
                continue;
            }
            let (position, column) = match virtual_column(index, scan.kind) {
                Some(found) => found,
                None => self.table_column(fields, index)?,
            };
            slots.push(Slot { binding: (binding, count), position: Some(scan.columns.len()), column: column.clone() });
            scan.columns.push(column);
            scan.positions.push(position);
        }
        Ok(Decoded { rel: Rel::Scan(scan), slots })
    }

    /// Column `index` of the table or function.
    fn table_column(&self, fields: Fields<'_>, index: u64) -> Result<(usize, Column), DecodeError> {
        let position = usize::try_from(index).ok().filter(|_| index < VIRTUAL);
        let position = position.ok_or_else(|| self.error(format!("the virtual column {index}")))?;
        let name = self.list(fields, "names")?.get(position).and_then(Json::as_str);
        let data_type = self.list(fields, "returned_types")?.get(position);
        let (Some(name), Some(json)) = (name, data_type) else {
            return Err(self.error(format!("column {position} of a scan")));
        };
        let data_type = match self.data_type(json)? {
            DataType::Varchar { .. } => DataType::Varchar { collation: self.collation(json)? },
            other => other,
        };
        Ok((position, Column { name: name.to_owned(), data_type }))
    }

    fn column_indexes(&self, fields: Fields<'_>) -> Result<Vec<u64>, DecodeError> {
        let mut indexes = Vec::new();
        for json in self.list(fields, "column_indexes")? {
            let known = ["index", "child_indexes", "index_type", "type", "field", "has_index"];
            let column = self.fields(json, "a column index", &known)?;
            self.must_be_empty(column, "child_indexes")?;
            let whole = self.text(column, "index_type")? == "FULL_READ" && self.text(column, "field")?.is_empty();
            if !whole || !self.flag(column, "has_index")? {
                return Err(self.error("reading a part of a column"));
            }
            indexes.push(self.number(column, "index")?);
        }
        Ok(indexes)
    }

    fn table_function(&mut self, fields: Fields<'_>, name: &str) -> Result<Decoded, DecodeError> {
        if self.flag(fields, "has_serialize")? {
            return Err(self.error(format!("the bind data of the table function {name}")));
        }
        if let Some((catalog, schema)) = self.qualifier(fields)? {
            return Err(self.error(format!("the table function {catalog}.{schema}.{name}")));
        }
        let (input, mut arguments) = match self.list(fields, "children")? {
            [] => (None, Vec::new()),
            [only] => {
                let input = self.node(only)?;
                let input = self.exact(input)?;
                let arguments = self.row_arguments(fields, &input)?;
                (Some(Box::new(input)), arguments)
            }
            _ => return Err(self.error(format!("the table function {name} over several inputs"))),
        };
        for json in self.list(fields, "parameters")? {
            arguments.push(Expr::Literal(self.literal(json)?));
        }
        let mut named_arguments = Vec::new();
        if let Some(named) = fields.get("named_parameters") {
            let mut pairs = Vec::new();
            for json in self.list(fields, "named_parameters")? {
                let pair = self.fields(json, "a named argument", &["key", "value"])?;
                pairs.push((self.text(pair, "key")?.to_owned(), self.literal(self.required(pair, "value")?)?));
            }
            if !named.is_array() {
                return Err(self.error(format!("the named arguments of the table function {name}")));
            }
            // DuckDB keeps them in a hash map.
            pairs.sort_by(|left, right| left.0.cmp(&right.0));
            named_arguments = pairs.into_iter().map(|(key, value)| (key, Expr::Literal(value))).collect();
        }
        let binding = self.number(fields, "table_index")?;
        let mut function = TableFunction {
            name: name.to_owned(),
            arguments,
            named_arguments,
            input,
            columns: Vec::new(),
            all_names: self.typed(fields, "names")?,
            positions: Vec::new(),
        };
        let mut slots = Vec::new();
        for (count, index) in (0_u64..).zip(self.column_indexes(fields)?) {
            if index == EMPTY {
                let column = Column::new("nothing", DataType::Boolean);
                slots.push(Slot { binding: (binding, count), position: None, column });
                continue;
            }
            let (position, column) = self.table_column(fields, index)?;
            let at = function.columns.len();
            slots.push(Slot { binding: (binding, count), position: Some(at), column: column.clone() });
            function.columns.push(column);
            function.positions.push(position);
        }
        self.passed_through(fields, &function, binding, &mut slots)?;
        let ordinality = usize::try_from(self.number(fields, "ordinality_idx")?).ok();
        Ok(as_unnest(function, slots, ordinality.filter(|index| *index as u64 != NO_INDEX)))
    }

    /// The arguments of a function that is called for each row of `input`: its first columns.
    fn row_arguments(&self, fields: Fields<'_>, input: &Rel) -> Result<Vec<Expr>, DecodeError> {
        let types = self.data_types(self.list(fields, "input_table_types")?)?;
        let columns = input.columns();
        if types.len() > columns.len() {
            return Err(self.error("a table function with more arguments than its input has columns"));
        }
        let arguments = types.into_iter().zip(columns).enumerate();
        arguments.map(|(index, (to, column))| self.cast_to(Expr::column(index, column.data_type), to, false)).collect()
    }

    /// The columns of the input that a table function hands on beside its own.
    fn passed_through(
        &self,
        fields: Fields<'_>,
        function: &TableFunction,
        table_index: u64,
        slots: &mut Vec<Slot>,
    ) -> Result<(), DecodeError> {
        let input = function.input.as_deref().map(Rel::columns).unwrap_or_default();
        let passed: Vec<usize> = match fields.get("projected_input") {
            Some(_) => self.typed(fields, "projected_input")?,
            None => Vec::new(),
        };
        for index in passed {
            let Some(column) = input.get(index) else {
                return Err(self.error(format!("column {index} of a table function's input")));
            };
            let binding = (table_index, slots.len() as u64);
            let position = Some(function.columns.len() + index);
            slots.push(Slot { binding, position, column: column.clone() });
        }
        Ok(())
    }
}

/// `unnest` called for each row of an input is the node of that name, whose own columns come last: the list's values and,
/// `WITH ORDINALITY` (at the position `ordinality`), their numbers.
fn as_unnest(function: TableFunction, slots: Vec<Slot>, ordinality: Option<usize>) -> Decoded {
    let TableFunction { name, arguments, columns, positions, input, .. } = &function;
    let own = columns.len();
    let (Some(input), [list], "unnest", 1..) = (input, arguments.as_slice(), name.as_str(), own) else {
        return Decoded { rel: Rel::TableFunction(function), slots };
    };
    let width = input.columns().len();
    let place = |at: usize| if at < own { width + at } else { at - own };
    let place = |slot: Slot| Slot { position: slot.position.map(place), ..slot };
    let lists = columns.iter().zip(positions).map(|(column, position)| {
        let numbers = Some(*position) == ordinality;
        (column.clone(), if numbers { numbers_of(list) } else { list.clone() })
    });
    let lists: Vec<(Column, Expr)> = lists.collect();
    let rel = Rel::Unnest(Unnest { input: input.clone(), lists });
    Decoded { rel, slots: slots.into_iter().map(place).collect() }
}

/// The numbers of a list's values, from 1 on.
fn numbers_of(list: &Expr) -> Expr {
    let integer = |value: &str| {
        let value = Some(Constant::Integer(value.to_owned()));
        Expr::Literal(Literal { value, data_type: DataType::BigInt })
    };
    let call = |name: &str, values: Vec<Expr>, data_type| {
        let arguments = values.into_iter().map(|value| Argument { name: None, value }).collect();
        let (name, is_operator) = (name.to_owned(), name == "+");
        Expr::Function(FunctionCall { name, qualifier: None, arguments, lambda: None, is_operator, data_type })
    };
    let length = call("len", vec![list.clone()], DataType::BigInt);
    let end = call("+", vec![length, integer("1")], DataType::BigInt);
    call("range", vec![integer("1"), end], DataType::List(Box::new(DataType::BigInt)))
}

/// A column that DuckDB or DuckLake adds to every table, with the position that stands for it in a [`Scan`].
fn virtual_column(index: u64, kind: TableKind) -> Option<(usize, Column)> {
    let column = match (index, kind) {
        (u64::MAX, _) => return Some((ROWID_POSITION, Column::new("rowid", DataType::BigInt))),
        (0x8000_0000_0000_0000, TableKind::Lake) => Column::new("filename", DataType::VARCHAR),
        (0x8000_0000_0000_0001, TableKind::Lake) => Column::new("file_row_number", DataType::BigInt),
        (10_000_000_000_000_000_000, TableKind::Lake) => Column::new("snapshot_id", DataType::BigInt),
        _ => return None,
    };
    Some((usize::try_from(index).ok()?, column))
}
