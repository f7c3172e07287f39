//! One sync: what has to be done at all, then view by view in dependency order, each in a transaction of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::event::{Event, Observer, Step};
use super::refresh::{Request, milliseconds, refresh};
use super::report::{Method, Report, SourceReport, Terms, ViewReport};
use super::{Progress, SyncError};
use crate::delta;
use crate::lake::{Lake, LakeError, SnapshotId, TableId, Transaction};
use crate::view::{
    AUTHOR, Failed, Graph, View, ViewError, ViewId, ViewName, dependency_order, drift, history,
    history::{Failure, Observed},
    misfit, protection, redefinitions, registry, retrying, with_fresh_files,
};

/// What is to be synced, and how.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// The views; all if empty. The views that they read come along.
    pub views: Vec<ViewName>,
    /// The snapshot to bring them to; the newest if not given.
    pub to: Option<SnapshotId>,
    /// Replaces all rows.
    pub full: bool,
    /// Rebuilds views that someone else wrote to.
    pub repair: bool,
    /// Reads everything and writes nothing.
    pub dry_run: bool,
}

/// Brings views up to date. An error of one view stands in its report; the others go on, unless it was interrupted or
/// the lake can no longer be reached.
pub fn sync(lake: &Lake, options: &SyncOptions, observer: &dyn Observer) -> Result<Report, SyncError> {
    let repaired = if options.repair { repair_history(lake, options.dry_run)? } else { None };
    let overview = retrying(|| Overview::read(lake, options), SyncError::retryable, |_, _| {})?;
    observer.event(&Event::Started { snapshot: overview.target, views: overview.order.len() });
    let mut run = Run {
        lake,
        options,
        observer,
        tables: overview.tables.iter().map(|(table, id)| (*table, (id.clone(), None))).collect(),
        failed: BTreeSet::new(),
        failures: Vec::new(),
        interrupted: false,
        written: BTreeSet::new(),
    };
    let mut views = Vec::new();
    for id in &overview.order {
        let Some(view) = overview.views.get(id) else { continue };
        let name = view.name.to_string();
        observer.event(&Event::ViewStarted { view: &name });
        let mut report = run.view(&overview, view)?;
        report.notes.extend(overview.notes.get(id).into_iter().flatten().cloned());
        observer.event(&Event::ViewFinished { report: &report });
        views.push(report);
        if run.interrupted {
            break;
        }
    }
    run.record_failures(&overview);
    Ok(Report { snapshot: overview.target, views, repaired })
}

/// Makes the history anew if it can no longer be appended to; says what was wrong with it.
fn repair_history(lake: &Lake, dry_run: bool) -> Result<Option<String>, SyncError> {
    let transaction = lake.begin()?;
    if !registry::exists(&transaction)? {
        return Ok(None);
    }
    let damage = history::damage(&transaction)?;
    if let (Some(damage), false) = (&damage, dry_run) {
        history::create(&transaction)?;
        let commit_id = uuid::Uuid::new_v4().to_string();
        transaction.set_commit_message(AUTHOR, "make the history of refreshes anew", Some(&commit_id))?;
        transaction.commit()?;
        tracing::info!(%damage, "the history of refreshes is made anew");
    }
    Ok(damage.map(|damage| format!("the history of refreshes was lost or damaged: {damage}")))
}

/// What is known of all views after a handful of queries.
struct Overview {
    target: SnapshotId,
    views: BTreeMap<ViewId, View>,
    order: Vec<ViewId>,
    graph: Graph,
    tables: BTreeMap<TableId, ViewId>,
    observed: Observed,
    /// Views of which it is certain that no source changed and nobody wrote to their table.
    quiet: BTreeSet<ViewId>,
    /// What the user should know about the meaning of views.
    notes: BTreeMap<ViewId, Vec<String>>,
}

