//! Spans: their names and attributes are stable, because other programs query them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::models::ModelInfo;
use tool_runtime::{
    Agent, ChatModel, ChatOptions, ChatReply, ChatRequest, Dispatcher, ModelError, Registry,
    ScriptedModel, ToolCall, ToolContext, ToolError, async_trait, tool, tools,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Subscriber that records spans, their fields and their parents.
#[derive(Clone, Default)]
struct Spans {
    recorded: Arc<Mutex<BTreeMap<u64, RecordedSpan>>>,
    entered: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

#[derive(Clone, Debug, Default)]
struct RecordedSpan {
    metadata: Option<&'static Metadata<'static>>,
    parent: Option<u64>,
    fields: BTreeMap<String, String>,
}

impl Visit for RecordedSpan {
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
        let parent = self.entered.lock().unwrap().last().copied();
        let mut recorded =
            RecordedSpan { parent, metadata: Some(span.metadata()), ..RecordedSpan::default() };
        span.record(&mut recorded);
        self.recorded.lock().unwrap().insert(id, recorded);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(self.recorded.lock().unwrap().get_mut(&span.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut entered = self.entered.lock().unwrap();
        let index = entered.iter().rposition(|id| *id == span.into_u64()).unwrap();
        entered.remove(index);
    }

    fn current_span(&self) -> Current {
        let entered = self.entered.lock().unwrap().last().copied();
        let recorded = self.recorded.lock().unwrap();
        let current = entered.and_then(|id| Some((id, recorded.get(&id)?.metadata?)));
        current
            .map_or_else(Current::none, |(id, metadata)| Current::new(Id::from_u64(id), metadata))
    }
}

impl Spans {
    /// Returns the spans as JSON in the order of their start. `in` is the number of the parent.
    fn recorded(&self) -> Vec<Value> {
        let recorded = self.recorded.lock().unwrap();
        recorded.values().map(|span| json!({"in": span.parent, "fields": span.fields})).collect()
    }
}

/// Logs a user in if the password is long enough.
#[tool(effect = "read")]
async fn login(
    /// The user.
    user: String,
    /// The password.
    #[arg(secret)]
    word: String,
) -> Result<String, ToolError> {
    match word.len() {
        0..5 => Err(ToolError::failed("too short")),
        _ => Ok(format!("{user} by {word}")),
    }
}

/// Calls another tool.
#[tool]
async fn outer(ctx: &ToolContext) -> usize {
    ctx.dispatch(vec![ToolCall::new("", "login", r#"{"user": "a", "word": "b"}"#)]).await.len()
}

fn execute(parent: u64, name: &str, call: &str, more: &Value) -> Value {
    let mut fields = json!({
        "otel.name": format!("execute_tool {name}"),
        "otel.kind": "internal",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": match name {
            "login" => "Logs a user in if the password is long enough.",
            _ => "Calls another tool.",
        },
        "tool_runtime.tool.kind": "function",
    });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"in": parent, "fields": fields})
}

/// Returns the span of a run or a request whose last reply was complete.
fn operation(parent: Option<u64>, name: &str, kind: &str) -> Value {
    let fields = json!({
        "otel.name": name,
        "otel.kind": kind,
        "gen_ai.operation.name": name,
        "gen_ai.response.finish_reasons": r#"["stop"]"#,
    });
    json!({"in": parent, "fields": fields})
}

fn failed(code: &str) -> Value {
    json!({"otel.status_code": "ERROR", "error.type": code})
}

#[tokio::test]
async fn run_emits_a_tree_of_spans() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let mut two = ChatReply::default();
    two = two.call("login", r#"{"user": "ada", "word": "hunter22"}"#).call("outer", "{}");
    let model = ScriptedModel::new([two, ChatReply::text("Done.")]);
    let answer = Agent::new(model, tools![login, outer]).run("Go.").await.unwrap();
    let ids: Vec<_> = answer.transcript[1].calls().map(|call| call.id.as_str()).collect();
    let inner = format!("{}/1", ids[1]);
    assert_eq!(
        spans.recorded(),
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
async fn failed_run_sets_the_error_type() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(ScriptedModel::new([ChatReply::default()]), tools![login]);
    agent.run("Go.").await.unwrap_err();
    let mut run = operation(None, "invoke_agent", "internal");
    let error = failed("EMPTY_REPLY");
    run["fields"].as_object_mut().unwrap().extend(error.as_object().unwrap().clone());
    assert_eq!(spans.recorded(), [run, operation(Some(1), "chat", "client")]);
}

#[tokio::test]
async fn run_span_holds_the_agent_name() {
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi.")]), tools![login]);
    agent.name("ada").run("Go.").await.unwrap();
    let fields = json!({
        "otel.name": "invoke_agent ada",
        "otel.kind": "internal",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ada",
        "gen_ai.response.finish_reasons": r#"["stop"]"#,
    });
    let run = json!({"in": null, "fields": fields});
    assert_eq!(spans.recorded(), [run, operation(Some(1), "chat", "client")]);
}

#[tokio::test]
async fn content_is_opt_in_and_secrets_are_redacted() {
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
        spans.recorded(),
        [
            without_parent(execute(0, "login", "1", &content("ada by [redacted]"))),
            without_parent(execute(0, "login", "2", &second)),
        ]
    );
}

/// A model that counts how often it is asked for its description.
struct Described(ScriptedModel, Arc<AtomicU64>);

#[async_trait]
impl ChatModel for Described {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.reply(request).await
    }

    fn info(&self) -> ModelInfo {
        self.1.fetch_add(1, Ordering::Relaxed);
        ModelInfo::new("m")
    }
}

#[tokio::test]
async fn disabled_spans_compute_no_attributes() {
    let count = Arc::new(AtomicU64::new(0));
    let model = || Described(ScriptedModel::new([ChatReply::text("Hi.")]), Arc::clone(&count));
    Agent::new(model(), tools![login]).trace_content(true).run("Go.").await.unwrap();
    let without_spans = count.swap(0, Ordering::Relaxed);
    assert_eq!(without_spans, 1, "the usage counts for this model");

    let _spans = tracing::subscriber::set_default(Spans::default());
    Agent::new(model(), tools![login]).run("Go.").await.unwrap();
    let for_spans = count.load(Ordering::Relaxed) - without_spans;
    assert_eq!(for_spans, 2, "once for the run and once for the request");
}

#[tokio::test]
async fn settings_are_found_in_the_spelling_of_each_provider() {
    let gemini = |name: &str, value: Value| {
        ChatOptions::default().extra("generationConfig", json!({ name: value }))
    };
    let ollama =
        |name: &str, value: Value| ChatOptions::default().extra("options", json!({ name: value }));
    let extra = |name: &str, value: Value| ChatOptions::default().extra(name, value);
    for (options, name, value) in [
        (ChatOptions::default().max_tokens(9), "gen_ai.request.max_tokens", "9"),
        // A member replaces the option.
        (extra("max_tokens", 8.into()).max_tokens(9), "gen_ai.request.max_tokens", "8"),
        (extra("max_completion_tokens", 8.into()), "gen_ai.request.max_tokens", "8"),
        (extra("max_output_tokens", 8.into()), "gen_ai.request.max_tokens", "8"),
        (gemini("maxOutputTokens", 8.into()), "gen_ai.request.max_tokens", "8"),
        (ollama("num_predict", 8.into()), "gen_ai.request.max_tokens", "8"),
        (gemini("topP", 0.5.into()), "gen_ai.request.top_p", "0.5"),
        (ollama("top_k", 4.into()), "gen_ai.request.top_k", "4"),
        (extra("random_seed", 7.into()), "gen_ai.request.seed", "7"),
        (gemini("candidateCount", 2.into()), "gen_ai.request.choice.count", "2"),
        (extra("reasoning_effort", "low".into()), "gen_ai.request.reasoning.level", "low"),
        (extra("reasoning", json!({"effort": "low"})), "gen_ai.request.reasoning.level", "low"),
        (extra("output_config", json!({"effort": "max"})), "gen_ai.request.reasoning.level", "max"),
        (
            gemini("thinkingConfig", json!({"thinkingLevel": "HIGH"})),
            "gen_ai.request.reasoning.level",
            "HIGH",
        ),
        (extra("think", "high".into()), "gen_ai.request.reasoning.level", "high"),
        (
            ChatOptions::default().stop("A").stop("\"B"),
            "gen_ai.request.stop_sequences",
            r#"["A","\"B"]"#,
        ),
    ] {
        let spans = Spans::default();
        let _spans = tracing::subscriber::set_default(spans.clone());
        let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi.")]), tools![login]);
        agent.options(options).run("Go.").await.unwrap();
        assert_eq!(spans.recorded()[1]["fields"][name], value, "{name}");
    }
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi.")]), tools![login]);
    agent.options(extra("n", 1.into())).run("Go.").await.unwrap();
    assert_eq!(spans.recorded()[1]["fields"]["gen_ai.request.choice.count"], Value::Null);
}

#[tokio::test]
async fn secrets_of_an_earlier_run_are_redacted_on_the_span_of_a_run() {
    let store = tool_runtime::agent::session::MemorySessions::new();
    let agent = |replies: Vec<ChatReply>| {
        Agent::new(ScriptedModel::new(replies), tools![login]).trace_content(true)
    };
    let first = vec![
        ChatReply::default().call("login", r#"{"user": "ada", "word": "hunter22"}"#),
        ChatReply::text("Done."),
    ];
    agent(first).session(store.clone(), "s").run("Go.").await.unwrap();
    let spans = Spans::default();
    let _spans = tracing::subscriber::set_default(spans.clone());
    agent(vec![ChatReply::text("Hi.")]).session(store, "s").run("Hello").await.unwrap();
    let recorded = serde_json::to_string(&spans.recorded()).unwrap();
    assert!(recorded.contains("gen_ai.input.messages") && recorded.contains("Hello"));
    assert!(!recorded.contains("hunter22"), "{recorded}");
}
