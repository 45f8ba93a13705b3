//! The instruments, with the names, units and buckets of the conventions.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use tool_core::{ToolExecution, ToolKind, Usage};

use super::{EndedRun, Request};
use crate::Conventions;
use crate::names::{PROVIDER, SYSTEM, system_of};

/// The operation of a model request.
const CHAT: &str = "chat";

/// The provider of a model that does not know its own.
const UNKNOWN_PROVIDER: &str = "_OTHER";

/// The bounds of buckets of times: powers of two times this, up to 82 s.
const SHORTEST_SECONDS: f64 = 0.01;

/// The bounds of buckets of runs: powers of two times this, up to 410 s.
const SHORTEST_RUN_SECONDS: f64 = 0.1;

pub(super) struct Instruments {
    latest: Option<Latest>,
    v1_36: Option<V136>,
}

/// The metrics of the latest conventions.
struct Latest {
    duration: Histogram<f64>,
    first_chunk: Histogram<f64>,
    operation_input: Histogram<u64>,
    operation_output: Histogram<u64>,
    input: Counter<u64>,
    output: Counter<u64>,
    cache_read: Counter<u64>,
    cache_write: Counter<u64>,
    reasoning: Counter<u64>,
    tool_duration: Histogram<f64>,
    run_duration: Histogram<f64>,
    run_inference_calls: Histogram<u64>,
    run_tool_calls: Histogram<u64>,
}

/// The metrics of version 1.36.
struct V136 {
    duration: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl Instruments {
    pub(super) fn new(meter: &Meter, conventions: Conventions) -> Self {
        Self {
            latest: conventions.has_latest().then(|| Latest::new(meter)),
            v1_36: conventions.has_v1_36().then(|| V136::new(meter)),
        }
    }

    pub(super) fn record_request(&self, request: &Request<'_>) {
        if let Some(latest) = &self.latest {
            latest.record_request(request);
        }
        if let Some(v1_36) = &self.v1_36 {
            v1_36.record_request(request);
        }
    }

    pub(super) fn record_execution(&self, execution: &ToolExecution, agent: Option<String>) {
        let Some(latest) = &self.latest else { return };
        let mut attributes = vec![
            KeyValue::new("gen_ai.tool.name", execution.result.tool.clone()),
            KeyValue::new("gen_ai.tool.type", tool_type(execution.tool_kind.as_ref())),
        ];
        push(&mut attributes, "gen_ai.agent.name", agent);
        push(&mut attributes, "error.type", execution.result.error.clone());
        latest.tool_duration.record(execution.duration.as_secs_f64(), &attributes);
    }

    pub(super) fn record_run(&self, run: &EndedRun<'_>) {
        let Some(latest) = &self.latest else { return };
        let mut attributes = Vec::new();
        push(&mut attributes, "gen_ai.agent.name", run.counts.agent.clone());
        latest.run_inference_calls.record(run.counts.inference_calls, &attributes);
        latest.run_tool_calls.record(run.counts.tool_calls, &attributes);
        push(&mut attributes, "gen_ai.request.model", run.counts.model.clone());
        push(&mut attributes, "error.type", run.error.map(str::to_owned));
        latest.run_duration.record(run.duration.as_secs_f64(), &attributes);
    }
}

impl Latest {
    fn new(meter: &Meter) -> Self {
        let counter = |name: &'static str| meter.u64_counter(name).with_unit("{token}").build();
        Self {
            duration: seconds(meter, "gen_ai.client.inference.duration", SHORTEST_SECONDS, 14),
            first_chunk: seconds(
                meter,
                "gen_ai.client.inference.time_to_first_chunk",
                SHORTEST_SECONDS,
                14,
            ),
            operation_input: tokens(meter, "gen_ai.client.inference.operation.input_tokens"),
            operation_output: tokens(meter, "gen_ai.client.inference.operation.output_tokens"),
            input: counter("gen_ai.client.inference.usage.input_tokens"),
            output: counter("gen_ai.client.inference.usage.output_tokens"),
            cache_read: counter("gen_ai.client.inference.usage.cache_read.input_tokens"),
            cache_write: counter("gen_ai.client.inference.usage.cache_write.input_tokens"),
            reasoning: counter("gen_ai.client.inference.usage.reasoning.output_tokens"),
            tool_duration: seconds(meter, "gen_ai.execute_tool.duration", SHORTEST_SECONDS, 14),
            run_duration: seconds(meter, "gen_ai.invoke_agent.duration", SHORTEST_RUN_SECONDS, 13),
            run_inference_calls: calls(
                meter,
                "gen_ai.invoke_agent.inference_calls",
                "{inference_call}",
            ),
            run_tool_calls: calls(meter, "gen_ai.invoke_agent.tool_calls", "{tool_call}"),
        }
    }

