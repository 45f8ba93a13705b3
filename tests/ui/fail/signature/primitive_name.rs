use tool_runtime::tool;

/// Reads a character.
#[tool]
async fn char(text: String) -> Option<char> {
    text.chars().next()
}

fn main() {}
