//! What has happened to a view's own tables and state without us. A refresh stops before it; a repair rebuilds what it
//! finds, and nothing else.

use super::SyncError;
use super::temporary::Temporary;
use super::window::has_changed;
use crate::lake::{LakeError, LastChanges, NetChangeRequest, SnapshotId, TableId, TableIdentity, Transaction, Value};
use crate::view::{Binding, View, ViewError, ViewName, ViewState, registry, resolve, standing, table_name};

/// What was done to a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Its state cannot be read, or was written by someone else.
    State {
        /// What is wrong with it.
        detail: String,
    },
    /// Its table was dropped.
    TableGone,
    /// Its table was dropped, and another one has its name.
    TableReplaced,
    /// Its table was dropped, and a view of the lake has its name.
    LakeView,
    /// Its table has other columns than ours.
    Columns {
        /// Which.
        detail: String,
    },
    /// Someone else wrote rows.
    ForeignWrite {
        /// The view's last own commit.
        since: SnapshotId,
        /// The first commit of someone else, where that can still be looked at.
        first: Option<SnapshotId>,
        /// Rows that came.
        inserted: u64,
        /// Rows that went.
        deleted: u64,
    },
    /// Someone else changed an accumulator table.
    Accumulator {
        /// The table, in the registry's schema.
        table: String,
        /// The view's last own commit.
        since: SnapshotId,
        /// What was done to it.
        detail: String,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::State { detail } => write!(f, "its state is lost or damaged: {detail}"),
            Damage::TableGone => f.write_str("its table was dropped by someone else"),
            Damage::TableReplaced => f.write_str("its table was replaced by someone else"),
            Damage::LakeView => {
                f.write_str("its table was dropped, and someone else gave its name to a view of the lake")
            }
            Damage::Columns { detail } => write!(f, "someone else changed the columns of its table: {detail}"),
            Damage::ForeignWrite { since, first, inserted, deleted } => {
                let first = first.map(|first| format!(", first at {first}")).unwrap_or_default();
                write!(
                    f,
                    "someone else wrote to its table after snapshot {since}{first} ({inserted} rows inserted, {deleted} deleted)"
                )
            }
            Damage::Accumulator { table, since, detail } => {
                write!(
                    f,
                    "someone else changed its table {}.{table} after snapshot {since}: {detail}",
                    registry::SCHEMA
                )
            }
        }
    }
}

impl Damage {
    /// As the error of a refresh that may not repair.
    pub(crate) fn error(&self, view: &ViewName) -> SyncError {
        match self {
            Damage::State { detail } => ViewError::State { view: view.clone(), detail: detail.clone() }.into(),
            damage => SyncError::Damaged { view: view.clone(), damage: Box::new(damage.clone()) },
        }
    }

    /// Must the table be made anew?
    pub(crate) fn unmakes_table(&self) -> bool {
        matches!(self, Damage::TableGone | Damage::TableReplaced | Damage::LakeView | Damage::Columns { .. })
    }

    /// Can the view not be read as what it is?
    pub(crate) fn breaks(&self) -> bool {
        !matches!(self, Damage::ForeignWrite { .. } | Damage::Accumulator { .. })
    }
}

/// What was done to the table of a view whose state is `state`.
pub(crate) fn of_table(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    table: Option<&TableIdentity>,
    changes: &LastChanges,
    temporary: &Temporary,
) -> Result<Option<Damage>, LakeError> {
    let (since, current) = (state.landed, transaction.snapshot());
    let Some(table) = table else {
        let other = transaction.table_named(&view.name.schema, &view.name.name, current)?;
        return Ok(Some(if other.is_some() {
            Damage::TableReplaced
        } else if registry::is_lake_view(transaction, &view.name)? {
            Damage::LakeView
        } else {
            Damage::TableGone
        }));
    };
    if !has_changed(transaction, changes, table.id, since, current)? {
        return Ok(None);
    }
    if let Some(detail) = other_columns(transaction, view, table, since)? {
        return Ok(Some(Damage::Columns { detail }));
    }
    let (inserted, deleted) = if transaction.snapshot_exists(since)? {
        foreign_rows(transaction, table.id, since, temporary)?
    } else {
        let rows = transaction.count_at(table, current)?;
        (rows.saturating_sub(state.rows), state.rows.saturating_sub(rows))
    };
    if (inserted, deleted) == (0, 0) {
        return Ok(None);
    }
    let first = first_write(transaction, table.id, since)?;
    Ok(Some(Damage::ForeignWrite { since, first, inserted, deleted }))
}

