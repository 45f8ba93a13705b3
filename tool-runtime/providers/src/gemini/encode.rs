//! `ChatRequest` → body of a `generateContent` request.
//!
//! The shapes follow Google's API reference, "GenerateContentRequest", and its SDKs.

use serde_json::{Map, Value, json};

use super::contents::contents;
use crate::shared::set;
use tool_core::models::WireNames;
use tool_core::schema::{Dialect, Schema};
use tool_core::{ChatOptions, ChatRequest, Message, ModelError, ToolChoice, ToolDefinition};

/// The highest number of stop sequences.
const MAX_STOP_SEQUENCES: usize = 5;

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
        "name": names.wire_name(&tool.name),
        "description": tool.description,
    });
    // The API refuses an object without members there, but accepts a function without parameters.
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
        let text = "unsupported by Gemini: one call at a time; leave `parallel_calls` unset";
        return Err(ModelError::Setup(text.into()));
    }
    Ok(match &options.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!({ "mode": "ANY" })),
        ToolChoice::None => Some(json!({ "mode": "NONE" })),
        ToolChoice::Tool(name) => {
            Some(json!({ "mode": "ANY", "allowedFunctionNames": [names.wire_name(name)] }))
        }
        _ => None, // `check` has refused the request.
    })
}

fn generation(options: &ChatOptions) -> Result<Map<String, Value>, ModelError> {
    let mut config = Map::new();
    let mut add = |name: &str, value: Value| config.insert(name.into(), value);
    if let Some(temperature) = options.temperature {
        add("temperature", temperature.into());
    }
    if let Some(max_tokens) = options.max_tokens {
        add("maxOutputTokens", max_tokens.into());
    }
    match options.stop.len() {
        0 => {}
        1..=MAX_STOP_SEQUENCES => _ = add("stopSequences", options.stop.as_slice().into()),
        count => {
            let text = format!(
                "too many stop sequences for Gemini: {count} of at most {MAX_STOP_SEQUENCES}"
            );
            return Err(ModelError::Setup(text));
        }
    }
    if let Some(schema) = &options.output {
        add("responseMimeType", "application/json".into());
        let member = match schema.dialect() {
            Dialect::GeminiOpenApi => "responseSchema",
            _ => "responseJsonSchema",
        };
        add(member, json!(schema));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::request;
    use tool_core::models::{NameRules, WireNames};
    use tool_core::schema::{Dialect, Schema};
    use tool_core::{ChatOptions, ChatRequest, ToolDefinition};

    #[test]
    fn schema_is_sent_in_the_member_of_its_dialect() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let types = |schema: &Value, dialect| {
            let tool =
                ToolDefinition::new("t", "Does.", schema.clone()).in_dialect(dialect).unwrap();
            let output = Schema::from(schema.clone()).for_dialect(dialect).unwrap();
            let options = ChatOptions::default().output(output);
            let tools = [&tool];
            let turn = ChatRequest::new(&[]).tools(&tools).options(&options);
            let body = request("m", turn, &WireNames::new([], NameRules::GEMINI)).unwrap();
            let declared = body["tools"][0]["functionDeclarations"][0].clone();
            let members = |value: &Value, marks: [&'static str; 2]| {
                marks.map(|mark| value.get(mark).is_some())
            };
            let parameters = members(&declared, ["parameters", "parametersJsonSchema"]);
            let answer = &body["generationConfig"];
            (parameters, members(answer, ["responseSchema", "responseJsonSchema"]))
        };
        let empty = json!({ "type": "object" });
        assert_eq!(types(&schema, Dialect::Plain), ([false, true], [false, true]));
        assert_eq!(types(&schema, Dialect::Gemini), ([false, true], [false, true]));
        assert_eq!(types(&schema, Dialect::GeminiOpenApi), ([true, false], [true, false]));
        assert_eq!(types(&empty, Dialect::Gemini), ([false, true], [false, true]));
        assert_eq!(types(&empty, Dialect::GeminiOpenApi), ([false, false], [true, false]));
    }
}
