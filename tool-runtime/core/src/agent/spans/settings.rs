//! The settings of a request, as attributes.
//!
//! Some are options of the framework. The others are members of the request in the spelling of its
//! provider; a member replaces the option of the same meaning.

use serde_json::{Map, Value};

use crate::models::ChatOptions;
use crate::span::{Span, text_array};

// The places in a request at which the providers keep a setting.
const MAX_TOKENS: [&str; 5] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "generationConfig.maxOutputTokens",
    "options.num_predict",
];
const TEMPERATURE: [&str; 3] =
    ["temperature", "generationConfig.temperature", "options.temperature"];
const TOP_P: [&str; 3] = ["top_p", "generationConfig.topP", "options.top_p"];
const TOP_K: [&str; 3] = ["top_k", "generationConfig.topK", "options.top_k"];
const FREQUENCY_PENALTY: [&str; 3] =
    ["frequency_penalty", "generationConfig.frequencyPenalty", "options.frequency_penalty"];
const PRESENCE_PENALTY: [&str; 3] =
    ["presence_penalty", "generationConfig.presencePenalty", "options.presence_penalty"];
const SEED: [&str; 4] = ["seed", "random_seed", "generationConfig.seed", "options.seed"];
const CHOICES: [&str; 2] = ["n", "generationConfig.candidateCount"];
const REASONING_LEVEL: [&str; 5] = [
    "reasoning_effort",
    "reasoning.effort",
    "output_config.effort",
    "generationConfig.thinkingConfig.thinkingLevel",
    "think",
];
const PREVIOUS_RESPONSE: [&str; 1] = ["previous_response_id"];

/// Records the settings that are set, with the types of the conventions.
pub(super) fn record_settings(span: &Span, options: &ChatOptions) {
    let find = |places: &[&str]| places.iter().find_map(|place| member(&options.extra, place));
    let int = |places: &[&str]| find(places).and_then(Value::as_i64);
    let float = |places: &[&str]| find(places).and_then(Value::as_f64);
    let text = |places: &[&str]| find(places).and_then(Value::as_str);

    let max_tokens = int(&MAX_TOKENS).or_else(|| options.max_tokens.map(i64::from));
    span.record("gen_ai.request.max_tokens", max_tokens);
    span.record("gen_ai.request.temperature", float(&TEMPERATURE).or(options.temperature));
    span.record("gen_ai.request.top_p", float(&TOP_P));
    span.record("gen_ai.request.top_k", int(&TOP_K));
    span.record("gen_ai.request.frequency_penalty", float(&FREQUENCY_PENALTY));
    span.record("gen_ai.request.presence_penalty", float(&PRESENCE_PENALTY));
    span.record("gen_ai.request.seed", int(&SEED));
    span.record("gen_ai.request.choice.count", int(&CHOICES).filter(|count| *count != 1));
    span.record("gen_ai.request.reasoning.level", text(&REASONING_LEVEL));
    span.record("gen_ai.request.previous_response.id", text(&PREVIOUS_RESPONSE));
    if !options.stop.is_empty() {
        let texts = text_array(options.stop.iter().map(String::as_str));
        span.record("gen_ai.request.stop_sequences", texts);
    }
    if options.output.is_some() {
        span.record("gen_ai.output.type", "json");
    }
}

/// Returns the member at a place such as `reasoning.effort`.
fn member<'a>(members: &'a Map<String, Value>, place: &str) -> Option<&'a Value> {
    match place.split_once('.') {
        None => members.get(place),
        Some((name, rest)) => member(members.get(name)?.as_object()?, rest),
    }
}