    fn record_request(&self, request: &Request<'_>) {
        let mut attributes = request.attributes();
        attributes.push(KeyValue::new(PROVIDER, request.provider().to_owned()));
        if let Some(time) = request.first_delta {
            self.first_chunk.record(time.as_secs_f64(), &attributes);
        }
        if let Some(usage) = request.usage {
            self.record_usage(usage, &attributes);
        }
        push(&mut attributes, "error.type", request.error.map(str::to_owned));
        self.duration.record(request.duration.as_secs_f64(), &attributes);
    }

    /// Records the tokens. Providers report the modality of audio only, so the others are of an
    /// unknown one.
    fn record_usage(&self, usage: Usage, attributes: &[KeyValue]) {
        self.operation_input.record(usage.input_tokens, attributes);
        self.operation_output.record(usage.output_tokens, attributes);
        let of = |modality: &'static str| {
            let modality = KeyValue::new("gen_ai.token.modality", modality);
            attributes.iter().cloned().chain([modality]).collect::<Vec<_>>()
        };
        let (audio, unknown) = (of("audio"), of("unknown"));
        for (counter, all, of_audio) in [
            (&self.input, usage.input_tokens, usage.audio_input_tokens),
            (&self.output, usage.output_tokens, usage.audio_output_tokens),
            (&self.cache_read, usage.cache_read_tokens, 0),
            (&self.cache_write, usage.cache_creation_tokens, 0),
            (&self.reasoning, usage.reasoning_tokens, 0),
        ] {
            for (tokens, attributes) in
                [(of_audio, &audio), (all.saturating_sub(of_audio), &unknown)]
            {
                if tokens > 0 {
                    counter.add(tokens, attributes);
                }
            }
        }
    }
}

impl V136 {
    fn new(meter: &Meter) -> Self {
        Self {
            duration: seconds(meter, "gen_ai.client.operation.duration", SHORTEST_SECONDS, 14),
            tokens: tokens(meter, "gen_ai.client.token.usage"),
        }
    }

    fn record_request(&self, request: &Request<'_>) {
        let mut attributes = request.attributes();
        attributes.push(KeyValue::new(SYSTEM, system_of(request.provider()).into_owned()));
        if let Some(usage) = request.usage {
            for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                let kind = KeyValue::new("gen_ai.token.type", kind);
                let attributes: Vec<_> = attributes.iter().cloned().chain([kind]).collect();
                self.tokens.record(tokens, &attributes);
            }
        }
        push(&mut attributes, "error.type", request.error.map(str::to_owned));
        self.duration.record(request.duration.as_secs_f64(), &attributes);
    }
}

impl Request<'_> {
    fn provider(&self) -> &str {
        self.provider.unwrap_or(UNKNOWN_PROVIDER)
    }

    /// Returns the attributes that all versions and all metrics of a request have.
    fn attributes(&self) -> Vec<KeyValue> {
        let (address, port) = self.server;
        let mut attributes = vec![KeyValue::new("gen_ai.operation.name", CHAT)];
        push(&mut attributes, "gen_ai.request.model", self.model.map(str::to_owned));
        push(&mut attributes, "gen_ai.response.model", self.response_model.map(str::to_owned));
        push(&mut attributes, "server.address", address.map(str::to_owned));
        attributes.extend(port.map(|port| KeyValue::new("server.port", i64::from(port))));
        attributes
    }
}

fn push(attributes: &mut Vec<KeyValue>, name: &'static str, value: Option<String>) {
    attributes.extend(value.map(|value| KeyValue::new(name, value)));
}

fn seconds(meter: &Meter, name: &'static str, shortest: f64, bounds: u8) -> Histogram<f64> {
    let bounds = (0..bounds).map(|power| shortest * 2_f64.powi(power.into())).collect();
    meter.f64_histogram(name).with_unit("s").with_boundaries(bounds).build()
}

/// Creates a histogram of tokens, with powers of four as bounds, up to 67 million.
fn tokens(meter: &Meter, name: &'static str) -> Histogram<u64> {
    let bounds = (0..14).map(|power| 4_f64.powi(power)).collect();
    meter.u64_histogram(name).with_unit("{token}").with_boundaries(bounds).build()
}

/// Creates a histogram of calls of a run, with powers of two as bounds, up to 128.
fn calls(meter: &Meter, name: &'static str, unit: &'static str) -> Histogram<u64> {
    let bounds = (0..8).map(|power| 2_f64.powi(power)).collect();
    meter.u64_histogram(name).with_unit(unit).with_boundaries(bounds).build()
}

/// Returns the `gen_ai.tool.type` of a kind of tools.
fn tool_type(kind: Option<&ToolKind>) -> &'static str {
    match kind {
        Some(ToolKind::Remote(_)) => "extension",
        _ => "function",
    }
}
