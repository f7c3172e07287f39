//! What the changes of a range mean for each view: whether it reads them, and how a refresh over just this range would
//! be done.

use std::collections::BTreeMap;

use serde::Serialize;

use super::InspectError;
use super::condition::{Condition, condition};
use super::diff::touched;
use super::revision::Range;
use super::status::last_error;
use crate::lake::{Lake, SnapshotId, TableId, Transaction};
use crate::sync::forecast::forecast;
use crate::sync::temporary::Temporary;
use crate::sync::window::{Misfit, Window, changes_since, window};
use crate::sync::{Method, SyncError, follows};
use crate::view::{View, ViewId, ViewName, ViewState, drift, history, meaning, redefinitions, registry};

/// What a range means for a view; serialised, an element of `diff --impact --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Impact {
    /// The view, as `schema.name`.
    pub view: String,
    /// Whether it can be refreshed as it stands: `ok`, `failing`, `changed` by someone else, or `broken`, as `status` says.
    pub condition: &'static str,
    /// The tables that it reads and that changed.
    pub reads: Vec<String>,
    /// How a refresh over the range would be done; null if it could not.
    pub strategy: Option<Method>,
    /// Why so.
    pub reason: Option<String>,
    /// How many terms its delta has.
    pub terms_total: usize,
    /// How many would run.
    pub terms_run: usize,
    /// The tables whose terms would be skipped.
    pub skipped: Vec<String>,
    /// What the user should know about the view's meaning.
    pub notes: Vec<String>,
    /// Why it could not be refreshed.
    pub error: Option<String>,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl Impact {
    /// Of a view that nothing is known of yet.
    fn none(view: &View) -> Impact {
        Impact {
            view: view.name.to_string(),
            condition: "ok",
            reads: Vec::new(),
            strategy: None,
            reason: None,
            terms_total: view.class.terms,
            terms_run: 0,
            skipped: Vec::new(),
            notes: Vec::new(),
            error: None,
            hint: None,
        }
    }

    fn fails(&mut self, error: &SyncError) {
        self.strategy = None;
        self.error = Some(error.to_string());
        self.hint = error.hint();
    }
}

/// Tells for every view what a range means for it; `tables` limits what counts as changed.
pub fn impact(
    lake: &Lake,
    range: &Range,
    tables: &[ViewName],
) -> Result<((SnapshotId, SnapshotId), Vec<Impact>), InspectError> {
    let mut transaction = lake.begin()?;
    let touched = touched(&transaction, range, tables)?;
    let ids: Vec<_> = touched.tables.iter().map(|ends| ends.id).collect();
    let views = registry::views(&transaction)?;
    // Where a state is lost, it is not known which table is whose; the view's own error says so.
    let by_table = registry::tables(&transaction, &views).unwrap_or_default();
    refuse_unread_views(&transaction, &views, tables, &ids, &by_table)?;
    let mut found = Vec::new();
    for view in &views {
        let mut told = Told { impact: Impact::none(view), below: Vec::new() };
        if let Err(error) = told.fill(&transaction, view, touched.span, &ids, &by_table) {
            if error.is_interruption() || error.is_disconnection() {
                return Err(error.into());
            }
            // Rows that cannot be read end a transaction of DuckDB.
            transaction.rollback()?;
            told.impact.condition = "broken";
            told.impact.fails(&error.about(&view.name));
            transaction = lake.begin()?;
        }
        found.push(told);
    }
    Ok((touched.span, follow(&views, found)))
}

/// What happened to the rows of a view that no other one reads means nothing for any.
fn refuse_unread_views(
    transaction: &Transaction<'_>,
    views: &[View],
    names: &[ViewName],
    touched: &[TableId],
    by_table: &BTreeMap<TableId, ViewId>,
) -> Result<(), InspectError> {
    let own = |view: &View| touched.iter().find(|table| by_table.get(table) == Some(&view.id));
    for (view, table) in
        views.iter().filter(|view| names.contains(&view.name)).filter_map(|view| Some((view, own(view)?)))
    {
        let mut is_read = false;
        for other in views {
            let state = registry::state_if_known(transaction, other)?;
            is_read |= state.is_some_and(|state| state.sources.iter().any(|source| source.table == *table));
        }
        if !is_read {
            return Err(InspectError::UnreadView { view: view.name.clone() });
        }
    }
    Ok(())
}

/// What is known of a view.
struct Told {
    impact: Impact,
    /// The views that it reads.
    below: Vec<ViewId>,
}

