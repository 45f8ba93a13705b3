use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The reasoning of a model before a part of its reply, in the form of its provider.
///
/// Providers sign or encrypt it, and reject a conversation in which it was changed or removed. So
/// it is sent back unchanged, and only to the provider that it came from.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Reasoning;
///
/// let block = json!({ "type": "thinking", "thinking": "Three and one", "signature": "…" });
/// let reasoning = Reasoning::new("anthropic", "Three and one", block);
/// assert!(!reasoning.is_provider_action);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reasoning {
    /// The provider, such as `anthropic`. It is not sent to any other.
    pub provider: String,
    /// The readable part; empty if all of it is encrypted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The JSON of the provider, which is sent back unchanged.
    pub sealed: Value,
    /// Whether this records an action of the provider's own tools, such as a web search, instead of
    /// reasoning. A reply that contains one is not empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_provider_action: bool,
}

impl Reasoning {
    /// Creates the reasoning of a model of `provider`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::Reasoning;
    ///
    /// let sealed = json!({ "type": "redacted_thinking", "data": "…" });
    /// assert_eq!(Reasoning::new("anthropic", "", sealed).provider, "anthropic");
    /// ```
    pub fn new(provider: impl Into<String>, text: impl Into<String>, sealed: Value) -> Self {
        Self { provider: provider.into(), text: text.into(), sealed, is_provider_action: false }
    }

    /// Marks this as an action of the provider's own tools, such as a web search.
    #[must_use]
    pub fn provider_action(self) -> Self {
        Self { is_provider_action: true, ..self }
    }
}
