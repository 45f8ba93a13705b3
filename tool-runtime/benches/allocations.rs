//! How often one call asks for memory. A binary of its own: counting slows every call down.

#![allow(clippy::print_stdout, reason = "its figures are its output")]

mod contenders;

use allocation_counter::measure;
use contenders::{COUNTS, args_struct, boxed, floor, params};

fn main() {
    println!("| per call | tools | allocations | bytes |");
    println!("|---|---|---|---|");
    count("floor", 1, floor());
    for tools in COUNTS {
        count("boxed", tools, boxed(tools));
        count("params", tools, params(tools));
        count("args", tools, args_struct(tools));
    }
}

fn count(name: &str, tools: usize, mut call: impl FnMut() -> String) {
    let counted = measure(|| drop(call()));
    println!("| {name} | {tools} | {} | {} |", counted.count_total, counted.bytes_total);
}
