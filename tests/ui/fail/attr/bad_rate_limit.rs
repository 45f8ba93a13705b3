use tool_runtime::tool;

/// Adds.
#[tool(rate_limit = "10 per minute")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
