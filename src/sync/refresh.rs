//! One attempt at one view's refresh: read everything in one pinned transaction, then write, then commit.

use std::collections::BTreeMap;
use std::time::Instant;

use super::accumulators::AccumulatorWrites;
use super::apply::{self, StagedDelta, Target};
use super::choice::{self, Choice, Weighing};
use super::compaction::{self, Gathered};
use super::damage::{self, Damage};
use super::event::Step;
use super::failpoint::pass;
use super::incremental::{NetChanges, Staging, stage_net_changes};
use super::recompute::{self, Recomputed};
use super::report::{Method, SourceReport, Terms, ViewReport};
use super::temporary::Temporary;
use super::window::{Window, advanced, changes_since, reads_of, windows};
use super::{Progress, SyncError};
use crate::delta::derive;
use crate::lake::{Lake, LakeError, SnapshotId, TableId, TableIdentity, Transaction, identifier};
use crate::view::{
    AUTHOR, Meaning, RefreshRecord, SourceState, SourceWindow, View, ViewColumn, ViewError, ViewId, ViewName,
    ViewState, history, meaning_of, registry, resolve,
};

/// What a refresh is to do.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    /// The view.
    pub view: &'a ViewId,
    /// Its name, for messages.
    pub name: &'a ViewName,
    /// The snapshot of the lake to bring it to.
    pub target: SnapshotId,
    /// Replace all rows.
    pub full: bool,
    /// Rebuild whatever was done to the view's table.
    pub repair: bool,
    /// Write nothing.
    pub dry_run: bool,
    /// The views that other views read, by table, and the snapshot that each stands for in this sync.
    pub views: &'a BTreeMap<TableId, (ViewId, Option<SnapshotId>)>,
    /// Recompute, for this reason.
    pub recompute: Option<String>,
    /// The error with which the history of the view ends.
    pub last_error: Option<&'a String>,
}

/// What came of an attempt.
#[derive(Debug)]
pub(crate) struct Refreshed {
    /// For the user.
    pub report: ViewReport,
    /// The snapshot of the lake that the view stands for.
    pub stands_for: SnapshotId,
}

/// Tries once to refresh a view.
pub(crate) fn refresh(lake: &Lake, request: &Request<'_>, progress: &Progress<'_>) -> Result<Refreshed, SyncError> {
    let temporary = Temporary::default();
    let started = Instant::now();
    let transaction = lake.begin()?;
    pass!("after_begin");
    let mut refresh = Refresh::prepare(&transaction, request, progress, &temporary)?;
    pass!("after_windows");
    let written = refresh.run()?;
    let Refresh { mut report, target, .. } = refresh;
    if written {
        progress.step(Step::Commit);
        let clock = Instant::now();
        pass!("before_commit");
        transaction.commit()?;
        pass!("after_commit");
        report.phases.commit_ms = milliseconds(clock);
        temporary.clear(lake)?;
    } else {
        transaction.rollback()?;
    }
    report.elapsed_ms = milliseconds(started);
    Ok(Refreshed { report, stands_for: target })
}

pub(super) fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// An attempt under way.
struct Refresh<'a> {
    transaction: &'a Transaction<'a>,
    request: &'a Request<'a>,
    progress: &'a Progress<'a>,
    temporary: &'a Temporary,
    view: View,
    plan: registry::PlanText,
    state: ViewState,
    /// What was done to the view without us; found only where it may be repaired.
    damages: Vec<Damage>,
    /// Why nobody can tell whether the accumulator tables are as the last refresh left them, if nobody can.
    distrust: Option<String>,
    /// The view's table, unless it is gone.
    table: Option<TableIdentity>,
    windows: Vec<Window>,
    target: SnapshotId,
    started: Instant,
    report: ViewReport,
}

