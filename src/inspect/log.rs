//! The lake's commits, newest first: who made them, what for, and what changed in which table. Counts are those of the
//! net change of each table in each commit, so maintenance has none.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::InspectError;
use super::row_counts::{RowCounts, Rows, Touch};
use super::tables::unknown;
use crate::lake::{
    Lake, LakeError, Snapshot, SnapshotId, TableId, TableIdentity, TableWindow, Transaction, literal, utc,
};
use crate::view::{AUTHOR, ViewError, ViewName, history, registry};

/// Which commits are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// At most so many.
    pub limit: u64,
    /// Only commits from this one on.
    pub since: Option<SnapshotId>,
    /// Only commits that touched this table.
    pub table: Option<ViewName>,
    /// Only commits that refreshed this view.
    pub view: Option<ViewName>,
    /// Counts rows, which reads the changes.
    pub counts: bool,
}

/// A commit; serialised, an element of `snapshots --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoggedSnapshot {
    /// Its number.
    pub snapshot: SnapshotId,
    /// When it was made, in UTC: `2026-11-01T08:30:00.123456Z`.
    pub at: String,
    /// Who made it, where that was said.
    pub author: Option<String>,
    /// What for.
    pub message: Option<String>,
    /// It only reorganised files: no row changed.
    pub maintenance: bool,
    /// The tables that it touched; those of the registry are left out.
    pub tables: Vec<TouchedTable>,
    /// What else it did: schemas, views and macros made or dropped.
    pub other: Vec<String>,
    /// The refresh that it is.
    pub refresh: Option<LoggedRefresh>,
}

/// A table in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TouchedTable {
    /// The table, as `schema.name`.
    pub table: String,
    /// `created`, `dropped`, `renamed`, `altered`, `changed`, `compacted`.
    pub change: &'static str,
    /// What it was called before, if it was renamed.
    pub renamed_from: Option<String>,
    /// Rows that came; null where the snapshot before is gone, or nobody asked.
    pub rows_inserted: Option<u64>,
    /// Rows that went.
    pub rows_deleted: Option<u64>,
    /// Rows that have the same row id and other content.
    pub rows_updated: Option<u64>,
}

/// A refresh of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoggedRefresh {
    /// The view.
    pub view: String,
    /// How it was refreshed.
    pub strategy: String,
}

/// The last commits that `options` ask for.
pub fn log(lake: &Lake, options: &LogOptions) -> Result<Vec<LoggedSnapshot>, InspectError> {
    let transaction = lake.begin()?;
    let oldest = options.since.unwrap_or(SnapshotId(0));
    let table = options.table.as_ref().map(|name| called(&transaction, name)).transpose()?;
    let refreshes = refreshes(&transaction)?;
    if let Some(view) = &options.view
        && !refreshes.values().any(|refresh| refresh.view.eq_ignore_ascii_case(&view.to_string()))
    {
        return Err(ViewError::unknown(&transaction, view, &registry::views(&transaction)?).into());
    }
    let mut chosen = Vec::new();
    for snapshot in transaction.snapshots(oldest..=transaction.snapshot())?.into_iter().rev() {
        if chosen.len() as u64 >= options.limit {
            break;
        }
        if table.as_ref().is_some_and(|table| !table.is_touched(&snapshot)) {
            continue;
        }
        let refresh = refreshes.get(&snapshot.id);
        let wanted =
            |view: &ViewName| refresh.is_some_and(|refresh| refresh.view.eq_ignore_ascii_case(&view.to_string()));
        if options.view.as_ref().is_some_and(|view| !wanted(view)) {
            continue;
        }
        chosen.push(snapshot);
    }
    let mut rows = RowCounts::new(&transaction);
    let touched = foreseen(&transaction, &chosen, options.counts.then_some(&mut rows))?;
    let dropped = dropped(&transaction, &chosen)?;
    let logged = chosen.into_iter().zip(touched).map(|(snapshot, touched)| {
        let refresh = refreshes.get(&snapshot.id).cloned();
        logged(&transaction, snapshot, touched, refresh, &dropped, &rows, options.counts)
    });
    Ok(logged.collect::<Result<_, LakeError>>()?)
}

