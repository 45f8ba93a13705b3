use tool_runtime::Policy;
use tool_runtime::dispatch::{Approval, ApprovalRequest};

fn guarded(policy: Policy) -> Policy {
    policy.approver(|_: &ApprovalRequest| Approval::Once)
}

fn main() {}
