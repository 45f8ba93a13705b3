//! Our turn → the body of a Responses request.
//!
//! The shapes are those of OpenAI's API reference, "Create a model response", and of its Python SDK
//! (`types/responses`); that reasoning and the item behind it go back together is told in its guide
//! "Reasoning models".

use serde_json::{Value, json};

use super::sealed::{Item, Items};
use crate::message::{AssistantPart, Image, Message, ToolCall, ToolResult, UserPart};
use crate::models::{ChatOptions, ChatRequest, ModelError, ToolChoice, WireNames};
use crate::providers::codec::{EARLIER, IdRules, WireIds, nobody_spoke, set, written_object};
use crate::tool::ToolDefinition;

/// What the names of models that don't reason have in common. They refuse to be asked for reasoning.
const UNREASONING: [&str; 4] = ["gpt-3", "gpt-4", "chatgpt", "-chat"];

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    provider: &str,
    is_streamed: bool,
) -> Result<Value, ModelError> {
    let ChatRequest { tools, options, .. } = request;
    if !options.stop.is_empty() {
        return Err(ModelError::Setup(
            "OpenAI's Responses API knows no `stop`: leave it out, or use chat completions".into(),
        ));
    }
    let mut body = json!({
        "model": model,
        "input": conversation(request, names, provider),
        "store": false,
    });
    if !UNREASONING.iter().any(|part| model.contains(part)) {
        set(&mut body, "include", json!(["reasoning.encrypted_content"]));
    }
    // A choice among no tools is refused.
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", tools);
        say_how_to_call(&mut body, options, names);
    }
    if let Some(schema) = &options.output {
        let strict = schema.dialect().is_strict();
        let format =
            json!({ "type": "json_schema", "name": "output", "schema": schema, "strict": strict });
        set(&mut body, "text", json!({ "format": format }));
    }
    if let Some(temperature) = options.temperature {
        set(&mut body, "temperature", temperature);
    }
    if let Some(most) = options.max_tokens {
        set(&mut body, "max_output_tokens", most);
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    Ok(body)
}

fn say_how_to_call(body: &mut Value, options: &ChatOptions, names: &WireNames) {
    match &options.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::Required => set(body, "tool_choice", "required"),
        ToolChoice::None => set(body, "tool_choice", "none"),
        ToolChoice::Tool(name) => {
            let choice = json!({ "type": "function", "name": names.wire(name) });
            set(body, "tool_choice", choice);
        }
    }
    if let Some(may) = options.parallel_calls {
        set(body, "parallel_tool_calls", may);
    }
}

/// Left out, `strict` would be tried: then what may be left out has to be given.
fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    json!({
        "type": "function",
        "name": names.wire(&tool.name),
        "description": tool.description,
        "parameters": parameters,
        "strict": parameters.dialect().is_strict(),
    })
}

fn conversation(request: ChatRequest<'_>, names: &WireNames, provider: &str) -> Vec<Value> {
    let ids = WireIds::new(request.messages, IdRules::Short);
    let is_stored = request.options.extra.get("store") == Some(&Value::Bool(true));
    let mut items = Items::new(provider, is_stored);
    for said in request.messages {
        match said {
            Message::System { text } => items.hear(message("system", text.as_str())),
            Message::User { parts } => items.hear(message("user", user(said, parts))),
            Message::Assistant { parts } => {
                for part in parts {
                    match part {
                        AssistantPart::Text { text } if text.is_empty() => {}
                        AssistantPart::Text { text } => {
                            items.say(message("assistant", text.as_str()));
                        }
                        AssistantPart::Call(made) => items.say(call(made, names, &ids)),
                        AssistantPart::Reasoning(thought) => items.think(thought),
                    }
                }
                items.pause();
            }
            Message::Tool { results } => {
                results.iter().for_each(|told| items.hear(result(told, &ids)));
            }
        }
    }
    let mut items = items.into_values();
    if nobody_spoke(&items) {
        items.push(message("user", EARLIER).into());
    }
    items
}

fn item<const N: usize>(kind: &str, members: [(&str, Value); N]) -> Item {
    let members = [("type", kind.into())].into_iter().chain(members);
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn message(role: &str, content: impl Into<Value>) -> Item {
    item("message", [("role", role.into()), ("content", content.into())])
}

/// Text alone is sent as text: not every server knows parts.
fn user(message: &Message, parts: &[UserPart]) -> Value {
    if parts.iter().all(|part| matches!(part, UserPart::Text { .. })) {
        return message.text().into();
    }
    let parts = parts.iter().filter_map(|part| match part {
        UserPart::Text { text } => (!text.is_empty()).then(|| words(text)),
        UserPart::Image(shown) => Some(image(shown)),
    });
    parts.collect()
}

fn words(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn image(Image { media_type, base64 }: &Image) -> Value {
    let url = format!("data:{media_type};base64,{base64}");
    json!({ "type": "input_image", "image_url": url, "detail": "auto" })
}

fn call(call: &ToolCall, names: &WireNames, ids: &WireIds<'_>) -> Item {
    let members = [
        ("call_id", ids.wire(&call.id).into()),
        ("name", names.wire(&call.name).into()),
        ("arguments", written_object(&call.arguments).into()),
    ];
    item("function_call", members)
}

fn result(told: &ToolResult, ids: &WireIds<'_>) -> Item {
    let output: Value = match told.images.as_slice() {
        [] => told.text.as_str().into(),
        images => {
            let said = (!told.text.is_empty()).then(|| words(&told.text));
            said.into_iter().chain(images.iter().map(image)).collect()
        }
    };
    item("function_call_output", [("call_id", ids.wire(&told.call).into()), ("output", output)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::request;
    use crate::models::{ChatOptions, ChatRequest, NameRules, WireNames};
    use crate::schema::{Dialect, Schema};
    use crate::tool::ToolDefinition;

    #[test]
    fn strict_is_said_either_way() {
        let own = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        for (dialect, is_strict) in [(Dialect::Plain, false), (Dialect::OpenAiStrict, true)] {
            let tool = ToolDefinition::new("t", "Does.", own.clone()).bent(dialect).unwrap();
            let output = Schema::from(own.clone()).for_dialect(dialect).unwrap();
            let options = ChatOptions::default().output(output);
            let tools = [&tool];
            let asked = ChatRequest::new(&[]).tools(&tools).options(&options);
            let names = WireNames::new([], NameRules::OPENAI);
            let body = request("m", asked, &names, "openai", false).unwrap();
            let said = [&body["tools"][0], &body["text"]["format"]];
            for (said, schema) in said.iter().zip(["parameters", "schema"]) {
                assert_eq!(said["strict"], is_strict);
                assert_eq!(said[schema].get("required").is_some(), is_strict, "{said}");
            }
        }
    }
}