impl Overview {
    fn read(lake: &Lake, options: &SyncOptions) -> Result<Overview, SyncError> {
        let transaction = lake.begin()?;
        let newest = transaction.snapshot();
        let target = options.to.unwrap_or(newest);
        if target > newest || !transaction.snapshot_exists(target)? {
            return Err(SyncError::NoTarget { target, newest });
        }
        let views = registry::views(&transaction)?;
        let named: Vec<ViewId> = named(&transaction, &views, &options.views)?;
        let observed = history::observed(&transaction, &views)?;
        let tables = registry::tables(&transaction, &views)?;
        let mut graph = Graph::default();
        for view in &views {
            graph.add(view, tables.iter().find(|(_, id)| **id == view.id).map(|(table, _)| *table));
        }
        for view in &views {
            let sources = observed.views.get(&view.id).into_iter().flat_map(|observed| &observed.sources);
            graph.connect(&view.id, sources.map(|source| source.id));
        }
        let wanted = graph.with_sources(named);
        let nodes: Vec<ViewId> = views.iter().map(|view| view.id.clone()).filter(|id| wanted.contains(id)).collect();
        let by_id: BTreeMap<ViewId, View> = views.into_iter().map(|view| (view.id.clone(), view)).collect();
        let order = dependency_order(&nodes, graph.reads()).map_err(|path| cycle(&by_id, &path))?;
        let told = meanings(&transaction, &by_id)?;
        let mut overview =
            Overview { target, views: by_id, order, graph, tables, observed, quiet: BTreeSet::new(), notes: told };
        overview.quiet = overview.find_quiet(&transaction)?;
        if !options.dry_run {
            overview.protect(transaction)?;
        }
        Ok(overview)
    }

    /// Asks once for the last change of every table, and compares with every watermark.
    fn find_quiet(&self, transaction: &Transaction<'_>) -> Result<BTreeSet<ViewId>, LakeError> {
        let own: BTreeMap<&ViewId, TableId> = self.tables.iter().map(|(table, id)| (id, *table)).collect();
        let mut watermarks = BTreeMap::new();
        for id in &self.order {
            let (Some(view), Some(observed)) = (self.views.get(id), self.observed.views.get(id)) else { continue };
            if let (Some(table), false) = (own.get(id), view.class.untracked) {
                let sources = observed.sources.iter().map(|source| (source.id, source.to));
                watermarks.insert(id, sources.chain([(*table, observed.landed)]).collect::<Vec<_>>());
            }
        }
        let Some(oldest) = watermarks.values().flatten().map(|(_, from)| *from).min() else {
            return Ok(BTreeSet::new());
        };
        let changes = transaction.last_changes(oldest)?;
        let quiet = watermarks.into_iter().filter(|(_, watermarks)| {
            watermarks.iter().all(|(table, from)| changes.since(*table, *from) == Some(false))
        });
        Ok(quiet.map(|(id, _)| id.clone()).collect())
    }

    /// Makes good what a creation could not do in its own transaction.
    fn protect(&self, transaction: Transaction<'_>) -> Result<(), LakeError> {
        let tables: Vec<TableId> = self.tables.keys().copied().collect();
        if self.views.is_empty() { Ok(()) } else { protection::protect(transaction, &tables) }
    }
}

/// What the user should know of views whose SQL no longer means what it meant, with one question for all of them.
fn meanings(
    transaction: &Transaction<'_>,
    views: &BTreeMap<ViewId, View>,
) -> Result<BTreeMap<ViewId, Vec<String>>, ViewError> {
    let Some(oldest) = views.values().map(|view| view.created).min() else { return Ok(BTreeMap::new()) };
    let redefinitions = redefinitions(transaction, oldest)?;
    let mut told = BTreeMap::new();
    if !redefinitions.is_empty() {
        for (id, view) in views {
            told.insert(id.clone(), drift(transaction, view, &redefinitions)?);
        }
    }
    Ok(told)
}

fn named(transaction: &Transaction<'_>, views: &[View], names: &[ViewName]) -> Result<Vec<ViewId>, ViewError> {
    if names.is_empty() {
        return Ok(views.iter().map(|view| view.id.clone()).collect());
    }
    let ids = names.iter().map(|name| match views.iter().find(|view| view.name == *name) {
        Some(view) => Ok(view.id.clone()),
        None => Err(ViewError::unknown(transaction, name, views)),
    });
    ids.collect()
}

