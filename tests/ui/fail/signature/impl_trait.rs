use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(value: impl ToString) -> String {
    value.to_string()
}

fn main() {}
