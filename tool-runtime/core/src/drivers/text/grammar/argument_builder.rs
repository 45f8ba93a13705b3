//! A builder of arguments that a format writes one by one.

use serde_json::Value;

use super::raw_value::raw_to_json;
use crate::tool::ToolDefinition;

/// Builds the JSON text of arguments that a [`Format`](super::super::Format) finds one by one.
///
/// The tool's schema decides how plain text is converted. If the call is truncated, so is the JSON
/// text: it has no end, so that no tool that changes something runs on it.
#[derive(Debug)]
pub(crate) struct ArgumentBuilder<'d> {
    tool: &'d ToolDefinition,
    json: String,
    is_truncated: bool,
}

impl<'d> ArgumentBuilder<'d> {
    /// Creates a builder without arguments, for a call of `tool`.
    pub(crate) fn new(tool: &'d ToolDefinition) -> Self {
        Self { tool, json: "{".to_owned(), is_truncated: false }
    }

    fn key(&mut self, key: &str) {
        if self.json.len() > 1 {
            self.json.push_str(", ");
        }
        self.json.push_str(&Value::from(key).to_string());
        self.json.push_str(": ");
    }

    /// Adds a value that is JSON or can be repaired to JSON.
    pub(crate) fn json(&mut self, key: &str, json: &str) {
        self.key(key);
        self.json.push_str(json);
    }

    /// Adds a string, whatever type the schema has.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.json(key, &Value::from(text).to_string());
    }

    /// Adds plain text, which the schema of the argument converts to a value.
    pub(crate) fn raw(&mut self, key: &str, text: &str) {
        self.json(key, &raw_to_json(self.tool.parameters.as_value(), key, text));
    }

    /// Adds a truncated value that is JSON or can be repaired to JSON.
    pub(crate) fn truncated_json(&mut self, key: &str, json: &str) {
        self.json(key, json);
        self.is_truncated = true;
    }

    /// Adds truncated plain text, which the schema of the argument converts to a value.
    pub(crate) fn truncated(&mut self, key: &str, text: &str) {
        let json = raw_to_json(self.tool.parameters.as_value(), key, text);
        self.truncated_json(key, json.strip_suffix('"').unwrap_or(&json));
    }

    /// Returns the JSON text of the arguments. If `is_complete` is false, the call has no end, and
    /// neither has the object.
    pub(crate) fn finish(mut self, is_complete: bool) -> String {
        if is_complete {
            self.json.push('}');
        } else if !self.is_truncated {
            // A blank after the last value shows that it is complete, for example a number.
            self.json.push(' ');
        }
        self.json
    }
}