/// The refreshes of the history by their commits; none if the lake has no views.
fn refreshes(transaction: &Transaction<'_>) -> Result<BTreeMap<SnapshotId, LoggedRefresh>, LakeError> {
    let mut found = BTreeMap::new();
    if !registry::exists(transaction)? {
        return Ok(found);
    }
    let table = history::table(transaction);
    let failed = literal(history::FAILED);
    let sql = format!("SELECT snapshot_id, view_name, strategy FROM {table} WHERE strategy <> {failed}");
    let rows = match transaction.query(&sql) {
        Err(error) if error.is_unbound() => return Ok(found),
        rows => rows?.rows,
    };
    for row in &rows {
        if let [snapshot, view, strategy] = row.as_slice() {
            let refresh = LoggedRefresh { view: view.as_str()?.to_owned(), strategy: strategy.as_str()?.to_owned() };
            found.insert(SnapshotId(snapshot.as_u64()?), refresh);
        }
    }
    Ok(found)
}

/// Every table that ever had a name.
struct Called {
    ids: BTreeSet<TableId>,
    /// The commits that made or renamed one of them: their tokens tell no id.
    named_in: BTreeSet<SnapshotId>,
}

impl Called {
    fn is_touched(&self, snapshot: &Snapshot) -> bool {
        let names_it = |token: &Token<'_>| token.id().is_some_and(|id| self.ids.contains(&TableId(id)));
        self.named_in.contains(&snapshot.id) || tokens(&snapshot.changes_made).iter().any(names_it)
    }
}

fn called(transaction: &Transaction<'_>, name: &ViewName) -> Result<Called, InspectError> {
    let metadata = transaction.metadata();
    let rows = transaction.query(&format!(
        "SELECT table_id::BIGINT, begin_snapshot::BIGINT FROM {metadata}.ducklake_table WHERE table_id IN (\
         SELECT t.table_id FROM {metadata}.ducklake_table t JOIN {metadata}.ducklake_schema s USING (schema_id) \
         WHERE lower(s.schema_name) = lower({}) AND lower(t.table_name) = lower({})) ORDER BY 1, 2",
        literal(&name.schema),
        literal(&name.name)
    ))?;
    let mut called = Called { ids: BTreeSet::new(), named_in: BTreeSet::new() };
    for row in &rows.rows {
        if let [id, named] = row.as_slice() {
            called.ids.insert(TableId(id.as_u64()?));
            called.named_in.insert(SnapshotId(named.as_u64()?));
        }
    }
    if called.ids.is_empty() { Err(unknown(transaction, name, None)?) } else { Ok(called) }
}

/// What DuckLake says that a commit did.
#[derive(Debug, PartialEq, Eq)]
struct Token<'a> {
    kind: &'a str,
    /// An id, or names in double quotes.
    of: &'a str,
}

impl Token<'_> {
    fn id(&self) -> Option<u64> {
        self.of.parse().ok()
    }

    /// The names without their quotes.
    fn names(&self) -> String {
        let inner = self.of.strip_prefix('"').and_then(|of| of.strip_suffix('"')).unwrap_or(self.of);
        inner.replace("\".\"", ".").replace("\"\"", "\"")
    }
}

/// The tokens of a commit: they end at commas outside of quotes.
fn tokens(changes: &str) -> Vec<Token<'_>> {
    let mut quoted = false;
    let parts: Vec<&str> = changes
        .split(|c: char| {
            quoted ^= c == '"';
            c == ',' && !quoted
        })
        .collect();
    parts
        .into_iter()
        .filter_map(|part| part.split_once(':'))
        .map(|(kind, of)| Token { kind: kind.trim(), of })
        .collect()
}

/// Did a commit only reorganise files? A flush of deletes says that it deletes, so what it did is looked at.
pub(super) fn is_maintenance(rows: &RowCounts<'_>, snapshot: &Snapshot) -> Result<bool, LakeError> {
    let tokens = tokens(&snapshot.changes_made);
    let compacts = |token: &Token<'_>| change_of(token.kind) == Some("compacted");
    if !tokens.iter().any(compacts) {
        return Ok(false);
    }
    for token in tokens.iter().filter(|token| !compacts(token)) {
        let flushed = tokens.iter().any(|other| compacts(other) && other.of == token.of);
        let Some(id) = token.id().filter(|_| flushed && token.kind == "deleted_from_table") else { return Ok(false) };
        if rows.read(TableId(id), snapshot.id)? != Some(Rows::default()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tables that a commit names by their ids.
pub(super) fn tables_named(changes: &str) -> Vec<TableId> {
    let named = tokens(changes).into_iter().filter(|token| change_of(token.kind).is_some());
    named.filter_map(|token| token.id().map(TableId)).collect()
}

/// What a token says of a table, the most telling last.
fn change_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "merge_adjacent" | "rewrite_delete" | "compacted_table" | "inline_flush" | "flushed_inlined" => "compacted",
        "inserted_into_table" | "deleted_from_table" | "inlined_insert" | "inlined_delete" => "changed",
        "altered_table" => "altered",
        "dropped_table" => "dropped",
        _ => return None,
    })
}

