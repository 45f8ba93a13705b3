use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(text: &String) -> String {
    text.clone()
}

fn main() {}
