//! The delta of a view: net changes of its sources into temporary tables, the terms over them one statement each, and
//! the consolidated sum.

use std::collections::BTreeMap;

use super::accumulators::{self, AccumulatorWrites};
use super::apply::StagedDelta;
use super::event::Step;
use super::relations::Places;
use super::rows::{consolidated, names};
use super::temporary::{Temporary, qualified};
use super::window::{Window, table_of};
use super::{Progress, SyncError};
use crate::delta::{Change, Changes, DeltaPlan, OwnRows, Size};
use crate::lake::{ColumnId, LakeError, NetChangeRequest, Transaction, identifier};
use crate::plan::facts::Source;
use crate::plan::rel::State;
use crate::plan::{Column, Rel, WEIGHT};
use crate::sql::{self, Relation};
use crate::view::{Accumulated, View, stored_with_weight};

/// A state of a table that more than one term reads is read once if it has no more rows than this; what is larger is
/// left to the terms, each of which may skip most of it.
const STAGED_STATE_ROWS: u64 = 50_000;

/// The net changes of a view's sources.
#[derive(Debug, Default)]
pub(crate) struct NetChanges {
    /// What happened to each source.
    pub changes: Changes,
    /// Where each is held.
    tables: BTreeMap<Source, StagedChange>,
    /// Whatever was not as usual about reading them.
    pub notes: Vec<String>,
}

/// The net change of one source.
#[derive(Debug)]
struct StagedChange {
    table: String,
    rows: u64,
}

impl NetChanges {
    /// Rows in all of them.
    pub(crate) fn rows(&self) -> u64 {
        self.tables.values().map(|change| change.rows).sum()
    }

    /// Rows in that of one source.
    pub(crate) fn rows_of(&self, source: &Source) -> u64 {
        self.tables.get(source).map_or(0, |change| change.rows)
    }
}

/// Reads the net change of every changed window into a temporary table. `whole` says of a window whether its history
/// cannot be trusted file by file, so that both ends have to be compared as a whole.
pub(crate) fn stage_net_changes(
    transaction: &Transaction<'_>,
    windows: &[Window],
    whole: &dyn Fn(&Window) -> bool,
    temporary: &Temporary,
    progress: &Progress<'_>,
) -> Result<NetChanges, LakeError> {
    let mut staged = NetChanges::default();
    for window in windows.iter().filter(|window| window.changed) {
        progress.step(Step::NetChange { table: &window.name() });
        let table = temporary.name(&format!("{}_delta", window.source.name));
        let columns: Vec<(ColumnId, String)> =
            window.source.columns.iter().map(|column| (column.id, column.name.clone())).collect();
        let request = NetChangeRequest {
            table: table_of(window),
            from: window.from,
            to: window.to,
            columns: &columns,
            into: &table,
        };
        let change = if whole(window) {
            transaction.full_difference(&request)?
        } else {
            transaction.stage_net_change(&request)?
        };
        let kind = match (change.inserted, change.deleted) {
            (0, 0) => Change::Unchanged,
            (_, 0) => Change::InsertsOnly,
            _ => Change::Mixed,
        };
        if let Some(reason) = &change.reason {
            staged.notes.push(format!("{}: read as a whole: {reason}", window.name()));
        }
        let rows = change.inserted + change.deleted;
        let source = window.key(transaction.alias());
        staged.changes.set(source.clone(), kind);
        staged.tables.insert(source, StagedChange { table, rows });
    }
    for window in windows {
        let source = window.key(transaction.alias());
        let size = Size { rows: window.source.rows, changed: staged.rows_of(&source) };
        staged.changes.set_size(source, size);
    }
    Ok(staged)
}

/// Where the leaves of a delta plan are: net changes in their tables, states in the lake.
pub(crate) fn places(
    transaction: &Transaction<'_>,
    windows: &[Window],
    delta: &dyn Fn(&Source) -> Option<Relation>,
) -> Places {
    let mut places = Places::default();
    for window in windows {
        let source = window.key(transaction.alias());
        let alias = transaction.alias();
        places.set(source.clone(), State::New, window.new.relation(alias, &window.source.columns));
        if let Some(old) = &window.old {
            places.set(source.clone(), State::Old, old.relation(alias, &window.source.columns));
        }
        if let Some(relation) = delta(&source) {
            places.set(source, State::Delta, relation);
        }
    }
    places
}

/// A temporary table as an item of a FROM clause.
pub(crate) fn temporary_relation(table: impl AsRef<str>) -> Relation {
    Relation { name: qualified(table.as_ref()), version: None }
}

/// The same with its size: the engine takes a table that was made in the running transaction for empty when it orders
/// joins (DuckDB 1.5.5). So a part without rows is added whose size it estimates as `rows`: a fifth of the range.
fn sized_relation(table: &str, column: &str, rows: u64) -> Relation {
    if rows == 0 {
        return temporary_relation(table);
    }
    let name = format!(
        "(FROM {} UNION ALL BY NAME SELECT NULL AS {} FROM range({}) AS r(i) WHERE i < 0)",
        qualified(table),
        identifier(column),
        rows.saturating_mul(5)
    );
    Relation { name, version: None }
}

