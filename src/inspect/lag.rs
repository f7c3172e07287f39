//! How far behind the lake views are: the first change that a view has not taken in, in what it reads or in what the views
//! that it reads have not taken in themselves. Metadata tells where nothing changed; where something did, the rows tell
//! whether it is anything that the view reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::lake::{Expired, LastChanges, SnapshotId, TableId, Transaction, literal};
use crate::sync::SyncError;
use crate::sync::forecast::takes_in;
use crate::sync::temporary::Temporary;
use crate::sync::window::{changes_since, window};
use crate::view::{AUTHOR, View, ViewError, ViewId, ViewName, ViewState, registry};

/// What is looked at where metadata says that a table changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The rows that came and went.
    Rows,
    /// Nothing more: they cannot be read.
    Metadata,
}

/// The lags of a lake's views, each found once.
pub(super) struct Lags<'a> {
    transaction: &'a Transaction<'a>,
    look: Look,
    views: BTreeMap<TableId, &'a View>,
    found: BTreeMap<ViewId, Option<SnapshotId>>,
}

impl<'a> Lags<'a> {
    /// Nothing is looked at yet.
    pub(super) fn new(transaction: &'a Transaction<'a>, views: &'a [View], look: Look) -> Lags<'a> {
        // Where a state is lost, it is not known which table is whose; the view's own status says so.
        let tables = registry::tables(transaction, views).unwrap_or_default();
        let by_table =
            tables.iter().filter_map(|(table, id)| Some((*table, views.iter().find(|view| view.id == *id)?)));
        Lags { transaction, look, views: by_table.collect(), found: BTreeMap::new() }
    }

    /// The first snapshot with a change that the view, or one that it reads, has yet to take in.
    pub(super) fn first_change(&mut self, view: &View, state: &ViewState) -> Result<Option<SnapshotId>, SyncError> {
        if let Some(found) = self.found.get(&view.id) {
            return Ok(*found);
        }
        let mut first = self.own_first_change(view, state)?;
        self.found.insert(view.id.clone(), first);
        for below in self.below(state) {
            if let Ok(state) = registry::state(self.transaction, below)
                && let Some(at) = self.first_change(below, &state)?
            {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        }
        self.found.insert(view.id.clone(), first);
        Ok(first)
    }

    /// A view that this one reads, and that has something to take in first.
    pub(super) fn waits_for(&mut self, state: &ViewState) -> Result<Option<&'a View>, SyncError> {
        for below in self.below(state) {
            if let Ok(state) = registry::state(self.transaction, below)
                && self.first_change(below, &state)?.is_some()
            {
                return Ok(Some(below));
            }
        }
        Ok(None)
    }

    fn below(&self, state: &ViewState) -> Vec<&'a View> {
        state.sources.iter().filter_map(|source| self.views.get(&source.table).copied()).collect()
    }

    fn own_first_change(&self, view: &View, state: &ViewState) -> Result<Option<SnapshotId>, SyncError> {
        let changes = changes_since(self.transaction, state)?;
        let newest = self.transaction.snapshot();
        if !self.takes_in(view, state, newest, &changes)? {
            return Ok(None);
        }
        // Mostly the first commit that touched a source is a change for the view.
        if let Some(first) = self.first_touch(state)?
            && self.takes_in(view, state, first, &changes)?
        {
            return Ok(Some(first));
        }
        let oldest = state.sources.iter().map(|source| source.watermark).min().unwrap_or(newest);
        let later = self.transaction.snapshot_ids(SnapshotId(oldest.0 + 1)..=newest)?;
        // The window is halved until one snapshot is left.
        let (mut low, mut high) = (0, later.len().saturating_sub(1));
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.takes_in(view, state, later[middle], &changes)? { high = middle } else { low = middle + 1 }
        }
        Ok(Some(later.get(high).copied().unwrap_or(newest)))
    }

    /// The first commit after the watermarks that touched a source; `None` where expired snapshots may hide one.
    fn first_touch(&self, state: &ViewState) -> Result<Option<SnapshotId>, SyncError> {
        let marks = state.sources.iter().map(|source| (source.table, source.watermark)).collect();
        let firsts = self.transaction.first_changes(&marks)?;
        let mut first: Option<SnapshotId> = None;
        for source in &state.sources {
            match firsts.after(source.table, source.watermark) {
                Ok(Some(commit)) => first = Some(first.map_or(commit, |first| first.min(commit))),
                Ok(None) => {}
                Err(Expired) => return Ok(None),
            }
        }
        Ok(first)
    }

    /// Would a refresh up to `to` find anything?
    fn takes_in(
        &self,
        view: &View,
        state: &ViewState,
        to: SnapshotId,
        changes: &LastChanges,
    ) -> Result<bool, SyncError> {
        let mut windows = Vec::new();
        for source in &state.sources {
            match window(self.transaction, &view.name, source, to, changes) {
                Ok(window) => windows.push(window),
                Err(SyncError::Lake(error)) => return Err(error.into()),
                Err(SyncError::SourceNotYet { .. }) => return Ok(false),
                // A source that is gone is a change that no refresh gets over.
                Err(_) => return Ok(true),
            }
        }
        if self.look == Look::Metadata {
            return Ok(windows.iter().any(|window| window.changed || window.misfit.is_some()));
        }
        let temporary = Temporary::default();
        let found = takes_in(self.transaction, view, &windows, &temporary)?;
        temporary.clear(self.transaction)?;
        Ok(found)
    }

    /// How many commits of others there are from `first` on.
    pub(super) fn commits_from(&self, first: SnapshotId) -> Result<u64, SyncError> {
        let count = self.transaction.query_value(&format!(
            "SELECT count(*) FROM {}.ducklake_snapshot_changes WHERE snapshot_id >= {first} AND snapshot_id <= {} \
             AND author IS DISTINCT FROM {}",
            self.transaction.metadata(),
            self.transaction.snapshot(),
            literal(AUTHOR)
        ))?;
        Ok(count.as_u64()?.max(1))
    }
}

/// The tables that a view reads, through other views or not.
pub(super) struct Sources {
    /// The view.
    pub(super) view: ViewName,
    /// The tables by their ids, and those that stand in for tables that are gone.
    pub(super) tables: BTreeSet<TableId>,
}

/// Finds the tables that a view reads, and at `to` reads in place of those that were dropped.
pub(super) fn sources(transaction: &Transaction<'_>, name: &ViewName, to: SnapshotId) -> Result<Sources, ViewError> {
    let views = registry::views(transaction)?;
    let Some(view) = views.iter().find(|view| view.name == *name) else {
        return Err(ViewError::unknown(transaction, name, &views));
    };
    let by_table = registry::tables(transaction, &views)?;
    let (mut tables, mut waiting) = (BTreeSet::new(), registry::state(transaction, view)?.sources);
    while let Some(source) = waiting.pop() {
        if tables.contains(&source.table) {
            continue;
        }
        let below = by_table.get(&source.table).and_then(|id| views.iter().find(|view| view.id == *id));
        match below {
            Some(below) => waiting.extend(registry::state(transaction, below)?.sources),
            None => {
                if transaction.table_by_id(source.table, to)?.is_none() {
                    tables.extend(transaction.table_named(&source.schema, &source.name, to)?.map(|table| table.id));
                }
                tables.insert(source.table);
            }
        }
    }
    Ok(Sources { view: view.name.clone(), tables })
}
