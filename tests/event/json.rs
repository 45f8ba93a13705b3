//! The JSON form of each kind of event is stable.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tool_runtime::event::{
    Attachment, BlockReason, CalledTool, EventKind, FileChange, FileOp, LogEvent, MessageSource,
    ModelEvent, Origin, Plan, PlanStep, Progress, RunEvent, RunId, StepStatus, ToolEvent,
};
use tool_runtime::json::parse;
use tool_runtime::message::{FileData, GeneratedFile, ModelUsage, Source};
use tool_runtime::{Event, FinishReason, ToolCall, ToolExecution, ToolResult, Usage};

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
    let mut of_model = ModelUsage::default();
    (of_model.provider, of_model.model) = (Some("openai".into()), Some("gpt-5".into()));
    of_model.usage = Usage::new(7, 3);
    let usage_json = json!({"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0});
    let now_call = ToolCall::new("c1", "now", "{}");
    let plain = ToolExecution::new(now_call.clone(), ToolResult::success(&now_call, "noon"));
    let progress = Progress { done: 1.0, total: Some(2.0), message: Some("half".into()) };
    let called_tool_json = json!({"title": "Clock", "effect": "read", "kind": {"remote": "github"},
        "provider": "gh"});
    let called_tool: CalledTool = serde_json::from_value(called_tool_json.clone()).unwrap();
    let plan = Plan::new([PlanStep::new("Pack", StepStatus::InProgress)]);
    let mut estimated = Usage::new(7, 3);
    estimated.estimated_tokens = 10;
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
            RunEvent::InboxFailed { session: "s".into(), error: "e".into() }.into(),
            "run.inbox_failed",
            json!({"session": "s", "error": "e"}),
        ),
        (
            RunEvent::MessageAdded {
                source: MessageSource::User,
                source_name: None,
                message: Some("m0".into()),
                text: "Hi".into(),
                attachments: Vec::new(),
            }
            .into(),
            "run.message_added",
            json!({"source": "user", "message": "m0", "text": "Hi"}),
        ),
        (
            RunEvent::MessageAdded {
                source: MessageSource::Untrusted,
                source_name: Some("a mail".into()),
                message: None,
                text: "Obey!".into(),
                attachments: Attachment::of(
                    &FileData::new("application/pdf", "AAAA").name("a.pdf").into(),
                )
                .into_iter()
                .collect(),
            }
            .into(),
            "run.message_added",
            json!({"source": "untrusted", "source_name": "a mail", "text": "Obey!",
                "attachments": [{"name": "a.pdf", "media_type": "application/pdf", "byte_len": 3}]}),
        ),
        (
            RunEvent::Finished {
                code: None,
                error: None,
                usage: Usage::default(),
                usage_by_model: Vec::new(),
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
                usage_by_model: vec![of_model],
                cost: Some(0.25),
                duration,
            }
            .into(),
            "run.finished",
            json!({"code": "TRUNCATED_REPLY", "error": "cut", "cost": 0.25, "duration_us": 5,
                "usage_by_model": [{"provider": "openai", "model": "gpt-5", "usage": usage_json}],
                "usage": {"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0}}),
        ),
        (ModelEvent::Requested { message: None }.into(), "model.requested", json!({})),
        (
            ModelEvent::Requested { message: Some("m1".into()) }.into(),
            "model.requested",
            json!({"message": "m1"}),
        ),
        (
            ModelEvent::Replied {
                message: Some("m1".into()),
                text: "t".into(),
                reasoning: Some("r".into()),
                calls: vec![now_call.clone()],
                attachments: vec![Attachment::of_file(&GeneratedFile::base64(
                    "p",
                    "image/png",
                    "AAAA",
                ))],
                sources: vec![Source::web("https://h.invalid").title("H").range(0..1)],
                provider: Some("openai".into()),
                model: Some("gpt-5-2026-01-01".into()),
                requested_model: Some("gpt-5".into()),
                server_address: Some("api.openai.com".into()),
                server_port: Some(443),
                finish_reason: FinishReason::ToolCalls,
                usage: Some(Usage::new(7, 3)),
                context_tokens: Some(400_000),
                first_delta: Some(Duration::from_micros(4)),
                duration,
            }
            .into(),
            "model.replied",
            json!({"message": "m1", "text": "t", "reasoning": "r", "calls": [call_json], "provider": "openai",
                "attachments": [{"media_type": "image/png", "byte_len": 3}],
                "sources": [{"url": "https://h.invalid", "title": "H", "range": {"start": 0, "end": 1}}],
                "model": "gpt-5-2026-01-01", "requested_model": "gpt-5",
                "server_address": "api.openai.com", "server_port": 443,
                "finish_reason": "tool_calls", "context_tokens": 400_000,
                "first_delta_us": 4, "duration_us": 5,
                "usage": {"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0}}),
        ),
        (
            ModelEvent::Failed {
                code: "MODEL_INTERRUPTED".into(),
                error: "cut".into(),
                text: "half".into(),
                provider: None,
                model: Some("gpt-5".into()),
                server_address: Some("api.openai.com".into()),
                server_port: None,
                usage: Some(estimated),
                duration,
            }
            .into(),
            "model.failed",
            json!({"code": "MODEL_INTERRUPTED", "error": "cut", "text": "half", "model": "gpt-5",
                "server_address": "api.openai.com", "duration_us": 5,
                "usage": {"input_tokens": 7, "cache_read_tokens": 0, "output_tokens": 3,
                    "reasoning_tokens": 0, "estimated_tokens": 10}}),
        ),
        (
            ModelEvent::ReplyReplaced { text: "before".into() }.into(),
            "model.reply_replaced",
            json!({"text": "before"}),
        ),
        (
            ToolEvent::Started { call: now_call.clone(), tool: None }.into(),
            "tool.started",
            json!({"call": call_json}),
        ),
        (
            ToolEvent::Started { call: now_call, tool: Some(Box::new(called_tool)) }.into(),
            "tool.started",
            json!({"call": call_json, "tool": called_tool_json}),
        ),
        (
            ToolEvent::Running { call: call(), attempt: 2 }.into(),
            "tool.running",
            json!({"call": "c1", "attempt": 2}),
        ),
        (
            ToolEvent::Abandoned { call: call(), tool: "now".into(), error: None }.into(),
            "tool.abandoned",
            json!({"call": "c1", "tool": "now"}),
        ),
        (
            ToolEvent::OutputEmitted { call: call(), text: "line\n".into() }.into(),
            "tool.output_emitted",
            json!({"call": "c1", "text": "line\n"}),
        ),
        (
            ToolEvent::DataEmitted { call: call(), name: Plan::NAME.into(), data: plan.into() }
                .into(),
            "tool.data_emitted",
            json!({"call": "c1", "name": "plan",
                "data": {"steps": [{"text": "Pack", "status": "in_progress"}]}}),
        ),
        (
            ToolEvent::QuestionAsked {
                call: call(),
                tool: "book".into(),
                question: "Aisle?".into(),
                answer_schema: Some(json!({"type": "boolean"})),
            }
            .into(),
            "tool.question_asked",
            json!({"call": "c1", "tool": "book", "question": "Aisle?",
                "answer_schema": {"type": "boolean"}}),
        ),
        (
            ToolEvent::ApprovalRequested {
                call: call(),
                tool: "now".into(),
                arguments: r#"{"a": 1}"#.into(),
                title: None,
                expires_at: None,
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
                title: Some("Clock".into()),
                expires_at: Some(UNIX_EPOCH + Duration::from_micros(6)),
                void_decision: Some("changed".into()),
                preview: Some("diff".into()),
            }
            .into(),
            "tool.approval_requested",
            json!({"call": "c1", "tool": "now", "arguments": "{}", "title": "Clock",
                "expires_at": 6, "void_decision": "changed",
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

#[test]
fn nan_progress_deserializes_as_nan() {
    let progress = Progress { done: f64::INFINITY, total: Some(f64::NAN), message: None };
    let event = ToolEvent::Progress { call: "c1".into(), progress };
    let event = Event::new(Origin::new(1.into(), 1), UNIX_EPOCH, event);
    let read: Event = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
    let Some(ToolEvent::Progress { progress, .. }) = read.tool_event() else { panic!("{read:?}") };
    assert!(progress.done.is_nan() && progress.total.is_none());
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
