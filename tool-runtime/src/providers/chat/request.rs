//! How the model is to answer, and what both sides of a conversation hold.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::message::{Arguments, Image, ToolCall, UserPart};
use crate::models::{ChatRequest, ToolChoice, WireNames};
use crate::providers::codec::{object_text, set};
use crate::tool::ToolDefinition;

/// Sets the tools and all that options say but the most tokens, which have several names. `required` is
/// the word for a tool that has to be called.
pub(in crate::providers) fn set_options(
    body: &mut Value,
    request: ChatRequest<'_>,
    names: &WireNames,
    required: &str,
) {
    let ChatRequest { tools, options, .. } = request;
    // Some servers refuse an empty list, and a choice among no tools.
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(body, "tools", tools);
        match &options.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => set(body, "tool_choice", required),
            ToolChoice::None => set(body, "tool_choice", "none"),
            ToolChoice::Tool(name) => {
                let function = json!({ "name": names.wire(name) });
                set(body, "tool_choice", json!({ "type": "function", "function": function }));
            }
        }
        if let Some(may) = options.parallel_calls {
            set(body, "parallel_tool_calls", may);
        }
    }
    if let Some(schema) = &options.output {
        let output = json!({ "name": "output", "schema": schema });
        let format = json!({ "type": "json_schema", "json_schema": output });
        set(body, "response_format", format);
    }
    if let Some(temperature) = options.temperature {
        set(body, "temperature", temperature);
    }
    if !options.stop.is_empty() {
        set(body, "stop", options.stop.as_slice());
    }
}

/// Text alone is sent as text: not every server knows parts.
pub(in crate::providers) fn content(parts: &[UserPart]) -> Value {
    let text = |part: &UserPart| match part {
        UserPart::Text { text } => Some(text.clone()),
        UserPart::Image(_) => None,
    };
    if let Some(text) = parts.iter().map(text).collect::<Option<String>>() {
        return text.into();
    }
    let part = |part: &UserPart| match part {
        UserPart::Text { text } => json!({ "type": "text", "text": text }),
        UserPart::Image(Image { media_type, base64 }) => {
            let url = format!("data:{media_type};base64,{base64}");
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
    };
    parts.iter().map(part).collect()
}

/// A conversation in which a model called what can't be a name is refused.
pub(in crate::providers) fn call(call: &ToolCall, id: &str, names: &WireNames) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": { "name": names.wire(&call.name), "arguments": arguments(&call.arguments) },
    })
}

/// An object as text: the model's own, byte for byte, unless it is damaged.
///
/// llama.cpp and vLLM read these texts again and refuse the whole conversation, now and on every
/// turn after, when one of them isn't the JSON of an object.
fn arguments(arguments: &Arguments) -> Cow<'_, str> {
    let text = arguments.to_text();
    if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
        return text;
    }
    Cow::Owned(object_text(arguments))
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": names.wire(&tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn arguments_go_back_as_an_object() {
        for (written, sent) in [
            (r#"{ "b": 1.0, "a": 1e2 }"#, r#"{ "b": 1.0, "a": 1e2 }"#),
            ("", "{}"),
            (" null ", "{}"),
            ("```json\n{\"a\": 1}\n```", r#"{"a": 1}"#),
            ("As in [1]: {\"a\": 1}", r#"{"a": 1}"#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            ("{a: 1.10,}", r#"{"a":1.10}"#),
            ("{\"a\": 1 | 2}", r#"{"unreadable":"{\"a\": 1 | 2}"}"#),
            ("[1]", r#"{"unreadable":"[1]"}"#),
        ] {
            assert_eq!(arguments(&written.into()), sent, "{written}");
        }
    }
}
