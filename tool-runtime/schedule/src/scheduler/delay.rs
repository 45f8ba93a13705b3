//! The delays after failures: before a retry, and before the next occurrence.

use jiff::{SignedDuration, Timestamp};

/// The delay after the first failure. It doubles with each further one in succession.
const FIRST: SignedDuration = SignedDuration::from_secs(30);

/// The longest delay.
pub(super) const LONGEST: SignedDuration = SignedDuration::from_hours(1);

/// Returns the delay after this many failures in succession.
pub(super) fn delay(failures: u32) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(20);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

/// Returns the time that is this much later, at most the last one.
pub(super) fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}
