use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model thought before it went on, as its provider gave it.
///
/// Providers sign or seal it and refuse a conversation in which it was changed or left out; so it goes
/// back as it came, but only to the provider that it is from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reasoning {
    /// Whose it is, such as `anthropic`: another provider is not sent it.
    pub provider: String,
    /// What people can read of it; empty where all of it is sealed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The provider's own JSON, to be sent back unchanged.
    pub sealed: Value,
    /// Whether it is no thought but what the provider did by tools of its own, such as a search: a reply
    /// with it is not silent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acts: bool,
}

impl Reasoning {
    /// What the model of `provider` thought.
    pub fn new(provider: impl Into<String>, text: impl Into<String>, sealed: Value) -> Self {
        Self { provider: provider.into(), text: text.into(), sealed, acts: false }
    }

    /// The same, for what the provider did by tools of its own.
    #[must_use]
    pub fn acting(self) -> Self {
        Self { acts: true, ..self }
    }
}
