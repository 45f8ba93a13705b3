//! Exports the spans of a run to an OpenTelemetry collector over OTLP.
//!
//! ```text
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 cargo run --example otlp --features otlp
//! ```
//!
//! 4318 is the port at which collectors, Jaeger and most vendors' agents accept OTLP over HTTP.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(city: String) -> String {
    format!("4 degrees in {city}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The endpoint and headers come from the environment: OTEL_EXPORTER_OTLP_ENDPOINT, …
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build()?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name("weather").build())
        .build();
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("weather"));
    // Without a filter, the exporter's own HTTP requests would be exported as well.
    let only_ours = Targets::new().with_target("tool_runtime", tracing::Level::INFO);
    tracing_subscriber::registry().with(spans.with_filter(only_ours)).init();

    let model = ScriptedModel::new([
        ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
        ChatReply::text("Take a coat."),
    ]);
    let agent = Agent::new(model, tools![temperature]).name("weather").trace_content(true);
    println!("{}", agent.run("What should I wear in Oslo?").await?);

    // The last batch is sent here.
    provider.shutdown()?;
    Ok(())
}