/// What a commit did to each of the tables that it touched.
fn touched(snapshot: &Snapshot, named: &BTreeMap<SnapshotId, Vec<Named>>) -> BTreeMap<TableId, Touch> {
    const RANK: [&str; 6] = ["compacted", "changed", "altered", "renamed", "created", "dropped"];
    let rank = |change: &str| RANK.iter().position(|known| *known == change);
    let mut touched: BTreeMap<TableId, Touch> = BTreeMap::new();
    let tokens = tokens(&snapshot.changes_made);
    for token in &tokens {
        if let (Some(id), Some(change)) = (token.id(), change_of(token.kind)) {
            let known = touched.entry(TableId(id)).or_insert(Touch { change, is_plain: true });
            known.is_plain &= change == "changed";
            if rank(change) > rank(known.change) {
                known.change = change;
            }
        }
    }
    // A table that is renamed is said to be created, too.
    if tokens.iter().any(|token| token.kind == "created_table") {
        for Named { table, is_birth } in named.get(&snapshot.id).into_iter().flatten() {
            let change = if *is_birth { "created" } else { "renamed" };
            touched.insert(*table, Touch { change, is_plain: false });
        }
    }
    touched
}

/// What the commits did to tables, with whatever will be asked about these read ahead.
fn foreseen(
    transaction: &Transaction<'_>,
    snapshots: &[Snapshot],
    counts: Option<&mut RowCounts<'_>>,
) -> Result<Vec<BTreeMap<TableId, Touch>>, LakeError> {
    let named = named(transaction)?;
    let all: Vec<_> = snapshots.iter().map(|snapshot| touched(snapshot, &named)).collect();
    let touches = snapshots.iter().zip(&all);
    let windows: Vec<(TableWindow, Touch)> = touches
        .flat_map(|(snapshot, touched)| {
            let from = SnapshotId(snapshot.id.0.saturating_sub(1));
            touched.iter().map(move |(table, touch)| (TableWindow { table: *table, from, to: snapshot.id }, *touch))
        })
        .collect();
    transaction.foresee_tables(&windows.iter().map(|(window, _)| *window).collect::<Vec<_>>())?;
    if let Some(counts) = counts {
        counts.foresee(&windows)?;
    }
    Ok(all)
}

fn logged(
    transaction: &Transaction<'_>,
    snapshot: Snapshot,
    touched: BTreeMap<TableId, Touch>,
    refresh: Option<LoggedRefresh>,
    dropped: &Dropped,
    rows: &RowCounts<'_>,
    counts: bool,
) -> Result<LoggedSnapshot, LakeError> {
    let own = snapshot.author.as_deref() == Some(AUTHOR);
    let maintenance = is_maintenance(rows, &snapshot)?;
    let mut tables = Vec::new();
    for (table, touch) in touched {
        let before = SnapshotId(snapshot.id.0.saturating_sub(1));
        let old = transaction.table_by_id(table, before)?;
        let now = transaction.table_by_id(table, snapshot.id)?;
        let Some(identity) = now.or_else(|| old.clone()) else { continue };
        if identity.schema.eq_ignore_ascii_case(registry::SCHEMA) {
            continue;
        }
        let rows = match (counts, maintenance || touch.change == "compacted") {
            (false, _) => None,
            (true, true) => Some(Rows::default()),
            (true, false) => rows.of(table, snapshot.id, touch)?,
        };
        let name = |identity: &TableIdentity| format!("{}.{}", identity.schema, identity.name);
        tables.push(TouchedTable {
            table: name(&identity),
            change: if maintenance { "compacted" } else { touch.change },
            renamed_from: old.filter(|_| touch.change == "renamed").as_ref().map(name),
            rows_inserted: rows.map(|rows| rows.inserted),
            rows_deleted: rows.map(|rows| rows.deleted),
            rows_updated: rows.map(|rows| rows.updated),
        });
    }
    // Of a table that was replaced, the one that went comes first.
    tables.sort_by(|one, other| one.table.cmp(&other.table).then_with(|| other.change.cmp(one.change)));
    let tokens = tokens(&snapshot.changes_made);
    let said = tokens.iter().filter(|token| change_of(token.kind).is_none() && token.kind != "created_table");
    let other = said.filter(|token| !own || !token.of.contains(registry::SCHEMA));
    let other = other.map(|token| {
        let dropped = token.id().and_then(|id| dropped.get(&(token.kind.to_owned(), id)).cloned());
        format!("{} {}", token.kind.replace('_', " "), dropped.unwrap_or_else(|| token.names()))
    });
    let other = other.collect();
    Ok(LoggedSnapshot {
        snapshot: snapshot.id,
        at: utc(&snapshot.time),
        author: snapshot.author,
        message: snapshot.message,
        maintenance,
        tables,
        other,
        refresh,
    })
}

