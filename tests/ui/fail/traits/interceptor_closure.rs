use tool_runtime::dispatch::Before;
use tool_runtime::{Policy, Agent, ToolCall};

fn guarded(agent: Agent) -> Agent {
    agent.policy(Policy::new().interceptor(|_: &mut ToolCall| Before::Run))
}

fn main() {}
