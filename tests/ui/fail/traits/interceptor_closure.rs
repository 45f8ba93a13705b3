use tool_runtime::dispatch::Before;
use tool_runtime::{Agent, ToolCall};

fn guarded(agent: Agent) -> Agent {
    agent.interceptor(|_: &mut ToolCall| Before::Run)
}

fn main() {}
