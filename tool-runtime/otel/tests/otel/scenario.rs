//! The exported runs: one with a streamed reply and calls of each kind, and one that fails.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::json;
use tokio::time::sleep;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::event::{Observer, Origin};
use tool_runtime::models::{DeltaSink, ModelInfo};
use tool_runtime::otel::{Conventions, ConventionsExporter, Metrics, layer};
use tool_runtime::{
    Agent, Arguments, ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Event, FinishReason,
    ModelError, ScriptedModel, ScriptedTurn, Tool, ToolContext, ToolDefinition, ToolError,
    ToolKind, ToolOutput, Tools, Usage, async_trait, tool, tools,
};
use tracing_subscriber::prelude::*;

use super::endpoint::Endpoint;

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(
    /// The city.
    city: String,
    /// The key of the service.
    #[arg(secret)]
    key: String,
) -> String {
    format!("4 degrees in {city} by {key}")
}

/// Fails.
#[tool(effect = "read")]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::failed("no"))
}

/// A tool that a server runs.
struct Forecast(ToolDefinition);

#[async_trait]
impl Tool for Forecast {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("rain"))
    }
}

fn forecast() -> Forecast {
    let schema = json!({ "type": "object", "properties": {} });
    let mut definition = ToolDefinition::new("forecast", "Returns the forecast.", schema);
    definition.kind = ToolKind::Remote("weather".into());
    Forecast(definition)
}

/// A model that takes 100 ms for the first piece, and 250 ms for a reply.
struct Model(ScriptedModel);

#[async_trait]
impl ChatModel for Model {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_millis(250)).await;
        self.0.reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_millis(100)).await;
        let reply = self.0.stream(request, deltas).await;
        sleep(Duration::from_millis(150)).await;
        reply
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::new("grok-5").provider("x_ai").server("api.x.ai", Some(443))
    }
}

/// Makes the model stream.
struct Deltas;

impl Observer for Deltas {
    fn observe(&self, _: &Event) {}

    fn receives_deltas(&self) -> bool {
        true
    }

    fn observe_delta(&self, _: &Origin, _: Delta<'_>) {}
}

fn first_reply() -> ChatReply {
    let mut usage = Usage::new(120, 30);
    usage.cache_read_tokens = 40;
    usage.cache_creation_tokens = 25;
    usage.reasoning_tokens = 10;
    usage.audio_input_tokens = 8;
    usage.audio_output_tokens = 4;
    let mut reply = ChatReply::text("Let me look.")
        .call("temperature", r#"{"city": "Oslo", "key": "hunter22"}"#)
        .call("forecast", "{}")
        .call("fail", "{}")
        .finish_reason(FinishReason::ToolCalls)
        .usage(usage);
    (reply.id, reply.model) = (Some("resp_1".into()), Some("grok-5-2026".into()));
    reply
}

fn last_reply() -> ChatReply {
    let mut reply = ChatReply::text(r#"{"coat":true}"#).usage(Usage::new(200, 20));
    reply.model = Some("grok-5-2026".into());
    reply
}

fn options() -> ChatOptions {
    ChatOptions::default()
        .output(json!({ "type": "object" }))
        .temperature(0.5)
        .max_tokens(300)
        .stop("END")
        .extra("top_p", 0.9)
        .extra("top_k", 40)
        .extra("seed", 7)
        .extra("frequency_penalty", 0.1)
        .extra("presence_penalty", 0.2)
        .extra("n", 2)
        .extra("reasoning_effort", "low")
        .extra("previous_response_id", "resp_0")
}

async fn run(metrics: Metrics, has_content: bool) {
    let metrics = Arc::new(metrics);
    let record = move |event: &Event| metrics.observe(event);
    let agent = |turns: Vec<ScriptedTurn>| {
        let tools: Tools = tools![temperature, fail].with(forecast());
        Agent::new(Model(ScriptedModel::new(turns)), tools)
            .name("weather")
            .system("You know the weather.")
            .observer(record.clone())
            .trace_content(has_content)
    };
    let good =
        agent(vec![first_reply().into(), last_reply().into()]).options(options()).observer(Deltas);
    good.session(MemorySessions::default(), "trip").run("A coat in Oslo?").await.unwrap();
    agent(vec![ScriptedTurn::unavailable("down")]).run("A coat?").await.unwrap_err();
}

/// Runs the agents, exports by OTLP, and returns the endpoint with what has arrived.
pub(crate) fn export(conventions: Conventions, has_content: bool) -> Endpoint {
    export_of(conventions, |metrics| run(metrics, has_content))
}

/// Runs a program, exports by OTLP, and returns the endpoint with what has arrived.
pub(crate) fn export_of<F: Future<Output = ()>>(
    conventions: Conventions,
    program: impl FnOnce(Metrics) -> F,
) -> Endpoint {
    let endpoint = Endpoint::start();
    // Built outside of the runtime, because their client blocks.
    let spans = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint.url("/v1/traces"))
        .build()
        .unwrap();
    let spans = ConventionsExporter::new(spans).conventions(conventions);
    let tracers = SdkTracerProvider::builder().with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint.url("/v1/metrics"))
        .build()
        .unwrap();
    let reader = PeriodicReader::builder(metrics).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let subscriber = tracing_subscriber::registry().with(layer(tracers.tracer("test")));
    let _default = tracing::subscriber::set_default(subscriber);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(program(Metrics::new(&meters.meter("test"), conventions)));
    tracers.shutdown().unwrap();
    meters.shutdown().unwrap();
    endpoint
}
