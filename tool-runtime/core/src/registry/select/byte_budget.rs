//! The size of definitions in a request, and which of them fit a budget.

use std::io;

use serde::Serialize;

use crate::tool::ToolDefinition;

/// The text around the parts of a definition in a chat-completions request, with the following
/// comma. Other providers need less.
const ENVELOPE: &str = r#"{"type":"function","function":{"name":,"description":,"parameters":}},"#;

/// The additional text if the provider enforces the schema.
const STRICT: &str = r#","strict":true"#;

/// Returns the size of a definition in a request, in bytes of JSON: name, description, parameters,
/// and what surrounds them.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::registry::definition_bytes;
///
/// let schema = serde_json::json!({ "type": "object" });
/// assert_eq!(definition_bytes(&ToolDefinition::new("now", "Returns the time.", schema)), 111);
/// ```
pub fn definition_bytes(tool: &ToolDefinition) -> usize {
    let texts = json_bytes(&tool.name) + json_bytes(&tool.description);
    let parameters = tool.wire_parameters();
    let strict = if parameters.dialect().is_strict() { STRICT.len() } else { 0 };
    ENVELOPE.len() + texts + json_bytes(parameters.as_value()) + strict
}

/// Returns a lower bound of the size, without looking at the schema.
fn min_bytes(tool: &ToolDefinition) -> usize {
    let quotes_and_braces = 6;
    ENVELOPE.len() + tool.name.len() + tool.description.len() + quotes_and_braces
}

/// Returns the tools that fit the budget, in order. A tool that does not fit is skipped; a smaller
/// one after it may still fit.
pub(super) fn fitting<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    bytes: usize,
) -> impl Iterator<Item = &'t ToolDefinition> {
    let mut left = bytes;
    tools.into_iter().filter(move |tool| {
        // Once little is left, most tools are skipped without serializing them.
        let rest = left.checked_sub(min_bytes(tool));
        match rest.and_then(|_| left.checked_sub(definition_bytes(tool))) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        }
    })
}

fn json_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut counter = ByteCounter(0);
    // Neither strings nor JSON values fail to serialize.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Counts the bytes that are written to it.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn min_bytes_is_a_lower_bound() {
        for (name, description, schema) in
            [("a", "b", json!({})), ("tool", "\"Quoted\"\n", json!({ "type": "object" }))]
        {
            let tool = ToolDefinition::new(name, description, schema);
            assert!(min_bytes(&tool) <= definition_bytes(&tool));
        }
    }
}
