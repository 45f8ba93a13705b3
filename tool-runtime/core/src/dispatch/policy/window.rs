use std::collections::VecDeque;
use std::time::Duration;

use crate::tool::RateLimit;

/// The starts of calls within the span of one rate limit. Times are offsets from one fixed instant.
///
/// A token bucket, the usual choice of rate limiters, admits almost twice the limit in the span
/// after a pause: first the full bucket, then its refill. A sliding window never admits more than
/// the limit in any span, wherever the span begins.
#[derive(Debug)]
pub(in crate::dispatch) struct SlidingWindow {
    limit: RateLimit,
    /// The start times, oldest first; at most as many as the limit allows in one span.
    starts: VecDeque<Duration>,
}

impl SlidingWindow {
    pub(in crate::dispatch) fn new(limit: RateLimit) -> Self {
        // With a limit of zero every call would wait forever.
        let limit = RateLimit { times: limit.times.max(1), ..limit };
        Self { limit, starts: VecDeque::new() }
    }

    /// Returns the time until one more call may start, or `None` if it may start now.
    pub(in crate::dispatch) fn delay(&mut self, now: Duration) -> Option<Duration> {
        while let Some(oldest) = self.starts.front()
            && now >= oldest.saturating_add(self.limit.per)
        {
            self.starts.pop_front();
        }
        let max = usize::try_from(self.limit.times).unwrap_or(usize::MAX);
        let excess = self.starts.len().checked_sub(max)?;
        let free_at = self.starts.get(excess)?.saturating_add(self.limit.per);
        Some(free_at.saturating_sub(now))
    }

    /// Whether any start counts; without one, the window equals a new one.
    pub(in crate::dispatch) fn has_starts(&self, now: Duration) -> bool {
        self.starts.back().is_some_and(|last| self.counts(*last, now))
    }

    /// Records the start of a call.
    pub(in crate::dispatch) fn record(&mut self, now: Duration) {
        self.starts.push_back(now);
    }

    /// Whether a start that was recorded at `at` still counts.
    pub(in crate::dispatch) fn counts(&self, at: Duration, now: Duration) -> bool {
        now < at.saturating_add(self.limit.per)
    }

    /// Moves a start from `at` to `now`.
    ///
    /// If the start still [counts](Self::counts), the move never makes a span exceed the limit:
    /// this start was counted whenever a later call was admitted.
    pub(in crate::dispatch) fn postpone(&mut self, at: Duration, now: Duration) {
        self.remove(at);
        self.record(now);
    }

    /// Removes a start that was recorded at `at`, for a call that did not start.
    pub(in crate::dispatch) fn remove(&mut self, at: Duration) {
        if let Some(index) = self.starts.iter().rposition(|start| *start == at) {
            self.starts.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::SlidingWindow;
    use crate::tool::RateLimit;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn window(times: u32) -> SlidingWindow {
        SlidingWindow::new(RateLimit { times, per: s(10) })
    }

    #[test]
    fn full_window_delays_until_its_oldest_start_expires() {
        let mut window = window(2);
        for (now, delay) in [(0, None), (3, None), (4, Some(s(6))), (9, Some(s(1))), (10, None)] {
            assert_eq!(window.delay(s(now)), delay, "at {now}");
            if delay.is_none() {
                window.record(s(now));
            }
        }
        assert_eq!(window.delay(s(10)), Some(s(3)));
        window.remove(s(3));
        assert_eq!(window.delay(s(10)), None);
        window.remove(s(4));
        window.record(s(10));
        assert_eq!(window.delay(s(10)), Some(s(10)));
    }

    #[test]
    fn limit_of_zero_admits_one_call() {
        let mut window = window(0);
        assert_eq!(window.delay(s(0)), None);
        window.record(s(0));
        assert_eq!(window.delay(s(0)), Some(s(10)));
    }

    /// A small pseudo-random generator, so that the property test needs no crate.
    fn random_numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        }
    }

    #[test]
    fn no_span_holds_more_starts_than_the_limit() {
        for seed in 0..200 {
            let mut next = random_numbers(seed);
            let times = 1 + next(5) as u32;
            let mut window = window(times);
            let (mut now, mut starts) = (Duration::ZERO, Vec::new());
            for _ in 0..200 {
                now += Duration::from_millis(next(6_000));
                // Half of the calls wait, the other half give up.
                match window.delay(now) {
                    Some(delay) if next(2) == 0 => now += delay,
                    Some(_) => continue,
                    None => {}
                }
                assert_eq!(window.delay(now), None);
                window.record(now);
                if next(8) == 0 {
                    window.remove(now);
                } else {
                    starts.push(now);
                }
            }
            for from in &starts {
                let in_span = starts.iter().filter(|at| *from <= **at && **at < *from + s(10));
                assert!(in_span.count() <= times as usize);
            }
        }
    }
}
