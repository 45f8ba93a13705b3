use opentelemetry::trace::Tracer;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

/// Returns the layer of a subscriber that passes the spans of the runtime to this tracer.
///
/// Other spans are left out, such as those of the HTTP client that exports. A program that also
/// wants them adds the layer of `tracing-opentelemetry` with another filter instead.
///
/// ```no_run
/// use opentelemetry::trace::TracerProvider as _;
/// use opentelemetry_otlp::SpanExporter;
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tool_runtime::otel::{ConventionsExporter, layer};
/// use tracing_subscriber::prelude::*;
///
/// let exporter = ConventionsExporter::new(SpanExporter::builder().with_http().build()?);
/// let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
/// tracing_subscriber::registry().with(layer(provider.tracer("weather"))).init();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn layer<S, T>(tracer: T) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    T: Tracer + Send + Sync + 'static,
    T::Span: Send + Sync,
{
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    spans.with_filter(Targets::new().with_target("tool_runtime", Level::INFO))
}
