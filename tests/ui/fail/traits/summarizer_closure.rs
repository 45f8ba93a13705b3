use tool_runtime::agent::window::{Fallen, Window};

fn main() {
    let _ = Window::new().summarizer(|_: &Fallen| String::new());
}
