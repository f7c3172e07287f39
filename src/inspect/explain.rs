//! How a view is kept up to date: its legs and windows, the terms that would run and those that would be skipped, and the
//! SQL. Reads metadata and, of the tables that changed, the net changes: only they tell which terms would run.

use serde::Serialize;

use super::condition::{Condition, condition};
use super::lag::{Lags, Look};
use super::nodes::{ExplainedNode, of_delta, of_recompute};
use crate::delta::{self, DeltaPlan, Term};
use crate::lake::{Lake, SnapshotId, Transaction};
use crate::plan::Rel;
use crate::plan::facts::{RuleKind, Source, rule_kind};
use crate::plan::rel::State;
use crate::sql;
use crate::sync::accumulators::add_places;
use crate::sync::forecast::{Forecast, assumed_delta, forecast};
use crate::sync::incremental::{own_relation, places, temporary_relation};
use crate::sync::temporary::Temporary;
use crate::sync::window::{Window, changes_since, window};
use crate::sync::{Method, SyncError, follows, recompute};
use crate::view::{
    Accumulated, AccumulatorTable, Meaning, View, ViewError, ViewName, ViewState, drift, meaning, redefinitions,
    registry, table_name,
};

/// A view's plan for a window; serialised, this is `plan --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The view, as `schema.name`.
    pub view: String,
    /// The most demanding kind of rule among the plan's nodes; null if the plan is not known.
    pub rule: Option<&'static str>,
    /// How joins are treated.
    pub join: Option<&'static str>,
    /// The nodes of the plan, outermost first; none if it is not known.
    pub nodes: Vec<ExplainedNode>,
    /// The inputs.
    pub legs: Vec<Leg>,
    /// The summands of the delta.
    pub terms: Vec<ExplainedTerm>,
    /// The accumulator tables that are kept for the view's aggregates.
    pub accumulators: Vec<ExplainedAccumulator>,
    /// The statements, with comments between them; null if the view has no delta.
    pub sql: Option<String>,
    /// Why the view has no delta and is recomputed.
    pub reason: Option<String>,
    /// What a sync over this window would do.
    pub next: Method,
    /// Why, where there is a choice.
    pub next_reason: Option<String>,
    /// What the user should know about the view's meaning.
    pub notes: Vec<String>,
    /// What the next sync would stumble over.
    pub error: Option<String>,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// An accumulator table: what is kept per group, so that a group is finished from its change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainedAccumulator {
    /// The table, as `schema.name`.
    pub table: String,
    /// What it is grouped by.
    pub groups: Vec<String>,
    /// Its other columns, and the aggregates that they are kept for.
    pub measures: Vec<ExplainedMeasure>,
}

/// A column of an accumulator table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainedMeasure {
    /// The column.
    pub column: String,
    /// Its type.
    #[serde(rename = "type")]
    pub data_type: String,
    /// The aggregate.
    pub aggregate: String,
}

impl ExplainedAccumulator {
    fn of(view: &View, table: &AccumulatorTable) -> ExplainedAccumulator {
        let measures = table.columns.iter().zip(&table.keeps).skip(table.groups);
        let measures = measures.map(|(column, aggregate)| ExplainedMeasure {
            column: column.name.clone(),
            data_type: column.stored_type.clone(),
            aggregate: aggregate.clone(),
        });
        ExplainedAccumulator {
            table: format!("{}.{}", registry::SCHEMA, table_name(&view.id, &table.name)),
            groups: table.keeps[..table.groups].to_vec(),
            measures: measures.collect(),
        }
    }
}

/// An input of the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Leg {
    /// The table as it is called at the window's end, or the operator whose result it is and the tables below it.
    pub table: String,
    /// What happened to the table since the view was made: `renamed from main.old_name`, `replaced at 12`.
    pub note: Option<String>,
    /// The window's begin; null if the leg is no single table.
    pub from: Option<SnapshotId>,
    /// The window's end.
    pub to: Option<SnapshotId>,
    /// Did it change in between?
    pub changed: bool,
}

/// A summand of the delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainedTerm {
    /// The tables whose changes it reads.
    pub delta: Vec<String>,
    /// +1 or −1.
    pub sign: i8,
    /// What it reads beside.
    pub reads: Vec<Read>,
    /// Not needed, because its leg did not change.
    pub skipped: bool,
}

/// A table at a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Read {
    /// The table.
    pub table: String,
    /// The snapshot.
    pub at: SnapshotId,
}

/// The window to explain; what is left out is the view's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// The begin, instead of each source's watermark.
    pub from: Option<SnapshotId>,
    /// The end, instead of the newest snapshot.
    pub to: Option<SnapshotId>,
}

