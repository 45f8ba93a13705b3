use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(#[arg(flatten, named)] text: String) -> String {
    text
}

fn main() {}
