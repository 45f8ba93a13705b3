use tool_runtime::tool;

/// Says it back.
#[tool(overrides(rank = 1 + 2))]
async fn echo(text: String) -> String {
    text
}

fn main() {}