/// Explains the next refresh of a view, or that of any window.
pub fn explain(lake: &Lake, name: &ViewName, span: Span) -> Result<Explanation, SyncError> {
    let transaction = lake.begin()?;
    let known = registry::views(&transaction)?;
    let Some(view) = known.iter().find(|view| view.name == *name) else {
        return Err(ViewError::unknown(&transaction, name, &known).into());
    };
    let Condition { state, trouble, distrust, .. } = condition(&transaction, view)?;
    let hint = trouble.as_ref().and_then(SyncError::hint);
    let Some(state) = state else { return Err(trouble.unwrap_or_else(|| unknown_state(view))) };
    let error = trouble.map(|error| error.to_string());
    let windows = windows(&transaction, view, &state, span)?;
    let meaning = meaning(&transaction, view)?;
    let temporary = Temporary::default();
    let is_next = span.from.is_none() && span.to.is_none();
    let distrust = distrust.as_ref().filter(|_| is_next);
    let Forecast { method, reason: why, past_lost, delta: derived } =
        forecast(&transaction, view, state.rows, &meaning, &windows, distrust, &temporary)?;
    let waits_for = if is_next { Lags::new(&transaction, &known, Look::Rows).waits_for(&state)? } else { None };
    let (method, why) = match waits_for {
        Some(below) => (Method::Follows, Some(follows(&below.name))),
        None => (method, why),
    };
    // Where the stored plan does not fit a table any more, the query is bound anew and run as a whole.
    let fits = !windows.iter().any(|window| window.misfit.is_some());
    let sql = match derived.as_ref().ok().filter(|_| fits) {
        Some(plan) => Some(statements(&transaction, view, &meaning, plan, &windows)),
        None => recomputed(&transaction, view, &meaning, &windows),
    };
    let Meaning { rel, kept, .. } = meaning;
    let notes = drift(&transaction, view, &redefinitions(&transaction, view.created)?)?;
    let accumulators =
        view.class.accumulators.iter().map(|table| ExplainedAccumulator::of(view, table)).collect::<Vec<_>>();
    let view_name = view.name.to_string();
    let rule = if view.class.full_only { Some(RuleKind::FullOnly) } else { rel.as_ref().map(hardest) };
    let rule = rule.map(RuleKind::word);
    let (derived, reason) = match derived {
        Ok(plan) => (fits.then_some(plan), None),
        // The view has a delta, and goes back to it.
        Err(reason) => (None, Some(reason).filter(|_| !past_lost)),
    };
    Ok(match derived {
        Some(plan) => Explanation {
            view: view_name,
            rule,
            join: plan.join.map(delta::JoinMethod::word),
            nodes: kept.as_ref().map_or_else(Vec::new, |kept| of_delta(kept, &plan, &transaction, &windows)),
            legs: plan
                .account()
                .into_iter()
                .filter(|term| !term.leg.whole)
                .map(|term| leg(term, &transaction, &windows))
                .collect(),
            terms: plan.account().into_iter().map(|term| explained(term, &plan, &transaction, &windows)).collect(),
            accumulators,
            sql,
            reason: None,
            next: method,
            next_reason: why,
            notes,
            error,
            hint,
        },
        None => Explanation {
            view: view_name,
            rule,
            join: None,
            nodes: rel.as_ref().map_or_else(Vec::new, |rel| of_recompute(rel, view, &transaction, &windows)),
            legs: windows.iter().map(table_leg).collect(),
            terms: Vec::new(),
            accumulators,
            sql,
            reason,
            next: method,
            next_reason: why,
            notes,
            error,
            hint,
        },
    })
}

fn unknown_state(view: &View) -> SyncError {
    ViewError::State { view: view.name.clone(), detail: "it cannot be read".to_owned() }.into()
}

fn windows(
    transaction: &Transaction<'_>,
    view: &View,
    state: &ViewState,
    span: Span,
) -> Result<Vec<Window>, SyncError> {
    let newest = transaction.snapshot();
    let to = span.to.unwrap_or(newest);
    for snapshot in [span.from, span.to].into_iter().flatten() {
        if snapshot > newest || !transaction.snapshot_exists(snapshot)? {
            return Err(SyncError::NoTarget { target: snapshot, newest });
        }
    }
    let mut state = state.clone();
    for source in &mut state.sources {
        let Some(from) = span.from else { continue };
        source.watermark = from;
        if let Some(table) = transaction.table_by_id(source.table, from)? {
            source.rows = transaction.count_at(&table, from)?;
        }
    }
    let changes = changes_since(transaction, &state)?;
    let windows = state.sources.iter().map(|source| {
        let to = to.max(source.watermark);
        window(transaction, &view.name, source, to, &changes)
    });
    windows.collect()
}

fn hardest(rel: &Rel) -> RuleKind {
    let mut kind = RuleKind::Linear;
    rel.walk(&mut |node| kind = kind.max(rule_kind(node)));
    kind
}

