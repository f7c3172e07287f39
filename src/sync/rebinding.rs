//! Binding a view's definition anew, after a table that it reads was replaced or has wider columns. Names are followed as
//! everywhere else: what the definition calls a table or a column is looked for under its present name.

use super::SyncError;
use super::recompute::Query;
use super::relations::Places;
use super::window::{Misfit, Window};
use crate::lake::{LakeError, SnapshotId, Transaction};
use crate::plan::rel::State;
use crate::plan::{Rel, facts};
use crate::sql::{self, Relation};
use crate::view::{Binding, Bound, DEFAULT_SCHEMA, Meaning, View, ViewColumn, bind, current_sql};

/// The query of a definition over tables that are no longer those of its creation. `misfit` says in which way, `moved`
/// which table has changed since the target.
///
/// A text may stand in for the old meaning only where it gives the same columns and reads the same ones. The first that
/// does is taken: the user's own, if no name changed; the same over stand-ins that have the old names; the stored plan,
/// which names every column that it reads, printed over the present names. Once a view was bound by other names than those
/// of its text, only the last is left: what is known of its sources has the later names.
pub(super) fn bound_anew(
    transaction: &Transaction<'_>,
    view: &View,
    meaning: &Meaning,
    windows: &[Window],
    target: SnapshotId,
    misfit: &str,
    moved: Option<String>,
) -> Result<Query, SyncError> {
    if let Some(table) = moved {
        let (view, detail) = (view.name.clone(), format!("{misfit}, and {table} has moved on since"));
        return Err(SyncError::TargetUnreachable { view, target, detail });
    }
    // The text knows only names, and a name may be another table's or column's by now.
    let renamed = view.class.renamed || windows.iter().any(followed);
    let under_other_names = |mut query: Query| {
        if let Some(bound) = &mut query.rebound {
            bound.class.renamed = renamed;
        }
        query
    };
    let refused = match windows.iter().find(|window| followed(window)) {
        Some(window) => format!("{} or a column of it has another name than in the query", window.name()),
        None if view.class.renamed => "its tables or their columns have other names than in the query".to_owned(),
        None => match own_text(transaction, view, windows) {
            Ok(query) => return Ok(query),
            Err(refused) => format!("the query {refused}"),
        },
    };
    if !view.class.renamed
        && let Some(query) = over_stand_ins(transaction, view, windows)?
    {
        return Ok(under_other_names(query));
    }
    // The types of another table may be any; of the same one they are only wider.
    if let Some(rel) = meaning.rel.as_ref().filter(|_| !windows.iter().any(Window::is_replaced)) {
        let sql = printed_present(transaction, rel, windows);
        if let Ok(bound) = fitting(transaction, view, windows, &sql) {
            return Ok(under_other_names(Query { sql, rebound: Some(Box::new(bound)) }));
        }
    }
    Err(SyncError::MeaningChanged { view: view.name.clone(), detail: format!("{misfit}, and {refused}") })
}

/// Is it the table of the definition, or a column of it, that has another name by now?
fn followed(window: &Window) -> bool {
    !window.is_replaced() && window.renamed()
}

/// The user's own text; else why it does not do.
fn own_text(transaction: &Transaction<'_>, view: &View, windows: &[Window]) -> Result<Query, String> {
    let bound = fitting(transaction, view, windows, &view.sql)?;
    match windows.iter().find(|window| reads_fewer(&bound, window)) {
        None => Ok(Query { sql: view.sql.clone(), rebound: Some(Box::new(bound)) }),
        Some(window) => Err(format!("now reads other columns of {}", window.name())),
    }
}

/// The user's text bound to temporary views that have the names of the definition, and of each table the columns that the
/// definition reads; `None` if the text does not find all of its tables among them.
fn over_stand_ins(transaction: &Transaction<'_>, view: &View, windows: &[Window]) -> Result<Option<Query>, LakeError> {
    // A name without a schema, or with that of the default one, means a temporary table first.
    let standing =
        windows.iter().filter(|window| window.source.schema == DEFAULT_SCHEMA && !window.source.columns.is_empty());
    let standing: Vec<&Window> = standing.collect();
    // Where a table is bound that nothing stands in for, it must be the one that has always had the name.
    let tables = StandIns::make(transaction, Kind::Table, &standing)?;
    let plan = tables.as_ref().and_then(|_| transaction.bound_plan(&view.sql).ok());
    drop_all(tables)?;
    let Some(plan) = plan else { return Ok(None) };
    let direct = Binding::of(&plan, transaction.alias(), transaction.snapshot().0).tables;
    let is_known = |schema: &str, table: &str| {
        windows
            .iter()
            .any(|window| !followed(window) && window.source.schema == *schema && window.source.name == *table)
    };
    if !direct.iter().all(|table| is_known(&table.schema, &table.table)) {
        return Ok(None);
    }
    let views = StandIns::make(transaction, Kind::View, &standing)?;
    let bound = views.as_ref().and_then(|_| fitting(transaction, view, windows, &view.sql).ok());
    drop_all(views)?;
    Ok(bound.and_then(|bound| {
        let sql = current_sql(bound.rel.as_ref()?);
        Some(Query { sql, rebound: Some(Box::new(bound)) })
    }))
}

