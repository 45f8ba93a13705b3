//! Measures ratios that hold on a busy machine.
//!
//! Each round runs every contender in turn, so that other load slows all of them alike. The minimum
//! over the rounds is the time with the least interference.

#![expect(clippy::indexing_slicing, reason = "a bench stops at the first failure")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times contenders against each other.
pub(crate) struct Rounds {
    rounds: usize,
    calls: u32,
    contenders: Vec<Box<dyn FnMut() -> Duration>>,
}

impl Rounds {
    /// Creates a measurement of `rounds` rounds with `calls` calls of each contender.
    ///
    /// Use many calls if one call takes no longer than reading the clock.
    pub(crate) fn new(rounds: usize, calls: u32) -> Self {
        Self { rounds, calls, contenders: Vec::new() }
    }

    /// Adds a contender. Its index is its position in the times.
    ///
    /// The result of a call is dropped within the measured time.
    pub(crate) fn add<T>(&mut self, mut call: impl FnMut() -> T + 'static) {
        let calls = self.calls;
        self.contenders.push(Box::new(move || {
            let started = Instant::now();
            for _ in 0..calls {
                drop(black_box(call()));
            }
            started.elapsed()
        }));
    }

    /// Returns the least nanoseconds of one call, for each contender.
    pub(crate) fn run(&mut self) -> Vec<f64> {
        let mut least = vec![Duration::MAX; self.contenders.len()];
        for round in 0..self.rounds {
            // The order rotates, so that no contender always follows the same one.
            for index in 0..self.contenders.len() {
                let index = (index + round) % self.contenders.len();
                least[index] = least[index].min(self.contenders[index]());
            }
        }
        least.iter().map(|least| least.as_secs_f64() * 1e9 / f64::from(self.calls)).collect()
    }
}
