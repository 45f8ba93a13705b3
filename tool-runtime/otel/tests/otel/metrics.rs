//! The exported metrics.

use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use serde_json::{Value, json};
use tool_runtime::otel::Conventions;

use super::conventions::{INFERENCE, Source};
use super::endpoint;
use super::scenario::export;

/// A measurement that is expected.
struct Row {
    name: &'static str,
    unit: &'static str,
    /// The first and the last bound of the buckets; none for a counter.
    bounds: Option<[f64; 2]>,
    /// The attributes, in addition to those of all metrics of its family.
    attributes: Value,
    count: u64,
    sum: f64,
    source: Source,
}

/// The metrics of runs and calls.
const AGENTS: Source = Source {
    repository: "open-telemetry/semantic-conventions-genai",
    file: "model/gen-ai/metrics.yaml",
    commit: "024a4f944a1291fcb627c9c47da69e79868dd15e",
};

/// The tokens of requests.
const TOKENS: Source = Source {
    repository: "open-telemetry/semantic-conventions-genai",
    file: "docs/gen-ai/gen-ai-token-metrics.md",
    commit: "27f82f09c4e797dda0832f0030e3bd3e747e4b9d",
};

/// Version 1.36.0.
const OLD: Source = Source {
    repository: "open-telemetry/semantic-conventions",
    file: "docs/gen-ai/gen-ai-metrics.md",
    commit: "4b2c0e6544d740178c9c77809d25705e77acd0b0",
};

const SECONDS: Option<[f64; 2]> = Some([0.01, 81.92]);
const RUN_SECONDS: Option<[f64; 2]> = Some([0.1, 409.6]);
const COUNTS: Option<[f64; 2]> = Some([1.0, 128.0]);
const TOKEN_BOUNDS: Option<[f64; 2]> = Some([1.0, 67_108_864.0]);

fn request(provider: (&str, &str), more: &Value) -> Value {
    let mut attributes = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "grok-5",
        "server.address": "api.x.ai",
        "server.port": 443,
    });
    attributes[provider.0] = provider.1.into();
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    attributes
}

#[rustfmt::skip]
fn rows(conventions: Conventions) -> Vec<Row> {
    let row = |name, unit, bounds, attributes, count, sum, source| {
        Row { name, unit, bounds, attributes, count, sum, source }
    };
    let mut rows = Vec::new();
    if conventions != Conventions::V1_36 {
        let x_ai = ("gen_ai.provider.name", "x_ai");
        let replied = request(x_ai, &json!({"gen_ai.response.model": "grok-5-2026"}));
        let failed = request(x_ai, &json!({"error.type": "MODEL_FAILED"}));
        let tokens = |modality| request(x_ai, &json!({
            "gen_ai.response.model": "grok-5-2026", "gen_ai.token.modality": modality}));
        let tool = |name, kind| json!({
            "gen_ai.tool.name": name, "gen_ai.tool.type": kind, "gen_ai.agent.name": "weather"});
        let mut failed_tool = tool("fail", "function");
        failed_tool["error.type"] = "TOOL_EXECUTION_FAILED".into();
        let run = json!({"gen_ai.agent.name": "weather", "gen_ai.request.model": "grok-5"});
        let agent = json!({"gen_ai.agent.name": "weather"});
        let mut failed_run = run.clone();
        failed_run["error.type"] = "MODEL_FAILED".into();
        rows.extend([
            row("gen_ai.client.inference.duration", "s", SECONDS, replied.clone(), 2, 0.5, INFERENCE),
            row("gen_ai.client.inference.duration", "s", SECONDS, failed, 1, 0.25, INFERENCE),
            row("gen_ai.client.inference.time_to_first_chunk", "s", SECONDS, replied.clone(), 2, 0.2, INFERENCE),
            row("gen_ai.client.inference.operation.input_tokens", "{token}", TOKEN_BOUNDS, replied.clone(), 2, 320.0, TOKENS),
            row("gen_ai.client.inference.operation.output_tokens", "{token}", TOKEN_BOUNDS, replied, 2, 50.0, TOKENS),
            row("gen_ai.client.inference.usage.input_tokens", "{token}", None, tokens("unknown"), 0, 312.0, TOKENS),
            row("gen_ai.client.inference.usage.input_tokens", "{token}", None, tokens("audio"), 0, 8.0, TOKENS),
            row("gen_ai.client.inference.usage.output_tokens", "{token}", None, tokens("unknown"), 0, 46.0, TOKENS),
            row("gen_ai.client.inference.usage.output_tokens", "{token}", None, tokens("audio"), 0, 4.0, TOKENS),
            row("gen_ai.client.inference.usage.cache_read.input_tokens", "{token}", None, tokens("unknown"), 0, 40.0, TOKENS),
            row("gen_ai.client.inference.usage.cache_write.input_tokens", "{token}", None, tokens("unknown"), 0, 25.0, TOKENS),
            row("gen_ai.client.inference.usage.reasoning.output_tokens", "{token}", None, tokens("unknown"), 0, 10.0, TOKENS),
            row("gen_ai.execute_tool.duration", "s", SECONDS, tool("temperature", "function"), 1, 0.0, AGENTS),
            row("gen_ai.execute_tool.duration", "s", SECONDS, tool("forecast", "extension"), 1, 0.0, AGENTS),
            row("gen_ai.execute_tool.duration", "s", SECONDS, failed_tool, 1, 0.0, AGENTS),
            row("gen_ai.invoke_agent.duration", "s", RUN_SECONDS, run, 1, 0.5, AGENTS),
            row("gen_ai.invoke_agent.duration", "s", RUN_SECONDS, failed_run, 1, 0.25, AGENTS),
            row("gen_ai.invoke_agent.inference_calls", "{inference_call}", COUNTS, agent.clone(), 2, 3.0, AGENTS),
            row("gen_ai.invoke_agent.tool_calls", "{tool_call}", COUNTS, agent, 2, 3.0, AGENTS),
        ]);
    }
    if conventions != Conventions::Latest {
        let xai = ("gen_ai.system", "xai");
        let replied = request(xai, &json!({"gen_ai.response.model": "grok-5-2026"}));
        let failed = request(xai, &json!({"error.type": "MODEL_FAILED"}));
        let tokens = |kind| request(xai, &json!({
            "gen_ai.response.model": "grok-5-2026", "gen_ai.token.type": kind}));
        rows.extend([
            row("gen_ai.client.operation.duration", "s", SECONDS, replied, 2, 0.5, OLD),
            row("gen_ai.client.operation.duration", "s", SECONDS, failed, 1, 0.25, OLD),
            row("gen_ai.client.token.usage", "{token}", TOKEN_BOUNDS, tokens("input"), 2, 320.0, OLD),
            row("gen_ai.client.token.usage", "{token}", TOKEN_BOUNDS, tokens("output"), 2, 50.0, OLD),
        ]);
    }
    rows
}

