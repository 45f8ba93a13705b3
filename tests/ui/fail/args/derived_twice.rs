use tool_runtime::args;

#[args]
#[derive(Debug, serde::Deserialize)]
struct Sum {
    a: i64,
}

fn main() {}
