//! Our turn → the body of a `generateContent` request.
//!
//! The shapes are those of Google's API reference, "GenerateContentRequest", and of its SDKs.

use serde_json::{Map, Value, json};

use super::contents::contents;
use crate::message::Message;
use crate::models::{ChatOptions, ChatRequest, ModelError, ToolChoice, WireNames};
use crate::providers::codec::set;
use crate::schema::{Dialect, Schema};
use crate::tool::ToolDefinition;

/// The most texts that may end a reply.
const MOST_STOPS: usize = 5;

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
) -> Result<Value, ModelError> {
    let ChatRequest { messages, tools, options, .. } = request;
    let mut body = json!({ "contents": contents(messages, model, names) });
    let system: Vec<_> = messages.iter().filter_map(system).collect();
    if !system.is_empty() {
        let text = system.join("\n\n");
        set(&mut body, "systemInstruction", json!({ "parts": [{ "text": text }] }));
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", json!([{ "functionDeclarations": tools }]));
        if let Some(calling) = calling(options, names)? {
            set(&mut body, "toolConfig", json!({ "functionCallingConfig": calling }));
        }
    }
    let config = generation(options)?;
    if !config.is_empty() {
        set(&mut body, "generationConfig", config);
    }
    Ok(body)
}

fn system(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    let member = match parameters.dialect() {
        Dialect::GeminiOpenApi => "parameters",
        _ => "parametersJsonSchema",
    };
    let mut definition = json!({
        "name": names.wire(&tool.name),
        "description": tool.description,
    });
    // An object without members is refused there; a function without parameters is not.
    if member != "parameters" || !has_no_members(parameters) {
        set(&mut definition, member, json!(parameters));
    }
    definition
}

fn has_no_members(schema: &Schema) -> bool {
    let members = schema.as_value().get("properties").and_then(Value::as_object);
    members.is_none_or(Map::is_empty)
}

fn calling(options: &ChatOptions, names: &WireNames) -> Result<Option<Value>, ModelError> {
    if options.parallel_calls == Some(false) {
        let text = "Gemini can't be told to make one call at a time: leave `parallel_calls` unset";
        return Err(ModelError::Setup(text.into()));
    }
    Ok(match &options.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!({ "mode": "ANY" })),
        ToolChoice::None => Some(json!({ "mode": "NONE" })),
        ToolChoice::Tool(name) => {
            Some(json!({ "mode": "ANY", "allowedFunctionNames": [names.wire(name)] }))
        }
    })
}

fn generation(options: &ChatOptions) -> Result<Map<String, Value>, ModelError> {
    let mut config = Map::new();
    let mut say = |name: &str, value: Value| config.insert(name.into(), value);
    if let Some(temperature) = options.temperature {
        say("temperature", temperature.into());
    }
    if let Some(most) = options.max_tokens {
        say("maxOutputTokens", most.into());
    }
    match options.stop.len() {
        0 => {}
        1..=MOST_STOPS => _ = say("stopSequences", options.stop.as_slice().into()),
        count => {
            let text = format!("Gemini takes {MOST_STOPS} texts of `stop` at most, not {count}");
            return Err(ModelError::Setup(text));
        }
    }
    if let Some(schema) = &options.output {
        say("responseMimeType", "application/json".into());
        let member = match schema.dialect() {
            Dialect::GeminiOpenApi => "responseSchema",
            _ => "responseJsonSchema",
        };
        say(member, json!(schema));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::request;
    use crate::models::{ChatOptions, ChatRequest, NameRules, WireNames};
    use crate::schema::{Dialect, Schema};
    use crate::tool::ToolDefinition;

    #[test]
    fn a_schema_stands_where_its_dialect_is_read() {
        let own = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let sent = |schema: &Value, dialect| {
            let tool = ToolDefinition::new("t", "Does.", schema.clone()).bent(dialect).unwrap();
            let output = Schema::from(own.clone()).for_dialect(dialect).unwrap();
            let options = ChatOptions::default().output(output);
            let tools = [&tool];
            let asked = ChatRequest::new(&[]).tools(&tools).options(&options);
            let body = request("m", asked, &WireNames::new([], NameRules::GEMINI)).unwrap();
            let declared = body["tools"][0]["functionDeclarations"][0].clone();
            let members = |value: &Value, marks: [&'static str; 2]| {
                marks.map(|mark| value.get(mark).is_some())
            };
            let told = members(&declared, ["parameters", "parametersJsonSchema"]);
            let answer = &body["generationConfig"];
            (told, members(answer, ["responseSchema", "responseJsonSchema"]))
        };
        let empty = json!({ "type": "object" });
        assert_eq!(sent(&own, Dialect::Plain), ([false, true], [false, true]));
        assert_eq!(sent(&own, Dialect::Gemini), ([false, true], [false, true]));
        assert_eq!(sent(&own, Dialect::GeminiOpenApi), ([true, false], [true, false]));
        assert_eq!(sent(&empty, Dialect::Gemini), ([false, true], [false, true]));
        assert_eq!(sent(&empty, Dialect::GeminiOpenApi), ([false, false], [true, false]));
    }
}
