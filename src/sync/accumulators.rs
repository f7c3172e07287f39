//! What a refresh does to a view's accumulator tables, in the same transaction as to its rows: the changes of groups that
//! the delta touched, or what differs after all groups were added up again. Only rows that really differ are written.

use super::SyncError;
use super::apply::{self, Match, StagedDelta, Target};
use super::compaction::{self, Gathered};
use super::relations::Places;
use super::rows::{consolidated, names};
use super::temporary::{Temporary, qualified};
use crate::delta::{AccumulatorChange, DeltaPlan};
use crate::lake::{LakeError, Transaction, identifier};
use crate::plan::WEIGHT;
use crate::plan::rel::State;
use crate::sql::{self, Relations};
use crate::view::{Accumulated, AccumulatorTable, Over, View, ViewId, drop_accumulators, stored_with_weight};

/// What is to be written to one accumulator table.
#[derive(Debug)]
struct Write {
    table: AccumulatorTable,
    content: Content,
}

/// The rows to write.
#[derive(Debug)]
enum Content {
    /// The groups that change.
    Difference { delta: StagedDelta, found: Match },
    /// The table is made anew, with the rows of this temporary table.
    Anew { rows: String },
}

/// What is to be written to a view's accumulator tables.
#[derive(Debug, Default)]
pub(crate) struct AccumulatorWrites {
    writes: Vec<Write>,
    /// The tables that are there have another layout, and go.
    replaces_all: bool,
}

impl AccumulatorWrites {
    /// Is there nothing to write?
    pub(crate) fn is_empty(&self) -> bool {
        let nothing = |write: &Write| matches!(&write.content, Content::Difference { delta, .. } if delta.is_empty());
        !self.replaces_all && self.writes.iter().all(nothing)
    }

    /// Has the tables that consist of too many files written anew, where there is something to write.
    pub(crate) fn compact(
        self,
        transaction: &Transaction<'_>,
        view: &View,
        gathered: &Gathered,
        temporary: &Temporary,
    ) -> Result<AccumulatorWrites, SyncError> {
        let compacted = |write: Write| match write.content {
            Content::Difference { delta, found }
                if !delta.is_empty() && gathered.of_accumulator(&write.table.name).is_some() =>
            {
                let name = write.table.qualified(transaction, &view.id);
                let target = target(view, &write.table, &name);
                let found = compaction::whole(transaction, target, &delta, found, temporary)?;
                Ok(Write { content: Content::Difference { delta, found }, ..write })
            }
            _ => Ok(write),
        };
        let writes = self.writes.into_iter().map(compacted).collect::<Result<_, SyncError>>()?;
        Ok(AccumulatorWrites { writes, ..self })
    }

    /// Writes them.
    pub(crate) fn write(&self, transaction: &Transaction<'_>, view: &View) -> Result<(), SyncError> {
        if self.replaces_all {
            drop_accumulators(transaction, &view.id)?;
        }
        for Write { table, content } in &self.writes {
            let name = table.qualified(transaction, &view.id);
            match content {
                Content::Difference { delta, .. } if delta.is_empty() => {}
                Content::Difference { delta, found } => {
                    apply::write(transaction, target(view, table, &name), delta, found)?;
                }
                Content::Anew { rows } => {
                    table.create(transaction, &view.id)?;
                    let columns = names(&table.columns);
                    transaction.execute(&format!(
                        "INSERT INTO {name} ({columns}) SELECT {columns} FROM {}",
                        qualified(rows)
                    ))?;
                }
            }
        }
        Ok(())
    }
}

fn target<'a>(view: &'a View, table: &'a AccumulatorTable, name: &'a str) -> Target<'a> {
    Target { view: &view.name, table: name, columns: &table.columns, key: Some(table.groups) }
}

/// Tells the places of a delta plan where the accumulator tables stand.
pub(crate) fn add_places(transaction: &Transaction<'_>, view: &ViewId, kept: &Accumulated, places: &mut Places) {
    for table in &kept.tables {
        places.set(table.source(), State::Old, table.relation(&table.qualified(transaction, view)));
    }
}

/// Stages what the delta does to the accumulator tables; its steps have been made.
pub(crate) fn stage_changes(
    transaction: &Transaction<'_>,
    view: &View,
    kept: &Accumulated,
    plan: &DeltaPlan,
    places: &Places,
    temporary: &Temporary,
) -> Result<AccumulatorWrites, SyncError> {
    let mut writes = AccumulatorWrites::default();
    for change in &plan.accumulators {
        let table = kept.tables.iter().find(|table| table.name == change.name);
        let steps = (places.staged(&change.old_rows), places.staged(&change.new_rows));
        let (Some(table), (Some(old), Some(new))) = (table, steps) else {
            return Err(missing(view, change));
        };
        let both = format!("SELECT *, CAST(-1 AS BIGINT) FROM {old} UNION ALL SELECT *, CAST(1 AS BIGINT) FROM {new}");
        let both = format!("({})", stored_with_weight(&table.columns, &both));
        writes.writes.push(difference(transaction, view, table, &both, temporary)?);
    }
    Ok(writes)
}

