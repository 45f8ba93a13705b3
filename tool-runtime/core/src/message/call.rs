use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Arguments;

/// The id of a call within a conversation. A result refers to its call by this id.
///
/// The provider assigns it. If the provider assigns none, or the same id twice, the run assigns a
/// new one. The default is empty, which means that no id was assigned.
///
/// ```
/// use tool_runtime::CallId;
///
/// assert_eq!(CallId::from("call_1").as_str(), "call_1");
/// assert_eq!(CallId::default().as_str(), "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct CallId(Arc<str>);

impl CallId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<&String> for CallId {
    fn from(id: &String) -> Self {
        Self::from(id.as_str())
    }
}

impl From<&Self> for CallId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> Self {
        id.0.as_ref().into()
    }
}

/// A call of a tool that a model requests.
///
/// ```
/// use tool_runtime::ToolCall;
///
/// let call = ToolCall::new("call_1", "forecast", r#"{"city": "Oslo"}"#);
/// assert_eq!(call.to_string(), r#"forecast({"city": "Oslo"})"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id of the call within the conversation.
    #[serde(default)]
    pub id: CallId,
    /// The name of the tool, as the model spelled it.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Arguments,
    /// Whether the model may have quoted the call instead of requesting it: in its text, the call
    /// stands among words that announce an example, or in quotation marks. A tool whose
    /// [`repair`](crate::ToolDefinition::repair) does not accept truncated arguments, such as one
    /// that changes something, refuses the call, and the model is asked to repeat it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_doubtful: bool,
    /// The part of the call that is neither markup nor a value, such as an argument that stands
    /// outside of the arguments; empty if there is none. If the leftover names a parameter of the
    /// tool, the call is refused. With any other leftover, it is refused unless the tool's
    /// [`repair`](crate::ToolDefinition::repair) accepts a loss.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub leftover: String,
}

impl ToolCall {
    /// Creates a call of the tool `name`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolCall;
    ///
    /// let text = ToolCall::new("call_1", "forecast", r#"{"city": "Oslo"}"#);
    /// let value = ToolCall::new("call_1", "forecast", json!({ "city": "Oslo" }));
    /// assert_eq!(text.name, value.name);
    /// ```
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            is_doubtful: false,
            leftover: String::new(),
        }
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}
