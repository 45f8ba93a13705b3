use tool_runtime::args;

#[args(strict)]
struct Sum {
    a: i64,
}

fn main() {}
