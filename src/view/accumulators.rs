//! Accumulator tables: what a view's plan wants of them, what the registry knows of them, and making and filling them.
//!
//! A view that has them is what its plan gives over them: its rows are computed from the accumulators whenever all of
//! them are, so that the finished old row of a group is the row that the view holds, to the last digit of an average.

use serde::{Deserialize, Serialize};

use super::columns::columns;
use super::query::stored;
use super::registry::{SCHEMA, registry_table};
use super::{View, ViewColumn, ViewError, ViewId, ViewName};
use crate::delta::accumulator::cut;
use crate::delta::{ACCUMULATED, Accumulator};
use crate::lake::{Lake, SnapshotId, TableId, Transaction, identifier, literal};
use crate::plan::facts::Source;
use crate::plan::rel::Scan;
use crate::plan::{DataType, Rel};
use crate::sql::{self, Relation, Relations};

/// The layout of an accumulator table, as the registry keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccumulatorTable {
    /// Its name within the view.
    pub name: String,
    /// Its columns: the groups first.
    pub columns: Vec<ViewColumn>,
    /// What each of them keeps, as a person would write it: a group's expression, an aggregate.
    pub keeps: Vec<String>,
    /// How many of them are groups.
    pub groups: usize,
    /// The query that fills it, over the tables as they were called when the view was bound. A program that would keep
    /// something else there has another query.
    pub query: String,
}

/// An accumulator table in the lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingTable {
    /// Its name within the view.
    pub name: String,
    /// Its identity.
    pub id: TableId,
    /// The snapshot that made it.
    pub made: SnapshotId,
}

/// A plan over accumulator tables.
#[derive(Debug, Clone)]
pub(crate) struct Accumulated {
    /// The plan, with scans of accumulator tables in the place of aggregates.
    pub rel: Rel,
    /// What stands in them.
    pub accumulators: Vec<Accumulator>,
    /// Their tables, in the same order.
    pub tables: Vec<AccumulatorTable>,
}

impl Accumulated {
    /// The plan `rel` (in normal form) over the accumulator tables that can be kept for it.
    pub(crate) fn of(rel: &Rel, view: &ViewName) -> Result<Accumulated, ViewError> {
        let (rel, accumulators) = cut(rel.clone());
        let tables = accumulators.iter().map(|accumulator| table(accumulator, view)).collect::<Result<_, _>>()?;
        Ok(Accumulated { rel, accumulators, tables })
    }

    /// The plan over the accumulator tables that the view has; `None` if this program would keep others.
    pub(crate) fn of_view(rel: Rel, view: &View) -> Result<Option<Accumulated>, ViewError> {
        if view.class.accumulators.is_empty() {
            return Ok(Some(Accumulated::nothing(rel)));
        }
        let kept = Accumulated::of(&rel, &view.name)?;
        Ok(Some(kept).filter(|kept| kept.tables == view.class.accumulators))
    }

    /// The plan as it stands, with nothing kept.
    pub(crate) fn nothing(rel: Rel) -> Accumulated {
        Accumulated { rel, accumulators: Vec::new(), tables: Vec::new() }
    }
}

fn table(accumulator: &Accumulator, view: &ViewName) -> Result<AccumulatorTable, ViewError> {
    let outputs: Vec<_> =
        accumulator.columns.iter().map(|column| (column.name.clone(), column.data_type.clone())).collect();
    let mut columns =
        columns(&outputs).map_err(|error| ViewError::Column { view: view.clone(), source: Box::new(error) })?;
    for column in columns.iter_mut().filter(|column| matches!(column.stored_type.as_str(), "FLOAT" | "DOUBLE")) {
        // DuckLake may change the last digit of a number that it keeps in its catalog; not of a text.
        (column.stored_type, column.inexact) = (DataType::VARCHAR.to_string(), false);
    }
    let input = accumulator.input_columns();
    let mut keeps: Vec<String> = accumulator.keys.iter().map(|(_, key)| sql::expression_text(key, &input)).collect();
    if keeps.is_empty() {
        keeps.push("()".to_owned());
    }
    let groups = keeps.len();
    keeps.push("count(*)".to_owned());
    keeps.extend(accumulator.kept_calls().map(|calls| {
        let texts: Vec<String> = calls.iter().map(|call| sql::aggregate_text(call, &input)).collect();
        texts.join(", ")
    }));
    let query = sql::render(&accumulator.fill, &sql::Current);
    Ok(AccumulatorTable { name: accumulator.name.clone(), columns, keeps, groups, query })
}

