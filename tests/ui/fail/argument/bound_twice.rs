use tool_runtime::tool;

/// Says how much it is.
#[tool]
async fn weigh(#[arg(range(min = 1, min = 2))] thing: u32) -> String {
    thing.to_string()
}

fn main() {}
