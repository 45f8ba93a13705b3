//! The order of the events of a run.

use std::time::Duration;

use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::{EventKind, Origin, Progress, Recorder, ToolEvent};
use tool_runtime::{
    Agent, CancellationToken, ChatReply, Policy, RunContext, ScriptedModel, ToolCall, ToolContext,
    ToolError, async_trait, tool, tools,
};

/// Fails the first time.
#[tool(effect = "read", idempotent, max_retries = 1)]
async fn flaky(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    match ctx.attempt() {
        1 => Err(ToolError::transient("not now")),
        _ => Ok("now"),
    }
}

/// Deletes a file.
#[tool(permission = "ask")]
async fn delete(path: String) -> String {
    path
}

/// Stops the run.
#[tool]
async fn stop(ctx: &ToolContext) {
    ctx.progress(Progress { done: 0.5, ..Progress::default() });
    ctx.get::<CancellationToken>().unwrap().cancel();
    std::future::pending::<()>().await;
}

/// Calls another.
#[tool]
async fn outer(ctx: &ToolContext) -> usize {
    ctx.dispatch(vec![ToolCall::new("", "flaky", "{}")]).await.len()
}

struct OnlyTemporary;

#[async_trait]
impl Approver for OnlyTemporary {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        match request.arguments["path"].as_str() {
            Some("a.tmp") => Approval::Once,
            _ => Approval::Deny("no".into()),
        }
    }

    fn name(&self) -> &str {
        "Ada"
    }
}

#[tokio::test(start_paused = true)]
async fn run_emits_every_kind_of_event() {
    let delete_a = ChatReply::default().call("delete", r#"{"path": "a.tmp"}"#);
    let model = ScriptedModel::new([
        delete_a,
        ChatReply::default().call("delete", r#"{"path": "b"}"#),
        ChatReply::default().call("outer", "{}"),
        ChatReply::default().call("stop", "{}"),
    ]);
    let (recorder, token) = (Recorder::new(100), CancellationToken::new());
    let agent = Agent::new(model, tools![flaky, delete, stop, outer])
        .policy(Policy::new().approver(OnlyTemporary))
        .extension(token.clone())
        .cancellation(token)
        .observer(recorder.clone());
    agent.run("Go.").await.unwrap_err();

    let types: Vec<_> = recorder
        .events()
        .iter()
        .map(|event| {
            let Origin { turn, depth, .. } = event.origin;
            let suffix = if depth > 0 { " within" } else { "" };
            format!("{turn} {}{suffix}", event.name())
        })
        .collect();
    assert_eq!(
        types,
        [
            "0 run.started",
            "0 run.message_added",
            "1 model.requested",
            "1 model.replied",
            "1 tool.started",
            "1 tool.approval_requested",
            "1 tool.approved",
            "1 tool.running",
            "1 tool.finished",
            "2 model.requested",
            "2 model.replied",
            "2 tool.started",
            "2 tool.approval_requested",
            "2 tool.blocked",
            "2 tool.finished",
            "3 model.requested",
            "3 model.replied",
            "3 tool.started",
            "3 tool.running",
            "3 tool.started within",
            "3 tool.running within",
            "3 tool.retried within",
            "3 tool.running within",
            "3 tool.finished within",
            "3 tool.finished",
            "4 model.requested",
            "4 model.replied",
            "4 tool.started",
            "4 tool.running",
            "4 tool.progress",
            "4 tool.cancelled",
            "4 tool.finished",
            "4 run.finished",
        ]
    );
    let run = recorder.events()[0].origin.run;
    assert_eq!(recorder.events_of_run(run).len(), types.len());
    // The events of a call have its id, and those of nested calls name it as their parent.
    let nested_events = recorder.filter(|event| event.origin.depth == 1);
    let outer =
        recorder.filter(|event| event.execution().is_some_and(|it| it.call.name == "outer"));
    let id = outer[0].call_id().unwrap();
    assert!(nested_events.iter().all(|event| event.origin.parent.as_ref() == Some(id)));
    assert_eq!(recorder.events_of_call(id).len(), 3);
    assert_eq!(
        recorder.filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Retried { .. })))
            [0]
        .call_id(),
        nested_events[0].call_id()
    );
    // Events are in the order of their times.
    let events = recorder.events();
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert!(outer[0].execution().unwrap().duration >= Duration::from_millis(50));
}
