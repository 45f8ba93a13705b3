//! How often one call asks for memory. A binary of its own: counting slows every call down.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that can't go on should stop, and its figures are its output"
)]

mod contenders;
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
    for described in ["small".to_owned(), "ten KB ".repeat(1_463)] {
        list(&described);
    }
}

/// The available definitions of 1,000 tools.
fn list(described: &str) {
    let snapshot = listed::registry(1_000, described).snapshot();
    let definition = snapshot.definition("tool_7").expect("it is registered");
    let schema = definition.parameters.as_value().to_string().len();
    for listing in ["first", "next"] {
        let counted = measure(|| assert_eq!(snapshot.definitions().len(), 1_000));
        let (allocations, bytes) = (counted.count_total, counted.bytes_total);
        println!("| {listing} | {schema} | {allocations} | {bytes} |");
    }
}

fn count(name: &str, tools: usize, mut call: impl FnMut() -> String) {
    let counted = measure(|| drop(call()));
    println!("| {name} | {tools} | {} | {} |", counted.count_total, counted.bytes_total);
}
