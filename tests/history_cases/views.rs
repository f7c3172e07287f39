//! The views that follow a history, and what is expected of each when it is synced.

use std::collections::BTreeMap;

use ducklake_ivm::lake::identifier;

use super::model::{Model, Role, SCHEMA, Table};

/// A query over the tables of the slots, by the roles of their columns: `{0}` is a table, `{0.k}` a column's name.
pub struct Template {
    pub sql: &'static str,
    /// A row may be in it many times although it is in no table twice.
    pub reads: &'static [(usize, &'static [Role])],
}

use Role::{Day, Group, Key, Number, Text};

pub const TEMPLATES: &[Template] = &[
    Template {
        sql: "SELECT {0.k} AS k, {0.v} AS v, {0.x} AS x FROM {0} WHERE {0.g} IS NULL OR {0.g} < 12",
        reads: &[(0, &[Key, Text, Number, Group])],
    },
    Template {
        sql: "SELECT a.{0.k} AS k, a.{0.v} AS v, b.{1.v} AS w FROM {0} a JOIN {1} b ON a.{0.k} = b.{1.k}",
        reads: &[(0, &[Key, Text]), (1, &[Key, Text])],
    },
    Template {
        sql: "SELECT one.{0.k} AS k, other.{0.d} AS d, one.{0.g} + other.{0.k} AS s FROM {0} one JOIN {0} other ON one.{0.g} = other.{0.k}",
        reads: &[(0, &[Key, Group, Day])],
    },
    Template {
        sql: "SELECT a.{0.g} AS g, b.{1.d} AS d FROM {0} a JOIN {1} b ON a.{0.g} IS NOT DISTINCT FROM b.{1.g} AND a.{0.d} < b.{1.d}",
        reads: &[(0, &[Group, Day]), (1, &[Group, Day])],
    },
    Template {
        sql: "SELECT b.{1.k} AS k, a.{0.x} AS x FROM {1} b, {0} a WHERE b.{1.k} = a.{0.g} AND (b.{1.v} <> 'v3' OR a.{0.k} BETWEEN 3 AND 40)",
        reads: &[(0, &[Key, Number, Group]), (1, &[Key, Text])],
    },
    Template {
        sql: "SELECT {0.k} AS k, {0.v} AS v FROM {0} UNION ALL SELECT {1.k}, {1.v} FROM {1} WHERE {1.g} > 3",
        reads: &[(0, &[Key, Text]), (1, &[Key, Text, Group])],
    },
    Template { sql: "SELECT 'row' AS word FROM {1}", reads: &[(1, &[])] },
    Template {
        sql: "SELECT {0.g} AS g, count(*) AS n, max({0.k}) AS k FROM {0} GROUP BY {0.g}",
        reads: &[(0, &[Group, Key])],
    },
];

/// A table that a view reads, as it was when the view was bound to it.
#[derive(Clone, Debug)]
pub struct Source {
    pub slot: usize,
    pub table: u64,
    pub name: String,
    /// Serial number, name and type of each column that is read, by role.
    pub columns: BTreeMap<Role, (u64, String, String)>,
}

/// A view that follows the history.
#[derive(Clone, Debug)]
pub struct Watched {
    pub name: String,
    pub template: usize,
    /// Synced in many windows, or in one.
    pub often: bool,
    pub sources: Vec<Source>,
    /// Something other than maintenance happened to its tables since it was synced.
    pub stirred: bool,
    /// The snapshot that its sources were last taken in at.
    pub watermark: u64,
}

/// What a sync of a view must come to.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Rows as of the query over these tables.
    Rows { sql: String, misfit: bool },
    /// One of these messages.
    Broken(Vec<String>),
    /// The text can only be bound by names that have moved: either the rows, or a message that says so.
    RowsOrBroken { sql: String, says: &'static [&'static str] },
}

/// The template over tables and columns by their present names; `None` if one is missing.
pub fn render<'a>(
    template: usize,
    table_of: &dyn Fn(usize) -> Option<&'a Table>,
    name_of: &dyn Fn(usize, Role) -> Option<String>,
) -> Option<String> {
    let Template { sql, reads } = &TEMPLATES[template];
    let mut text = (*sql).to_owned();
    for (slot, roles) in *reads {
        for role in *roles {
            let name = identifier(&name_of(*slot, *role)?);
            text = text.replace(&format!("{{{slot}.{}}}", role.first_name()), &name);
        }
        text = text.replace(&format!("{{{slot}}}"), &table_of(*slot)?.sql());
    }
    Some(text)
}