/// The second half of the READ phase: from net changes to the delta of the view.
pub(crate) struct Staging<'a> {
    pub transaction: &'a Transaction<'a>,
    pub windows: &'a [Window],
    pub net: &'a NetChanges,
    pub temporary: &'a Temporary,
    pub progress: &'a Progress<'a>,
}

/// What a refresh is about to write.
pub(crate) struct Staged {
    /// To the view's table.
    pub delta: StagedDelta,
    /// To its accumulator tables.
    pub accumulators: AccumulatorWrites,
    /// How many groups and partitions changed, or had to be looked at.
    pub groups: u64,
}

impl Staging<'_> {
    /// The delta of the view, whose rows stand in the table `target`, and what it does to its accumulators.
    pub(crate) fn stage(
        &self,
        view: &View,
        target: &str,
        plan: &DeltaPlan,
        kept: &Accumulated,
    ) -> Result<Staged, SyncError> {
        let (transaction, net) = (self.transaction, self.net);
        let statement = |error| SyncError::Statement { view: view.name.clone(), source: Box::new(error) };
        let sized = |change: &StagedChange| sized_relation(&change.table, WEIGHT, change.rows);
        let mut places = places(transaction, self.windows, &|source| net.tables.get(source).map(sized));
        accumulators::add_places(transaction, &view.id, kept, &mut places);
        places.set_own(own_relation(view, target));
        self.stage_states(plan, &mut places).map_err(statement)?;
        self.stage_steps(view, plan, &mut places)?;
        let delta = self.stage_delta(view, target, plan, &places)?;
        let accumulators = accumulators::stage_changes(transaction, view, kept, plan, &places, self.temporary)?;
        let groups = accumulators::groups_touched(transaction, plan, &places).map_err(statement)?;
        Ok(Staged { delta, accumulators, groups })
    }

    /// The delta of the view, consolidated, in a temporary table.
    fn stage_delta(
        &self,
        view: &View,
        target: &str,
        plan: &DeltaPlan,
        places: &Places,
    ) -> Result<StagedDelta, SyncError> {
        let statement = |error| SyncError::Statement { view: view.name.clone(), source: Box::new(error) };
        let raw = self.run_terms(view, plan, places)?;
        if let Some(own) = &plan.own_rows {
            let keys = plan.steps.iter().find(|step| step.name == own.keys);
            let keys = keys.map(|step| (places.staged(&step.name), step.rel.columns()));
            let Some((Some(table), key_columns)) = keys else {
                let reason = format!("the step {} of its delta is missing", own.keys);
                return Err(SyncError::NotIncremental { view: view.name.clone(), reason });
            };
            let rows = own_rows(view, target, table, own, &key_columns);
            self.transaction.execute(&format!("INSERT INTO {} {rows}", qualified(&raw))).map_err(statement)?;
        } else if plan.append_only() {
            return StagedDelta::count(self.transaction, raw).map_err(statement);
        }
        let table = self.temporary.name("delta");
        let sql = consolidated(&qualified(&raw), &view.columns, WEIGHT);
        self.transaction.execute(&format!("CREATE TEMP TABLE {} AS {sql}", identifier(&table))).map_err(statement)?;
        StagedDelta::count(self.transaction, table).map_err(statement)
    }

    /// Makes the intermediate results of the plan.
    fn stage_steps(&self, view: &View, plan: &DeltaPlan, places: &mut Places) -> Result<(), SyncError> {
        for step in &plan.steps {
            check_places(view, places, &step.rel)?;
            let table = self.temporary.name(&step.name);
            let names: Vec<String> = step.rel.columns().iter().map(|column| identifier(&column.name)).collect();
            let sql = sql::render(&step.rel, places);
            let statement = format!(
                "CREATE TEMP TABLE {} AS SELECT * FROM (\n{sql}\n) AS v({})",
                identifier(&table),
                names.join(", ")
            );
            self.transaction
                .execute(&statement)
                .map_err(|error| SyncError::Term { view: view.name.clone(), source: Box::new(error) })?;
            let count = format!("SELECT count(*) FROM {}", qualified(&table));
            let rows = self.transaction.query_value(&count)?.as_u64()?;
            let first = step.rel.columns().first().map_or_else(String::new, |column| column.name.clone());
            places.set_staged(&step.name, sized_relation(&table, &first, rows));
        }
        Ok(())
    }

    /// The terms, one after the other, into one temporary table.
    fn run_terms(&self, view: &View, plan: &DeltaPlan, places: &Places) -> Result<String, SyncError> {
        let raw = self.temporary.name("raw");
        let columns: Vec<String> =
            view.columns.iter().map(|column| format!("{} {}", identifier(&column.name), column.stored_type)).collect();
        self.transaction.execute(&format!(
            "CREATE TEMP TABLE {} ({}, {} BIGINT)",
            identifier(&raw),
            columns.join(", "),
            identifier(WEIGHT)
        ))?;
        let refill = match &plan.refill {
            Some(refill) if self.holds_rows(places, &refill.needed)? => Some(&refill.rel),
            _ => None,
        };
        let terms: Vec<&Rel> = match refill {
            Some(refill) => vec![refill],
            None => plan.terms.iter().filter_map(|term| term.rel.as_ref()).collect(),
        };
        let of = terms.len();
        for (position, term) in terms.into_iter().enumerate() {
            self.progress.step(Step::Term { number: position + 1, of });
            check_places(view, places, term)?;
            // One statement per term: DuckDB 1.5.5's `common_subplan` mixes up columns in a UNION ALL of such terms.
            let term = stored_with_weight(&view.columns, &sql::render(term, places));
            self.transaction
                .execute(&format!("INSERT INTO {} {term}", qualified(&raw)))
                .map_err(|error| SyncError::Term { view: view.name.clone(), source: Box::new(error) })?;
        }
        Ok(raw)
    }

    /// Does a step hold any row?
    fn holds_rows(&self, places: &Places, step: &str) -> Result<bool, LakeError> {
        let Some(table) = places.staged(step) else { return Ok(true) };
        let found = self.transaction.query_value(&format!("SELECT count(*) FROM (FROM {table} LIMIT 1)"))?;
        Ok(found.as_u64()? > 0)
    }

    /// Reads each state of a small table that several terms need once into a temporary table: N terms of N legs would
    /// otherwise be N² scans of the lake.
    fn stage_states(&self, plan: &DeltaPlan, places: &mut Places) -> Result<(), LakeError> {
        let alias = self.transaction.alias();
        let mut reads: BTreeMap<(Source, State), usize> = BTreeMap::new();
        for read in plan.account().into_iter().flat_map(|term| plan.reads(term)) {
            *reads.entry(read).or_default() += 1;
        }
        for ((source, state), count) in reads {
            let Some(window) = self.windows.iter().find(|window| window.key(alias) == source) else { continue };
            let face = if state == State::Old { window.old.as_ref() } else { Some(&window.new) };
            let worth_it = count > 1 && window.source.rows <= STAGED_STATE_ROWS && !window.source.columns.is_empty();
            let Some(face) = face.filter(|_| worth_it) else { continue };
            self.progress.step(Step::Stage { table: &window.name() });
            let suffix = if state == State::Old { "old" } else { "new" };
            let table = self.temporary.name(&format!("{}_{suffix}", window.source.name));
            let select = face.select(alias, &window.source.columns);
            self.transaction.execute(&format!("CREATE TEMP TABLE {} AS {select}", identifier(&table)))?;
            let relation = sized_relation(&table, &window.source.columns[0].name, window.source.rows);
            places.set(source, state, relation);
        }
        Ok(())
    }
}

