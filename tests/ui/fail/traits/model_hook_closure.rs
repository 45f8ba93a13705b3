use tool_runtime::{Agent, ChatReply};

fn hooked(agent: Agent) -> Agent {
    agent.model_hook(|_: &mut ChatReply| ())
}

fn main() {}
