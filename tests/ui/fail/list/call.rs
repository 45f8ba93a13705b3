use tool_runtime::{tool, tools};

/// Tells the time.
#[tool]
async fn now() -> &'static str {
    "noon"
}

fn main() {
    let _ = tools![now()];
}
