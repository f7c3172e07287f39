//! `apply`: makes the lake's views what files say.

mod definitions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::create::{CreateAnswer, refusal};
use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{self, Answer, NONE, Page};
use crate::inspect::condition::condition;
use crate::lake::{Access, Lake, literal};
use crate::view::{self, Created, Creation, Strategy, View, ViewError, ViewName, registry};
use definitions::Definition;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm apply views/                  # all .sql files in the folder
  ducklake-ivm apply views/ --prune --dry-run

A file holds definitions, each ended by a semicolon:
  CREATE MATERIALIZED VIEW mart.sales AS SELECT …;

Views that are not there yet are created; those whose SELECT differs from their definition, and those that are broken, \
are replaced; the others are left as they are. A view that reads another one comes after it, wherever it stands in the \
files.";

/// Create and replace views so that they are what files say
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Apply {
    /// Files, or folders of .sql files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Drop the views that no file defines
    #[arg(long)]
    prune: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is done about one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Replace,
    Keep,
    Drop,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Applied {
    view: String,
    action: Action,
    /// Why it is replaced.
    reason: Option<String>,
    /// How many rows the view has now.
    rows: Option<u64>,
    /// Why the view is not maintained from changes, and whatever else there is to know of what was made.
    notes: Vec<String>,
    error: Option<String>,
}

impl Applied {
    fn new(view: &ViewName, action: Action) -> Applied {
        Applied { view: view.to_string(), action, reason: None, rows: None, notes: Vec::new(), error: None }
    }

    fn failed(&mut self, failure: &Failure) {
        self.error = Some(failure.message.clone());
        output::failure(failure);
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ApplyAnswer {
    dry_run: bool,
    views: Vec<Applied>,
}

impl Apply {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let definitions = definitions::load(&self.paths)?;
        let lake = session.open(if self.dry_run { Access::ReadOnly } else { Access::ReadWrite })?;
        let known = registry::views(&lake.begin()?)?;
        let mut views = Vec::new();
        let mut exit = Exit::Done;
        for definition in in_order(&lake, &definitions)? {
            let applied = self.apply(&lake, definition, &known);
            if applied.error.is_some() {
                exit = Exit::ViewFailed;
            }
            views.push(applied);
            if session.interrupts.signal().is_some() {
                break;
            }
        }
        // What could not be created may be the reason why a view is no longer defined: nothing is dropped then.
        if self.prune && exit == Exit::Done {
            let extra = known.iter().map(|view| view.name.clone());
            let extra = extra.filter(|name| definitions.iter().all(|definition| definition.name != *name)).collect();
            prune(&lake, extra, self.dry_run, &mut views)?;
        }
        session.output.answer(&ApplyAnswer { dry_run: self.dry_run, views })?;
        Ok(exit)
    }
}

impl Apply {
    /// Does what is to be done about one view, or says it.
    fn apply(&self, lake: &Lake, definition: &Definition, known: &[View]) -> Applied {
        let mut applied = Applied::new(&definition.name, Action::Keep);
        match known.iter().find(|view| view.name == definition.name) {
            None => applied.action = Action::Create,
            Some(view) if view.sql != definition.sql => {
                applied.action = Action::Replace;
                applied.reason = Some("its SELECT differs".to_owned());
            }
            Some(view) => match broken(lake, view) {
                Ok(None) => return applied,
                Ok(Some(trouble)) => {
                    applied.action = Action::Replace;
                    applied.reason = Some(trouble);
                }
                Err(failure) => {
                    applied.failed(&failure);
                    return applied;
                }
            },
        }
        if !self.dry_run {
            match create(lake, definition, known) {
                Ok(created) => {
                    applied.rows = Some(created.rows);
                    applied.notes = CreateAnswer::of(&created).remarks();
                }
                Err(failure) => applied.failed(&failure),
            }
        }
        applied
    }
}

/// What is wrong with a view that cannot be refreshed as it stands.
fn broken(lake: &Lake, view: &View) -> Result<Option<String>, Failure> {
    let transaction = lake.begin()?;
    let found = condition(&transaction, view).map_err(|error| error.about(&view.name))?;
    let trouble = found.trouble.as_ref().filter(|_| found.word(false) == "broken").map(ToString::to_string);
    let prefix = format!("view {} ", view.name);
    Ok(trouble.map(|trouble| trouble.strip_prefix(&prefix).map_or(trouble.clone(), |rest| format!("it {rest}"))))
}

fn create(lake: &Lake, definition: &Definition, known: &[View]) -> Result<Created, Failure> {
    let old = known.iter().find(|view| view.name == definition.name);
    let creation = Creation {
        name: definition.name.clone(),
        sql: definition.sql.clone(),
        or_replace: old.is_some(),
        if_not_exists: false,
        strategy: old.map_or(Strategy::Auto, |view| view.strategy),
        check: false,
    };
    let created = view::create(lake, &creation);
    created.map_err(|error| refusal(error, &creation).at(&definition.place))
}

/// Drops views, each after those that read it.
fn prune(lake: &Lake, mut names: Vec<ViewName>, dry_run: bool, views: &mut Vec<Applied>) -> Result<(), Failure> {
    while !names.is_empty() {
        let before = names.len();
        let mut held = Vec::new();
        let mut refusal = None;
        for name in names {
            match if dry_run { Ok(()) } else { view::drop_view(lake, &name).map(|_| ()) } {
                Ok(()) => views.push(Applied::new(&name, Action::Drop)),
                Err(error @ ViewError::Dependents { .. }) => {
                    refusal = Some(error);
                    held.push(name);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = refusal
            && held.len() == before
        {
            return Err(error.into());
        }
        names = held;
    }
    Ok(())
}

/// Definitions, each after those that it reads.
fn in_order<'a>(lake: &Lake, definitions: &'a [Definition]) -> Result<Vec<&'a Definition>, Failure> {
    let names: Vec<ViewName> = definitions.iter().map(|definition| definition.name.clone()).collect();
    let mut reads = BTreeMap::new();
    for definition in definitions {
        reads.insert(definition.name.clone(), tables(lake, definition)?);
    }
    let order = view::dependency_order(&names, &reads).map_err(|cycle| {
        let names: Vec<String> = cycle.iter().map(ToString::to_string).collect();
        Failure::usage(format!("views read each other in a circle: {}", names.join(", ")))
    })?;
    Ok(order.iter().filter_map(|name| definitions.iter().find(|definition| definition.name == *name)).collect())
}

/// The tables that a definition names, as its text says: what they are is known only when those before it are there.
fn tables(lake: &Lake, definition: &Definition) -> Result<BTreeSet<ViewName>, Failure> {
    let call = format!("SELECT json_serialize_sql({}, skip_null := true)::VARCHAR", literal(&definition.sql));
    let parsed = lake.query_value(&call)?;
    let parsed: serde_json::Value =
        parsed.as_str().ok().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut tables = BTreeSet::new();
    // A text that does not parse names no tables here, and is refused with DuckDB's own message when it is created.
    collect_tables(&parsed, &mut tables);
    Ok(tables)
}

fn collect_tables(node: &serde_json::Value, tables: &mut BTreeSet<ViewName>) {
    match node {
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_tables(item, tables)),
        serde_json::Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty());
            if let (Some("BASE_TABLE"), Some(table)) = (text("type"), text("table_name")) {
                tables.insert(ViewName::new(text("schema_name").unwrap_or(view::DEFAULT_SCHEMA), table));
            }
            fields.values().for_each(|value| collect_tables(value, tables));
        }
        _ => {}
    }
}

