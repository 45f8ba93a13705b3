//! One clock for a run: its times never go backwards, and to read it once is enough.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::micros::in_full;

/// What the clock on the wall showed once, and what has passed since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    since_1970: Duration,
    since: Instant,
}

impl Clock {
    /// What the wall shows now is what counts from here on.
    pub(crate) fn start() -> Self {
        // A clock that is set to before 1970 tells nothing.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { since_1970, since: Instant::now() }
    }

    /// The time on the wall at this moment, to the microsecond.
    #[inline]
    pub(crate) fn at(&self, moment: Instant) -> SystemTime {
        let passed = moment.saturating_duration_since(self.since);
        UNIX_EPOCH + in_full(self.since_1970.saturating_add(passed))
    }

    /// The time on the wall now.
    pub(crate) fn now(&self) -> SystemTime {
        self.at(Instant::now())
    }
}
