use tool_runtime::tool;

fn is_online() -> bool {
    true
}

/// Adds.
#[tool(available = is_online)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
