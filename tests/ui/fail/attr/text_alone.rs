use tool_runtime::tool;

/// Tells the time.
#[tool("read")]
async fn now() -> &'static str {
    "noon"
}

fn main() {}
