use tool_runtime::tool;

/// Adds.
#[tool]
async fn add(#[arg(default = 7)] _: i64) -> i64 {
    7
}

fn main() {}
