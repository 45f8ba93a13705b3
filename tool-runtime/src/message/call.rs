use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Arguments;

/// The name of one call within a conversation; a result names the call that it answers.
///
/// Given by the provider, or minted when the provider gave none or gave one twice. The default is
/// empty: none was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct CallId(Arc<str>);

impl CallId {
    /// The id as text.
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

/// A model's wish to have a tool called.
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
    /// Names this call within the conversation.
    #[serde(default)]
    pub id: CallId,
    /// The tool's name, as the model spelled it.
    pub name: String,
    /// What the model wants the tool called with.
    pub arguments: Arguments,
}

impl ToolCall {
    /// A call of the tool `name`.
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

/// A picture for a model to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its format, such as `image/png`.
    pub media_type: String,
    /// Its bytes, in base64.
    pub base64: String,
}

/// What the model is told of a call: one for every call, whatever became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call that this answers.
    pub call: CallId,
    /// The tool's name, as the model spelled it.
    pub tool: String,
    /// The text that the model reads.
    pub text: String,
    /// The images that the model is shown beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The stable code of the failure, such as `TOOL_TIMEOUT`; none when the tool succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolResult {
    /// The answer of a tool that did its work.
    #[inline]
    pub fn success(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            tool: call.name.clone(),
            text: text.into(),
            images: Vec::new(),
            error: None,
        }
    }

    /// The answer for a call that failed or never ran; `code` is stable, `text` is for the model.
    pub fn failure(call: &ToolCall, code: impl Into<String>, text: impl Into<String>) -> Self {
        Self { error: Some(code.into()), ..Self::success(call, text) }
    }

    /// Whether the tool did its work.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }
}
