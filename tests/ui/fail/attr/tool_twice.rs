use tool_runtime::tool;

/// Tells the time.
#[tool(effect = "read")]
#[tool(idempotent)]
async fn now() -> &'static str {
    "noon"
}

fn main() {}
