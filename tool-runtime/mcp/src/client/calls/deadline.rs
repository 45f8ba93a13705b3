//! Deadlines of time limits of any length.

use std::time::Duration;

use tokio::time::Instant;

/// The length of a limit beyond the range of the clock: longer than any program runs.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Returns the end of a limit that begins now. `Duration::MAX` is no limit.
pub(crate) fn after(limit: Duration) -> Instant {
    later(Instant::now(), limit)
}

/// Returns the time at which a span that begins at `start` ends.
pub(crate) fn later(start: Instant, span: Duration) -> Instant {
    start.checked_add(span).unwrap_or_else(|| start + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_that_no_clock_reaches_ends_far_in_the_future() {
        let start = Instant::now();
        assert_eq!(later(start, Duration::from_secs(3)), start + Duration::from_secs(3));
        for span in [Duration::MAX, Duration::MAX / 2, Duration::from_secs(u64::MAX)] {
            assert!(later(start, span) >= start + Duration::from_secs(3600), "{span:?}");
            assert!(later(later(start, span), Duration::from_secs(1)) > start, "{span:?}");
        }
    }
}