/// The view over the present tables of the slots, if they have what it reads.
pub fn bind(model: &Model, template: usize) -> Option<(String, Vec<Source>)> {
    let sql = render(template, &|slot| model.table(slot), &|slot, role| {
        model.table(slot)?.with_role(role).map(|column| column.name.clone())
    })?;
    let source = |(slot, roles): &(usize, &'static [Role])| {
        let table = model.table(*slot)?;
        let column = |role: &Role| {
            let column = table.with_role(*role)?;
            Some((*role, (column.serial, column.name.clone(), column.data_type.clone())))
        };
        let columns = roles.iter().map(column).collect::<Option<_>>()?;
        Some(Source { slot: *slot, table: table.serial, name: table.name.clone(), columns })
    };
    let sources = TEMPLATES[template].reads.iter().map(source).collect::<Option<_>>()?;
    Some((sql, sources))
}

impl Watched {
    /// What its next sync must come to, and the sources that it is bound to if it succeeds.
    pub fn expected(&self, model: &Model) -> (Expected, Vec<Source>) {
        let mut problems = Vec::new();
        let (mut misfit, mut renamed, mut swapped) = (false, false, false);
        let mut next = Vec::new();
        for source in &self.sources {
            let table = &model.tables[&source.table];
            if table.dropped.is_none() {
                problems.extend(dropped_columns(source, table));
                let mut source = source.clone();
                renamed |= table.name != source.name;
                for (serial, name, data_type) in source.columns.values_mut() {
                    if let Some(column) = table.column(*serial) {
                        renamed |= column.name != *name;
                        misfit |= column.data_type != *data_type;
                        data_type.clone_from(&column.data_type);
                    }
                }
                next.push(source);
                continue;
            }
            let Some(other) = model.named(&source.name) else {
                problems.push(format!("its source {SCHEMA}.{} was dropped{}", source.name, at(table.dropped)));
                continue;
            };
            (misfit, swapped) = (true, true);
            let mut source = Source { table: other.serial, ..source.clone() };
            for (serial, name, data_type) in source.columns.values_mut() {
                match other.named(name) {
                    Some(column) => (*serial, *data_type) = (column.serial, column.data_type.clone()),
                    None => problems.push(format!(
                        "column {name:?} of its source {SCHEMA}.{} was dropped{}",
                        source.name,
                        at(table.dropped)
                    )),
                }
            }
            next.push(source);
        }
        if !problems.is_empty() {
            let broken = |problem| format!("view main.{} is broken: {problem}", self.name);
            return (Expected::Broken(problems.into_iter().map(broken).collect()), Vec::new());
        }
        let sql = render(
            self.template,
            &|slot| next.iter().find(|source| source.slot == slot).map(|source| &model.tables[&source.table]),
            &|slot, role| {
                let source = next.iter().find(|source| source.slot == slot)?;
                let (serial, ..) = source.columns.get(&role)?;
                model.tables[&source.table].column(*serial).map(|column| column.name.clone())
            },
        );
        let sql = sql.unwrap_or_else(|| panic!("{self:?} cannot be rendered"));
        let expected = match (misfit, renamed, swapped) {
            (true, true, true) => Expected::RowsOrBroken { sql, says: &["has another name than in the query"] },
            (true, false, true) => Expected::RowsOrBroken { sql, says: &["cannot become", "now reads other columns"] },
            _ => Expected::Rows { sql, misfit },
        };
        (expected, next)
    }

    /// Whether a table is one of its sources.
    pub fn reads(&self, table: u64) -> bool {
        self.sources.iter().any(|source| source.table == table)
    }
}

fn dropped_columns(source: &Source, table: &Table) -> Vec<String> {
    let gone = source.columns.values().filter(|(serial, ..)| table.column(*serial).is_none());
    gone.map(|(serial, name, _)| {
        let snapshot = table.dropped_columns.get(serial).copied();
        format!("column {name:?} of its source {SCHEMA}.{} was dropped{}", source.name, at(snapshot))
    })
    .collect()
}

fn at(snapshot: Option<u64>) -> String {
    snapshot.map(|snapshot| format!(" at snapshot {snapshot}")).unwrap_or_default()
}
