//! How many bytes definitions take, and which of them fit.

use std::io;

use serde::Serialize;

use crate::tool::ToolDefinition;

/// What stands around the three texts of a definition in a chat-completions request, the comma
/// behind it included. Other providers put less there.
const AROUND: &str = r#"{"type":"function","function":{"name":,"description":,"parameters":}},"#;

/// What is added where the model is held to the schema.
const STRICT: &str = r#","strict":true"#;

/// How many bytes a tool's definition takes in a request, as JSON: name, description, parameters, and
/// what providers put around them.
pub fn definition_bytes(tool: &ToolDefinition) -> usize {
    let said = printed(&tool.name) + printed(&tool.description);
    let parameters = tool.wire_parameters();
    let strict = if parameters.dialect().is_strict() { STRICT.len() } else { 0 };
    AROUND.len() + said + printed(parameters.as_value()) + strict
}

/// The least that its definition can take, known without a look at its schema.
fn least_bytes(tool: &ToolDefinition) -> usize {
    let quotes_and_braces = 6;
    AROUND.len() + tool.name.len() + tool.description.len() + quotes_and_braces
}

/// Those of these tools that fit into so many bytes, where the first go first. One that doesn't fit
/// is left out, and a smaller one behind it may still fit.
pub(super) fn fitting<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    bytes: usize,
) -> impl Iterator<Item = &'t ToolDefinition> {
    let mut left = bytes;
    tools.into_iter().filter(move |tool| {
        // Once little is left, most tools are passed over without printing them.
        let rest = left.checked_sub(least_bytes(tool));
        match rest.and_then(|_| left.checked_sub(definition_bytes(tool))) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        }
    })
}

fn printed<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut count = Count(0);
    // Neither texts nor JSON values fail to print.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts what is written to it.
struct Count(usize);

impl io::Write for Count {
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
    fn no_definition_takes_less_than_the_least() {
        for (name, description, schema) in
            [("a", "b", json!({})), ("tool", "\"Quoted\"\n", json!({ "type": "object" }))]
        {
            let tool = ToolDefinition::new(name, description, schema);
            assert!(least_bytes(&tool) <= definition_bytes(&tool));
        }
    }
}
