use tool_runtime::{Policy, Agent};
use tool_runtime::dispatch::{Approval, ApprovalRequest};

fn guarded(agent: Agent) -> Agent {
    agent.policy(Policy::new().approver(|_: &ApprovalRequest| Approval::Once))
}

fn main() {}
