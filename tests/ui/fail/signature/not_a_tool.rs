use tool_runtime::tools;

struct Add;

fn main() {
    let _ = tools![Add];
}