/// What stands in for a table.
#[derive(Clone, Copy)]
enum Kind {
    /// An empty table, of which a plan does not tell what it stands for.
    Table,
    /// A view of the table.
    View,
}

/// Temporary tables or views that have the names of a definition.
struct StandIns<'a> {
    transaction: &'a Transaction<'a>,
    kind: Kind,
    names: Vec<String>,
}

impl<'a> StandIns<'a> {
    /// Makes one per window; `None` if a name is taken.
    fn make(
        transaction: &'a Transaction<'_>,
        kind: Kind,
        windows: &[&Window],
    ) -> Result<Option<StandIns<'a>>, LakeError> {
        let mut made = StandIns { transaction, kind, names: Vec::new() };
        for window in windows {
            let name = super::temporary::qualified(&window.source.name);
            let select = window.new.select_present(transaction.alias(), &window.source.columns);
            let statement = match kind {
                Kind::Table => format!("CREATE TEMP TABLE {name} AS {select} LIMIT 0"),
                Kind::View => format!("CREATE TEMP VIEW {name} AS {select}"),
            };
            match transaction.execute(&statement) {
                Ok(_) => made.names.push(name),
                Err(error) if error.is_unbound() => {
                    made.remove()?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(made))
    }

    fn remove(self) -> Result<(), LakeError> {
        let kind = match self.kind {
            Kind::Table => "TABLE",
            Kind::View => "VIEW",
        };
        for name in self.names {
            self.transaction.execute(&format!("DROP {kind} {name}"))?;
        }
        Ok(())
    }
}

fn drop_all(made: Option<StandIns<'_>>) -> Result<(), LakeError> {
    made.map_or(Ok(()), StandIns::remove)
}

/// A plan over the tables as they are now, under their present names.
fn printed_present(transaction: &Transaction<'_>, rel: &Rel, windows: &[Window]) -> String {
    let mut places = Places::default();
    for window in windows.iter().filter(|window| window.renamed()) {
        let rows = window.new.select_present(transaction.alias(), &window.source.columns);
        let source: facts::Source = window.key(transaction.alias());
        places.set(source, State::New, Relation { name: format!("({rows})"), version: None });
    }
    sql::render(&rel.clone().at(State::New), &places)
}

/// Binds `sql` if it still gives the view's columns and reads the columns that the view reads; else says why not.
fn fitting(transaction: &Transaction<'_>, view: &View, windows: &[Window], sql: &str) -> Result<Bound, String> {
    let bound = bind(transaction, &view.name, sql).map_err(|error| format!("no longer binds: {error}"))?;
    let names = |columns: &[ViewColumn]| columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    if names(&bound.columns) != names(&view.columns) {
        return Err("now returns other columns".to_owned());
    }
    if bound.binding.tables.len() != windows.len() {
        return Err("now reads other tables".to_owned());
    }
    // A query that reads other columns than before (through `SELECT *` inside it, say) means something else.
    for window in windows {
        let Some(used) = reads(&bound, window) else { return Err("now reads other tables".to_owned()) };
        if used.iter().any(|name| !window.new.columns.contains(name)) {
            return Err(format!("now reads other columns of {}", window.name()));
        }
    }
    Ok(bound)
}

/// Does the user's own text no longer read a column that it read of a table that is still the same?
fn reads_fewer(bound: &Bound, window: &Window) -> bool {
    matches!(window.misfit, Some(Misfit::Retyped { .. }))
        && reads(bound, window).is_none_or(|reads| reads.len() != window.source.columns.len())
}

/// The columns of a source that a bound query reads, by their present names; `None` if it does not read the source.
fn reads<'a>(bound: &'a Bound, window: &Window) -> Option<Vec<&'a String>> {
    let identity = &window.new.identity;
    let mut tables = bound.binding.tables.iter();
    let used = tables.find(|used| used.schema == identity.schema && used.table == identity.name)?;
    Some(used.used.iter().map(|&position| &used.all_columns[position]).collect())
}
