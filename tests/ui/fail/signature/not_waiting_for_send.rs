use std::rc::Rc;
use tool_runtime::tool;

/// Waits with something that can't leave its thread.
#[tool]
async fn hold(text: String) -> usize {
    let copy = Rc::new(text);
    std::future::ready(()).await;
    copy.len()
}

fn main() {}