/// The rows of the view, whose table is `target`, in the types that its query gives.
pub(crate) fn own_relation(view: &View, target: &str) -> Relation {
    let columns = view.columns.iter().enumerate().map(|(at, column)| {
        let name = identifier(&column.name);
        if column.is_cast() {
            format!("CAST({name} AS {}) AS c{at}", column.data_type)
        } else {
            format!("{name} AS c{at}")
        }
    });
    let columns: Vec<String> = columns.collect();
    Relation { name: format!("(SELECT {} FROM {target})", columns.join(", ")), version: None }
}

/// The view's own rows whose keys stand in the table `keys`, each with the weight −1.
fn own_rows(view: &View, target: &str, keys: &str, own: &OwnRows, key_columns: &[Column]) -> String {
    let conditions = own.columns.iter().zip(key_columns).filter_map(|(&position, key)| {
        let column = view.columns.get(position)?;
        let (value, key) = (identifier(&column.name), identifier(&key.name));
        Some(format!("v.{value} IS NOT DISTINCT FROM CAST(k.{key} AS {})", column.stored_type))
    });
    format!(
        "SELECT v.*, CAST(-1 AS BIGINT) FROM (SELECT {} FROM {target}) AS v SEMI JOIN {keys} AS k ON {}",
        names(&view.columns),
        conditions.collect::<Vec<_>>().join(" AND ")
    )
}

/// Every leaf must be known: a table read in its present state instead of the one asked for would be silently wrong.
fn check_places(view: &View, places: &Places, rel: &Rel) -> Result<(), SyncError> {
    let Some(scan) = places.missing(rel) else { return Ok(()) };
    let reason = format!("the {:?} state of {} cannot be read", scan.state, Source::of(scan));
    Err(SyncError::NotIncremental { view: view.name.clone(), reason })
}
