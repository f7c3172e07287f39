//! Arms the fail points of a test build (feature `failpoints`): `FAILPOINTS` as the crate `fail` reads it, and
//! `DUCKLAKE_IVM_ABORT_AT=NAME` to end at a point as if the process were killed there, with nothing cleaned up.

use fail::FailScenario;

const ABORT_AT: &str = "DUCKLAKE_IVM_ABORT_AT";

/// Arms what the environment names, until the scenario is dropped.
pub(super) fn arm() -> FailScenario<'static> {
    let scenario = FailScenario::setup();
    if let Ok(point) = std::env::var(ABORT_AT)
        && let Err(error) = fail::cfg_callback(point, || std::process::abort())
    {
        tracing::error!(%error, "{ABORT_AT} is not understood");
    }
    scenario
}