/// Returns all measurements as texts that can be compared.
fn measurements(metrics: &[Metric]) -> Vec<String> {
    let mut found = Vec::new();
    for metric in metrics {
        let mut add = |attributes: &[_], bounds: Option<[f64; 2]>, count: u64, sum: f64| {
            let attributes = Value::from(endpoint::json(attributes));
            found.push(line(&metric.name, &metric.unit, bounds, &attributes, count, sum));
        };
        match metric.data.as_ref().unwrap() {
            Data::Histogram(histogram) => {
                for point in &histogram.data_points {
                    let bounds = &point.explicit_bounds;
                    let bounds = [bounds[0], bounds[bounds.len() - 1]];
                    add(&point.attributes, Some(bounds), point.count, point.sum.unwrap());
                }
            }
            Data::Sum(sum) => {
                assert!(sum.is_monotonic, "{}", metric.name);
                for point in &sum.data_points {
                    let Some(Number::AsInt(value)) = point.value else { panic!("{point:?}") };
                    add(&point.attributes, None, 0, f64::from(i32::try_from(value).unwrap()));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    found.sort();
    found
}

fn line(
    name: &str,
    unit: &str,
    bounds: Option<[f64; 2]>,
    attributes: &Value,
    count: u64,
    sum: f64,
) -> String {
    format!("{name} {unit} {bounds:?} {attributes} count {count} sum {sum:.3}")
}

#[test]
fn exported_metrics_fit_the_table() {
    for conventions in [Conventions::Latest, Conventions::V1_36, Conventions::Both] {
        let found = measurements(&export(conventions, false).metrics());
        let rows = rows(conventions);
        let mut expected: Vec<_> = rows
            .iter()
            .map(|row| {
                assert!(!row.source.commit.is_empty() && row.source.file.contains("gen-ai"));
                line(row.name, row.unit, row.bounds, &row.attributes, row.count, row.sum)
            })
            .collect();
        expected.sort();
        assert_eq!(found, expected, "{conventions:?}");
    }
}

#[test]
fn operator_chooses_the_conventions_by_the_variable() {
    for (list, chosen) in [
        ("", Conventions::V1_36),
        ("http", Conventions::V1_36),
        ("gen_ai_latest_experimental", Conventions::Latest),
        ("http/dup, gen_ai_latest_experimental", Conventions::Latest),
        ("gen_ai_latest_experimental_2", Conventions::V1_36),
    ] {
        assert_eq!(Conventions::from_opt_in(list), chosen, "{list}");
    }
}
