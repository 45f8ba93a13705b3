use tool_runtime::tool;

/// Adds.
#[tool(available = "is_online")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
