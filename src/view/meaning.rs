//! What a view means: the stored plan, and whether its SQL would mean something else today.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::query::understand;
use super::registry::{self, PlanText};
use super::{Accumulated, View, ViewError, comparable};
use crate::lake::{LakeError, SnapshotId, Transaction, Value, literal};
use crate::plan::Rel;

/// A view's stored plan, as DuckDB bound it and, if it can be printed, as the decoder understands it.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// DuckDB's plan.
    pub plan: Json,
    /// The plan in normal form.
    pub rel: Option<Rel>,
    /// The same over the accumulator tables that the view has; `None` if this program would keep others.
    pub kept: Option<Accumulated>,
}

impl Meaning {
    /// The plan that a refresh from changes follows; `None` if the accumulator tables are others than it needs.
    pub(crate) fn kept(&self, view: &View) -> Result<Option<&Accumulated>, ViewError> {
        match self.rel {
            Some(_) => Ok(self.kept.as_ref()),
            None => Err(ViewError::registry(&view.name.to_string(), "its plan cannot be decoded")),
        }
    }
}

/// Reads the stored plan of a view.
pub(crate) fn meaning(transaction: &Transaction<'_>, view: &View) -> Result<Meaning, ViewError> {
    meaning_of(transaction, view, &registry::plan(transaction, view)?)
}

/// The same of a plan that has been read already.
pub(crate) fn meaning_of(transaction: &Transaction<'_>, view: &View, plan: &PlanText) -> Result<Meaning, ViewError> {
    let plan = plan.parse(&view.name)?;
    let understood = understand(transaction, &plan, view.created, &view.duckdb_version);
    let rel = understood.ok().filter(|_| view.class.printable).map(|understood| understood.rel);
    let kept = match &rel {
        Some(rel) => Accumulated::of_view(rel.clone(), view)?,
        None => None,
    };
    Ok(Meaning { plan, rel, kept })
}

/// A view, macro or table of the lake whose name means something else now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redefinition {
    /// `view`, `macro` or `table`.
    kind: String,
    name: String,
    at: SnapshotId,
    /// What a table that made room for another one is called now.
    renamed: Option<String>,
}

impl std::fmt::Display for Redefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Redefinition { kind, name, at, renamed } = self;
        if let Some(renamed) = renamed {
            write!(
                f,
                "{name} is another table since snapshot {at}; the view goes on with the one it knows, now called "
            )?;
            f.write_str(renamed)?;
        } else {
            write!(f, "the {kind} {name} was defined anew or dropped at snapshot {at}; the view keeps the old")?;
        }
        f.write_str("; create --or-replace takes the new one")
    }
}

/// What names mean something else now than at snapshot `oldest`.
pub(crate) fn redefinitions(transaction: &Transaction<'_>, oldest: SnapshotId) -> Result<Vec<Redefinition>, LakeError> {
    let metadata = transaction.metadata();
    let newest = transaction.snapshot();
    let ended = |kind: &str, table: &str, name: &str| {
        format!(
            "SELECT {} AS kind, {name} AS name, CAST(max(end_snapshot) AS BIGINT) AS at, NULL AS renamed \
             FROM {metadata}.{table} WHERE end_snapshot > {oldest} AND end_snapshot <= {newest} GROUP BY {name}",
            literal(kind)
        )
    };
    let tables = format!(
        "SELECT 'table', old.table_name, CAST(min(other.begin_snapshot) AS BIGINT), min(now.table_name) \
         FROM {metadata}.ducklake_table old JOIN {metadata}.ducklake_table now ON now.table_id = old.table_id \
         AND now.end_snapshot IS NULL AND (now.table_name <> old.table_name OR now.schema_id <> old.schema_id) \
         JOIN {metadata}.ducklake_table other ON other.table_id <> old.table_id AND other.end_snapshot IS NULL \
         AND other.schema_id = old.schema_id AND lower(other.table_name) = lower(old.table_name) \
         WHERE old.end_snapshot > {oldest} GROUP BY old.table_name"
    );
    let macros = ended("macro", "ducklake_macro", "macro_name");
    let others = format!("{} UNION ALL {tables}", ended("view", "ducklake_view", "view_name"));
    let rows = match transaction.query(&format!("{macros} UNION ALL {others} ORDER BY 1, 2")) {
        Ok(found) => found.rows,
        // A catalog that was migrated may have no table of macros.
        Err(error) if error.is_unbound() => transaction.query(&format!("{others} ORDER BY 1, 2"))?.rows,
        Err(error) => return Err(error),
    };
    let redefinition = |row: &Vec<Value>| match row.as_slice() {
        [kind, name, at, renamed] => Ok(Redefinition {
            kind: kind.as_str()?.to_owned(),
            name: name.as_str()?.to_owned(),
            at: SnapshotId(at.as_u64()?),
            renamed: renamed.optional(Value::as_str)?.map(str::to_owned),
        }),
        other => Err(LakeError::NotOneRow { found: other.len() }),
    };
    rows.iter().map(redefinition).collect()
}

