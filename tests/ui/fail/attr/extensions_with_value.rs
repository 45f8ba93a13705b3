use tool_runtime::tool;

struct Database;

/// Adds.
#[tool(extensions = Database)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
