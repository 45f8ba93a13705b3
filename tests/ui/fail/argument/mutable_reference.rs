use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(text: &mut String) -> String {
    text.clone()
}

fn main() {}
