use tool_runtime::args;

#[args]
fn add() {}

fn main() {}