/// The name of an accumulator table within the registry's schema.
pub(crate) fn table_name(view: &ViewId, name: &str) -> String {
    format!("acc_{}_{name}", view.as_str())
}

impl AccumulatorTable {
    /// The table in the lake, as a FROM item.
    pub(crate) fn qualified(&self, lake: &Lake, view: &ViewId) -> String {
        registry_table(lake, &table_name(view, &self.name))
    }

    /// The table as a source of a plan.
    pub(crate) fn source(&self) -> Source {
        Source { catalog: ACCUMULATED.into(), schema: "main".into(), table: self.name.clone() }
    }

    /// `held`, a FROM item with the table's columns, with the types that the plan gives them.
    pub(crate) fn relation(&self, held: &str) -> Relation {
        if !self.columns.iter().any(ViewColumn::is_cast) {
            return Relation { name: held.to_owned(), version: None };
        }
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                let name = identifier(&column.name);
                format!("CAST({name} AS {}) AS {name}", column.data_type)
            })
            .collect();
        Relation { name: format!("(SELECT {} FROM {held})", columns.join(", ")), version: None }
    }

    /// `select`, with the columns of the plan, in the types of the table.
    pub(crate) fn stored(&self, select: &str) -> String {
        stored(&self.columns, select)
    }

    /// Makes it, empty, in the place of whatever is there.
    pub(crate) fn create(&self, lake: &Lake, view: &ViewId) -> Result<(), ViewError> {
        let name = self.qualified(lake, view);
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} {}", identifier(&column.name), column.stored_type)).collect();
        lake.execute(&format!("DROP TABLE IF EXISTS {name}"))?;
        lake.execute(&format!("CREATE TABLE {name} ({})", columns.join(", ")))?;
        Ok(())
    }
}

/// The accumulator tables of a view that are in the lake.
pub(crate) fn standing(transaction: &Transaction<'_>, view: &ViewId) -> Result<Vec<StandingTable>, ViewError> {
    let metadata = transaction.metadata();
    let prefix = table_name(view, "");
    let rows = transaction.query(&format!(
        "SELECT t.table_name, t.table_id::BIGINT, \
         (SELECT min(m.begin_snapshot) FROM {metadata}.ducklake_table m WHERE m.table_id = t.table_id)::BIGINT \
         FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
         WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND s.schema_name = {} AND starts_with(t.table_name, {}) \
         ORDER BY t.table_id",
        literal(SCHEMA),
        literal(&prefix)
    ))?;
    let tables = rows.rows.iter().map(|row| {
        let [name, id, made] = row.as_slice() else {
            return Err(ViewError::registry(view.as_str(), "has accumulator tables that cannot be read"));
        };
        let name = name.as_str()?.strip_prefix(&prefix).unwrap_or_default().to_owned();
        Ok(StandingTable { name, id: TableId(id.as_u64()?), made: SnapshotId(made.as_u64()?) })
    });
    tables.collect()
}

/// Drops the accumulator tables of a view, whatever their layout.
pub(crate) fn drop_accumulators(transaction: &Transaction<'_>, view: &ViewId) -> Result<(), ViewError> {
    for table in standing(transaction, view)? {
        let name = registry_table(transaction, &table_name(view, &table.name));
        transaction.execute(&format!("DROP TABLE {name}"))?;
    }
    Ok(())
}

/// Reads accumulator tables where they stand, and all else as `others` says.
pub(crate) struct Over<'a> {
    /// The view's accumulator tables and what holds their rows.
    pub tables: Vec<(&'a AccumulatorTable, String)>,
    /// Where the other tables are read.
    pub others: &'a dyn Relations,
}

impl Relations for Over<'_> {
    fn relation(&self, scan: &Scan) -> Relation {
        let source = Source::of(scan);
        let found = self.tables.iter().find(|(table, _)| table.source() == source);
        found.map_or_else(|| self.others.relation(scan), |(table, held)| table.relation(held))
    }
}
