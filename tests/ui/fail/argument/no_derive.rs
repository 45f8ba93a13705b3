use tool_runtime::tool;

struct Sum {
    a: i64,
    b: i64,
}

/// Adds.
#[tool]
async fn add(sum: Sum) -> i64 {
    sum.a + sum.b
}

fn main() {}
