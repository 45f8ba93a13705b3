use tool_runtime::dispatch::Before;
use tool_runtime::{Policy, ToolCall};

fn guarded(policy: Policy) -> Policy {
    policy.interceptor(|_: &mut ToolCall| Before::Run)
}

fn main() {}
