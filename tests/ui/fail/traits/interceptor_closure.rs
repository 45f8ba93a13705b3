use tool_runtime::dispatch::InterceptAction;
use tool_runtime::{Policy, ToolCall};

fn guarded(policy: Policy) -> Policy {
    policy.interceptor(|_: &mut ToolCall| InterceptAction::Run)
}

fn main() {}
