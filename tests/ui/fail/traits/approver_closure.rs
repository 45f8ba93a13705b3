use tool_runtime::Agent;
use tool_runtime::dispatch::{Approval, ApprovalRequest};

fn guarded(agent: Agent) -> Agent {
    agent.approver(|_: &ApprovalRequest| Approval::Once)
}

fn main() {}
