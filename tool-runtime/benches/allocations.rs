//! How often one call asks for memory. A binary of its own: counting slows every call down.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench that can't go on should stop, and its figures are its output"
)]

mod contenders;

use allocation_counter::measure;
use contenders::{ANSWER, args_struct, boxed, floor, params};

fn main() {
    println!("| per call | allocations | bytes |");
    println!("|---|---|---|");
    count("floor", floor());
    count("boxed", boxed(100));
    count("params", params(100));
    count("args", args_struct(100));
}

fn count(name: &str, mut call: impl FnMut() -> String) {
    // The first call of a tool builds what all others share.
    assert_eq!(call(), ANSWER);
    let counted = measure(|| drop(call()));
    println!("| {name} | {} | {} |", counted.count_total, counted.bytes_total);
}
