use tool_runtime::args;

#[args]
struct Name<'a> {
    name: &'a str,
}

fn main() {
    let _ = |name: Name<'_>| name.name.len();
}