fn missing(view: &View, change: &AccumulatorChange) -> SyncError {
    let reason = format!("the rows of its accumulator {} are missing", change.name);
    SyncError::NotIncremental { view: view.name.clone(), reason }
}

/// The rows of `both`, which have weights, without those that cancel, and where the table holds those that go.
fn difference(
    transaction: &Transaction<'_>,
    view: &View,
    table: &AccumulatorTable,
    both: &str,
    temporary: &Temporary,
) -> Result<Write, SyncError> {
    let failed = |error| SyncError::Term { view: view.name.clone(), source: Box::new(error) };
    let staged = temporary.name(&format!("accumulator_{}", table.name));
    let sql = consolidated(both, &table.columns, WEIGHT);
    transaction.execute(&format!("CREATE TEMP TABLE {} AS {sql}", identifier(&staged))).map_err(failed)?;
    let delta = StagedDelta::count(transaction, staged)?;
    let name = table.qualified(transaction, &view.id);
    let found = apply::find(transaction, target(view, table, &name), &delta, temporary)?;
    Ok(Write { table: table.clone(), content: Content::Difference { delta, found } })
}

/// All accumulator tables added up again from the sources.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    tables: Vec<(AccumulatorTable, String)>,
}

impl Filled {
    /// Adds up all groups over the tables that `sources` gives, into temporary tables.
    pub(crate) fn stage(
        transaction: &Transaction<'_>,
        kept: &Accumulated,
        sources: &dyn Relations,
        temporary: &Temporary,
    ) -> Result<Filled, LakeError> {
        let mut tables = Vec::new();
        for (accumulator, table) in kept.accumulators.iter().zip(&kept.tables) {
            let rows = temporary.name(&format!("accumulator_{}_rows", table.name));
            let select = table.stored(&sql::render(&accumulator.fill, sources));
            transaction.execute(&format!("CREATE TEMP TABLE {} AS {select}", identifier(&rows)))?;
            tables.push((table.clone(), rows));
        }
        Ok(Filled { tables })
    }

    /// The query that gives the view's rows over them.
    pub(crate) fn query(&self, kept: &Accumulated, sources: &dyn Relations) -> String {
        let tables = self.tables.iter().map(|(table, rows)| (table, qualified(rows))).collect();
        sql::render(&kept.rel.clone().at(State::New), &Over { tables, others: sources })
    }

    /// What has to be written so that the tables hold these rows. Tables that have the layout are brought there by the
    /// rows that differ, the others made anew.
    pub(crate) fn writes(
        &self,
        transaction: &Transaction<'_>,
        view: &View,
        make_anew: bool,
        temporary: &Temporary,
    ) -> Result<AccumulatorWrites, SyncError> {
        let same_layout = self.tables.iter().map(|(table, _)| table).eq(&view.class.accumulators);
        let replaces_all = make_anew || !same_layout;
        let mut writes = AccumulatorWrites { writes: Vec::new(), replaces_all };
        for (table, rows) in &self.tables {
            if replaces_all {
                let content = Content::Anew { rows: rows.clone() };
                writes.writes.push(Write { table: table.clone(), content });
                continue;
            }
            let (columns, weight) = (names(&table.columns), identifier(WEIGHT));
            let both = format!(
                "(SELECT {columns}, CAST(1 AS BIGINT) AS {weight} FROM {} UNION ALL SELECT {columns}, CAST(-1 AS BIGINT) FROM {})",
                qualified(rows),
                table.qualified(transaction, &view.id)
            );
            writes.writes.push(difference(transaction, view, table, &both, temporary)?);
        }
        Ok(writes)
    }
}

/// How many groups and partitions the delta touched.
pub(crate) fn groups_touched(
    transaction: &Transaction<'_>,
    plan: &DeltaPlan,
    places: &Places,
) -> Result<u64, LakeError> {
    let mut groups = 0;
    for table in plan.group_steps().into_iter().filter_map(|step| places.staged(step)) {
        groups += transaction.query_value(&format!("SELECT count(*) FROM {table}"))?.as_u64()?;
    }
    Ok(groups)
}
