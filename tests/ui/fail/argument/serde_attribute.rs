use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(#[serde(default)] text: String) -> String {
    text
}

fn main() {}
