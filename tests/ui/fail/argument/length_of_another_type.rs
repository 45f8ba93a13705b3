use tool_runtime::tool;

const MAX: [u8; 1] = [1];

/// Says how much it is.
#[tool]
async fn weigh(#[arg(length(max = MAX))] thing: &str) -> String {
    thing.to_string()
}

fn main() {}
