use tool_runtime::tool;

struct Sum(i64);

/// Adds.
#[tool]
async fn add(a: i64, b: i64) -> Sum {
    Sum(a + b)
}

fn main() {}
