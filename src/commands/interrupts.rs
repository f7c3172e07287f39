//! Ctrl-C and SIGTERM: the running statement is interrupted, what it was part of rolls back, and the program ends.
//!
//! A second signal ends the program at once; a transaction that is open then is never committed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the running statement is interrupted once a signal came: the signal may fall between two statements, and
/// an interrupt is about the running one only.
const PERIOD: Duration = Duration::from_millis(20);

type Interrupt = Box<dyn Fn() + Send>;

#[derive(Default)]
struct State {
    signal: Option<Signal>,
    /// Interrupts the statement that the lake runs; none while no lake is open.
    interrupt: Option<Interrupt>,
}

/// A signal that asks the program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// What `kill` and service managers send.
    Terminate,
}

impl Signal {
    /// The exit code by which shells know it: 128 and the signal's number.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

/// Whether the program was asked to end.
#[derive(Clone, Default)]
pub(super) struct Interrupts {
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Interrupts {
    /// Begins to listen, on a thread of its own.
    pub(super) fn listen() -> std::io::Result<Interrupts> {
        let interrupts = Interrupts::default();
        let heard = interrupts.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if let Err(error) = runtime.block_on(heard.handle()) {
                tracing::warn!(%error, "signals are not handled");
            }
        })?;
        Ok(interrupts)
    }

    async fn handle(&self) -> std::io::Result<()> {
        let mut signals = Signals::new()?;
        let first = signals.next().await;
        self.begin(first);
        let mut ticks = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                second = signals.next() => std::process::exit(i32::from(second.exit_code())),
                _ = ticks.tick() => {
                    if let Some(interrupt) = &self.lock().interrupt {
                        interrupt();
                    }
                }
            }
        }
    }

    /// Takes note of the first signal.
    fn begin(&self, signal: Signal) {
        let mut state = self.lock();
        state.signal = Some(signal);
        self.shared.1.notify_all();
        if state.interrupt.is_none() {
            // Nothing that could be interrupted is open, so nothing has to roll back either.
            std::process::exit(i32::from(signal.exit_code()));
        }
    }

    /// The signal that came, if one did.
    pub(super) fn signal(&self) -> Option<Signal> {
        self.lock().signal
    }

    /// Lets signals call `interrupt` until the guard is dropped.
    pub(super) fn attach(&self, interrupt: impl Fn() + Send + 'static) -> Attached<'_> {
        self.lock().interrupt = Some(Box::new(interrupt));
        Attached { interrupts: self }
    }

    /// Waits for `duration`, or for a signal.
    pub(super) fn wait(&self, duration: Duration) -> Option<Signal> {
        let _attached = self.attach(|| {});
        let until = Instant::now() + duration;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.signal.is_some() || left.is_zero() {
                return state.signal;
            }
            let waited = self.shared.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, signals interrupt what was attached.
pub(super) struct Attached<'a> {
    interrupts: &'a Interrupts,
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        self.interrupts.lock().interrupt = None;
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the Unix twin can fail")]
    fn new() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_a_signal() {
        let interrupts = Interrupts::default();
        assert_eq!(interrupts.wait(Duration::ZERO), None);
        let waiting = interrupts.clone();
        let waiter = std::thread::spawn(move || waiting.wait(Duration::from_secs(60)));
        while interrupts.lock().interrupt.is_none() {
            std::thread::yield_now();
        }
        interrupts.begin(Signal::Terminate);
        assert_eq!(waiter.join().unwrap(), Some(Signal::Terminate));
    }
}
