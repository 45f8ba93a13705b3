//! Ratios that hold on a busy machine: every round runs each contender in turn, so that all see
//! the same weather, and the minimum over the rounds is the one with the least of it.

#![allow(clippy::indexing_slicing, reason = "a bench that can't go on should stop")]

use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 1_000;
const CALLS: u32 = 1_000;

/// Times the contenders against each other.
#[derive(Default)]
pub(crate) struct Rounds(Vec<Box<dyn FnMut() -> Duration>>);

impl Rounds {
    /// Adds a contender; its number is its place in the times. What a call gives is dropped
    /// within its time.
    pub(crate) fn add<T>(&mut self, mut call: impl FnMut() -> T + 'static) {
        self.0.push(Box::new(move || {
            let started = Instant::now();
            for _ in 0..CALLS {
                drop(black_box(call()));
            }
            started.elapsed()
        }));
    }

    /// The nanoseconds that one call takes, for each contender.
    pub(crate) fn run(&mut self) -> Vec<f64> {
        let mut least = vec![Duration::MAX; self.0.len()];
        for round in 0..ROUNDS {
            // Nobody always follows the same one.
            for place in 0..self.0.len() {
                let place = (place + round) % self.0.len();
                least[place] = least[place].min(self.0[place]());
            }
        }
        least.iter().map(|least| least.as_secs_f64() * 1e9 / f64::from(CALLS)).collect()
    }
}
