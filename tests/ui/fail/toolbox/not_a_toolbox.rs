struct Shop;

fn main() {
    let _ = tool_runtime::tools![..Shop];
}
