//! The names that differ between the versions of the conventions.

use std::borrow::Cow;

use opentelemetry::{Array, Key, KeyValue, StringValue, Value};

use crate::Conventions;

/// The provider, since version 1.37.
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";

/// The provider, up to version 1.36.
pub(crate) const SYSTEM: &str = "gen_ai.system";

/// Attributes of version 1.36 with another type: there it is a float.
const TOP_K: &str = "gen_ai.request.top_k";

/// The attributes whose values are lists of texts. On spans of `tracing` they are JSON.
const LISTS: [&str; 2] = ["gen_ai.request.stop_sequences", "gen_ai.response.finish_reasons"];

/// The attributes that version 1.36 does not have. The provider has another name there.
const SINCE_1_37: [&str; 15] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.request.previous_response.id",
    "gen_ai.request.reasoning.level",
    "gen_ai.request.stream",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.usage.audio.input_tokens",
    "gen_ai.usage.audio.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
];

/// Converts the attributes of a span to those of these conventions.
pub(crate) fn convert(attributes: &mut Vec<KeyValue>, conventions: Conventions) {
    for attribute in attributes.iter_mut() {
        if LISTS.contains(&attribute.key.as_str())
            && let Some(texts) = list(&attribute.value)
        {
            attribute.value = Value::Array(Array::String(texts));
        }
    }
    if conventions.has_v1_36() {
        let provider = attributes.iter().find(|attribute| attribute.key.as_str() == PROVIDER);
        if let Some(KeyValue { value: Value::String(name), .. }) = provider {
            let system = KeyValue::new(SYSTEM, system_of(name.as_str()).into_owned());
            attributes.push(system);
        }
    }
    if !conventions.has_latest() {
        attributes.retain(|KeyValue { key, .. }| !is_newer(key));
        for attribute in attributes {
            if let (TOP_K, Value::I64(count)) = (attribute.key.as_str(), &attribute.value) {
                #[expect(clippy::cast_precision_loss, reason = "such counts are small")]
                let count = *count as f64;
                attribute.value = count.into();
            }
        }
    }
}

/// Returns the `gen_ai.system` of a provider.
pub(crate) fn system_of(provider: &str) -> Cow<'_, str> {
    match provider {
        "x_ai" => "xai".into(),
        other => other.into(),
    }
}

/// Whether version 1.36 does not have this attribute.
fn is_newer(key: &Key) -> bool {
    key.as_str() == PROVIDER || SINCE_1_37.contains(&key.as_str())
}

/// Returns the texts of a list in JSON.
fn list(value: &Value) -> Option<Vec<StringValue>> {
    let Value::String(json) = value else { return None };
    let texts: Vec<String> = serde_json::from_str(json.as_str()).ok()?;
    Some(texts.into_iter().map(StringValue::from).collect())
}
