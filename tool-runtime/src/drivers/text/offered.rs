//! The tools that a text may call.

use serde_json::Value;

use crate::json::{UnreadableKind, parse_as};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Before a name, models write where they think that the tool lives.
const PLACES: [&str; 4] = ["functions.", "default_api.", "tools.", "tool."];
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The tools that were offered: no other is called.
#[derive(Clone, Debug)]
pub struct Offered<'d> {
    tools: Vec<&'d ToolDefinition>,
    is_cut_short: bool,
}

impl<'d> Offered<'d> {
    /// These tools.
    pub fn new(tools: &[&'d ToolDefinition]) -> Self {
        Self { tools: tools.to_vec(), is_cut_short: false }
    }

    /// To a model whose reply was cut off, if it was: it ran out of tokens.
    #[must_use]
    pub fn cut_short(self, is_cut_short: bool) -> Self {
        Self { is_cut_short, ..self }
    }

    /// Whether the reply that is read was cut off. Then a call that nothing but the end of the text ends may be half of
    /// one.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    /// The tool that a model means by this name: one that is spelled so, or else the only one that is
    /// but for its case, `-` for `_`, and where the model thinks that it lives.
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    /// use tool_runtime::drivers::text::Offered;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let now = ToolDefinition::new("get_time", "Tells the time.", schema);
    /// let offered = Offered::new(&[&now]);
    /// assert!(offered.find("functions.get_time").is_some());
    /// assert!(offered.find("get_weather").is_none());
    /// ```
    pub fn find(&self, name: &str) -> Option<&'d ToolDefinition> {
        let name = name.trim();
        let exact = |name: &str| self.tools.iter().copied().find(|tool| tool.name == name);
        if let Some(tool) = exact(name) {
            return Some(tool);
        }
        let own = PLACES.iter().find_map(|place| name.strip_prefix(place)).unwrap_or(name);
        if let Some(tool) = exact(own) {
            return Some(tool);
        }
        let mut alike = self.tools.iter().copied().filter(|tool| plain(&tool.name).eq(plain(own)));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// The call of the tool that `name` means, with the text of its arguments as the model wrote it.
    ///
    /// There is none where no such tool is offered, where what stands for the arguments is a blank
    /// to be filled in, and where it is the tool's own definition. Arguments that can't be read
    /// otherwise are handed on: the tool's refusal tells the model what to mend.
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    /// use tool_runtime::drivers::text::Offered;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let now = ToolDefinition::new("get_time", "Tells the time.", schema);
    /// let offered = Offered::new(&[&now]);
    /// assert!(offered.call("get_time", "{}").is_some());
    /// assert!(offered.call("get_time", "{...}").is_none());
    /// ```
    pub fn call(&self, name: &str, arguments: impl Into<String>) -> Option<ToolCall> {
        let (tool, arguments) = (self.find(name)?, arguments.into());
        let is_call = match parse_as(&arguments, tool.parameters.as_value()) {
            Ok(parsed) => !is_schema(&arguments, tool) && !is_definition(&parsed.value, tool),
            Err(error) => match error.kind() {
                UnreadableKind::Elided | UnreadableKind::Empty => false,
                _ => is_sound(&arguments) || !is_blank(&arguments),
            },
        };
        is_call.then(|| ToolCall::new("", tool.name.as_str(), arguments))
    }

    /// The same where nothing says that it is a call but its look: arguments that aren't even an object or a
    /// list are none.
    pub(super) fn bare_call(&self, name: &str, arguments: String) -> Option<ToolCall> {
        let tool = self.find(name)?;
        let is_call = match parse_as(&arguments, tool.parameters.as_value()) {
            Ok(_) => true,
            // Of another type than the tool wants.
            Err(error) if error.kind() == UnreadableKind::NoValue => is_sound(&arguments),
            Err(_) => arguments.trim_start().starts_with(['{', '[']),
        };
        if is_call { self.call(name, arguments) } else { None }
    }
}

/// A name as it is compared.
fn plain(name: &str) -> impl Iterator<Item = char> {
    let joined = name.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c });
    joined.flat_map(char::to_lowercase)
}

fn is_sound(arguments: &str) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok()
}

/// Whether it is a word that says what belongs here: `<arguments>`, `{args}`.
fn is_blank(arguments: &str) -> bool {
    let words = arguments.trim();
    let is_word = |c: char| c.is_alphanumeric() || "_-.<>{}[]()".contains(c);
    words.starts_with(['<', '{', '[', '(']) && words.chars().all(is_word)
}

/// Whether these are no arguments but the schema of such, which a tool that takes nothing, or anything, would take.
pub(in crate::drivers) fn is_schema(arguments: &str, tool: &ToolDefinition) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else { return false };
    let takes_type = tool.parameters.as_value().pointer("/properties/type").is_some();
    let has_type = members.get("type").and_then(Value::as_str) == Some("object");
    let has_properties = members.get("properties").is_some_and(Value::is_object);
    !takes_type && has_type && (has_properties || members.len() == 1)
}

/// Whether these are no arguments but what the tool says of each.
fn is_definition(value: &Value, tool: &ToolDefinition) -> bool {
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
