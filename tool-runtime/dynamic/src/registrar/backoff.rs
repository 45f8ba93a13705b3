//! The delays between attempts.

use std::time::Duration;

/// Doubles from the first delay up to the longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first.min(longest), longest }
    }

    /// Returns the delay before the next attempt.
    pub(super) fn next_delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = delay.saturating_mul(2).min(self.longest);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let delays: Vec<_> = (0..5).map(|_| backoff.next_delay().as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 5, 5]);
    }
}
