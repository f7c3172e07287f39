//! What the lake is at a moment of a history: tables by identity, columns by identity, and the names they have.

use std::collections::BTreeMap;

use ducklake_ivm::lake::identifier;

/// What a column is for; the views name columns by their roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Key,
    Group,
    Text,
    Day,
    Number,
    /// No view reads it.
    Extra,
}

/// The roles that a new table has, in order.
pub const ROLES: [Role; 5] = [Role::Key, Role::Group, Role::Text, Role::Day, Role::Number];

impl Role {
    pub fn first_name(self) -> &'static str {
        match self {
            Role::Key => "k",
            Role::Group => "g",
            Role::Text => "v",
            Role::Day => "d",
            Role::Number => "x",
            Role::Extra => "e",
        }
    }

    pub fn first_type(self) -> &'static str {
        match self {
            Role::Key | Role::Group | Role::Extra => "INTEGER",
            Role::Text => "VARCHAR",
            Role::Day => "DATE",
            Role::Number => "FLOAT",
        }
    }

    /// What the type can be promoted to.
    pub fn wider_type(self) -> Option<&'static str> {
        match self {
            Role::Key | Role::Group | Role::Extra => Some("BIGINT"),
            Role::Day => Some("TIMESTAMP"),
            Role::Number => Some("DOUBLE"),
            Role::Text => None,
        }
    }
}

/// A column; the serial number stays with it whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub serial: u64,
    pub role: Role,
    pub name: String,
    pub data_type: String,
}

/// A table, alive or not.
#[derive(Clone, Debug)]
pub struct Table {
    pub serial: u64,
    pub name: String,
    pub columns: Vec<Column>,
    /// The snapshot that dropped it.
    pub dropped: Option<u64>,
    /// The snapshots that dropped columns, by serial number.
    pub dropped_columns: BTreeMap<u64, u64>,
}

impl Table {
    pub fn with_role(&self, role: Role) -> Option<&Column> {
        self.columns.iter().find(|column| column.role == role)
    }

    pub fn column(&self, serial: u64) -> Option<&Column> {
        self.columns.iter().find(|column| column.serial == serial)
    }

    pub fn named(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// As it is named in SQL.
    pub fn sql(&self) -> String {
        format!("lake.{}.{}", identifier(SCHEMA), identifier(&self.name))
    }
}

/// The schema of the tables.
pub const SCHEMA: &str = "S \"2\"";

/// The lake's tables. Two slots hold the tables that are worked on.
#[derive(Clone, Debug)]
pub struct Model {
    pub tables: BTreeMap<u64, Table>,
    pub slots: [Option<u64>; 2],
    serials: u64,
    names: u64,
}

/// What the tables of the slots are called at first.
pub const FIRST_NAMES: [&str; 2] = ["t", "u u"];

impl Model {
    pub fn new() -> Model {
        Model { tables: BTreeMap::new(), slots: [None, None], serials: 0, names: 0 }
    }

    pub fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// A name that nothing has.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem} {}", self.names)
    }

    /// A table of a slot, if there is one at present.
    pub fn table(&self, slot: usize) -> Option<&Table> {
        self.slots[slot].and_then(|serial| self.tables.get(&serial))
    }

    pub fn table_mut(&mut self, slot: usize) -> Option<&mut Table> {
        self.slots[slot].and_then(|serial| self.tables.get_mut(&serial))
    }

    /// The living table of a name.
    pub fn named(&self, name: &str) -> Option<&Table> {
        self.tables.values().find(|table| table.dropped.is_none() && table.name == name)
    }

    /// Takes in a table that was made with columns of the given roles, names and types.
    pub fn add(&mut self, name: &str, columns: &[(Role, String, String)]) -> u64 {
        let serial = self.serial();
        let columns = columns
            .iter()
            .map(|(role, name, data_type)| Column {
                serial: self.serial(),
                role: *role,
                name: name.clone(),
                data_type: data_type.clone(),
            })
            .collect();
        let table = Table { serial, name: name.to_owned(), columns, dropped: None, dropped_columns: BTreeMap::new() };
        self.tables.insert(serial, table);
        serial
    }
}

/// The columns of a table as it is first made.
pub fn first_columns() -> Vec<(Role, String, String)> {
    ROLES.iter().map(|role| (*role, role.first_name().to_owned(), role.first_type().to_owned())).collect()
}

/// The columns of a copy of a table.
pub fn columns_of(table: &Table) -> Vec<(Role, String, String)> {
    table.columns.iter().map(|column| (column.role, column.name.clone(), column.data_type.clone())).collect()
}