/// A table that was given a name.
struct Named {
    table: TableId,
    /// Its first one.
    is_birth: bool,
}

/// The tables that each commit made or renamed. Where the first commits of a table have expired, its columns tell that it
/// is older than its name.
fn named(transaction: &Transaction<'_>) -> Result<BTreeMap<SnapshotId, Vec<Named>>, LakeError> {
    let metadata = transaction.metadata();
    let rows = transaction.query(&format!(
        "SELECT t.begin_snapshot::BIGINT, t.table_id::BIGINT, \
         t.begin_snapshot = min(t.begin_snapshot) OVER (PARTITION BY t.table_id) AND t.begin_snapshot <= c.birth \
         FROM {metadata}.ducklake_table t JOIN (\
         SELECT table_id, min(begin_snapshot) AS birth FROM {metadata}.ducklake_column GROUP BY 1) c USING (table_id) \
         ORDER BY 1, 2"
    ))?;
    let mut named: BTreeMap<SnapshotId, Vec<Named>> = BTreeMap::new();
    for row in &rows.rows {
        if let [commit, table, is_birth] = row.as_slice() {
            let table = Named { table: TableId(table.as_u64()?), is_birth: is_birth.as_bool()? };
            named.entry(SnapshotId(commit.as_u64()?)).or_default().push(table);
        }
    }
    Ok(named)
}

/// What is dropped by an id, a schema, a view or a macro of the lake, by the token's kind and the id.
type Dropped = BTreeMap<(String, u64), String>;

/// The names of what `snapshots` dropped by an id, as far as the catalog remembers them.
fn dropped(transaction: &Transaction<'_>, snapshots: &[Snapshot]) -> Result<Dropped, LakeError> {
    const KINDS: [(&str, &str, &str, bool); 4] = [
        ("dropped_schema", "ducklake_schema", "schema", false),
        ("dropped_view", "ducklake_view", "view", true),
        ("dropped_scalar_macro", "ducklake_macro", "macro", true),
        ("dropped_table_macro", "ducklake_macro", "macro", true),
    ];
    let mut dropped = Dropped::new();
    for (kind, table, column, in_schema) in KINDS {
        let of = |snapshot: &Snapshot| {
            tokens(&snapshot.changes_made).iter().filter(|token| token.kind == kind).filter_map(Token::id).collect()
        };
        let ids: BTreeSet<u64> = snapshots.iter().flat_map(|snapshot| -> Vec<u64> { of(snapshot) }).collect();
        if ids.is_empty() {
            continue;
        }
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let metadata = transaction.metadata();
        let schema = format!(
            "(SELECT max(s.schema_name) FROM {metadata}.ducklake_schema s WHERE s.schema_id = x.schema_id) || '.' || "
        );
        let rows = transaction.query(&format!(
            "SELECT {column}_id::BIGINT, {}{column}_name FROM {metadata}.{table} x WHERE {column}_id IN ({}) \
             ORDER BY begin_snapshot",
            if in_schema { schema.as_str() } else { "" },
            ids.join(", ")
        ))?;
        for row in &rows.rows {
            if let [id, name] = row.as_slice() {
                dropped.insert((kind.to_owned(), id.as_u64()?), name.as_str()?.to_owned());
            }
        }
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_tokens_may_hold_anything() {
        let found =
            tokens("created_table:\"main\".\"a,b:c\",inserted_into_table:7,created_view:\"s\".\"say \"\"v\"\"\"");
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].kind, found[0].names().as_str()), ("created_table", "main.a,b:c"));
        assert_eq!((found[1].kind, found[1].id()), ("inserted_into_table", Some(7)));
        assert_eq!(found[2].names(), "s.say \"v\"");
        assert!(tokens("").is_empty());
    }
}
