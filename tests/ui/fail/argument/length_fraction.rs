use tool_runtime::tool;

/// Says how much it is.
#[tool]
async fn weigh(#[arg(length(max = 1.5))] thing: &str) -> String {
    thing.to_string()
}

fn main() {}
