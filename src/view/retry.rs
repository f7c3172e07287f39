//! Beginning a transaction anew after a conflict.

use std::time::Duration;

use backon::{BlockingRetryable, ExponentialBuilder};

use crate::lake::{Lake, LakeError};

/// How often work is begun anew before its error is the user's.
const RETRIES: usize = 8;

/// Runs `work` until it succeeds, fails for good, or has failed too often; between attempts it waits, longer each time
/// and not all processes alike. `notify` hears of each attempt that failed.
pub(crate) fn retrying<T, E>(
    work: impl FnMut() -> Result<T, E>,
    retryable: impl Fn(&E) -> bool,
    mut notify: impl FnMut(&E, Duration),
) -> Result<T, E> {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(Duration::from_secs(2))
        .with_max_times(RETRIES)
        .with_jitter();
    work.retry(pauses).when(|error| retryable(error)).notify(|error, pause| notify(error, pause)).call()
}

/// Runs `work`, and once more if a file was missing and snapshots have come or gone meanwhile: then maintenance may have
/// replaced the file. A file that is missing for any other reason stays so, and no waiting helps.
/// `vanished` finds the lake's error in that of the work.
pub(crate) fn with_fresh_files<T, E: From<LakeError>>(
    lake: &Lake,
    mut work: impl FnMut() -> Result<T, E>,
    vanished: impl Fn(&mut E) -> Option<&mut LakeError>,
) -> Result<T, E> {
    let before = lake.snapshot_mark()?;
    let mut outcome = work();
    if let Err(error) = &mut outcome
        && matches!(vanished(error), Some(LakeError::VanishedFile { .. }))
        && lake.snapshot_mark()? != before
    {
        outcome = work();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_tried_again_and_an_error_is_not() {
        let mut attempts = 0;
        let result = retrying(
            || {
                attempts += 1;
                if attempts < 3 { Err("conflict") } else { Ok(attempts) }
            },
            |error| *error == "conflict",
            |_, _| {},
        );
        assert_eq!(result, Ok(3));
        let mut attempts = 0;
        let result: Result<(), _> = retrying(
            || {
                attempts += 1;
                Err("broken")
            },
            |error| *error == "conflict",
            |_, _| {},
        );
        assert_eq!((result, attempts), (Err("broken"), 1));
    }
}
