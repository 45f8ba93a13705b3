use tool_runtime::tool;

/// Says it back.
#[tool(hidden = true)]
async fn echo(text: String) -> String {
    text
}

fn main() {}
