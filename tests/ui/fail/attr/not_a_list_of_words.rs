use tool_runtime::tool;

/// Adds.
#[tool("Adds two numbers.")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
