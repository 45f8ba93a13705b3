//! The attributes of spans in OpenTelemetry's conventions, and what the runtime exports for each.
//!
//! A row exists for each attribute of the sources, also for those that the runtime does not know.

use Level::{Conditional, OptIn, Recommended, Required};
use Value::{Absent, Is, Json};
use Versions::{Every, Latest, V136};

/// The file and the commit from which rows were read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) repository: &'static str,
    pub(crate) file: &'static str,
    pub(crate) commit: &'static str,
}

/// How strongly the conventions demand an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Required,
    Conditional,
    Recommended,
    OptIn,
}

/// The versions of the conventions that have an attribute with this name and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    Every,
    Latest,
    V136,
}

/// The exported value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// This value, as JSON.
    Is(&'static str),
    /// A text that contains this JSON.
    Json(&'static str),
    /// Nothing, for this reason.
    Absent(&'static str),
}

/// An attribute of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) span: &'static str,
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    pub(crate) versions: Versions,
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// The inference span.
pub(crate) const INFERENCE: Source = Source {
    repository: "open-telemetry/semantic-conventions-genai",
    file: "docs/gen-ai/client-inference.md",
    commit: "024a4f944a1291fcb627c9c47da69e79868dd15e",
};

/// The spans of agents and of tools.
pub(crate) const AGENTS: Source = Source {
    repository: "open-telemetry/semantic-conventions-genai",
    file: "model/gen-ai/spans.yaml",
    commit: "024a4f944a1291fcb627c9c47da69e79868dd15e",
};

/// Version 1.36.0.
pub(crate) const OLD: Source = Source {
    repository: "open-telemetry/semantic-conventions",
    file: "docs/gen-ai/gen-ai-spans.md",
    commit: "4b2c0e6544d740178c9c77809d25705e77acd0b0",
};

/// The spans: the key in this table, the exported name, and the kind in OTLP.
pub(crate) const SPANS: [(&str, &str, i32); 8] = [
    ("run", "invoke_agent weather", 1),
    ("chat", "chat grok-5", 3),
    ("tool", "execute_tool temperature", 1),
    ("remote tool", "execute_tool forecast", 1),
    ("failed tool", "execute_tool fail", 1),
    ("last chat", "chat grok-5", 3),
    ("failed run", "invoke_agent weather", 1),
    ("failed chat", "chat grok-5", 3),
];

/// The version is that in which the name has this meaning and type.
const fn row(
    span: &'static str,
    name: &'static str,
    level: Level,
    versions: Versions,
    value: Value,
    source: Source,
) -> Row {
    Row { span, name, level, versions, value, source }
}

const NO_MODALITY: Value = Absent("providers report the modality of audio only");
const NO_PROMPT: Value = Absent("the runtime has no prompt templates");

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    // The inference span.
    row("chat", "gen_ai.operation.name", Required, Every, Is(r#""chat""#), INFERENCE),
    row("chat", "gen_ai.provider.name", Required, Latest, Is(r#""x_ai""#), INFERENCE),
    row("chat", "gen_ai.system", Required, V136, Is(r#""xai""#), OLD),
    row("failed chat", "error.type", Conditional, Every, Is(r#""MODEL_FAILED""#), INFERENCE),
    row("chat", "gen_ai.conversation.id", Conditional, Every, Is(r#""trip""#), INFERENCE),
    row("chat", "gen_ai.output.type", Conditional, Every, Is(r#""json""#), INFERENCE),
    row("chat", "gen_ai.prompt.name", Conditional, Latest, NO_PROMPT, INFERENCE),
    row("chat", "gen_ai.prompt.version", Conditional, Latest, NO_PROMPT, INFERENCE),
    row("chat", "gen_ai.request.choice.count", Conditional, Every, Is("2"), INFERENCE),
    row("chat", "gen_ai.request.model", Conditional, Every, Is(r#""grok-5""#), INFERENCE),
    row("chat", "gen_ai.request.seed", Conditional, Every, Is("7"), INFERENCE),
    row("chat", "gen_ai.request.stream", Conditional, Latest, Is("true"), INFERENCE),
    row("chat", "gen_ai.request.top_k", Conditional, Latest, Is("40"), INFERENCE),
    row("chat", "gen_ai.request.top_k", Recommended, V136, Is("40.0"), OLD),
    row("chat", "server.port", Conditional, Every, Is("443"), INFERENCE),
    row("chat", "gen_ai.conversation.compacted", Recommended, Latest,
        Absent("the window does not tell whether it has summarized"), INFERENCE),
    row("chat", "gen_ai.request.frequency_penalty", Recommended, Every, Is("0.1"), INFERENCE),
    row("chat", "gen_ai.request.max_tokens", Recommended, Every, Is("300"), INFERENCE),
    row("chat", "gen_ai.request.presence_penalty", Recommended, Every, Is("0.2"), INFERENCE),
    row("chat", "gen_ai.request.previous_response.id", Recommended, Latest, Is(r#""resp_0""#), INFERENCE),
    row("chat", "gen_ai.request.reasoning.level", Recommended, Latest, Is(r#""low""#), INFERENCE),
    row("chat", "gen_ai.request.stop_sequences", Recommended, Every, Is(r#"["END"]"#), INFERENCE),
    row("chat", "gen_ai.request.temperature", Recommended, Every, Is("0.5"), INFERENCE),
    row("chat", "gen_ai.request.top_p", Recommended, Every, Is("0.9"), INFERENCE),
    row("chat", "gen_ai.response.finish_reasons", Recommended, Every, Is(r#"["tool_call"]"#), INFERENCE),
    row("last chat", "gen_ai.response.finish_reasons", Recommended, Every, Is(r#"["stop"]"#), INFERENCE),
    row("failed chat", "gen_ai.response.finish_reasons", Recommended, Every, Is(r#"["error"]"#), INFERENCE),
    row("chat", "gen_ai.response.id", Recommended, Every, Is(r#""resp_1""#), INFERENCE),
    row("chat", "gen_ai.response.model", Recommended, Every, Is(r#""grok-5-2026""#), INFERENCE),
    row("chat", "gen_ai.response.time_to_first_chunk", Recommended, Latest, Is("0.1"), INFERENCE),
    row("chat", "gen_ai.usage.audio.cache_read.input_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.audio.input_tokens", Recommended, Latest, Is("8"), INFERENCE),
    row("chat", "gen_ai.usage.audio.output_tokens", Recommended, Latest, Is("4"), INFERENCE),
    row("chat", "gen_ai.usage.cache_read.input_tokens", Recommended, Latest, Is("40"), INFERENCE),
    row("chat", "gen_ai.usage.cache_write.input_tokens", Recommended, Latest, Is("25"), INFERENCE),
    row("chat", "gen_ai.usage.image.cache_read.input_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.image.input_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.image.output_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.input_tokens", Recommended, Every, Is("120"), INFERENCE),
    row("chat", "gen_ai.usage.output_tokens", Recommended, Every, Is("30"), INFERENCE),
    row("chat", "gen_ai.usage.reasoning.output_tokens", Recommended, Latest, Is("10"), INFERENCE),
    row("chat", "gen_ai.usage.text.cache_read.input_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.text.input_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "gen_ai.usage.text.output_tokens", Recommended, Latest, NO_MODALITY, INFERENCE),
    row("chat", "server.address", Recommended, Every, Is(r#""api.x.ai""#), INFERENCE),
    row("chat", "gen_ai.input.messages", OptIn, Latest, Json(
        r#"[{"role":"user","parts":[{"type":"text","content":"A coat in Oslo?"}]}]"#), INFERENCE),
    row("chat", "gen_ai.output.messages", OptIn, Latest, Json(
        r#"[{"role":"assistant","finish_reason":"tool_call","parts":[
            {"type":"text","content":"Let me look."},
            {"type":"tool_call","id":"call_1","name":"temperature",
             "arguments":{"city":"Oslo","key":"[redacted]"}},
            {"type":"tool_call","id":"call_2","name":"forecast","arguments":{}},
            {"type":"tool_call","id":"call_3","name":"fail","arguments":{}}]}]"#), INFERENCE),
    row("chat", "gen_ai.prompt.variable", OptIn, Latest, NO_PROMPT, INFERENCE),
    row("chat", "gen_ai.system_instructions", OptIn, Latest, Json(
        r#"[{"type":"text","content":"You know the weather."}]"#), INFERENCE),
    row("chat", "gen_ai.tool.definitions", OptIn, Latest, Json(
        r#"[
            {"type":"function","name":"fail","description":"Fails.",
             "parameters":{"type":"object","properties":{},"additionalProperties":false}},
            {"type":"function","name":"forecast","description":"Returns the forecast.",
             "parameters":{"type":"object","properties":{}}},
            {"type":"function","name":"temperature",
             "description":"Returns the temperature in a city.",
             "parameters":{"type":"object","additionalProperties":false,
                "required":["city","key"],
                "properties":{
                    "city":{"type":"string","description":"The city."},
                    "key":{"type":"string","description":"The key of the service.",
                        "writeOnly":true}}}}
        ]"#), INFERENCE),

    // The span of a run.
    row("run", "gen_ai.operation.name", Required, Every, Is(r#""invoke_agent""#), AGENTS),
    row("failed run", "error.type", Conditional, Every, Is(r#""MODEL_FAILED""#), AGENTS),
    row("run", "gen_ai.agent.name", Conditional, Every, Is(r#""weather""#), AGENTS),
    row("run", "gen_ai.agent.description", Conditional, Every,
        Absent("agents have no description"), AGENTS),
    row("run", "gen_ai.conversation.id", Conditional, Every, Is(r#""trip""#), AGENTS),
    row("run", "gen_ai.data_source.id", Conditional, Every,
        Absent("agents have no data source of a provider"), AGENTS),
    row("run", "gen_ai.output.type", Conditional, Every, Is(r#""json""#), AGENTS),
    row("run", "gen_ai.request.choice.count", Conditional, Every, Is("2"), AGENTS),
    row("run", "gen_ai.request.seed", Conditional, Every, Is("7"), AGENTS),
    row("run", "gen_ai.request.model", Recommended, Every, Is(r#""grok-5""#), AGENTS),
    row("run", "gen_ai.request.max_tokens", Recommended, Every, Is("300"), AGENTS),
    row("run", "gen_ai.request.temperature", Recommended, Every, Is("0.5"), AGENTS),
    row("run", "gen_ai.request.top_p", Recommended, Every, Is("0.9"), AGENTS),
    row("run", "gen_ai.request.stop_sequences", Recommended, Every, Is(r#"["END"]"#), AGENTS),
    row("run", "gen_ai.request.frequency_penalty", Recommended, Every, Is("0.1"), AGENTS),
    row("run", "gen_ai.request.presence_penalty", Recommended, Every, Is("0.2"), AGENTS),
    row("run", "gen_ai.response.finish_reasons", Recommended, Every, Is(r#"["stop"]"#), AGENTS),
    row("run", "gen_ai.usage.input_tokens", Recommended, Every, Is("320"), AGENTS),
    row("run", "gen_ai.usage.output_tokens", Recommended, Every, Is("50"), AGENTS),
    row("run", "gen_ai.system_instructions", OptIn, Latest, Json(
        r#"[{"type":"text","content":"You know the weather."}]"#), AGENTS),
    row("run", "gen_ai.input.messages", OptIn, Latest, Json(
        r#"[{"role":"user","parts":[{"type":"text","content":"A coat in Oslo?"}]}]"#), AGENTS),
    row("run", "gen_ai.output.messages", OptIn, Latest, Json(
        r#"[{"role":"assistant","finish_reason":"stop","parts":[
            {"type":"text","content":"{\"coat\":true}"}]}]"#), AGENTS),
    row("run", "gen_ai.tool.definitions", OptIn, Latest,
        Absent("each request has those that it offers"), AGENTS),

    // The span of a call.
    row("tool", "gen_ai.operation.name", Required, Every, Is(r#""execute_tool""#), AGENTS),
    row("tool", "gen_ai.tool.name", Required, Every, Is(r#""temperature""#), AGENTS),
    row("failed tool", "error.type", Conditional, Every, Is(r#""TOOL_EXECUTION_FAILED""#), AGENTS),
    row("tool", "gen_ai.agent.name", Conditional, Every, Is(r#""weather""#), AGENTS),
    row("tool", "gen_ai.conversation.id", Conditional, Every, Is(r#""trip""#), AGENTS),
    row("tool", "gen_ai.tool.type", Recommended, Every, Is(r#""function""#), AGENTS),
    row("remote tool", "gen_ai.tool.type", Recommended, Every, Is(r#""extension""#), AGENTS),
    row("tool", "gen_ai.tool.call.id", Recommended, Every, Is(r#""call_1""#), AGENTS),
    row("tool", "gen_ai.tool.description", Recommended, Every,
        Is(r#""Returns the temperature in a city.""#), AGENTS),
    row("tool", "gen_ai.tool.call.arguments", OptIn, Latest, Json(
        r#"{"city":"Oslo","key":"[redacted]"}"#), AGENTS),
    row("tool", "gen_ai.tool.call.result", OptIn, Latest,
        Is(r#""4 degrees in Oslo by [redacted]""#), AGENTS),
];
