//! Exports the spans and metrics of a run to an OpenTelemetry collector over OTLP.
//!
//! ```text
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 cargo run --example otlp --features otlp
//! ```
//!
//! 4318 is the port at which collectors, Jaeger and most vendors' agents accept OTLP over HTTP.

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tool_runtime::otel::{Conventions, ConventionsExporter, Metrics, layer};
use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
use tracing_subscriber::prelude::*;

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(city: String) -> String {
    format!("4 degrees in {city}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The endpoint and headers come from the environment: OTEL_EXPORTER_OTLP_ENDPOINT, …
    let spans = ConventionsExporter::new(SpanExporter::builder().with_http().build()?);
    let resource = Resource::builder().with_service_name("weather").build();
    let tracers = SdkTracerProvider::builder()
        .with_batch_exporter(spans)
        .with_resource(resource.clone())
        .build();
    tracing_subscriber::registry().with(layer(tracers.tracer("weather"))).init();
    let reader = PeriodicReader::builder(MetricExporter::builder().with_http().build()?).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
    let metrics = Metrics::new(&meters.meter("weather"), Conventions::Latest);

    let model = ScriptedModel::new([
        ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
        ChatReply::text("Take a coat."),
    ]);
    let agent = Agent::new(model, tools![temperature])
        .name("weather")
        .observer(metrics)
        .trace_content(true);
    println!("{}", agent.run("What should I wear in Oslo?").await?);

    // The last batches are sent here.
    tracers.shutdown()?;
    meters.shutdown()?;
    Ok(())
}