impl Told {
    fn fill(
        &mut self,
        transaction: &Transaction<'_>,
        view: &View,
        (begin, to): (SnapshotId, SnapshotId),
        touched: &[TableId],
        by_table: &BTreeMap<TableId, ViewId>,
    ) -> Result<(), SyncError> {
        let Told { impact, below } = self;
        let found = condition(transaction, view)?;
        impact.condition = found.word(last_error(transaction, view)?.is_some());
        let Condition { state, trouble, .. } = found;
        if let Some(trouble) = &trouble {
            impact.fails(trouble);
        }
        let Some(mut state) = state else { return Ok(()) };
        below.extend(state.sources.iter().filter_map(|source| by_table.get(&source.table).cloned()));
        impact.notes = drift(transaction, view, &redefinitions(transaction, view.created)?)?;
        let made = history::made(transaction, view)?;
        if trouble.is_none() && made >= to {
            impact.strategy = Some(Method::Noop);
            impact.reason = Some("the view is younger than this range".to_owned());
            impact.skipped = state.sources.iter().map(|source| format!("{}.{}", source.schema, source.name)).collect();
            return Ok(());
        }
        // A view that is younger than the begin has taken in what was there when it was made.
        let from = begin.max(made).min(to);
        for source in &mut state.sources {
            source.watermark = from;
            if let Some(table) = transaction.table_by_id(source.table, from)? {
                source.rows = transaction.count_at(&table, from)?;
            }
        }
        let windows = impact.windows(transaction, view, &state, to, touched)?;
        if trouble.is_some() {
            return Ok(());
        }
        let temporary = Temporary::default();
        let meaning = meaning(transaction, view)?;
        let found = forecast(transaction, view, state.rows, &meaning, &windows, None, &temporary)?;
        temporary.clear(transaction)?;
        impact.strategy = Some(found.method);
        impact.reason = found.reason;
        let is_touched = state.sources.iter().any(|source| touched.contains(&source.table));
        if found.method == Method::Noop && impact.reason.is_none() && made > begin && is_touched {
            impact.reason =
                Some(format!("the view was made at snapshot {made}, and has held since what was there then"));
        }
        if let (Ok(plan), Method::Incremental | Method::Noop) = (&found.delta, found.method) {
            impact.terms_total = plan.account().len();
            impact.terms_run = plan.terms_run();
        }
        Ok(())
    }
}

impl Impact {
    /// The windows of a view's sources, each noted as read or skipped. Of a view that cannot be refreshed, those that can
    /// be told.
    fn windows(
        &mut self,
        transaction: &Transaction<'_>,
        view: &View,
        state: &ViewState,
        to: SnapshotId,
        touched: &[TableId],
    ) -> Result<Vec<Window>, SyncError> {
        let changes = changes_since(transaction, state)?;
        let mut windows: Vec<Window> = Vec::new();
        for source in &state.sources {
            let is_touched = touched.contains(&source.table);
            let (name, is_read) = match window(transaction, &view.name, source, to, &changes) {
                Ok(mut window) => {
                    // The view is older than the begin, so the table took the place of another one.
                    if window.born.is_some() && window.misfit.is_none() {
                        window.misfit = Some(Misfit::Replaced { at: window.born });
                    }
                    window.changed &= is_touched || window.misfit.is_some();
                    let told = (window.name(), window.changed);
                    windows.push(window);
                    told
                }
                Err(SyncError::Lake(error)) => return Err(error.into()),
                Err(SyncError::SourceNotYet { table, born, .. }) => {
                    self.notes
                        .push(format!("{table}, which it reads now, was made at snapshot {born}, after this range"));
                    (table, false)
                }
                Err(_) if self.error.is_some() => (format!("{}.{}", source.schema, source.name), is_touched),
                Err(error) => return Err(error),
            };
            if is_read { self.reads.push(name) } else { self.skipped.push(name) }
        }
        Ok(windows)
    }
}

/// A view that has nothing to take in itself follows one below that has, and fails with one that fails.
fn follow(views: &[View], mut found: Vec<Told>) -> Vec<Impact> {
    loop {
        let next = found.iter().enumerate().find_map(|(position, told)| {
            let below = views.iter().zip(&found).filter(|(view, _)| told.below.contains(&view.id));
            let mut below = below.filter(|(_, below)| match below.impact.strategy {
                None => told.impact.error.is_none(),
                Some(method) => told.impact.strategy == Some(Method::Noop) && method != Method::Noop,
            });
            below.next().map(|(view, below)| (position, view.name.clone(), below.impact.strategy.is_none()))
        });
        let Some((position, below, fails)) = next else { break };
        let impact = &mut found[position].impact;
        if fails {
            impact.fails(&SyncError::SourceNotRefreshed { view: views[position].name.clone(), source_view: below });
        } else {
            impact.strategy = Some(Method::Follows);
            impact.reason = Some(follows(&below));
        }
    }
    found.into_iter().map(|told| told.impact).collect()
}