/// The first commit after `since` that wrote rows to a table, if what it changed can still be looked at.
fn first_write(
    transaction: &Transaction<'_>,
    table: TableId,
    since: SnapshotId,
) -> Result<Option<SnapshotId>, LakeError> {
    let first = transaction.query_value(&format!(
        "SELECT min(snapshot_id)::BIGINT FROM {}.ducklake_snapshot_changes \
         WHERE snapshot_id > {since} AND snapshot_id <= {} AND regexp_matches(\
         regexp_replace(coalesce(changes_made, ''), '\"([^\"]|\"\")*\"', '', 'g'), \
         '(^|,)(inserted_into_table|deleted_from_table|inlined_insert|inlined_delete):{table}(,|$)')",
        transaction.metadata(),
        transaction.snapshot(),
    ))?;
    let Some(first) = first.optional(Value::as_u64)?.map(SnapshotId) else { return Ok(None) };
    // Of a window in which commits have expired, nobody knows which was the first.
    let is_whole = transaction.snapshot_ids(since..=first)?.len() as u64 == first.0 - since.0 + 1;
    Ok(Some(first).filter(|_| is_whole))
}

/// What was done to the accumulator tables of a view whose state is `state`.
pub(crate) fn of_accumulators(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    changes: &LastChanges,
    temporary: &Temporary,
) -> Result<Option<Damage>, SyncError> {
    if view.class.accumulators.is_empty() {
        return Ok(None);
    }
    let (since, current) = (state.landed, transaction.snapshot());
    let standing = standing(transaction, &view.id)?;
    for table in &view.class.accumulators {
        let found = standing.iter().find(|standing| standing.name == table.name);
        let detail = match found {
            None => "it is gone".to_owned(),
            Some(found) if found.made > since => "it was made anew".to_owned(),
            Some(found) if !has_columns_of(transaction, found.id, since)? => "its columns changed".to_owned(),
            Some(found) if !has_changed(transaction, changes, found.id, since, current)? => continue,
            // Nobody can tell ([`accumulators_unknown`]).
            Some(_) if !transaction.snapshot_exists(since)? => continue,
            Some(found) => match foreign_rows(transaction, found.id, since, temporary)? {
                (0, 0) => continue,
                (inserted, deleted) => format!("{inserted} rows inserted, {deleted} deleted"),
            },
        };
        return Ok(Some(Damage::Accumulator { table: table_name(&view.id, &table.name), since, detail }));
    }
    Ok(None)
}

/// Does a table have the columns that it had at `since`? What is not known any more is taken for unchanged.
fn has_columns_of(transaction: &Transaction<'_>, table: TableId, since: SnapshotId) -> Result<bool, LakeError> {
    if !transaction.snapshot_exists(since)? {
        return Ok(true);
    }
    let columns = |at: SnapshotId| {
        let columns = transaction.columns(table, at)?;
        Ok::<_, LakeError>(columns.into_iter().map(|column| (column.name, column.data_type)).collect::<Vec<_>>())
    };
    Ok(columns(since)? == columns(transaction.snapshot())?)
}

/// Why nobody can tell whether the accumulator tables are as the last refresh left them, if that is so: the snapshot has
/// expired that would show it.
pub(crate) fn accumulators_unknown(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    changes: &LastChanges,
) -> Result<Option<String>, SyncError> {
    let (since, current) = (state.landed, transaction.snapshot());
    if view.class.accumulators.is_empty() || transaction.snapshot_exists(since)? {
        return Ok(None);
    }
    for table in standing(transaction, &view.id)? {
        if has_changed(transaction, changes, table.id, since, current)? {
            return Ok(Some(format!("snapshot {since} expired, by which its accumulator tables are checked")));
        }
    }
    Ok(None)
}

