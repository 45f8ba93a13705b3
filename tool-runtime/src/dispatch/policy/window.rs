use std::collections::VecDeque;
use std::time::Duration;

use crate::tool::RateLimit;

/// When calls began, as far back as it matters. Times are spans since one fixed moment.
///
/// A bucket of tokens, as limiters commonly have, lets almost twice as many through in the span after
/// a pause as it allows: first the full bucket, then what flows in. This one never lets more through in
/// any span, wherever it begins.
#[derive(Debug)]
pub(in crate::dispatch) struct Window {
    limit: RateLimit,
    /// Oldest first, and no more than may be in one span.
    begun: VecDeque<Duration>,
}

impl Window {
    pub(in crate::dispatch) fn new(limit: RateLimit) -> Self {
        // Without a single call every one would wait for ever.
        let limit = RateLimit { times: limit.times.max(1), ..limit };
        Self { limit, begun: VecDeque::new() }
    }

    /// How long until one more may begin; none where it may now.
    pub(in crate::dispatch) fn wait(&mut self, now: Duration) -> Option<Duration> {
        while let Some(oldest) = self.begun.front()
            && now >= oldest.saturating_add(self.limit.per)
        {
            self.begun.pop_front();
        }
        let most = usize::try_from(self.limit.times).unwrap_or(usize::MAX);
        let over = self.begun.len().checked_sub(most)?;
        let free = self.begun.get(over)?.saturating_add(self.limit.per);
        Some(free.saturating_sub(now))
    }

    /// One begins.
    pub(in crate::dispatch) fn note(&mut self, now: Duration) {
        self.begun.push_back(now);
    }

    /// Whether one that was noted at this time counts still.
    pub(in crate::dispatch) fn holds(&self, at: Duration, now: Duration) -> bool {
        now < at.saturating_add(self.limit.per)
    }

    /// One that was noted at this time begins only now. Where it [holds](Self::holds), no span has more for it: those
    /// that were let through since were with it.
    pub(in crate::dispatch) fn put_off(&mut self, at: Duration, now: Duration) {
        self.forget(at);
        self.note(now);
    }

    /// One that was noted at this time did not begin.
    pub(in crate::dispatch) fn forget(&mut self, at: Duration) {
        if let Some(place) = self.begun.iter().rposition(|begun| *begun == at) {
            self.begun.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Window;
    use crate::tool::RateLimit;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn window(times: u32) -> Window {
        Window::new(RateLimit { times, per: s(10) })
    }

    #[test]
    fn the_oldest_of_a_full_span_is_waited_for() {
        let mut window = window(2);
        for (now, wait) in [(0, None), (3, None), (4, Some(s(6))), (9, Some(s(1))), (10, None)] {
            assert_eq!(window.wait(s(now)), wait, "at {now}");
            if wait.is_none() {
                window.note(s(now));
            }
        }
        assert_eq!(window.wait(s(10)), Some(s(3)));
        window.forget(s(3));
        assert_eq!(window.wait(s(10)), None);
        window.forget(s(4));
        window.note(s(10));
        assert_eq!(window.wait(s(10)), Some(s(10)));
    }

    #[test]
    fn none_at_all_is_one() {
        let mut window = window(0);
        assert_eq!(window.wait(s(0)), None);
        window.note(s(0));
        assert_eq!(window.wait(s(0)), Some(s(10)));
    }

    /// A generator of one's own, so that the property needs no crate.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        }
    }

    #[test]
    fn no_span_holds_more_than_it_may() {
        for seed in 0..200 {
            let mut next = numbers(seed);
            let times = 1 + next(5) as u32;
            let mut window = window(times);
            let (mut now, mut begun) = (Duration::ZERO, Vec::new());
            for _ in 0..200 {
                now += Duration::from_millis(next(6_000));
                // Half of them wait for their turn, half go away.
                match window.wait(now) {
                    Some(wait) if next(2) == 0 => now += wait,
                    Some(_) => continue,
                    None => {}
                }
                assert_eq!(window.wait(now), None);
                window.note(now);
                if next(8) == 0 {
                    window.forget(now);
                } else {
                    begun.push(now);
                }
            }
            for from in &begun {
                let within = begun.iter().filter(|at| *from <= **at && **at < *from + s(10));
                assert!(within.count() <= times as usize);
            }
        }
    }
}