fn cycle(views: &BTreeMap<ViewId, View>, path: &[ViewId]) -> ViewError {
    let path: Vec<ViewName> = path.iter().filter_map(|id| views.get(id).map(|view| view.name.clone())).collect();
    let view = path.first().cloned().unwrap_or_else(|| ViewName::new("", ""));
    ViewError::Cycle { view, path }
}

/// A sync under way.
struct Run<'a> {
    lake: &'a Lake,
    options: &'a SyncOptions,
    observer: &'a dyn Observer,
    /// Tables that hold views, and the snapshot that each of those settled so far stands for.
    tables: BTreeMap<TableId, (ViewId, Option<SnapshotId>)>,
    failed: BTreeSet<ViewId>,
    /// Those of them that have an error of their own.
    failures: Vec<Failure>,
    /// Somebody asked for the work to stop.
    interrupted: bool,
    written: BTreeSet<ViewId>,
}

impl Run<'_> {
    /// Refreshes one view, or finds that there is nothing to do.
    fn view(&mut self, overview: &Overview, view: &View) -> Result<ViewReport, SyncError> {
        let started = Instant::now();
        let below = overview.graph.reads().get(&view.id).cloned().unwrap_or_default();
        if let Some(failed) = below.iter().find(|id| self.failed.contains(*id)) {
            let source_view = overview.views.get(failed).map_or_else(|| view.name.clone(), |view| view.name.clone());
            let error = SyncError::SourceNotRefreshed { view: view.name.clone(), source_view };
            return Ok(self.failure(view, &error, started));
        }
        let forced = self.options.full || self.options.repair || self.options.to.is_some();
        if let (Some(source), true) = (below.iter().find(|id| self.written.contains(*id)), self.options.dry_run) {
            let source = overview.views.get(source).map_or_else(String::new, |view| view.name.to_string());
            self.written.insert(view.id.clone());
            return Ok(follower_report(overview, view, &source, started));
        }
        let quiet = overview.quiet.contains(&view.id) && below.iter().all(|id| !self.written.contains(id));
        let had_failed = overview.observed.errors.contains_key(&view.id);
        if quiet && !forced && !had_failed {
            self.settle(&view.id, overview.target);
            return Ok(quiet_report(overview, view, started));
        }
        match self.refresh(overview, view) {
            Ok((report, stands_for)) => {
                self.settle(&view.id, stands_for);
                if report.strategy != Some(Method::Noop) {
                    self.written.insert(view.id.clone());
                }
                Ok(report)
            }
            Err(error) if error.is_disconnection() => Err(error),
            Err(error) => {
                let error = error.about(&view.name);
                let report = self.failure(view, &error, started);
                self.remember(view, &error, &report);
                Ok(report)
            }
        }
    }

    /// Keeps an error for the history.
    fn remember(&mut self, view: &View, error: &SyncError, report: &ViewReport) {
        if !error.is_interruption() && !error.is_about_target() {
            let (error, elapsed_ms) = (error.to_string(), report.elapsed_ms);
            self.failures.push(Failure { view: view.clone(), error, elapsed_ms });
        }
    }

    /// Keeps the errors in the lake, if that can be written: what is reported are the errors themselves in any case. That
    /// comes last, for it makes a snapshot, and the views are brought to the one that was the newest.
    fn record_failures(&self, overview: &Overview) {
        if self.options.dry_run {
            return;
        }
        if let Err(error) = history::record_failures(self.lake, &self.failures, &overview.observed) {
            tracing::info!(%error, "the errors are not kept in the lake");
        }
    }

    fn refresh(&self, overview: &Overview, view: &View) -> Result<(ViewReport, SnapshotId), SyncError> {
        let name = view.name.to_string();
        let progress = Progress { view: &name, observer: self.observer };
        let mut request = Request {
            view: &view.id,
            name: &view.name,
            target: overview.target,
            full: self.options.full,
            repair: self.options.repair,
            dry_run: self.options.dry_run,
            views: &self.tables,
            recompute: None,
            last_error: overview.observed.errors.get(&view.id),
        };
        let mut retries = 0;
        let mut attempts = |request: &Request<'_>| {
            let until_no_conflict = || {
                retrying(
                    || refresh(self.lake, request, &progress),
                    SyncError::retryable,
                    |error, _| {
                        retries += 1;
                        let error = error.to_string();
                        self.observer.event(&Event::Retry { view: &name, attempt: retries, error: &error });
                    },
                )
            };
            with_fresh_files(self.lake, until_no_conflict, SyncError::lake_error)
        };
        let mut outcome = attempts(&request);
        if let Err(error) = &outcome
            && let Some(reason) = left_to_the_query(error)
        {
            request.recompute = Some(reason);
            outcome = attempts(&request);
        }
        let refreshed = outcome.map_err(|error| self.explain(view, error))?;
        let mut report = refreshed.report;
        report.retries = retries;
        Ok((report, refreshed.stands_for))
    }

    /// Names the column whose value did not fit, if that is what happened.
    fn explain(&self, view: &View, error: SyncError) -> SyncError {
        let SyncError::Statement { source, .. } = &error else { return error };
        let failed =
            Failed { name: &view.name, sql: &view.sql, columns: &view.columns, accumulators: &view.class.accumulators };
        misfit(self.lake, &failed, source).map_or(error, SyncError::from)
    }

    fn settle(&mut self, id: &ViewId, stands_for: SnapshotId) {
        for (owner, standing) in self.tables.values_mut() {
            if owner == id {
                *standing = Some(stands_for);
            }
        }
    }

    fn failure(&mut self, view: &View, error: &SyncError, started: Instant) -> ViewReport {
        self.failed.insert(view.id.clone());
        self.interrupted |= error.is_interruption();
        let mut report = ViewReport::new(view.name.to_string());
        report.terms = Terms::new(view.class.terms, 0);
        report.error = Some(error.to_string());
        report.hint = error.hint();
        report.elapsed_ms = milliseconds(started);
        report
    }
}

