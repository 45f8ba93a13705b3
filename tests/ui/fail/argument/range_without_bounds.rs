use tool_runtime::tool;

/// Says how much it is.
#[tool]
async fn weigh(#[arg(range)] thing: u32) -> String {
    thing.to_string()
}

fn main() {}
