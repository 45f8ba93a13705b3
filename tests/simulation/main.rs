//! The laws of calls, by simulation: one result for each call, and one effect at most.
//!
//! A history is a run whose calls execute here and on workers. Its processes crash, freeze and are
//! delayed at each point at which they wait: for a model, a store, a queue or an effect. Messages
//! that a dead process has sent still arrive. The clock is simulated, and the seed of a history
//! decides everything in it, so that each failure can be repeated:
//!
//! ```text
//! SEED=17 cargo test -p tool-tests --test simulation laws -- --nocapture
//! ```
//!
//! `history.rs` runs a history; `process.rs` is what can fail, `engine.rs` the queue, `tools.rs`
//! both halves of the tools, and `world.rs` what an observer of all machines would have seen.

mod engine;
mod history;
mod process;
mod tools;
mod world;

use std::ops::Range;

use history::run_history;
use world::{Mutation, Summary};

/// Returns the number in an environment variable.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs the histories of these seeds, until one of them breaks a law.
fn run_histories(seeds: Range<u64>, mutation: Mutation) -> Result<Summary, String> {
    let mut summary = Summary::default();
    for seed in seeds {
        summary.add(run_history(seed, mutation).map_err(|law| format!("seed {seed}: {law}"))?);
    }
    Ok(summary)
}

#[test]
fn laws_hold_whatever_fails() {
    let count = number("HISTORIES", 500);
    match number("SEED", u64::MAX) {
        u64::MAX => {
            let summary = run_histories(0..count, Mutation::None).unwrap();
            println!("{count} histories: {summary:?}");
            assert!(summary.has_everything(), "{summary:?}");
        }
        seed => println!("{:?}", run_history(seed, Mutation::None).unwrap()),
    }
}

/// The simulation finds what each protection prevents.
#[test]
fn laws_break_without_a_protection() {
    for mutation in Mutation::ALL {
        let law = run_histories(0..1_000, mutation).expect_err("a history breaks a law");
        println!("{mutation:?}: {law}");
    }
}
