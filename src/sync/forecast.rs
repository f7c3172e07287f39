//! What a refresh over given windows would do, and why: everything is looked at that decides it, and nothing is run.

use std::collections::BTreeMap;

use super::choice::{self, Choice, Weighing};
use super::incremental::{NetChanges, stage_net_changes};
use super::refresh::Request;
use super::report::Method;
use super::temporary::Temporary;
use super::window::Window;
use super::{Event, Progress, SyncError};
use crate::delta::{Change, DeltaPlan, derive};
use crate::lake::{LakeError, SnapshotId, TableId, Transaction};
use crate::view::{Accumulated, Meaning, View, ViewId};

/// What a refresh would do.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// The way that it would take.
    pub method: Method,
    /// Why that one.
    pub reason: Option<String>,
    /// The changes cannot be read this time, though the view has a delta.
    pub past_lost: bool,
    /// The delta, for a view that has one: over the net changes where they were read, else over every table that may
    /// have changed.
    pub delta: Result<DeltaPlan, String>,
}

impl Forecast {
    fn of_other_layout() -> Forecast {
        let reason = super::OTHER_LAYOUT.to_owned();
        Forecast { method: Method::Recompute, reason: Some(reason.clone()), past_lost: false, delta: Err(reason) }
    }
}

/// Finds out how `view`, which holds `rows` rows, would be refreshed over `windows`. `distrust` says why its accumulator
/// tables cannot be built on.
pub(crate) fn forecast(
    transaction: &Transaction<'_>,
    view: &View,
    rows: u64,
    meaning: &Meaning,
    windows: &[Window],
    distrust: Option<&String>,
    temporary: &Temporary,
) -> Result<Forecast, SyncError> {
    let views = BTreeMap::new();
    let request = asking(view, windows, &views);
    let choice = choice::choose(transaction, view, &request, windows, distrust, &mut Vec::new())?;
    let (method, reason) = match choice {
        Choice::Noop => (Method::Noop, None),
        Choice::Recompute { reason } => (Method::Recompute, reason),
        Choice::Full { reason } => (Method::Full, reason),
        Choice::Incremental { whole } => {
            let Some(kept) = meaning.kept(view)? else { return Ok(Forecast::of_other_layout()) };
            let weighing = Weighing::new(transaction, view, windows, &whole, (meaning, kept), rows)?;
            match weighing.as_ref().and_then(Weighing::dearer_to_begin_with) {
                Some(reason) => (Method::Recompute, Some(reason)),
                None => return over_net_changes(transaction, view, kept, windows, &whole, weighing, temporary),
            }
        }
    };
    if let (None, Some(lost)) = (&view.class.obstacle, choice::lost_past(windows)) {
        return Ok(Forecast { method, reason, past_lost: true, delta: Err(lost) });
    }
    let changed: Vec<Window> = windows.iter().filter(|window| window.changed).cloned().collect();
    let delta = assumed_delta(transaction, view, meaning, &changed);
    Ok(Forecast { method, reason, past_lost: false, delta })
}

/// The delta of a view if all of `windows` held any change; why it has none, if it has none.
pub(crate) fn assumed_delta(
    transaction: &Transaction<'_>,
    view: &View,
    meaning: &Meaning,
    windows: &[Window],
) -> Result<DeltaPlan, String> {
    let assumed = windows.iter().map(|window| (window.key(transaction.alias()), Change::Mixed)).collect();
    match (&view.class.obstacle, &meaning.rel, &meaning.kept) {
        (Some(obstacle), _, _) => Err(obstacle.to_string()),
        (None, Some(_), Some(kept)) => derive(&kept.rel, &kept.accumulators, &assumed).map_err(|none| none.to_string()),
        (None, Some(_), None) => Err(super::OTHER_LAYOUT.to_owned()),
        (None, None, _) => Err("its plan cannot be decoded".to_owned()),
    }
}

/// Would a refresh of `view` over `windows` find anything to take in? The rows are read only where their number does not
/// tell: a change of columns that the view does not read is none.
pub(crate) fn takes_in(
    transaction: &Transaction<'_>,
    view: &View,
    windows: &[Window],
    temporary: &Temporary,
) -> Result<bool, SyncError> {
    if !windows.iter().any(|window| window.changed || window.misfit.is_some()) {
        return Ok(false);
    }
    let views = BTreeMap::new();
    let request = asking(view, windows, &views);
    let choice = choice::choose(transaction, view, &request, windows, None, &mut Vec::new())?;
    let Choice::Incremental { whole } = choice else { return Ok(choice != Choice::Noop) };
    for window in windows.iter().filter(|window| window.changed) {
        if transaction.count_at(&window.new.identity, window.to)? != window.source.rows {
            return Ok(true);
        }
    }
    Ok(net_changes(transaction, view, windows, &whole, temporary)?.rows() > 0)
}

/// A request for a refresh by whoever only asks.
fn asking<'a>(
    view: &'a View,
    windows: &[Window],
    views: &'a BTreeMap<TableId, (ViewId, Option<SnapshotId>)>,
) -> Request<'a> {
    Request {
        view: &view.id,
        name: &view.name,
        target: windows.iter().map(|window| window.to).max().unwrap_or(SnapshotId(0)),
        full: false,
        repair: false,
        dry_run: true,
        views,
        recompute: None,
        last_error: None,
    }
}

fn net_changes(
    transaction: &Transaction<'_>,
    view: &View,
    windows: &[Window],
    whole: &[TableId],
    temporary: &Temporary,
) -> Result<NetChanges, LakeError> {
    let tables: Vec<_> = windows.iter().map(|window| window.source.table).collect();
    transaction.read_all_files_of_late_buckets(&tables)?;
    let is_whole = |window: &Window| whole.contains(&window.source.table);
    let name = view.name.to_string();
    let progress = Progress { view: &name, observer: &|_: &Event<'_>| {} };
    stage_net_changes(transaction, windows, &is_whole, temporary, &progress)
}

/// The forecast for a view that is refreshed from its changes, unless they turn out to be none or too many.
fn over_net_changes(
    transaction: &Transaction<'_>,
    view: &View,
    kept: &Accumulated,
    windows: &[Window],
    whole: &[TableId],
    weighing: Option<Weighing<'_>>,
    temporary: &Temporary,
) -> Result<Forecast, SyncError> {
    let net = net_changes(transaction, view, windows, whole, temporary)?;
    let delta = derive(&kept.rel, &kept.accumulators, &net.changes)
        .map_err(|none| SyncError::NotIncremental { view: view.name.clone(), reason: none.to_string() })?;
    let dearer = weighing.and_then(|weighing| weighing.dearer(&delta, &net.changes));
    let (method, reason) = match dearer {
        _ if net.rows() == 0 => (Method::Noop, Some(super::NOTHING_USED.to_owned())),
        Some(reason) => (Method::Recompute, Some(reason)),
        None => (Method::Incremental, None),
    };
    Ok(Forecast { method, reason, past_lost: false, delta: Ok(delta) })
}