impl<'a> Refresh<'a> {
    /// Looks at the view and its sources.
    fn prepare(
        transaction: &'a Transaction<'a>,
        request: &'a Request<'a>,
        progress: &'a Progress<'a>,
        temporary: &'a Temporary,
    ) -> Result<Refresh<'a>, SyncError> {
        let started = Instant::now();
        let view = registry::view_with_plan(transaction, request.view)?;
        let (view, plan) = view.ok_or_else(|| ViewError::Unknown { view: request.name.clone(), known: Vec::new() })?;
        let (state, mut damages) = match registry::state(transaction, &view) {
            Ok(state) => {
                let damage = damage::of_state(transaction, AUTHOR, &state)?;
                (state, damage.into_iter().collect::<Vec<_>>())
            }
            Err(ViewError::State { detail, .. }) if request.repair => {
                (damage::reconstructed(transaction, &view, &plan)?, vec![Damage::State { detail }])
            }
            Err(error) => return Err(error.into()),
        };
        let table = registry::table(transaction, &view, &state)?;
        let changes = changes_since(transaction, &state)?;
        damages.extend(damage::of_table(transaction, &view, &state, table.as_ref(), &changes, temporary)?);
        damages.extend(damage::of_accumulators(transaction, &view, &state, &changes, temporary)?);
        if let (Some(damage), false) = (damages.first(), request.repair) {
            return Err(damage.error(&view.name));
        }
        let distrust = damage::accumulators_unknown(transaction, &view, &state, &changes)?;
        let (target, windows) = windows(transaction, request, &view, &state, &changes)?;
        let mut report = ViewReport::new(view.name.to_string());
        report.repaired = damages.iter().map(ToString::to_string).collect();
        report.sources = windows
            .iter()
            .map(|window| SourceReport {
                table: window.name(),
                from: window.from,
                to: window.to.max(window.from),
                changed: window.changed,
            })
            .collect();
        report.terms = Terms::new(view.class.terms, 0);
        Ok(Refresh {
            transaction,
            request,
            progress,
            temporary,
            view,
            plan,
            state,
            damages,
            distrust,
            table,
            windows,
            target,
            started,
            report,
        })
    }

    /// The rest of the refresh; says whether there is something to commit.
    fn run(&mut self) -> Result<bool, SyncError> {
        if self.damages.is_empty() && self.windows.iter().any(|window| window.from > window.to) {
            self.target = self.target.max(self.state.snapshot);
            self.report.strategy = Some(Method::Noop);
            self.report.reason = Some(format!("it stands for snapshot {} already", self.state.snapshot));
            return Ok(false);
        }
        let notes = &mut self.report.guards;
        let choice = if self.damages.is_empty() {
            let (view, request, windows) = (&self.view, self.request, &self.windows);
            choice::choose(self.transaction, view, request, windows, self.distrust.as_ref(), notes)?
        } else {
            Choice::Full { reason: Some("repair".to_owned()) }
        };
        self.report.phases.net_change_ms = milliseconds(self.started);
        if choice != Choice::Noop {
            let tables: Vec<TableId> = self.windows.iter().map(|window| window.source.table).collect();
            self.transaction.read_all_files_of_late_buckets(&tables)?;
            self.transaction.refuse_doubled_reads(&reads_of(&self.windows))?;
        }
        match choice {
            Choice::Noop => self.noop(None),
            Choice::Incremental { whole } => self.incremental(&whole),
            Choice::Recompute { reason } => self.recompute(reason, Method::Recompute),
            Choice::Full { reason } => self.recompute(reason, Method::Full),
        }
    }

    /// Nothing of the view changes. Its watermarks move only where that spares the next syncs more than the commit costs,
    /// or where the history ends with an error that is over.
    fn noop(&mut self, reason: Option<String>) -> Result<bool, SyncError> {
        self.report.strategy = Some(Method::Noop);
        self.report.reason = reason;
        let is_recovery = self.request.last_error.is_some();
        if self.request.dry_run || !(is_recovery || choice::is_dear_to_read_again(self.transaction, &self.windows)?) {
            return Ok(false);
        }
        if is_recovery && self.report.reason.is_none() {
            self.report.reason = Some("the error of the last refresh is over".to_owned());
        }
        let sources = self.sources(None)?;
        self.bookkeeping(self.state.rows, self.table.as_ref().map(|table| table.id), &sources, None)?;
        Ok(true)
    }

    fn statement(&self, error: LakeError) -> SyncError {
        SyncError::Statement { view: self.view.name.clone(), source: Box::new(error) }
    }

    /// The view's table, as a FROM item.
    fn target_table(&self) -> String {
        let name = self
            .table
            .as_ref()
            .map_or_else(|| self.view.name.clone(), |table| ViewName::new(table.schema.clone(), table.name.clone()));
        registry::rows_table(self.transaction, &name)
    }

    /// What the view means; from here on its query and its delta may be run.
    fn meaning(&self) -> Result<Meaning, SyncError> {
        let meaning = meaning_of(self.transaction, &self.view, &self.plan)?;
        let tables: Vec<TableId> = self.windows.iter().map(|window| window.source.table).collect();
        self.transaction.restrict_join_filters(&meaning.plan, &tables)?;
        Ok(meaning)
    }

    /// From the changes.
    fn incremental(&mut self, whole: &[TableId]) -> Result<bool, SyncError> {
        let meaning = self.meaning()?;
        let Some(kept) = meaning.kept(&self.view)? else {
            return self.recompute_as(&meaning, Some(super::OTHER_LAYOUT.to_owned()), Method::Recompute);
        };
        let rows = self.state.rows;
        let weighing = Weighing::new(self.transaction, &self.view, &self.windows, whole, (&meaning, kept), rows)?;
        if let Some(reason) = weighing.as_ref().and_then(Weighing::dearer_to_begin_with) {
            return self.recompute_as(&meaning, Some(reason), Method::Recompute);
        }
        let clock = Instant::now();
        let is_whole = |window: &Window| whole.contains(&window.source.table);
        let net: NetChanges =
            stage_net_changes(self.transaction, &self.windows, &is_whole, self.temporary, self.progress)
                .map_err(|error| self.statement(error))?;
        pass!("after_net_change");
        self.report.phases.net_change_ms += milliseconds(clock);
        self.report.rows_read = net.rows();
        self.report.guards.extend(net.notes.iter().cloned());
        if net.rows() == 0 {
            return self.noop(Some(super::NOTHING_USED.to_owned()));
        }
        let clock = Instant::now();
        let plan = derive(&kept.rel, &kept.accumulators, &net.changes)
            .map_err(|none| SyncError::NotIncremental { view: self.view.name.clone(), reason: none.to_string() })?;
        if let Some(reason) = weighing.and_then(|weighing| weighing.dearer(&plan, &net.changes)) {
            return self.recompute_as(&meaning, Some(reason), Method::Recompute);
        }
        let target = self.target_table();
        let staging = Staging {
            transaction: self.transaction,
            windows: &self.windows,
            net: &net,
            temporary: self.temporary,
            progress: self.progress,
        };
        let staged = staging.stage(&self.view, &target, &plan, kept)?;
        pass!("after_delta");
        self.report.groups = staged.groups;
        self.report.phases.join_ms = milliseconds(clock);
        self.report.terms = Terms::new(plan.account().len(), plan.terms_run());
        self.report.strategy = Some(Method::Incremental);
        self.write_delta(&staged.delta, staged.accumulators, None)
    }

    /// From the view's own query.
    fn recompute(&mut self, reason: Option<String>, method: Method) -> Result<bool, SyncError> {
        let meaning = self.meaning()?;
        self.recompute_as(&meaning, reason, method)
    }

    fn recompute_as(&mut self, meaning: &Meaning, reason: Option<String>, method: Method) -> Result<bool, SyncError> {
        self.report.reason = reason;
        self.report.strategy = Some(method);
        self.progress.step(Step::Recompute);
        let clock = Instant::now();
        self.temporary.clear(self.transaction)?;
        let query = recompute::query(self.transaction, &self.view, meaning, &self.windows, self.target)?;
        let rel = meaning.rel.as_ref();
        let made = recompute::stage(self.transaction, &self.view, query, rel, &self.windows, self.temporary)?;
        let columns = made.columns(&self.view);
        let accumulators =
            made.filled.writes(self.transaction, &self.view, !self.damages.is_empty(), self.temporary)?;
        let retyped = columns.iter().zip(&self.view.columns).any(|(new, old)| new.stored_type != old.stored_type);
        if method == Method::Full || retyped {
            self.report.phases.join_ms = milliseconds(clock);
            self.report.strategy = Some(Method::Full);
            return self.replace(&made, &accumulators);
        }
        let target = self.target_table();
        let delta = recompute::stage_difference(self.transaction, &self.view, &target, &made.rows, self.temporary)
            .map_err(|error| self.statement(error))?;
        pass!("after_delta");
        self.report.phases.join_ms = milliseconds(clock);
        let moved = self.windows.iter().any(|window| window.changed);
        if delta.is_empty() && accumulators.is_empty() && !moved && self.distrust.is_none() {
            return self.noop(self.report.reason.clone());
        }
        if choice::rewrites_most(delta.deleted, self.state.rows) {
            self.report.strategy = Some(Method::Full);
            let reason = self.report.reason.take();
            let more = format!("{} of {} rows differ", delta.deleted, self.state.rows);
            self.report.reason = Some(reason.map_or(more.clone(), |reason| format!("{reason}; {more}")));
            return self.replace(&made, &accumulators);
        }
        self.write_delta(&delta, accumulators, Some(&made))
    }

    /// Writes a delta and the bookkeeping.
    fn write_delta(
        &mut self,
        delta: &StagedDelta,
        accumulators: AccumulatorWrites,
        made: Option<&Recomputed>,
    ) -> Result<bool, SyncError> {
        self.report.rows_inserted = delta.inserted;
        self.report.rows_deleted = delta.deleted;
        self.progress.step(Step::Apply);
        let clock = Instant::now();
        let table = self.target_table();
        let target = Target { view: &self.view.name, table: &table, columns: &self.view.columns, key: None };
        let found = apply::find(self.transaction, target, delta, self.temporary)?;
        pass!("after_match");
        let sources = self.sources(made)?;
        if self.request.dry_run {
            return Ok(false);
        }
        let gathered = Gathered::load(self.transaction, &self.view, self.table.as_ref().map(|table| table.id))?;
        let found = match gathered.of_view().filter(|_| !delta.is_empty()) {
            Some(files) => {
                self.report.notes.push(format!("its table consisted of {files} files, and was written anew"));
                compaction::whole(self.transaction, target, delta, found, self.temporary)?
            }
            None => found,
        };
        let accumulators = accumulators.compact(self.transaction, &self.view, &gathered, self.temporary)?;
        apply::write(self.transaction, target, delta, &found)?;
        accumulators.write(self.transaction, &self.view)?;
        pass!("after_accumulators");
        let rows = (self.state.rows + delta.inserted).saturating_sub(delta.deleted);
        self.bookkeeping(rows, self.table.as_ref().map(|table| table.id), &sources, made)?;
        self.report.phases.apply_ms = milliseconds(clock);
        Ok(true)
    }

    /// Replaces all rows, and writes the bookkeeping.
    fn replace(&mut self, made: &Recomputed, accumulators: &AccumulatorWrites) -> Result<bool, SyncError> {
        self.progress.step(Step::Apply);
        let clock = Instant::now();
        let sources = self.sources(Some(made))?;
        if self.request.dry_run {
            self.report.rows_inserted = self
                .transaction
                .query_value(&format!("SELECT count(*) FROM {}", super::temporary::qualified(&made.rows)))?
                .as_u64()?;
            self.report.rows_deleted = self.state.rows;
            return Ok(false);
        }
        let target = self.target_table();
        let columns = made.columns(&self.view).to_vec();
        let retyped: Vec<_> = columns.iter().zip(&self.view.columns).map(|(new, old)| (old, new)).collect();
        let retyped: Vec<_> = retyped.into_iter().filter(|(old, new)| old.stored_type != new.stored_type).collect();
        let is_fit = !self.damages.iter().any(Damage::unmakes_table) && self.promote(&target, &retyped)?;
        let gone = if is_fit { 0 } else { self.remake_table(&columns)? };
        if self.damages.iter().any(|damage| matches!(damage, Damage::State { .. })) {
            registry::create_state(self.transaction, &self.view)?;
        }
        let target = self.target_table();
        let name = &self.view.name;
        let written = Target { view: name, table: &target, columns: &columns, key: None };
        let (inserted, deleted) = apply::replace(self.transaction, written, &made.rows)?;
        accumulators.write(self.transaction, &self.view)?;
        pass!("after_accumulators");
        self.report.rows_inserted = inserted;
        self.report.rows_deleted = deleted + gone;
        self.bookkeeping(inserted, self.table.as_ref().map(|table| table.id), &sources, Some(made))?;
        self.report.phases.apply_ms = milliseconds(clock);
        Ok(true)
    }

    /// Gives columns of the table other types; says whether DuckLake can: it only widens, and appends what is new in a
    /// struct at its end, whatever the order.
    fn promote(&self, target: &str, retyped: &[(&ViewColumn, &ViewColumn)]) -> Result<bool, LakeError> {
        if retyped.iter().any(|(_, new)| new.stored_type.contains("STRUCT(")) {
            return Ok(false);
        }
        for (old, new) in retyped {
            let (name, data_type) = (identifier(&old.name), &new.stored_type);
            let altered = self
                .transaction
                .execute(&format!("ALTER TABLE {target} ALTER COLUMN {name} SET DATA TYPE {data_type}"));
            match altered {
                Ok(_) => {}
                Err(error) if error.is_unbound() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Makes the view's table anew. Views that read it see it replaced. What stands under its name is dropped; the
    /// snapshots before this commit still have it. Says how many rows of the view's own went with it.
    fn remake_table(&mut self, columns: &[ViewColumn]) -> Result<u64, SyncError> {
        let name = self.view.name.clone();
        let standing = self.target_table();
        let mut gone = 0;
        if self.table.take().is_some() {
            gone = self.transaction.query_value(&format!("SELECT count(*) FROM {standing}"))?.as_u64()?;
            self.transaction.execute(&format!("DROP TABLE {standing}"))?;
        } else if self.damages.contains(&Damage::TableReplaced) {
            self.transaction.execute(&format!("DROP TABLE {standing}"))?;
        } else if self.damages.contains(&Damage::LakeView) {
            self.transaction.execute(&format!("DROP VIEW {standing}"))?;
        }
        registry::create_rows(self.transaction, &name, columns)?;
        // Its id is known once it is committed; until then it is found by the name that the entry has.
        let plan = self.plan.parse(&name)?;
        registry::write_view(self.transaction, &self.view, &plan)?;
        Ok(gone)
    }

    /// The sources as the view knows them after this refresh. Read before anything is written.
    fn sources(&self, made: Option<&Recomputed>) -> Result<Vec<SourceState>, SyncError> {
        if let Some(bound) = made.and_then(|made| made.query.rebound.as_ref()) {
            return Ok(resolve(self.transaction, &self.view.name, &bound.binding, self.transaction.snapshot())?);
        }
        let mut sources = Vec::new();
        for window in &self.windows {
            let rows = if window.changed {
                self.transaction.count_at(&window.new.identity, window.to)?
            } else {
                window.source.rows
            };
            sources.push(advanced(window, rows));
        }
        Ok(sources)
    }

    /// The state row, the history and the commit's message.
    fn bookkeeping(
        &self,
        rows: u64,
        table: Option<TableId>,
        sources: &[SourceState],
        made: Option<&Recomputed>,
    ) -> Result<(), SyncError> {
        if let Some(made) = made
            && let Some((class, rebound)) = made.entry(&self.view)
        {
            let mut view = View { class, columns: made.columns(&self.view).to_vec(), ..self.view.clone() };
            if let Some(plan) = rebound {
                view.created = self.transaction.snapshot();
                view.duckdb_version = self.transaction.engine_version()?;
                registry::write_view(self.transaction, &view, plan)?;
            } else {
                registry::write_view(self.transaction, &view, &self.plan.parse(&self.view.name)?)?;
            }
        }
        registry::write_state(self.transaction, &self.view, self.target, table, rows, sources)?;
        pass!("after_state");
        let commit_id = uuid::Uuid::new_v4().to_string();
        let report = &self.report;
        let strategy = report.strategy.map_or("", Method::word);
        let windows = self.windows.iter().zip(sources).map(|(window, source)| SourceWindow {
            table: window.name(),
            id: source.table,
            from: window.from,
            to: source.watermark,
            changed: window.changed,
        });
        let record = RefreshRecord {
            snapshot: self.target,
            strategy: strategy.to_owned(),
            reason: report.reason.clone(),
            sources: windows.collect(),
            terms_total: report.terms.total,
            terms_run: report.terms.run,
            rows_in: report.rows_read,
            rows_inserted: report.rows_inserted,
            rows_deleted: report.rows_deleted,
            elapsed_ms: milliseconds(self.started),
            commit_id: commit_id.clone(),
        };
        history::append(self.transaction, &self.view, &record)?;
        pass!("after_history");
        let message = format!("refresh view {} to snapshot {} ({strategy})", self.view.name, self.target);
        self.transaction.set_commit_message(AUTHOR, &message, Some(&commit_id))?;
        Ok(())
    }
}
