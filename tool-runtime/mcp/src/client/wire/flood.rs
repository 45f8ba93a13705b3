//! A rate limit for messages, so that a flood is read slowly instead of processed at once.

use std::time::Duration;

use tokio::time::Instant;

/// Limits how many messages are read per time. What exceeds the limit is read later.
#[derive(Debug)]
pub(crate) struct MessageBudget {
    burst: u32,
    interval: Duration,
    /// When the budget is full again.
    full_at: Instant,
}

impl MessageBudget {
    /// Creates a budget that allows `burst` messages at once, and one more in each interval.
    pub(crate) fn new(burst: u32, interval: Duration) -> Self {
        Self { burst, interval, full_at: Instant::now() }
    }

    /// Takes one message from the budget.
    pub(crate) fn take(&mut self, now: Instant) {
        self.full_at = self.full_at.max(now) + self.interval;
    }

    /// Returns when the next message may be read, if that is later.
    pub(crate) fn wait_until(&self, now: Instant) -> Option<Instant> {
        let at = self.full_at.checked_sub(self.interval * self.burst)?;
        (at > now).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_read_at_once_and_the_rest_one_per_interval() {
        let interval = Duration::from_millis(10);
        let mut budget = MessageBudget::new(3, interval);
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(budget.wait_until(now), None);
            budget.take(now);
        }
        assert_eq!(budget.wait_until(now), None);
        budget.take(now);
        let later = budget.wait_until(now).unwrap();
        assert!(later > now && later <= now + interval);
        assert_eq!(budget.wait_until(now + interval * 4), None);
    }
}
