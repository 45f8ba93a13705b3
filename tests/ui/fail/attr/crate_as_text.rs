use tool_runtime::tool;

/// Adds.
#[tool(crate = "tool_runtime")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
