use tool_runtime::tool;

/// Says it back.
#[tool]
async fn echo(#[arg(defualt = "Hello")] text: String) -> String {
    text
}

fn main() {}
