//! Tools, tool choices and other options of requests.

use serde_json::{Value, json};
use tool_core::schema::Schema;
use tool_core::{ChatOptions, ChatRequest, Message, ModelError, ToolChoice, ToolDefinition};

use super::{body, contains};
use crate::Violation;
use crate::violation::ensure;

const TOOLS: &str = "the name, the description and the parameters of an offered tool are sent";
const CHOICES: &str = "different tool choices have different requests, or are refused";
const OPTIONS: &str = "an option is sent or refused";

/// Options with one setting, and the texts by which a request shows it.
pub(super) struct Sample {
    setting: &'static str,
    options: ChatOptions,
    marks: &'static [&'static str],
}

/// Returns each setting of a request.
pub(super) fn samples() -> Vec<Sample> {
    let set = ChatOptions::default;
    let sample = |setting, options, marks| Sample { setting, options, marks };
    let mut samples = vec![
        sample("parallel_calls(false)", set().parallel_calls(false), &[][..]),
        sample("temperature(0.25)", set().temperature(0.25), &["0.25"]),
        sample("max_tokens(1234)", set().max_tokens(1_234), &["1234"]),
        sample("stop(\"text-of-stop\")", set().stop("text-of-stop"), &["text-of-stop"]),
    ];
    let schema = json!({
        "type": "object",
        "properties": { "name_of_member": { "type": "string" } },
        "required": ["name_of_member"],
        "additionalProperties": false,
    });
    if let Ok(schema) = serde_json::from_value::<Schema>(schema) {
        samples.push(sample("output(…)", set().output(schema), &["name_of_member"]));
    }
    samples
}

fn tools() -> [ToolDefinition; 2] {
    ["first", "second"].map(|name| {
        let schema = json!({
            "type": "object",
            "properties": { format!("parameter_of_{name}"): { "type": "string" } },
        });
        ToolDefinition::new(format!("{name}_tool"), format!("Description of {name}."), schema)
    })
}

/// Returns the body of a request with two tools, or `None` if it is refused.
async fn body_with(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
    options: &ChatOptions,
) -> Result<Option<Value>, Violation> {
    let (tools, messages) = (tools(), [Message::user("text-of-user")]);
    let offered: Vec<_> = tools.iter().collect();
    body(encode, ChatRequest::new(&messages).tools(&offered).options(options)).await
}

/// Checks that the definitions of tools are sent.
pub(super) async fn check_tools(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
) -> Result<(), Violation> {
    let Some(body) = body_with(encode, &ChatOptions::default()).await? else { return Ok(()) };
    for name in ["first", "second"] {
        for mark in [
            format!("{name}_tool"),
            format!("Description of {name}."),
            format!("parameter_of_{name}"),
        ] {
            ensure(contains(&body, &mark), TOOLS, &format!("`{mark}`"), || body.to_string())?;
        }
    }
    Ok(())
}

/// Returns each tool choice.
fn tool_choices() -> [ToolChoice; 4] {
    let tool = ToolChoice::Tool("second_tool".into());
    [ToolChoice::Auto, ToolChoice::Required, ToolChoice::None, tool]
}

/// Checks that different tool choices have different requests.
pub(super) async fn check_tool_choices(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
) -> Result<(), Violation> {
    let mut bodies: Vec<(ToolChoice, Value)> = Vec::new();
    for choice in tool_choices() {
        let options = ChatOptions::default().tool_choice(choice.clone());
        let Some(body) = body_with(encode, &options).await? else { continue };
        let equal = bodies.iter().find(|(_, other)| *other == body);
        let expected = format!("a request of its own for {choice:?}");
        ensure(equal.is_none(), CHOICES, &expected, || match equal {
            Some((other, _)) => format!("the request of {other:?}"),
            None => body.to_string(),
        })?;
        if matches!(choice, ToolChoice::Tool(_)) {
            ensure(contains(&body, "second_tool"), CHOICES, "the required tool", || {
                body.to_string()
            })?;
        }
        bodies.push((choice, body));
    }
    Ok(())
}

/// Checks that a setting changes the request.
pub(super) async fn check(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
    sample: &Sample,
) -> Result<(), Violation> {
    let without = body_with(encode, &ChatOptions::default()).await?;
    let Some(body) = body_with(encode, &sample.options).await? else { return Ok(()) };
    let is_sent =
        without.as_ref() != Some(&body) && sample.marks.iter().all(|mark| contains(&body, mark));
    let expected = format!("`{}` in the request", sample.setting);
    ensure(is_sent, OPTIONS, &expected, || body.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};
    use tool_core::ToolChoice;

    use super::{samples, tool_choices};
    use crate::variants::variants;

    #[test]
    fn tool_choices_have_each_variant() {
        let name = |choice: ToolChoice| match serde_json::to_value(choice) {
            Ok(Value::String(name)) => name,
            Ok(Value::Object(members)) => members.keys().cloned().collect(),
            other => panic!("{other:?}"),
        };
        let found: BTreeSet<String> = tool_choices().map(name).into();
        assert_eq!(found, variants::<ToolChoice>(json!("?")));
    }

    /// The tool choice and `extra` are not settings of the samples.
    #[test]
    fn samples_have_each_option() {
        let debug = format!("{:?}", tool_core::ChatOptions::default());
        assert_eq!(debug.matches(": ").count(), samples().len() + 2, "{debug}");
    }
}
