//! How the model is to answer, and what both sides of a conversation hold.

use serde_json::{Value, json};

use crate::message::{Image, ToolCall, ToolResult, UserPart};
use crate::models::{ChatRequest, ToolChoice, WireNames};
use crate::providers::codec::{WireIds, set, written_object};
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
        let mut output = json!({ "name": "output", "schema": schema });
        if schema.dialect().is_strict() {
            set(&mut output, "strict", true);
        }
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
        "function": { "name": names.wire(&call.name), "arguments": written_object(&call.arguments) },
    })
}

/// The pictures of results: where a result is text alone, the user shows them behind it.
pub(in crate::providers) fn shown(results: &[ToolResult], ids: &WireIds<'_>) -> Option<Value> {
    let of_result = |told: &ToolResult| {
        let text = format!("What call {} shows:", ids.wire(&told.call));
        let pictures = told.images.iter().cloned().map(UserPart::Image).collect::<Vec<_>>();
        [UserPart::Text { text }].into_iter().chain(pictures)
    };
    let with_pictures = results.iter().filter(|told| !told.images.is_empty());
    let parts: Vec<_> = with_pictures.flat_map(of_result).collect();
    (!parts.is_empty()).then(|| json!({ "role": "user", "content": content(&parts) }))
}

/// Adds a message. Many chat templates refuse two of the user's in a row, such as what results show and what is said
/// behind it: they are one.
pub(in crate::providers) fn add(said: &mut Vec<Value>, mut next: Value) {
    let of_user = |message: &Value| message.get("role").is_some_and(|role| role == "user");
    let taken =
        |message: &mut Value| message.get_mut("content").map(Value::take).unwrap_or_default();
    match said.last_mut() {
        Some(last) if of_user(last) && of_user(&next) => {
            let content = joined([taken(last), taken(&mut next)]);
            set(last, "content", content);
        }
        _ => said.push(next),
    }
}

fn joined(content: [Value; 2]) -> Value {
    if let [Value::String(first), Value::String(second)] = &content {
        return format!("{first}\n\n{second}").into();
    }
    let parts = |content: Value| match content {
        Value::Array(parts) => parts,
        text => vec![json!({ "type": "text", "text": text })],
    };
    content.into_iter().flat_map(parts).collect()
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    let mut function = json!({
        "name": names.wire(&tool.name),
        "description": tool.description,
        "parameters": parameters,
    });
    if parameters.dialect().is_strict() {
        set(&mut function, "strict", true);
    }
    json!({ "type": "function", "function": function })
}
