use tool_runtime::tool;

/// Adds.
#[tool]
async fn add<const N: usize>(list: Vec<i64>) -> i64 {
    list.iter().take(N).sum()
}

fn main() {}
