//! Removes the end of arguments, so that they count as truncated.
//!
//! A tool that changes something refuses truncated arguments. The mark has to survive the repair:
//! an object in a string, in a list or with surplus brackets would be complete again without its
//! last brace, so such arguments are repaired first.

use serde_json::{Map, Value};

use crate::json::parse_as;
use crate::tool::ToolDefinition;

/// Removes the end of arguments whose last string may continue.
pub(crate) fn truncate(arguments: String, tool: &ToolDefinition) -> String {
    let Some(mut open) = without_brace(&arguments, tool) else { return arguments };
    if open.ends_with('"') {
        open.pop();
    }
    open
}

/// Removes the brace that closes the arguments. Returns `None` if they are truncated, or if no tool
/// can read them: such arguments must not be changed, because another end may make them readable.
fn without_brace(arguments: &str, tool: &ToolDefinition) -> Option<String> {
    let text = arguments.trim_end();
    if is_object(text) {
        return text.strip_suffix('}').map(str::to_owned);
    }
    let parsed = parse_as(text, tool.parameters.as_value()).ok()?;
    if parsed.truncated {
        return None;
    }
    let is_object = parsed.value.is_object() && parsed.tool_names().is_empty();
    let open = parsed.json().trim_end().strip_suffix('}').filter(|_| is_object);
    Some(open.unwrap_or("{").to_owned())
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::truncate;
    use crate::json::parse_as;
    use crate::tool::ToolDefinition;

    #[test]
    fn arguments_without_end_count_as_truncated() {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
        });
        let tool = ToolDefinition::new("write", "Writes.", schema.clone());
        for text in [
            r#"{"path": "a"}"#,
            r#" {"path": "a"} "#,
            r#"{"path": "a"}}"#,
            r#"{"path": "a"}}}"#,
            r#"{{"path": "a"}}"#,
            r#"{path: 'a'}"#,
            r#""{\"path\": \"a\"}""#,
            r#""\"{\\\"path\\\": \\\"a\\\"}\"""#,
            r#"[{"path": "a"}]"#,
            r#"[[{"path": "a"}]]"#,
            "```json\n{\"path\": \"a\"}\n```",
            r#"{"arguments": {"path": "a"}}"#,
            r#"{"name": "write", "arguments": {"path": "a"}}"#,
            r#"[{"name": "write", "arguments": "{\"path\": \"a\"}"}]"#,
            r#""path": "a"}"#,
            r#"{"path": "a"} {"path": "a"}"#,
            r#"Here: {"path": "a"}"#,
            r#"{"path": "a""#,
            r#"{"path": ["a"]}"#,
            "{c\n\"\"]",
            "{\"path\": \"a\"]",
            "{\"path\": \"a\")",
            "{path:",
            r#"{"count": 7}"#,
            "{",
        ] {
            let open = truncate(text.to_owned(), &tool);
            let is_refused = parse_as(&open, &schema).map_or(true, |parsed| parsed.truncated);
            assert!(is_refused, "{text} became {open}");
        }
    }
}
