//! Ratios that hold on a busy machine: every round runs each contender in turn, so that all see
//! the same weather, and the minimum over the rounds is the one with the least of it.

#![expect(clippy::indexing_slicing, reason = "a bench that can't go on should stop")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times the contenders against each other.
pub(crate) struct Rounds {
    rounds: usize,
    calls: u32,
    contenders: Vec<Box<dyn FnMut() -> Duration>>,
}

impl Rounds {
    /// `rounds` of `calls` of each contender: of many calls where one takes no longer than reading
    /// the clock.
    pub(crate) fn new(rounds: usize, calls: u32) -> Self {
        Self { rounds, calls, contenders: Vec::new() }
    }

    /// Adds a contender; its number is its place in the times. What a call gives is dropped
    /// within its time.
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

    /// The nanoseconds that one call takes, for each contender.
    pub(crate) fn run(&mut self) -> Vec<f64> {
        let mut least = vec![Duration::MAX; self.contenders.len()];
        for round in 0..self.rounds {
            // Nobody always follows the same one.
            for place in 0..self.contenders.len() {
                let place = (place + round) % self.contenders.len();
                least[place] = least[place].min(self.contenders[place]());
            }
        }
        least.iter().map(|least| least.as_secs_f64() * 1e9 / f64::from(self.calls)).collect()
    }
}
