use tool_runtime::tool;

/// Says it back.
#[tool(always, permission = "deny")]
async fn echo(text: String) -> String {
    text
}

fn main() {}
