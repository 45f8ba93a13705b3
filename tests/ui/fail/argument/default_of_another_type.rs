use tool_runtime::tool;

/// Adds one.
#[tool]
async fn next(#[arg(default = true)] number: i64) -> i64 {
    number + 1
}

fn main() {}
