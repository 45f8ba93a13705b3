use tool_runtime::tool;

#[tool_runtime::args]
struct Sum {
    a: i64,
    b: i64,
}

/// Adds.
#[tool]
async fn add(sum: &Sum) -> i64 {
    sum.a + sum.b
}

fn main() {}
