use tool_runtime::tool;

/// Says it back.
#[tool(hidden, weight = 2)]
async fn echo(text: String) -> String {
    text
}

fn main() {}
