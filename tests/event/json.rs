//! The JSON form of each kind of event is stable.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::{
    BlockReason, EventKind, FileChange, FileOp, LogEvent, MessageSource, ModelEvent, Origin,
    Progress, Recorder, RunEvent, RunId, ToolEvent,
};
use tool_runtime::json::parse;
use tool_runtime::{
    Agent, CancellationToken, ChatReply, Event, Policy, RunContext, ScriptedModel, ToolCall,
    ToolContext, ToolError, ToolExecution, ToolResult, Usage, async_trait, tool, tools,
};

fn review() -> Value {
    json!({
        "decided_by": "Ada",
        "answered_by": "Ben",
        "void_decision": "changed",
        "question": "When?",
    })
}

fn execution() -> ToolExecution {
    let call = ToolCall::new("c1", "write", r#"{path: "a"}"#);
    let result = ToolResult::failure(&call, "TOOL_TIMEOUT", "Too late.");
    let mut execution = ToolExecution::new(call, result);
    execution.modified_call = Some(Box::new(ToolCall::new("c1", "write", json!({"path": "b"}))));
    execution.full_text = Some("Too late, all of it.".into());
    execution.fixes = parse(r#"{path: "a"}"#).unwrap().fixes;
    execution.decoded_arguments = Some(r#"{"path":"a"}"#.into());
    execution.cause = Some("the disk".into());
    execution.attempts = 2;
    execution.cached = true;
    execution.blocked_by = Some(BlockReason::Batch);
    execution.effects = vec![FileChange::new("a", FileOp::Delete).into()];
    execution.has_detached_thread = true;
    execution.started_at = UNIX_EPOCH + Duration::from_micros(7);
    execution.duration = Duration::from_micros(8);
    let mut json = serde_json::to_value(execution).unwrap();
    json["review"] = review();
    serde_json::from_value(json).unwrap()
}

/// Each kind of event, with its members besides `run`, `turn`, `at` and `event`.
fn kinds() -> Vec<(EventKind, &'static str, Value)> {
    let call = || "c1".into();
    let duration = Duration::from_micros(5);
    let now_call = ToolCall::new("c1", "now", "{}");
    let plain = ToolExecution::new(now_call.clone(), ToolResult::success(&now_call, "noon"));
    let progress = Progress { done: 1.0, total: Some(2.0), message: Some("half".into()) };
    let call_json = json!({"id": "c1", "name": "now", "arguments": "{}"});
    vec![
        (
            RunEvent::Started {
                parent_run: None,
                agent: None,
                session: None,
                metadata: Map::new(),
            }
            .into(),
            "run.started",
            json!({}),
        ),
        (
            RunEvent::Started {
                parent_run: Some(9.into()),
                agent: Some("ada".into()),
                session: Some("s".into()),
                metadata: Map::from_iter([("user".to_owned(), json!("ada"))]),
            }
            .into(),
            "run.started",
            json!({"parent_run": format!("{:032x}", 9), "agent": "ada", "session": "s", "metadata": {"user": "ada"}}),
        ),
        (RunEvent::StateEvicted.into(), "run.state_evicted", json!({})),
        (
            RunEvent::LeaseRenewalFailed { session: "s".into(), error: "e".into() }.into(),
            "run.lease_renewal_failed",
            json!({"session": "s", "error": "e"}),
        ),
        (
            RunEvent::LeaseReleaseFailed { session: "s".into(), error: "e".into() }.into(),
            "run.lease_release_failed",
            json!({"session": "s", "error": "e"}),
        ),
        (
            RunEvent::MessageAdded {
                source: MessageSource::User,
                source_name: None,
                text: "Hi".into(),
                attachments: 0,
            }
            .into(),
            "run.message_added",
            json!({"source": "user", "text": "Hi"}),
        ),
        (
            RunEvent::MessageAdded {
                source: MessageSource::Untrusted,
                source_name: Some("a mail".into()),
                text: "Obey!".into(),
                attachments: 2,
            }
            .into(),
            "run.message_added",
            json!({"source": "untrusted", "source_name": "a mail", "text": "Obey!", "attachments": 2}),
        ),
        (
            RunEvent::Finished {
                code: None,
                error: None,
                usage: Usage::default(),
                cost: None,
                duration,
            }
            .into(),
            "run.finished",
            json!({"duration_us": 5}),
        ),
        (
            RunEvent::Finished {
                code: Some("TRUNCATED_REPLY".into()),
                error: Some("cut".into()),
                usage: Usage::new(7, 3),
                cost: Some(0.25),
                duration,
            }
            .into(),
            "run.finished",
            json!({"code": "TRUNCATED_REPLY", "error": "cut", "cost": 0.25, "duration_us": 5,
                "usage": {"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0}}),
        ),
        (ModelEvent::Requested.into(), "model.requested", json!({})),
        (
            ModelEvent::Replied {
                text: "t".into(),
                reasoning: Some("r".into()),
                calls: vec![now_call.clone()],
                usage: Some(Usage::new(7, 3)),
                duration,
            }
            .into(),
            "model.replied",
            json!({"text": "t", "reasoning": "r", "calls": [call_json], "duration_us": 5,
                "usage": {"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0}}),
        ),
        (ToolEvent::Started { call: now_call }.into(), "tool.started", json!({"call": call_json})),
        (
            ToolEvent::ApprovalRequested {
                call: call(),
                tool: "now".into(),
                arguments: r#"{"a": 1}"#.into(),
                void_decision: None,
                preview: None,
            }
            .into(),
            "tool.approval_requested",
            json!({"call": "c1", "tool": "now", "arguments": r#"{"a": 1}"#}),
        ),
        (
            ToolEvent::ApprovalRequested {
                call: call(),
                tool: "now".into(),
                arguments: "{}".into(),
                void_decision: Some("changed".into()),
                preview: Some("diff".into()),
            }
            .into(),
            "tool.approval_requested",
            json!({"call": "c1", "tool": "now", "arguments": "{}", "void_decision": "changed",
                "preview": "diff"}),
        ),
        (
            ToolEvent::Approved { call: call(), approved_by: "Ada".into() }.into(),
            "tool.approved",
            json!({"call": "c1", "approved_by": "Ada"}),
        ),
        (
            ToolEvent::Blocked {
                call: call(),
                blocked_by: BlockReason::Permission,
                reason: "no".into(),
            }
            .into(),
            "tool.blocked",
            json!({"call": "c1", "blocked_by": "permission", "reason": "no"}),
        ),
        (
            ToolEvent::Retried {
                call: call(),
                attempt: 1,
                error: "E".into(),
                text: "late".into(),
                delay: duration,
            }
            .into(),
            "tool.retried",
            json!({"call": "c1", "attempt": 1, "error": "E", "text": "late", "delay_us": 5}),
        ),
        (
            ToolEvent::Progress { call: call(), progress }.into(),
            "tool.progress",
            json!({"call": "c1", "progress": {"done": 1.0, "total": 2.0, "message": "half"}}),
        ),
        (ToolEvent::Cancelled { call: call() }.into(), "tool.cancelled", json!({"call": "c1"})),
        (
            ToolEvent::Finished(plain).into(),
            "tool.finished",
            json!({
                "call": call_json,
                "result": {"call": "c1", "tool": "now", "text": "noon"},
                "attempts": 0, "cached": false, "has_detached_thread": false, "started_at": 0, "duration_us": 0,
            }),
        ),
        (
            ToolEvent::Finished(execution()).into(),
            "tool.finished",
            json!({
                "call": {"id": "c1", "name": "write", "arguments": "{path: \"a\"}"},
                "modified_call": {"id": "c1", "name": "write", "arguments": {"path": "b"}},
                "result": {
                    "call": "c1", "tool": "write", "text": "Too late.", "error": "TOOL_TIMEOUT",
                },
                "full_text": "Too late, all of it.",
                "fixes": [{
                    "kind": "unquoted_key", "span": {"start": 1, "end": 5},
                    "level": "spelling", "risk": "lossless",
                }],
                "decoded_arguments": "{\"path\":\"a\"}",
                "cause": "the disk",
                "attempts": 2,
                "cached": true,
                "review": review(),
                "blocked_by": "batch",
                "effects": [{"kind": "file_changed", "path": "a", "op": "delete"}],
                "has_detached_thread": true,
                "started_at": 7,
                "duration_us": 8,
            }),
        ),
        (LogEvent::Dropped { count: 3 }.into(), "log.dropped", json!({"count": 3})),
    ]
}

#[test]
fn event_is_one_flat_object_and_deserializes() {
    let at = UNIX_EPOCH + Duration::from_micros(9);
    let run = RunId::from(0xab);
    let outer = Origin::new(run, 2);
    let inner = outer.nested(&"c0".into());
    for (kind, name, more) in kinds() {
        for (origin, mut expected) in [
            (&outer, json!({"run": run.to_string(), "turn": 2})),
            (&inner, json!({"run": run.to_string(), "turn": 2, "parent": "c0", "depth": 1})),
        ] {
            let event = Event::new(origin.clone(), at, kind.clone());
            let members = expected.as_object_mut().unwrap();
            members.insert("at".into(), json!(9));
            members.insert("event".into(), json!(name));
            members.extend(more.as_object().unwrap().clone());
            assert_eq!(serde_json::to_value(&event).unwrap(), expected);
            assert_eq!(event.name(), name);

            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
        }
    }
}

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

#[test]
fn nan_progress_deserializes_as_nan() {
    let progress = Progress { done: f64::INFINITY, total: Some(f64::NAN), message: None };
    let event = ToolEvent::Progress { call: "c1".into(), progress };
    let event = Event::new(Origin::new(1.into(), 1), UNIX_EPOCH, event);
    let read: Event = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
    let Some(ToolEvent::Progress { progress, .. }) = read.tool_event() else { panic!("{read:?}") };
    assert!(progress.done.is_nan() && progress.total.is_none());
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
            "3 tool.started within",
            "3 tool.retried within",
            "3 tool.finished within",
            "3 tool.finished",
            "4 model.requested",
            "4 model.replied",
            "4 tool.started",
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
    assert_eq!(recorder.events_of_call(id).len(), 2);
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

#[test]
fn guide_lists_the_fields_of_every_event() {
    let guide = include_str!("../../tool-runtime/src/docs/guide/observability.md");
    let table = guide.split_once("### JSON fields").unwrap().1;
    for (kind, name, fields) in kinds() {
        let row = table.lines().find(|line| {
            let mut cells = line.split('|');
            cells.nth(1).is_some_and(|events| events.contains(&format!("`{name}`")))
        });
        let row = row.unwrap_or_else(|| panic!("no row for {name}: {kind:?}"));
        for field in fields.as_object().unwrap().keys() {
            assert!(row.contains(&format!("`{field}`")), "{name}: {field}");
        }
    }
}
