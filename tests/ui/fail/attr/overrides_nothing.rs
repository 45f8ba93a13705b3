use tool_runtime::tool;

/// Says it back.
#[tool(overrides)]
async fn echo(text: String) -> String {
    text
}

fn main() {}
