//! The clock of a run: its times never go backwards.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::micros::truncate;

/// A system time and the instant at which it was read; later times are computed from both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    since_1970: Duration,
    start: Instant,
}

impl Clock {
    /// Creates a clock by reading the system time.
    pub(crate) fn start() -> Self {
        // A system clock set to before 1970 counts as 1970.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { since_1970, start: Instant::now() }
    }

    /// Returns the system time at this instant, in whole microseconds.
    pub(crate) fn at(&self, instant: Instant) -> SystemTime {
        let elapsed = instant.saturating_duration_since(self.start);
        UNIX_EPOCH + truncate(self.since_1970.saturating_add(elapsed))
    }

    /// Returns the current system time, in whole microseconds.
    pub(crate) fn now(&self) -> SystemTime {
        self.at(Instant::now())
    }
}
