use tool_runtime::agent::window::{EvictedMessages, Window};

fn main() {
    let _ = Window::new().summarizer(|_: &EvictedMessages| String::new());
}
