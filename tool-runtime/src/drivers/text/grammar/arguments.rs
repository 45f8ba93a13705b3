//! Arguments that come one by one, put together to the text of an object.

use serde_json::Value;

use super::typed::typed;
use crate::tool::ToolDefinition;

/// The text of an object that is being written. Where the model was cut off, so is this: whoever reads
/// it sees that it has no end.
#[derive(Debug)]
pub(in crate::drivers::text) struct Typed<'d> {
    tool: &'d ToolDefinition,
    json: String,
    is_cut: bool,
}

impl<'d> Typed<'d> {
    pub(in crate::drivers::text) fn new(tool: &'d ToolDefinition) -> Self {
        Self { tool, json: "{".to_owned(), is_cut: false }
    }

    fn key(&mut self, key: &str) {
        if self.json.len() > 1 {
            self.json.push_str(", ");
        }
        self.json.push_str(&Value::from(key).to_string());
        self.json.push_str(": ");
    }

    /// A value that is JSON, or nearly.
    pub(in crate::drivers::text) fn json(&mut self, key: &str, json: &str) {
        self.key(key);
        self.json.push_str(json);
    }

    /// A value that is a text, whatever the schema says.
    pub(in crate::drivers::text) fn text(&mut self, key: &str, text: &str) {
        self.json(key, &Value::from(text).to_string());
    }

    /// A value whose type is for the schema to say.
    pub(in crate::drivers::text) fn raw(&mut self, key: &str, text: &str) {
        self.json(key, &typed(self.tool.parameters.as_value(), key, text));
    }

    /// A value that is JSON, or nearly, and was cut off.
    pub(in crate::drivers::text) fn cut_json(&mut self, key: &str, json: &str) {
        self.json(key, json);
        self.is_cut = true;
    }

    /// A value whose type is for the schema to say, and that was cut off.
    pub(in crate::drivers::text) fn cut(&mut self, key: &str, text: &str) {
        let json = typed(self.tool.parameters.as_value(), key, text);
        self.cut_json(key, json.strip_suffix('"').unwrap_or(&json));
    }

    pub(in crate::drivers::text) fn finish(mut self, is_whole: bool) -> String {
        match is_whole {
            true => self.json.push('}'),
            // The last value is there in full: a number shows that by the blank behind it.
            false if !self.is_cut => self.json.push(' '),
            false => {}
        }
        self.json
    }
}

/// Arguments whose last text may go on: they lose their end, as those that were cut off have none.
pub(super) fn cut_off(mut arguments: String) -> String {
    if !arguments.ends_with('}') {
        return arguments;
    }
    arguments.pop();
    if arguments.ends_with('"') {
        arguments.pop();
    }
    arguments
}
