use tool_runtime::tool;

/// Adds.
#[tool(idempotent, max_retries = 0)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
