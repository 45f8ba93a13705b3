//! No name is taken from the prelude.
#![no_implicit_prelude]

#[::tool_runtime::args]
struct Sum {
    a: i64,
    b: i64,
}

/// Adds.
#[::tool_runtime::tool(effect = "none", idempotent, timeout = "1s")]
async fn add(sum: Sum, ctx: &::tool_runtime::ToolContext) -> i64 {
    let _ = ctx;
    sum.a + sum.b
}

fn main() {
    let _ = ::tool_runtime::tools![add];
}
