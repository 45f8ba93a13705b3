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
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

/// An image for a model that accepts images.
///
/// ```
/// use tool_runtime::{Image, ToolOutput};
///
/// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let output = ToolOutput::text("The chart:").with_image(image);
/// assert_eq!(output.images()[0].media_type, "image/png");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes of the image, in base64.
    pub base64: String,
}

/// The result that the model receives for a call. Every call has exactly one.
///
/// ```
/// use tool_runtime::{ToolCall, ToolResult};
///
/// let call = ToolCall::new("call_1", "forecast", "{}");
/// let result = ToolResult::failure(&call, "TOOL_TIMEOUT", "The tool was stopped.");
/// assert_eq!(result.call, call.id);
/// assert!(!result.is_success());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call: CallId,
    /// The name of the tool, as the model spelled it.
    pub tool: String,
    /// The text for the model.
    pub text: String,
    /// The images for the model, which accompany the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The stable code of the failure, such as `TOOL_TIMEOUT`; `None` if the tool succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolResult {
    /// Creates the result of a call that succeeded.
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

    /// Creates the result of a call that failed or did not run, with a stable code and a text for
    /// the model.
    pub fn failure(call: &ToolCall, code: impl Into<String>, text: impl Into<String>) -> Self {
        Self { error: Some(code.into()), ..Self::success(call, text) }
    }

    /// Returns `true` if the call succeeded.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }
}
