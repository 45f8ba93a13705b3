use tool_runtime::tools;

struct Shop {
    is_open: bool,
}

fn main() {
    let _ = tools![Shop { is_open: true }];
}
