//! Generated code uses no name of the prelude.
#![no_implicit_prelude]

// The derive of schemars uses this name of the prelude; generated code of this crate uses none.
use ::std::convert::Into as _;

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

#[::core::prelude::v1::test]
fn generated_code_uses_no_prelude() {
    let _ = ::tool_runtime::tools![add];
}