/// Why the query is run after the changes led to this error; nothing if it would not help.
fn left_to_the_query(error: &SyncError) -> Option<String> {
    match error {
        // A term pairs rows that never met in the query itself, and may fail where the query does not.
        SyncError::Term { source, .. } => {
            let lost = matches!(**source, LakeError::VanishedFile { .. } | LakeError::DamagedFile { .. });
            if source.retryable() || source.is_interruption() || lost {
                return None;
            }
            let text = source.to_string();
            let tie = text.find(delta::ROWS_TIE).and_then(|at| text[at..].lines().next()).map(str::to_owned);
            Some(tie.unwrap_or_else(|| format!("the delta failed: {text}")))
        }
        // The catalog keeps floating-point numbers by way of decimal literals, which can be off in the last digit; inside
        // a list or after a calculation that cannot be made good.
        SyncError::RowsMissing { expected, found, .. } => {
            Some(format!("of {expected} rows that go only {found} stand in the view as the changes have them"))
        }
        SyncError::Statement { source, .. } => {
            source.missed_past().map(|missed| format!("the past cannot be read: {missed}"))
        }
        _ => None,
    }
}

/// The report of a dry run for a view that reads one that would change first: what then changes in this one cannot be
/// told before.
fn follower_report(overview: &Overview, view: &View, source: &str, started: Instant) -> ViewReport {
    let mut report = quiet_report(overview, view, started);
    report.strategy = Some(Method::Follows);
    report.reason = Some(super::follows(source));
    report
}

/// The report of a view that needed no look of its own.
fn quiet_report(overview: &Overview, view: &View, started: Instant) -> ViewReport {
    let mut report = ViewReport::new(view.name.to_string());
    report.strategy = Some(Method::Noop);
    report.terms = Terms::new(view.class.terms, 0);
    let sources = overview.observed.views.get(&view.id).into_iter().flat_map(|observed| &observed.sources);
    report.sources = sources
        .map(|source| SourceReport {
            table: source.table.clone(),
            from: source.to,
            to: source.to.max(overview.target),
            changed: false,
        })
        .collect();
    report.elapsed_ms = milliseconds(started);
    report
}

impl Progress<'_> {
    /// Tells of a step.
    pub(crate) fn step(&self, step: Step<'_>) {
        self.observer.event(&Event::Step { view: self.view, step });
    }
}
