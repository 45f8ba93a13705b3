//! Approvals of the tools, and what is checked before them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::schedule::ScheduleTools;
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};

use super::fixture::{Clock, in_memory};

/// Approves calls, and counts them.
#[derive(Clone, Default)]
struct Clerk(Arc<AtomicU32>);

#[async_trait]
impl Approver for Clerk {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        self.0.fetch_add(1, Ordering::Relaxed);
        Approval::Once
    }
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_a_person_is_asked() {
    let clock = Clock::at("2027-03-26T12:00:00Z");
    let tools = ScheduleTools::new(in_memory(), "ada").clock(move || clock.now());
    let clerk = Clerk::default();
    let policy = Policy::new().approver(clerk.clone());
    let registry = Registry::try_from(tools![..tools]).unwrap();
    let dispatcher = Dispatcher::new(registry).policy(policy);
    let create = "schedule_create";
    let update = "schedule_update";
    for (tool, arguments, expected) in [
        (create, json!({ "name": "", "every": "1h", "prompt": "Hi" }), Some("`name` must have")),
        (create, json!({ "name": "a", "cron": "61 * * * *", "prompt": "Hi" }), Some("`cron`: ")),
        (
            create,
            json!({ "name": "a", "cron": "@daily", "zone": "Olso", "prompt": "Hi" }),
            Some("`zone`: there is no time zone `Olso`"),
        ),
        (create, json!({ "name": "a", "every": "1h", "tool": "pay" }), Some("`tool`: ")),
        (
            create,
            json!({ "name": "a", "every": "1h", "prompt": "Hi", "session": "bob" }),
            Some("`session`: `bob` is not available here"),
        ),
        (
            create,
            json!({ "name": "a", "at": "2027-03-26T11:00", "prompt": "Hi" }),
            Some("The schedule would never fire"),
        ),
        (create, json!({ "name": "a", "cron": "@daily", "prompt": "Hi" }), None),
        (update, json!({ "name": "a", "cron": "61 * * * *" }), Some("`cron`: ")),
        (
            update,
            json!({ "name": "a", "zone": "Olso" }),
            Some("`zone`: there is no time zone `Olso`"),
        ),
        (update, json!({ "name": "a", "prompt": "Hi", "message": "Hi" }), Some("Send one of")),
        (update, json!({ "name": "a", "tool": "pay" }), Some("`tool`: ")),
        (
            update,
            json!({ "name": "a", "session": "bob" }),
            Some("`session`: `bob` is not available here"),
        ),
        // 11 o'clock in Honolulu is to come.
        (
            update,
            json!({ "name": "a", "at": "2027-03-26T11:00", "zone": "Pacific/Honolulu" }),
            None,
        ),
        (update, json!({ "name": "a", "at": "2027-03-26T11:30" }), None),
    ] {
        let call = ToolCall::new("1", tool, arguments.clone());
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        let requests = clerk.0.swap(0, Ordering::Relaxed);
        assert_eq!(requests, u32::from(expected.is_none()), "{arguments}: {execution:?}");
        match expected {
            None => assert!(execution.is_success(), "{arguments}: {execution:?}"),
            Some(expected) => {
                assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{execution:?}");
                let text = &execution.result.text;
                assert!(text.contains(expected), "{arguments}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn changes_ask_for_permission_by_default() {
    let tools = ScheduleTools::new(in_memory(), "ada");
    let dispatcher = Dispatcher::new(Registry::try_from(tools![..tools]).unwrap());
    for (tool, arguments, is_allowed) in [
        ("schedule_create", json!({ "name": "a", "every": "1h", "message": "Hi" }), false),
        ("schedule_update", json!({ "name": "a", "paused": true }), false),
        ("schedule_delete", json!({ "name": "a" }), false),
        ("schedule_list", json!({}), true),
    ] {
        let executions = dispatcher.dispatch(vec![ToolCall::new("1", tool, arguments)]).await;
        assert_eq!(executions[0].is_success(), is_allowed, "{tool}: {:?}", executions[0]);
    }
}
