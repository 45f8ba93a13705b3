use tool_runtime::tool;

fn is_small(a: i64) -> bool {
    a < 100
}

/// Doubles.
#[tool(check = is_small)]
async fn double(a: i64) -> i64 {
    2 * a
}

fn main() {}
