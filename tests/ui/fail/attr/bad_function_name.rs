use tool_runtime::tool;

/// Adds.
#[tool]
async fn addiere_größen(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
