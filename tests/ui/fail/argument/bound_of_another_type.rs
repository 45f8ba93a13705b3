use tool_runtime::tool;

const MAX: [u8; 1] = [1];

/// Says how much it is.
#[tool]
async fn weigh(#[arg(range(max = MAX))] thing: u32) -> String {
    thing.to_string()
}

fn main() {}
