use tool_runtime::tool;

/// Orders.
#[tool]
async fn order(#[args(min = 1)] count: u32) -> u32 {
    count
}

fn main() {}
