use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::Schema;

/// How a model is to answer; what is not set is left to its provider.
///
/// ```
/// use tool_runtime::models::{ChatOptions, ToolChoice};
///
/// let options = ChatOptions::default()
///     .tool_choice(ToolChoice::Required)
///     .temperature(0.0)
///     .max_tokens(1_000)
///     .extra("seed", 7);
/// assert_eq!(options.extra["seed"], 7);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Whether it has to call a tool.
    pub tool_choice: ToolChoice,
    /// Whether it may call several tools in one reply.
    pub parallel_calls: Option<bool>,
    /// What its text has to be the JSON of.
    pub output: Option<Schema>,
    /// How freely it chooses its words, from 0 on.
    pub temperature: Option<f64>,
    /// The most tokens that it may say.
    pub max_tokens: Option<u32>,
    /// Texts that end the reply where they come up; they are no part of it.
    pub stop: Vec<String>,
    /// More members of the request, as the provider spells them; they replace those of the same name, but
    /// for objects in which the provider keeps settings, such as Gemini's `generationConfig`: these they join.
    pub extra: Map<String, Value>,
}

/// Whether a model has to call a tool.
///
/// What has to be called has to be offered: a request that wants a tool and offers none, or not this one, is
/// not sent to a provider but a [`ModelError::Setup`](super::ModelError::Setup).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None, though it is told of them.
    None,
    /// The tool of this name.
    Tool(String),
}

impl ChatOptions {
    /// Says whether it has to call a tool.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Says whether it may call several tools in one reply.
    #[must_use]
    pub fn parallel_calls(mut self, may: bool) -> Self {
        self.parallel_calls = Some(may);
        self
    }

    /// Has it answer with JSON that fits this schema.
    #[must_use]
    pub fn output(mut self, schema: impl Into<Schema>) -> Self {
        self.output = Some(schema.into());
        self
    }

    /// Says how freely it chooses its words.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Says how many tokens it may say at most.
    #[must_use]
    pub fn max_tokens(mut self, most: u32) -> Self {
        self.max_tokens = Some(most);
        self
    }

    /// Ends the reply where this text comes up; may be told several times.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Adds a member to the request, as the provider spells it.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Nothing is set.
    pub(super) fn unset() -> &'static Self {
        static UNSET: LazyLock<ChatOptions> = LazyLock::new(ChatOptions::default);
        &UNSET
    }
}
