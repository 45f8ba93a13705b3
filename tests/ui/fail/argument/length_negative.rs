use tool_runtime::tool;

/// Says how much it is.
#[tool]
async fn weigh(#[arg(length(min = -1))] thing: &str) -> String {
    thing.to_string()
}

fn main() {}
