//! Generated code triggers no lints of a strict crate.
#![deny(missing_docs, unused, unreachable_pub, nonstandard_style, rust_2018_idioms)]

use tool_runtime::{args, tool, tools};

/// What to add.
#[args]
#[derive(Debug)]
pub struct Sum {
    /// The first.
    pub a: i64,
    /// The second.
    pub b: i64,
}

/// Adds.
#[tool]
pub async fn add(sum: Sum) -> i64 {
    sum.a + sum.b
}

/// Adds, on some machines.
#[tool]
#[cfg(any())]
pub async fn nowhere(sum: Missing) -> i64 {
    sum.a
}

#[test]
fn generated_code_triggers_no_strict_lint() {
    let _ = tools![add];
}