impl Answer for ApplyAnswer {
    fn page(&self, page: &mut Page) {
        if self.views.is_empty() {
            page.line("the files define no views");
            return;
        }
        let rows: Vec<Vec<String>> = self
            .views
            .iter()
            .map(|view| {
                let outcome = match (view.error.is_some(), self.dry_run, view.action) {
                    (true, ..) => "failed",
                    (_, _, Action::Keep) => "unchanged",
                    (_, true, Action::Create) => "would be created",
                    (_, true, Action::Replace) => "would be replaced",
                    (_, true, Action::Drop) => "would be dropped",
                    (_, false, Action::Create) => "created",
                    (_, false, Action::Replace) => "replaced",
                    (_, false, Action::Drop) => "dropped",
                };
                let rows = view.rows.map_or_else(|| NONE.to_owned(), |rows| rows.to_string());
                vec![view.view.clone(), outcome.to_owned(), rows]
            })
            .collect();
        page.table(&["view", "outcome", "rows"], &rows);
        let told = self.views.iter().filter(|view| view.reason.is_some() || !view.notes.is_empty());
        for (position, view) in told.enumerate() {
            if position == 0 {
                page.gap();
            }
            let remarks: Vec<&str> = view.reason.iter().chain(&view.notes).map(String::as_str).collect();
            page.paragraph(&format!("{}: ", view.view), "  ", &remarks.join("; "));
        }
    }
}
