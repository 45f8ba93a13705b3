//! The tool that a call names, offered or not.

use std::sync::LazyLock;

use super::arguments::{are_arguments, may_be_unmarked};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// The longest name of an unknown tool, in bytes.
const MAX_NAME_LEN: usize = 128;

/// The tool that a call names. A marked call of an unknown tool is a call: the model receives an
/// error with the nearest names, as for a native call.
#[derive(Clone, Debug)]
pub(crate) struct Callee<'d> {
    name: String,
    /// The definition of the tool. An unknown tool takes anything.
    pub(crate) tool: &'d ToolDefinition,
    pub(crate) is_offered: bool,
}

impl<'d> Callee<'d> {
    pub(crate) fn offered(tool: &'d ToolDefinition) -> Self {
        Self { name: tool.name.clone(), tool, is_offered: true }
    }

    /// Returns a tool that isn't offered. Returns `None` if `name` can't be the name of a tool.
    pub(crate) fn unknown(name: &str) -> Option<Self> {
        static UNKNOWN: LazyLock<ToolDefinition> = LazyLock::new(|| {
            ToolDefinition::new("unknown", "", serde_json::json!({ "type": "object" }))
        });
        let may_be_name = is_name(name) && name.len() <= MAX_NAME_LEN;
        may_be_name.then(|| Self { name: name.to_owned(), tool: &UNKNOWN, is_offered: false })
    }

    /// Builds the call, with the arguments as the model wrote them. Returns `None` if they are a
    /// placeholder or the tool's own definition.
    pub(crate) fn call(&self, arguments: String) -> Option<ToolCall> {
        let is_call = are_arguments(&arguments, self.tool);
        is_call.then(|| ToolCall::new("", self.name.as_str(), arguments))
    }

    /// Builds a call that no marker announces: the arguments have to be at least an object or a
    /// list.
    pub(crate) fn unmarked_call(&self, arguments: String) -> Option<ToolCall> {
        if may_be_unmarked(&arguments, self.tool) { self.call(arguments) } else { None }
    }
}

/// Returns true if `name` looks like the name of a tool.
fn is_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_of_name)
}
