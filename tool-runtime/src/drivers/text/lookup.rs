//! Lookup of the tools that a text may call.

use serde_json::Value;

use super::callee::Callee;
use crate::json::{ParseErrorKind, parse_as};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Namespaces that models write before a tool's name.
const NAMESPACES: [&str; 6] =
    ["functions.", "default_api.", "tools.", "tool.", "functions_", "functions:"];
/// What models write after a tool's name, besides an index.
const SUFFIXES: [&str; 3] = ["_json", ".json", "json"];
/// Characters between a tool's name and an index.
const INDEX_SEPARATORS: [char; 4] = ['_', ':', '.', '#'];
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Looks up the offered tools by the names that a model writes.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{ToolLookup, extract};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let now = ToolDefinition::new("now", "Tells the time.", schema);
/// let tools = ToolLookup::new(&[&now]);
///
/// let parsed = extract(r#"<tool_call>{"name": "now", "arguments": {}}</tool_call>"#, &tools);
/// assert_eq!(parsed.calls.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct ToolLookup<'d> {
    tools: Vec<&'d ToolDefinition>,
    is_truncated: bool,
}

impl<'d> ToolLookup<'d> {
    /// Creates a lookup of `tools`, for a reply that is not truncated.
    pub fn new(tools: &[&'d ToolDefinition]) -> Self {
        Self { tools: tools.to_vec(), is_truncated: false }
    }

    /// Sets whether the reply was truncated because the model ran out of tokens. Default: false.
    #[must_use]
    pub fn truncated(self, is_truncated: bool) -> Self {
        Self { is_truncated, ..self }
    }

    /// Returns true if the reply was truncated. A call that only the end of the text ends may then
    /// be incomplete.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the tool with this name.
    ///
    /// An exact match takes precedence. Otherwise the lookup ignores, in this order:
    ///
    /// 1. a namespace such as `functions.`,
    /// 2. letter case, `-`, `_` and blanks, so that `getTime` is `get_time`,
    /// 3. the word `json` or an index at the end, as in `get_timejson` and `get_time_2`.
    ///
    /// The first step at which exactly one tool matches decides. If several match, none is
    /// returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    /// use tool_runtime::drivers::text::ToolLookup;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let time = ToolDefinition::new("get_time", "Tells the time.", schema);
    /// let tools = ToolLookup::new(&[&time]);
    /// assert!(tools.find("functions.get_time").is_some());
    /// assert!(tools.find("getTime").is_some());
    /// assert!(tools.find("get_weather").is_none());
    /// ```
    pub fn find(&self, name: &str) -> Option<&'d ToolDefinition> {
        let name = name.trim();
        let exact = |name: &str| self.tools.iter().copied().find(|tool| tool.name == name);
        if let Some(tool) = exact(name) {
            return Some(tool);
        }
        let bare_name =
            NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)).unwrap_or(name);
        if let Some(tool) = exact(bare_name) {
            return Some(tool);
        }
        let own_name = without_suffix(bare_name);
        self.only_similar(bare_name).or_else(|| self.only_similar(own_name?))
    }

    /// Returns the only tool whose name differs in case and separators alone.
    fn only_similar(&self, name: &str) -> Option<&'d ToolDefinition> {
        let tools = self.tools.iter().copied();
        let mut similar = tools.filter(|tool| normalized(&tool.name).eq(normalized(name)));
        similar.next().filter(|_| similar.next().is_none())
    }

    /// Returns the tool that a marked call names, offered or not. Returns `None` if the name can't
    /// be that of a tool, or if no tools are offered.
    pub(super) fn callee(&self, name: &str) -> Option<Callee<'d>> {
        if let Some(tool) = self.find(name) {
            return Some(Callee::offered(tool));
        }
        let bare_name = NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace));
        Callee::unknown(bare_name.unwrap_or(name).trim()).filter(|_| !self.tools.is_empty())
    }

    /// Builds the call of the tool with this name, with the arguments as the model wrote them.
    ///
    /// Returns `None` if no such tool is offered, if the arguments are a placeholder such as
    /// `{...}`, or if they are the tool's own definition. Other arguments that can't be parsed are
    /// kept: the error of the tool tells the model what to correct.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    /// use tool_runtime::drivers::text::ToolLookup;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let time = ToolDefinition::new("get_time", "Tells the time.", schema);
    /// let tools = ToolLookup::new(&[&time]);
    /// assert!(tools.call("get_time", "{}").is_some());
    /// assert!(tools.call("get_time", "{...}").is_none());
    /// ```
    pub fn call(&self, name: &str, arguments: impl Into<String>) -> Option<ToolCall> {
        Callee::offered(self.find(name)?).call(arguments.into())
    }
}

/// Normalizes a name for comparison: `getTime`, `get-time` and `get_time` are the same.
fn normalized(name: &str) -> impl Iterator<Item = char> {
    let letters = name.chars().filter(|c| !['-', '_', ' '].contains(c));
    letters.flat_map(char::to_lowercase)
}

/// Returns a name without what a model wrote after it, if there is anything.
fn without_suffix(name: &str) -> Option<&str> {
    let own_name = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
    let own_name = own_name.or_else(|| {
        let rest = name.trim_end_matches(|c: char| c.is_ascii_digit());
        rest.strip_suffix(INDEX_SEPARATORS).filter(|_| rest.len() < name.len())
    });
    own_name.filter(|name| !name.is_empty())
}

/// Returns true if a tool takes these arguments, well or badly written. Placeholders and the
/// tool's own definition are none.
pub(super) fn are_arguments(arguments: &str, tool: &ToolDefinition) -> bool {
    match parse_as(arguments, tool.parameters.as_value()) {
        Ok(parsed) => !is_schema(arguments, tool) && !is_parameter_list(&parsed.value, tool),
        Err(error) => match error.kind() {
            ParseErrorKind::Elided | ParseErrorKind::Empty => false,
            _ => is_valid_json(arguments) || !is_placeholder(arguments),
        },
    }
}

/// Returns true if arguments that no marker announces are at least an object or a list.
pub(super) fn may_be_unmarked(arguments: &str, tool: &ToolDefinition) -> bool {
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
pub(in crate::drivers) fn is_schema(arguments: &str, tool: &ToolDefinition) -> bool {
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
