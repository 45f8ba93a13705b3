//! The attributes of spans are part of what is promised: other programs look for them by name.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, ChatReply, Dispatcher, Registry, ScriptedModel, ToolCall, ToolContext, ToolError, tool,
    tools,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Keeps what spans are told, and within which they are.
#[derive(Clone, Default)]
struct Spans {
    told: Arc<Mutex<BTreeMap<u64, Told>>>,
    within: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

#[derive(Clone, Debug, Default)]
struct Told {
    metadata: Option<&'static Metadata<'static>>,
    parent: Option<u64>,
    fields: BTreeMap<String, String>,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().into(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().into(), value.into());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tool_runtime"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let parent = self.within.lock().unwrap().last().copied();
        let mut told = Told { parent, metadata: Some(span.metadata()), ..Told::default() };
        span.record(&mut told);
        self.told.lock().unwrap().insert(id, told);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(self.told.lock().unwrap().get_mut(&span.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.within.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut within = self.within.lock().unwrap();
        let place = within.iter().rposition(|id| *id == span.into_u64()).unwrap();
        within.remove(place);
    }

    fn current_span(&self) -> Current {
        let within = self.within.lock().unwrap().last().copied();
        let told = self.told.lock().unwrap();
        let current = within.and_then(|id| Some((id, told.get(&id)?.metadata?)));
        current
            .map_or_else(Current::none, |(id, metadata)| Current::new(Id::from_u64(id), metadata))
    }
}

impl Spans {
    /// Each span as JSON, in the order in which they began, `parent` by its place.
    fn told(&self) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        told.values().map(|span| json!({"in": span.parent, "fields": span.fields})).collect()
    }
}

/// Logs somebody in, if the word is long enough.
#[tool(effect = "read")]
async fn login(
    /// Who.
    user: String,
    /// By which word.
    #[arg(secret)]
    word: String,
) -> Result<String, ToolError> {
    match word.len() {
        0..5 => Err(ToolError::failed("too short")),
        _ => Ok(format!("{user} by {word}")),
    }
}

/// Calls another.
#[tool]
async fn outer(ctx: &ToolContext) -> usize {
    ctx.dispatch(vec![ToolCall::new("", "login", r#"{"user": "a", "word": "b"}"#)]).await.len()
}

fn execute(within: u64, name: &str, call: &str, more: &Value) -> Value {
    let mut fields = json!({
        "otel.name": format!("execute_tool {name}"),
        "otel.kind": "internal",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call,
        "gen_ai.tool.type": "function",
    });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"in": within, "fields": fields})
}

fn operation(within: Option<u64>, name: &str, kind: &str) -> Value {
    let fields = json!({"otel.name": name, "otel.kind": kind, "gen_ai.operation.name": name});
    json!({"in": within, "fields": fields})
}

fn failed(code: &str) -> Value {
    json!({"otel.status_code": "ERROR", "error.type": code})
}

#[tokio::test]
async fn a_run_is_a_tree_of_spans_with_these_attributes() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let mut two = ChatReply::default();
    two = two.call("login", r#"{"user": "ada", "word": "hunter22"}"#).call("outer", "{}");
    let model = ScriptedModel::new([two, ChatReply::text("Done.")]);
    let answer = Agent::new(model, tools![login, outer]).run("Go.").await.unwrap();
    let ids: Vec<_> = answer.transcript[1].calls().map(|call| call.id.as_str()).collect();
    let inner = format!("{}/1", ids[1]);
    assert_eq!(
        spans.told(),
        [
            operation(None, "invoke_agent", "internal"),
            operation(Some(1), "chat", "client"),
            execute(1, "login", ids[0], &json!({})),
            execute(1, "outer", ids[1], &json!({})),
            execute(4, "login", &inner, &failed("TOOL_EXECUTION_FAILED")),
            operation(Some(1), "chat", "client"),
        ]
    );
}

#[tokio::test]
async fn what_fails_says_by_which_code() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(ScriptedModel::new([ChatReply::default()]), tools![login]);
    agent.run("Go.").await.unwrap_err();
    let mut run = operation(None, "invoke_agent", "internal");
    run["fields"].as_object_mut().unwrap().extend(failed("SILENT").as_object().unwrap().clone());
    assert_eq!(spans.told(), [run, operation(Some(1), "chat", "client")]);
}

#[tokio::test]
async fn a_run_says_whose_it_is() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi.")]), tools![login]);
    agent.name("ada").run("Go.").await.unwrap();
    let fields = json!({
        "otel.name": "invoke_agent ada",
        "otel.kind": "internal",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ada",
    });
    let run = json!({"in": null, "fields": fields});
    assert_eq!(spans.told(), [run, operation(Some(1), "chat", "client")]);
}

#[tokio::test]
async fn content_is_there_when_it_is_wanted_and_secrets_never() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let registry = Registry::try_from(tools![login]).unwrap();
    let dispatcher = Dispatcher::new(registry).trace_content(true);
    let call = |id, word: &str| {
        ToolCall::new(id, "login", format!(r#"{{"user": "ada", "word": "{word}"}}"#))
    };
    dispatcher.dispatch(vec![call("1", "hunter22")]).await;
    dispatcher.dispatch(vec![call("2", "no")]).await;
    let content = |text: &str| {
        json!({
            "gen_ai.tool.call.arguments": r#"{"user":"ada","word":"[redacted]"}"#,
            "gen_ai.tool.call.result": text,
        })
    };
    let mut second = content("too short");
    let failed = failed("TOOL_EXECUTION_FAILED");
    second.as_object_mut().unwrap().extend(failed.as_object().unwrap().clone());
    let without_parent = |mut span: Value| {
        span["in"] = Value::Null;
        span
    };
    assert_eq!(
        spans.told(),
        [
            without_parent(execute(0, "login", "1", &content("ada by [redacted]"))),
            without_parent(execute(0, "login", "2", &second)),
        ]
    );
}
