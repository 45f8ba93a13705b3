fn main() {
    let _ = tool_runtime::tools!["now"];
}
