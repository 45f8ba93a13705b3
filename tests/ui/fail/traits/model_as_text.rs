use tool_runtime::{Agent, Tools};

fn main() {
    let _ = Agent::new("gpt-5", Tools::new());
}
