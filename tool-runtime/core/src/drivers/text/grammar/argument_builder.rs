//! A builder of arguments that a format writes one by one.

use serde_json::Value;

use super::raw_value::raw_to_json;
use crate::tool::ToolDefinition;

/// Builds the JSON text of arguments that a [`Format`](super::super::Format) finds one by one.
///
/// The tool's schema decides how plain text is converted. If the call is truncated, so is the JSON
/// text: it has no end, so that no tool that changes something runs on it.
///
/// # Examples
///
/// The format `!!name key=value; key=value!!`:
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{
///     ArgumentBuilder, Format, Formats, Input, Match, NoMatch, StartMarker, ToolLookup,
/// };
///
/// #[derive(Debug)]
/// struct Bangs;
///
/// impl Format for Bangs {
///     fn name(&self) -> &str {
///         "bangs"
///     }
///
///     fn start_markers(&self) -> &[StartMarker] {
///         &[StartMarker::Anywhere("!!")]
///     }
///
///     fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
///         let (body, is_complete) = match input.text[2..].split_once("!!") {
///             Some((body, _)) => (body, true),
///             None if input.is_complete => (&input.text[2..], false),
///             None => return Err(NoMatch::Incomplete),
///         };
///         let (name, members) = body.split_once(' ').unwrap_or((body, ""));
///         let tool = tools.find(name).ok_or(NoMatch::Text)?;
///         let mut arguments = ArgumentBuilder::new(tool);
///         let mut members = members.split("; ").filter_map(|it| it.split_once('=')).peekable();
///         while let Some((key, value)) = members.next() {
///             match is_complete || members.peek().is_some() {
///                 true => arguments.raw(key, value),
///                 false => arguments.truncated(key, value),
///             }
///         }
///         let call = tools.call(name, arguments.finish(is_complete)).ok_or(NoMatch::Text)?;
///         let end = body.len() + if is_complete { 4 } else { 2 };
///         Ok(Match::Calls { calls: vec![call], end })
///     }
/// }
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
/// });
/// let weather = ToolDefinition::new("weather", "Returns the weather.", schema);
/// let tools = ToolLookup::new(&[&weather]);
/// let formats = Formats::new().with(Bangs);
///
/// let parsed = formats.extract("!!weather city=7; days=7!!", &tools);
/// assert_eq!(parsed.calls[0].arguments.to_text(), r#"{"city": "7", "days": 7}"#);
///
/// let parsed = formats.extract("!!weather days=2; city=Os", &tools);
/// assert_eq!(parsed.calls[0].arguments.to_text(), r#"{"days": 2, "city": "Os"#);
/// ```
#[derive(Debug)]
pub struct ArgumentBuilder<'d> {
    tool: &'d ToolDefinition,
    json: String,
    is_truncated: bool,
}

impl<'d> ArgumentBuilder<'d> {
    /// Creates a builder without arguments, for a call of `tool`.
    pub fn new(tool: &'d ToolDefinition) -> Self {
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
    pub fn json(&mut self, key: &str, json: &str) {
        self.key(key);
        self.json.push_str(json);
    }

    /// Adds a string, whatever type the schema has.
    pub fn text(&mut self, key: &str, text: &str) {
        self.json(key, &Value::from(text).to_string());
    }

    /// Adds plain text, which the schema of the argument converts to a value.
    pub fn raw(&mut self, key: &str, text: &str) {
        self.json(key, &raw_to_json(self.tool.parameters.as_value(), key, text));
    }

    /// Adds a truncated value that is JSON or can be repaired to JSON.
    pub fn truncated_json(&mut self, key: &str, json: &str) {
        self.json(key, json);
        self.is_truncated = true;
    }

    /// Adds truncated plain text, which the schema of the argument converts to a value.
    pub fn truncated(&mut self, key: &str, text: &str) {
        let json = raw_to_json(self.tool.parameters.as_value(), key, text);
        self.truncated_json(key, json.strip_suffix('"').unwrap_or(&json));
    }

    /// Returns the JSON text of the arguments. If `is_complete` is false, the call has no end, and
    /// neither has the object.
    pub fn finish(mut self, is_complete: bool) -> String {
        if is_complete {
            self.json.push('}');
        } else if !self.is_truncated {
            // A blank after the last value shows that it is complete, for example a number.
            self.json.push(' ');
        }
        self.json
    }
}
