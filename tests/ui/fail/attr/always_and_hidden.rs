use tool_runtime::tool;

/// Says it back.
#[tool(always, hidden)]
async fn echo(text: String) -> String {
    text
}

fn main() {}