fn find<'a>(source: &Source, transaction: &Transaction<'_>, windows: &'a [Window]) -> Option<&'a Window> {
    windows.iter().find(|window| window.key(transaction.alias()) == *source)
}

/// What a table of the plan is called at the window's end.
pub(super) fn called(source: &Source, transaction: &Transaction<'_>, windows: &[Window]) -> String {
    find(source, transaction, windows).map_or_else(|| source.to_string(), Window::name)
}

fn table_leg(window: &Window) -> Leg {
    let (from, to) = (Some(window.from), Some(window.to));
    Leg { table: window.name(), note: window.renaming(), from, to, changed: window.changed }
}

fn leg(term: &Term, transaction: &Transaction<'_>, windows: &[Window]) -> Leg {
    let single = match term.leg.sources.as_slice() {
        [source] => find(source, transaction, windows),
        _ => None,
    };
    let tables = term.leg.sources.iter().filter_map(|source| find(source, transaction, windows));
    let sources: Vec<String> = tables.map(Window::name).collect();
    Leg {
        table: match sources.as_slice() {
            [] => term.leg.name.clone(),
            [table] => table.clone(),
            several => format!("{} over {}", term.leg.name, several.join(", ")),
        },
        note: single.and_then(Window::renaming),
        from: single.map(|window| window.from),
        to: single.map(|window| window.to),
        changed: term.leg.changed,
    }
}

fn explained(term: &Term, plan: &DeltaPlan, transaction: &Transaction<'_>, windows: &[Window]) -> ExplainedTerm {
    let skipped = term.rel.is_none();
    let delta = if skipped { term.leg.sources.clone() } else { plan.deltas(term) };
    let reads = plan.reads(term).into_iter().filter_map(|(source, state)| {
        let window = find(&source, transaction, windows)?;
        let at = if state == State::Old { window.from } else { window.to };
        Some(Read { table: window.name_at(at), at })
    });
    let name = |source: &Source| called(source, transaction, windows);
    ExplainedTerm { delta: delta.iter().map(name).collect(), sign: 1, reads: reads.collect(), skipped }
}

/// The query of a view that is recomputed; none if it cannot be run over these windows.
fn recomputed(transaction: &Transaction<'_>, view: &View, meaning: &Meaning, windows: &[Window]) -> Option<String> {
    if windows.iter().all(|window| window.misfit.is_none()) {
        return meaning.rel.as_ref().map(|rel| recompute::printed(transaction, rel, windows));
    }
    let target = windows.iter().map(|window| window.to).max()?;
    recompute::query(transaction, view, meaning, windows, target).ok().map(|query| query.sql)
}

/// The statements of the delta; where nothing changed, as they would be if everything had.
fn statements(
    transaction: &Transaction<'_>,
    view: &View,
    meaning: &Meaning,
    plan: &DeltaPlan,
    windows: &[Window],
) -> String {
    let kept = meaning.kept.as_ref();
    if plan.terms_run() > 0 {
        return text(view, kept, plan, transaction, windows);
    }
    let windows: Vec<Window> = windows.iter().map(Window::assumed_changed).collect();
    match assumed_delta(transaction, view, meaning, &windows) {
        Ok(plan) => format!("{NOTHING_CHANGED}\n\n{}", text(view, kept, &plan, transaction, &windows)),
        Err(_) => String::new(),
    }
}

/// Stands above the SQL of a delta that is not run.
const NOTHING_CHANGED: &str = "-- No table changed, so nothing of this is run: it is what would be if every table did.";

/// The statements of the delta in the order in which they are run.
fn text(
    view: &View,
    kept: Option<&Accumulated>,
    plan: &DeltaPlan,
    transaction: &Transaction<'_>,
    windows: &[Window],
) -> String {
    let mut places =
        places(transaction, windows, &|source| Some(temporary_relation(format!("ivm_{}_delta", source.table))));
    if let Some(kept) = kept {
        add_places(transaction, &view.id, kept, &mut places);
    }
    places.set_own(own_relation(view, &registry::rows_table(transaction, &view.name)));
    let mut statements = Vec::new();
    for step in &plan.steps {
        places.set_staged(&step.name, temporary_relation(format!("ivm_{}", step.name)));
        statements.push(format!("-- step {}\n{}", step.name, sql::render(&step.rel, &places)));
    }
    for (position, term) in plan.terms.iter().enumerate() {
        if let Some(rel) = &term.rel {
            let of = leg(term, transaction, windows).table;
            let comment = format!("-- term {}: the change of {of}", position + 1);
            statements.push(format!("{comment}\n{}", sql::render(rel, &places)));
        }
    }
    if let Some(refill) = &plan.refill {
        let comment = format!("-- instead of the terms, if {} holds a row", refill.needed);
        statements.push(format!("{comment}\n{}", sql::render(&refill.rel, &places)));
    }
    statements.join(";\n\n")
}
