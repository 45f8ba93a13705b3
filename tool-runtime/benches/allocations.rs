//! Counts the memory allocations of one call.
//!
//! This is a separate binary because counting slows down every call.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "support/contenders.rs"]
mod contenders;
#[path = "support/listed.rs"]
mod listed;

use allocation_counter::measure;
use contenders::{COUNTS, args_struct, boxed, floor, params, pipeline};

fn main() {
    println!("| per call | tools | allocations | bytes |");
    println!("|---|---|---|---|");
    count("floor", 1, floor());
    for tools in COUNTS {
        count("boxed", tools, boxed(tools));
        count("params", tools, params(tools));
        count("args", tools, args_struct(tools));
        count("pipeline", tools, pipeline(tools));
    }
    println!("\n| listing | bytes of a schema | allocations | bytes |");
    println!("|---|---|---|---|");
    for description in ["small".to_owned(), "ten KB ".repeat(1_463)] {
        list(&description);
    }
}

/// Counts the allocations of listing the available definitions of 1,000 tools.
fn list(description: &str) {
    let snapshot = listed::registry(1_000, description).snapshot();
    let definition = snapshot.definition("tool_7").expect("the tool is registered");
    let schema = definition.parameters.as_value().to_string().len();
    for listing in ["first", "next"] {
        let counted = measure(|| assert_eq!(snapshot.definitions().len(), 1_000));
        let (allocations, bytes) = (counted.count_total, counted.bytes_total);
        println!("| {listing} | {schema} | {allocations} | {bytes} |");
    }
}

/// Counts the allocations of one call.
fn count(name: &str, tools: usize, mut call: impl FnMut() -> String) {
    let counted = measure(|| drop(call()));
    println!("| {name} | {tools} | {} | {} |", counted.count_total, counted.bytes_total);
}
