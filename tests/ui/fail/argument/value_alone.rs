use tool_runtime::tool;

/// Adds.
#[tool]
async fn add(a: i64, #[arg(3)] b: i64) -> i64 {
    a + b
}

fn main() {}
