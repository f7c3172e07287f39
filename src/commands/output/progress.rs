//! What is going on, on a terminal, once it takes longer than a person waits without asking.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Output, Verbosity, is_watched};

/// How long work may take before it is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bar on stderr that appears after two seconds, on a terminal only.
pub(in crate::commands) struct Progress {
    bar: ProgressBar,
    /// Closed when the work is done, which ends the thread that waits to show the bar.
    _done: Sender<()>,
}

impl Progress {
    /// Work begins.
    pub(in crate::commands) fn begin(output: &Output) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:20} {pos}/{len} {prefix} {wide_msg} {elapsed}")
        {
            bar.set_style(style);
        }
        let (done, ended) = mpsc::channel::<()>();
        if is_watched() && output.verbosity == Verbosity::Normal {
            let shown = bar.clone();
            std::thread::spawn(move || {
                if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    shown.enable_steady_tick(Duration::from_millis(200));
                }
            });
        }
        Progress { bar, _done: done }
    }

    /// How many views there are.
    pub(in crate::commands) fn total(&self, views: usize) {
        self.bar.set_length(views as u64);
    }

    /// Work on one view begins.
    pub(in crate::commands) fn view(&self, name: &str) {
        self.bar.set_prefix(name.to_owned());
        self.bar.set_message("");
    }

    /// What is done for it now.
    pub(in crate::commands) fn step(&self, step: &str) {
        self.bar.set_message(step.to_owned());
    }

    /// One more view is done.
    pub(in crate::commands) fn advance(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
