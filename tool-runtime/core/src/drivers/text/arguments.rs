//! Decides whether a text is the arguments of a call, a placeholder or a definition.

use serde_json::Value;

use crate::json::{ParseErrorKind, parse_as};
use crate::tool::ToolDefinition;

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Returns true if a tool takes these arguments, well or badly written. Placeholders and the
/// tool's own definition are none.
pub(crate) fn are_arguments(arguments: &str, tool: &ToolDefinition) -> bool {
    match parse_as(arguments, tool.parameters.as_value()) {
        Ok(parsed) => !is_schema(arguments, tool) && !is_parameter_list(&parsed.value, tool),
        Err(error) => match error.kind() {
            ParseErrorKind::Ellipsis | ParseErrorKind::Empty => false,
            _ => is_valid_json(arguments) || !is_placeholder(arguments),
        },
    }
}

/// Returns true if arguments that no marker announces are at least an object or a list.
pub(crate) fn may_be_unmarked(arguments: &str, tool: &ToolDefinition) -> bool {
    match parse_as(arguments, tool.parameters.as_value()) {
        Ok(_) => true,
        // Valid JSON of another type than the tool takes.
        Err(error) if error.kind() == ParseErrorKind::NoValue => is_valid_json(arguments),
        Err(_) => arguments.trim_start().starts_with(['{', '[']),
    }
}

fn is_valid_json(arguments: &str) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok()
}

/// Returns true for a placeholder such as `<arguments>` or `{args}`.
fn is_placeholder(arguments: &str) -> bool {
    let words = arguments.trim();
    let is_word = |c: char| c.is_alphanumeric() || "_-.<>{}[]()".contains(c);
    words.starts_with(['<', '{', '[', '(']) && words.chars().all(is_word)
}

/// Returns true if `arguments` is a JSON Schema instead of values, which a tool that takes anything
/// would accept.
pub(crate) fn is_schema(arguments: &str, tool: &ToolDefinition) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else { return false };
    let takes_type = tool.parameters.as_value().pointer("/properties/type").is_some();
    let has_type = members.get("type").and_then(Value::as_str) == Some("object");
    let has_properties = members.get("properties").is_some_and(Value::is_object);
    !takes_type && has_type && (has_properties || members.len() == 1)
}

/// Returns true if `value` describes the parameters instead of giving values.
fn is_parameter_list(value: &Value, tool: &ToolDefinition) -> bool {
    let Some(members) = value.as_object().filter(|members| !members.is_empty()) else {
        return false;
    };
    let of_type = |value: &Value| {
        let name = value.get("type").and_then(Value::as_str);
        name.is_some_and(|name| TYPES.contains(&name))
    };
    let is_schema = value.get("properties").is_some_and(Value::is_object) && of_type(value);
    (is_schema || members.values().all(of_type)) && !tool.parameters.check(value).is_empty()
}
