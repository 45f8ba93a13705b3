//! Arguments that come one by one, put together to the text of an object.

use serde_json::Value;

use super::typed::typed;
use crate::tool::ToolDefinition;

/// Arguments that a [`Format`](super::super::Format) finds one by one, put together to the text of an object. What is plain
/// text is typed by the tool's schema. Where the model was cut off, so is the object: whoever reads it sees that it has
/// no end, and no tool that changes something runs on it.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{Formats, Found, Format, Miss, Offered, Opener, Rest, Typed};
///
/// /// `!!name key=value; key=value!!`
/// #[derive(Debug)]
/// struct Bangs;
///
/// impl Format for Bangs {
///     fn name(&self) -> &str {
///         "bangs"
///     }
///
///     fn openers(&self) -> &[Opener] {
///         &[Opener::Marker("!!")]
///     }
///
///     fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
///         let (body, is_whole) = match rest.text[2..].split_once("!!") {
///             Some((body, _)) => (body, true),
///             None if rest.is_end => (&rest.text[2..], false),
///             None => return Err(Miss::More),
///         };
///         let (name, members) = body.split_once(' ').unwrap_or((body, ""));
///         let tool = offered.find(name).ok_or(Miss::Text)?;
///         let mut arguments = Typed::new(tool);
///         let mut members = members.split("; ").filter_map(|it| it.split_once('=')).peekable();
///         while let Some((key, value)) = members.next() {
///             match is_whole || members.peek().is_some() {
///                 true => arguments.raw(key, value),
///                 false => arguments.cut(key, value),
///             }
///         }
///         let call = offered.call(name, arguments.finish(is_whole)).ok_or(Miss::Text)?;
///         let end = body.len() + if is_whole { 4 } else { 2 };
///         Ok(Found::Calls { calls: vec![call], end })
///     }
/// }
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
/// });
/// let weather = ToolDefinition::new("weather", "Tells the weather.", schema);
/// let offered = Offered::new(&[&weather]);
/// let formats = Formats::new().with(Bangs);
///
/// let read = formats.extract("!!weather city=7; days=7!!", &offered);
/// assert_eq!(read.calls[0].arguments.to_text(), r#"{"city": "7", "days": 7}"#);
///
/// let read = formats.extract("!!weather days=2; city=Os", &offered);
/// assert_eq!(read.calls[0].arguments.to_text(), r#"{"days": 2, "city": "Os"#);
/// ```
#[derive(Debug)]
pub struct Typed<'d> {
    tool: &'d ToolDefinition,
    json: String,
    is_cut: bool,
}

impl<'d> Typed<'d> {
    /// No arguments yet, of this tool.
    pub fn new(tool: &'d ToolDefinition) -> Self {
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
    pub fn json(&mut self, key: &str, json: &str) {
        self.key(key);
        self.json.push_str(json);
    }

    /// A value that is a text, whatever the schema says.
    pub fn text(&mut self, key: &str, text: &str) {
        self.json(key, &Value::from(text).to_string());
    }

    /// A value whose type is for the schema to say.
    pub fn raw(&mut self, key: &str, text: &str) {
        self.json(key, &typed(self.tool.parameters.as_value(), key, text));
    }

    /// A value that is JSON, or nearly, and was cut off.
    pub fn cut_json(&mut self, key: &str, json: &str) {
        self.json(key, json);
        self.is_cut = true;
    }

    /// A value whose type is for the schema to say, and that was cut off.
    pub fn cut(&mut self, key: &str, text: &str) {
        let json = typed(self.tool.parameters.as_value(), key, text);
        self.cut_json(key, json.strip_suffix('"').unwrap_or(&json));
    }

    /// The text of the object; without an end where that wasn't the end of the call.
    pub fn finish(mut self, is_whole: bool) -> String {
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
