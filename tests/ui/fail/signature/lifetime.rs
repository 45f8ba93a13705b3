use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo<'a>(value: &'a str) -> String {
    value.to_string()
}

fn main() {}
