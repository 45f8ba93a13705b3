use tool_runtime::tool;

/// Says it back.
#[tool(weight = "2")]
async fn echo(text: String) -> String {
    text
}

fn main() {}