/// What was done to the state itself: it can be read, and yet was not written by us.
pub(crate) fn of_state(
    transaction: &Transaction<'_>,
    author: &str,
    state: &ViewState,
) -> Result<Option<Damage>, LakeError> {
    let landed = transaction.snapshots(state.landed..=state.landed)?.pop();
    // The commit may have expired; then nobody can tell any more.
    Ok(landed
        .filter(|snapshot| snapshot.author.as_deref() != Some(author))
        .map(|snapshot| Damage::State { detail: format!("someone else wrote to it at snapshot {}", snapshot.id) }))
}

/// How the table's columns differ from the view's, if they do.
fn other_columns(
    transaction: &Transaction<'_>,
    view: &View,
    table: &TableIdentity,
    since: SnapshotId,
) -> Result<Option<String>, LakeError> {
    let now = transaction.columns(table.id, transaction.snapshot())?;
    let now: Vec<&str> =
        now.iter().filter(|column| column.parent.is_none()).map(|column| column.name.as_str()).collect();
    let own: Vec<&str> = view.columns.iter().map(|column| column.name.as_str()).collect();
    let without = |some: &[&str], others: &[&str]| {
        let rest: Vec<String> =
            some.iter().filter(|name| !others.contains(name)).map(|name| format!("{name:?}")).collect();
        (!rest.is_empty()).then(|| rest.join(", "))
    };
    let missing = without(&own, &now).map(|names| format!("{names} missing"));
    let added = without(&now, &own).map(|names| format!("{names} added"));
    let differing: Vec<String> = missing.into_iter().chain(added).collect();
    if !differing.is_empty() {
        return Ok(Some(differing.join(", ")));
    }
    // Only what is called the same can have another type.
    let retyped = transaction.query(&format!(
        "SELECT DISTINCT column_name FROM {}.ducklake_column WHERE table_id = {} AND begin_snapshot > {since} \
         AND begin_snapshot <= {} ORDER BY 1",
        transaction.metadata(),
        table.id,
        transaction.snapshot(),
    ))?;
    let names = retyped.rows.iter().filter_map(|row| row.first());
    let names = names.map(|name| name.as_str().map(|name| format!("{name:?}"))).collect::<Result<Vec<_>, _>>()?;
    Ok((!names.is_empty()).then(|| format!("{} changed", names.join(", "))))
}

/// The net change of one of the view's tables since our own last commit: all of it is someone else's.
fn foreign_rows(
    transaction: &Transaction<'_>,
    table: TableId,
    since: SnapshotId,
    temporary: &Temporary,
) -> Result<(u64, u64), LakeError> {
    let current = transaction.snapshot();
    let columns: Vec<_> = transaction
        .columns(table, current)?
        .into_iter()
        .filter(|column| column.parent.is_none())
        .map(|column| (column.id, column.name))
        .collect();
    let into = temporary.name("foreign");
    let request = NetChangeRequest { table, from: since, to: current, columns: &columns, into: &into };
    let change = transaction.stage_net_change(&request)?;
    Ok((change.inserted, change.deleted))
}

/// A state in place of a lost one, from which everything is taken in anew: what the stored plan reads, as it was when the
/// view was created or, where the catalog has forgotten that, as it is now.
pub(crate) fn reconstructed(
    transaction: &Transaction<'_>,
    view: &View,
    plan: &registry::PlanText,
) -> Result<ViewState, SyncError> {
    let plan = plan.parse(&view.name)?;
    let binding = Binding::of(&plan, transaction.alias(), view.created.0);
    let (at, sources) = match resolve(transaction, &view.name, &binding, view.created) {
        Ok(sources) => (view.created, sources),
        Err(ViewError::Registry { .. }) => {
            let now = transaction.snapshot();
            (now, resolve(transaction, &view.name, &binding, now)?)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(ViewState { snapshot: at, landed: at, table: None, rows: 0, sources })
}
