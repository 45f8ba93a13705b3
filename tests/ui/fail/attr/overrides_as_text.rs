use tool_runtime::tool;

/// Says it back.
#[tool(overrides("files"))]
async fn echo(text: String) -> String {
    text
}

fn main() {}
