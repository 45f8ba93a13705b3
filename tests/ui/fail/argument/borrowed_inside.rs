use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

fn main() {}
