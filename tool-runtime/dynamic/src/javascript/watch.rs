//! The time limit and the cancellation of a script.

use std::cell::Cell;
use std::time::Instant;

use tool_core::CancellationToken;

/// Why a script was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Deadline,
    Cancelled,
}

/// Decides whether a script has to stop. The engine asks it regularly while code runs.
pub(super) struct Watch {
    deadline: Instant,
    cancellation: CancellationToken,
    // The exception of an interrupt can be lost in a microtask, so the reason is kept here.
    stop: Cell<Option<Stop>>,
}

impl Watch {
    pub(super) fn new(deadline: Instant, cancellation: CancellationToken) -> Self {
        Self { deadline, cancellation, stop: Cell::new(None) }
    }

    /// Returns why the script has to stop, from the first time on.
    pub(super) fn stop(&self) -> Option<Stop> {
        if self.stop.get().is_none() {
            if self.cancellation.is_cancelled() {
                self.stop.set(Some(Stop::Cancelled));
            } else if Instant::now() >= self.deadline {
                self.stop.set(Some(Stop::Deadline));
            }
        }
        self.stop.get()
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }
}
