use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(text: &'static str) -> String {
    text.to_owned()
}

fn main() {}