/// What the user should know about a view whose SQL would mean something else today than its stored plan.
/// `redefinitions` are those since the view was created, or more.
pub(crate) fn drift(
    transaction: &Transaction<'_>,
    view: &View,
    redefinitions: &[Redefinition],
) -> Result<Vec<String>, ViewError> {
    let since = redefinitions.iter().filter(|redefinition| redefinition.at > view.created);
    let named = names_in(transaction, &view.sql, view.created)?;
    let since: Vec<&Redefinition> =
        since.filter(|redefinition| named.contains(&redefinition.name.to_lowercase())).collect();
    if since.is_empty() {
        return Ok(Vec::new());
    }
    let plan = registry::plan(transaction, view)?.parse(&view.name)?;
    let (now, alias) = (transaction.bound_plan(&view.sql), transaction.alias());
    // A plan names tables and does not tell which of that name it means.
    let same = now
        .is_ok_and(|now| comparable(&now, alias, transaction.snapshot().0) == comparable(&plan, alias, view.created.0));
    let notes = since.into_iter().filter(|redefinition| !same || redefinition.renamed.is_some());
    Ok(notes.map(ToString::to_string).collect())
}

/// The words of `sql`, and those of the lake's views and macros among them, in lower case.
fn names_in(transaction: &Transaction<'_>, sql: &str, at: SnapshotId) -> Result<BTreeSet<String>, LakeError> {
    let metadata = transaction.metadata();
    let lived = |table: &str| {
        format!("{table}.begin_snapshot <= {at} AND ({table}.end_snapshot IS NULL OR {table}.end_snapshot > {at})")
    };
    let views = format!("SELECT view_name, sql FROM {metadata}.ducklake_view v WHERE {}", lived("v"));
    let macros = format!(
        "SELECT macro_name, i.sql FROM {metadata}.ducklake_macro m JOIN {metadata}.ducklake_macro_impl i \
         USING (macro_id) WHERE {}",
        lived("m")
    );
    let found = match transaction.query(&format!("{views} UNION ALL {macros}")) {
        Err(error) if error.is_unbound() => transaction.query(&views)?,
        found => found?,
    };
    let mut definitions: Vec<(String, &str)> = Vec::new();
    for row in &found.rows {
        if let [name, sql] = row.as_slice() {
            definitions.push((name.as_str()?.to_lowercase(), sql.as_str()?));
        }
    }
    let mut named = words(sql);
    loop {
        let before = named.len();
        let (used, rest): (Vec<_>, Vec<_>) = definitions.into_iter().partition(|(name, _)| named.contains(name));
        definitions = rest;
        named.extend(used.iter().flat_map(|(_, sql)| words(sql)));
        if named.len() == before {
            return Ok(named);
        }
    }
}

/// Whatever may be a name in `sql`, in lower case: quoted text whole, the rest word by word.
fn words(sql: &str) -> BTreeSet<String> {
    let quoted = sql.split('"').skip(1).step_by(2).map(str::to_lowercase);
    let plain = sql.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    plain.map(str::to_lowercase).chain(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_whatever_is_quoted() {
        let found = words("SELECT lake.F(x), \"My Table\".y FROM \"My Table\"");
        let expected = ["select", "lake", "f", "x", "my", "table", "my table", "y", "from"];
        assert_eq!(found, expected.map(str::to_owned).into());
    }
}
