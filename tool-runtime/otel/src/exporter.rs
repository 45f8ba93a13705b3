use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use crate::{Conventions, names};

/// Gives spans the names and types of OpenTelemetry's conventions, and passes them to an exporter.
///
/// A field of `tracing` can't be a list. Therefore the runtime records
/// `gen_ai.response.finish_reasons` and `gen_ai.request.stop_sequences` as JSON texts, and this
/// exporter converts them to lists. Under [`Conventions::V1_36`] it also replaces the names that
/// have changed. Spans of other libraries keep all other attributes.
///
/// ```no_run
/// use opentelemetry_otlp::SpanExporter;
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tool_runtime::otel::{Conventions, ConventionsExporter};
///
/// let exporter = SpanExporter::builder().with_http().build()?;
/// let exporter = ConventionsExporter::new(exporter).conventions(Conventions::from_env());
/// let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ConventionsExporter<E> {
    exporter: E,
    conventions: Conventions,
}

impl<E> ConventionsExporter<E> {
    /// Wraps an exporter of spans, with the latest conventions.
    pub fn new(exporter: E) -> Self {
        Self { exporter, conventions: Conventions::default() }
    }

    /// Sets the version of the conventions. Default: [`Conventions::Latest`].
    #[must_use]
    pub fn conventions(mut self, conventions: Conventions) -> Self {
        self.conventions = conventions;
        self
    }
}

impl<E: SpanExporter> SpanExporter for ConventionsExporter<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for span in &mut batch {
            names::convert(&mut span.attributes, self.conventions);
        }
        self.exporter.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
