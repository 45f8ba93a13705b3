use tool_runtime::tool;

/// Adds.
#[tool(check = "is_small")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
