use tool_runtime::drivers::text::Formats;

fn main() {
    let _ = Formats::new().with("hermes");
}
