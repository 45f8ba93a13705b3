//! Leftovers of a call: text of the call that is neither markup nor a value.

use std::collections::HashSet;

use serde_json::Value;

use super::ToolDefinition;
use crate::json::Risk;
use crate::message::ToolCall;

/// The longest leftover that an error quotes, in characters.
const MAX_QUOTED_CHARS: usize = 200;

impl ToolDefinition {
    /// Returns why a call must not run because of its leftover, as a text for the model. If the
    /// leftover names a parameter, the call would run without it, so no tool accepts that.
    pub(crate) fn leftover_error(&self, call: &ToolCall) -> Option<String> {
        if call.leftover.is_empty() {
            return None;
        }
        let parameter = self.parameter_in(&call.leftover);
        if parameter.is_none() && self.repair.allows(Risk::Lossy) {
            return None;
        }
        let quoted = if self.parameters.has_secrets() {
            String::new()
        } else {
            let text: String = call.leftover.chars().take(MAX_QUOTED_CHARS).collect();
            let ellipsis = if text.len() < call.leftover.len() { "…" } else { "" };
            format!(": {text:?}{ellipsis}")
        };
        let reason = match parameter {
            Some(name) => format!("`{name}` has to be inside of its arguments"),
            None => "it belongs to no argument".to_owned(),
        };
        Some(format!(
            "`{}` did not run. A part of the call was not read{quoted}; {reason}. Send the \
             call again, with all arguments in one place and nothing beside them.",
            call.name
        ))
    }

    /// Returns true if the tool has a parameter of this name.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        let properties = self.parameters.as_value().get("properties");
        properties.is_some_and(|properties| properties.get(name).is_some())
    }

    /// Returns the first word of `text` that is the name of a parameter, at any depth, up to case
    /// and separators.
    pub(crate) fn parameter_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut names = HashSet::new();
        let mut open = vec![self.parameters.as_value()];
        while let Some(schema) = open.pop() {
            match schema {
                Value::Object(members) => {
                    let properties = members.get("properties").and_then(Value::as_object);
                    names.extend(properties.into_iter().flatten().map(|(key, _)| letters(key)));
                    open.extend(members.values());
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@');
        text.split(|c| !is_of_word(c))
            .find(|word| !word.is_empty() && names.contains(&letters(word)))
    }
}

/// Returns a name without case and separators.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::Effect;

    #[test]
    fn leftover_that_names_a_parameter_is_refused_by_every_tool() {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "workDir": {"type": "string"},
                "options": {"type": "object", "properties": {"force": {"type": "boolean"}}},
            },
        });
        let named = [
            (", \"workDir\": \"/tmp\"}", "workDir"),
            ("<parameter=work_dir>/tmp", "work_dir"),
            ("WORKDIR=/tmp", "WORKDIR"),
            ("in the work-dir /tmp", "work-dir"),
            ("\"force\": true", "force"),
        ];
        let unnamed = ["so be it", "\"priority\": 1", "working directory"];
        for effect in [Effect::Read, Effect::Write] {
            let tool = ToolDefinition::new("run", "Runs.", schema.clone()).effect(effect);
            let error = |leftover: &str| {
                let mut call = ToolCall::new("", "run", "{}");
                call.leftover = leftover.to_owned();
                tool.leftover_error(&call)
            };
            for (leftover, name) in named {
                let error = error(leftover).expect("an error");
                assert!(error.contains(&format!("{leftover:?}")), "{error}");
                assert!(error.contains(&format!("`{name}` has to be inside")), "{error}");
            }
            for leftover in unnamed {
                assert_eq!(error(leftover).is_some(), effect == Effect::Write, "{leftover}");
            }
            assert_eq!(error(""), None);
        }
    }
}
