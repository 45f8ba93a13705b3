//! What a screen learns of a call besides its arguments and its result.

use std::time::{Duration, SystemTime};

use serde_json::json;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, Batch, Dispatch};
use tool_runtime::event::{Plan, PlanStep, Recorder, StepStatus, ToolEvent};
use tool_runtime::{
    Dispatcher, Effect, Policy, Registry, RunContext, ToolCall, ToolContext, ToolError, ToolKind,
    async_trait, tool, tools,
};

/// Deletes a file.
#[tool(title = "Delete a file", effect = "write", permission = "ask")]
async fn delete(path: String) -> String {
    path
}

/// Fails the first time.
#[tool(effect = "read", idempotent, max_retries = 1)]
async fn flaky(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    match ctx.attempt() {
        1 => Err(ToolError::transient("not now")),
        _ => Ok("now"),
    }
}

/// Books a seat.
#[tool]
async fn book() -> Result<String, ToolError> {
    let schema = json!({"type": "string", "enum": ["aisle", "window"]});
    Err(ToolError::suspended("Window or aisle?", ()).answer_schema(schema))
}

/// Makes a plan, and writes its output in pieces.
#[tool(effect = "none")]
async fn work(ctx: &ToolContext) -> &'static str {
    ctx.emit(Plan::NAME, Plan::new([PlanStep::new("Pack", StepStatus::InProgress)]));
    for piece in ["The key is hun", "ter2", "2, or hunt"] {
        ctx.emit_output(piece);
    }
    "done"
}

/// Approves, and says so.
struct Ada;

#[async_trait]
impl Approver for Ada {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Once
    }

    fn name(&self) -> &str {
        "Ada"
    }
}

fn dispatcher(recorder: &Recorder) -> Dispatcher {
    let registry = Registry::try_from(tools![delete, flaky, book, work]).unwrap();
    let policy = Policy::new().approver(Ada).secrets(["hunter22"]);
    Dispatcher::new(registry).policy(policy).observer(recorder.clone())
}

async fn events(call: &str, arguments: &str) -> Vec<ToolEvent> {
    let recorder = Recorder::new(100);
    dispatcher(&recorder).dispatch(vec![ToolCall::new("c1", call, arguments)]).await;
    recorder.events().iter().map(|event| event.tool_event().unwrap().clone()).collect()
}

#[tokio::test]
async fn started_call_names_its_tool_and_runs_after_the_approval() {
    let events = events("delete", r#"{"path": "a"}"#).await;
    let [
        ToolEvent::Started { tool: Some(tool), .. },
        ToolEvent::ApprovalRequested { title, expires_at, .. },
        ToolEvent::Approved { .. },
        ToolEvent::Running { attempt: 1, .. },
        ToolEvent::Finished(_),
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(tool.title.as_deref(), Some("Delete a file"));
    assert_eq!(
        (tool.effect, &tool.kind, &tool.provider),
        (Effect::Write, &ToolKind::Function, &None)
    );
    assert_eq!(title, &tool.title);
    assert_eq!(*expires_at, None);
}

#[tokio::test]
async fn request_for_approval_expires_with_the_time_limit_of_its_batch() {
    let recorder = Recorder::new(100);
    let mut batch = Batch::from(vec![ToolCall::new("c1", "delete", r#"{"path": "a"}"#)]);
    batch.timeout = Some(Duration::from_secs(60));
    let before = SystemTime::now();
    Dispatch::dispatch(&dispatcher(&recorder), batch).await;
    let events = recorder.events();
    let Some(ToolEvent::ApprovalRequested { expires_at: Some(at), .. }) = events[1].tool_event()
    else {
        panic!("{events:?}")
    };
    let minute = Duration::from_secs(60);
    let (earliest, latest) =
        (before + minute - Duration::from_millis(1), SystemTime::now() + minute);
    assert!(earliest <= *at && *at <= latest, "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_running_once() {
    let events = events("flaky", "{}").await;
    let attempts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ToolEvent::Running { attempt, .. } => Some((*attempt, "running")),
            ToolEvent::Retried { attempt, .. } => Some((*attempt, "retried")),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(1, "running"), (1, "retried"), (2, "running")]);
}

#[tokio::test]
async fn call_of_an_unknown_name_has_no_tool_and_does_not_run() {
    let events = events("unknown", "{}").await;
    let [ToolEvent::Started { tool: None, .. }, ToolEvent::Finished(_)] = &events[..] else {
        panic!("{events:?}")
    };
}

#[tokio::test]
async fn question_is_an_event_with_the_schema_of_its_answer() {
    let events = events("book", "{}").await;
    let [.., question, ToolEvent::Blocked { .. }, ToolEvent::Finished(execution)] = &events[..]
    else {
        panic!("{events:?}")
    };
    let schema = json!({"type": "string", "enum": ["aisle", "window"]});
    let expected = ToolEvent::QuestionAsked {
        call: "c1".into(),
        tool: "book".into(),
        question: "Window or aisle?".into(),
        answer_schema: Some(schema.clone()),
    };
    assert_eq!(*question, expected);
    assert_eq!(execution.answer_schema(), Some(&schema));
}

#[tokio::test]
async fn output_and_data_are_events_without_secrets() {
    let events = events("work", "{}").await;
    let data = json!({"steps": [{"text": "Pack", "status": "in_progress"}]});
    let emitted = ToolEvent::DataEmitted { call: "c1".into(), name: "plan".into(), data };
    assert_eq!(events[2], emitted);
    let output: String = events
        .iter()
        .filter_map(|event| match event {
            ToolEvent::OutputEmitted { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(output, "The key is [redacted], or hunt");
    assert!(matches!(events.last(), Some(ToolEvent::Finished(_))));
}
