use tool_runtime::args;

#[args]
struct Order {
    /// How many.
    #[args(min = 1)]
    count: u32,
}

fn main() {}
