use tool_runtime::tool;

/// Says it back.
#[tool(disabled, hidden)]
async fn echo(text: String) -> String {
    text
}

fn main() {}
