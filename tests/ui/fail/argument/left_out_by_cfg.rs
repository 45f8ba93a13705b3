use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(text: String, #[cfg(unix)] more: String) -> String {
    text + &more
}

fn main() {}
