use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::Schema;

/// Settings of a model request. A setting that is not set is left to the provider.
///
/// ```
/// use tool_runtime::{ChatOptions, ToolChoice};
///
/// let options = ChatOptions::default()
///     .tool_choice(ToolChoice::Required)
///     .temperature(0.0)
///     .max_tokens(1_000)
///     .extra("seed", 7);
/// assert_eq!(options.extra["seed"], 7);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Whether the model must call a tool.
    pub tool_choice: ToolChoice,
    /// Whether the model may call several tools in one reply.
    pub parallel_calls: Option<bool>,
    /// The JSON Schema of the reply's text (structured output).
    pub output: Option<Schema>,
    /// The sampling temperature, from 0.
    pub temperature: Option<f64>,
    /// The maximum number of tokens in the reply.
    pub max_tokens: Option<u32>,
    /// Texts that end the reply. They are not part of it.
    pub stop: Vec<String>,
    /// Further members of the request, in the spelling of the provider.
    ///
    /// A member replaces the setting of the same name that the client sets. Objects in which the
    /// provider keeps settings, such as `generationConfig` of Gemini, are merged instead. A member
    /// that would replace the conversation, the tools, the tool choice or the output schema of the
    /// request is an error.
    pub extra: Map<String, Value>,
}

/// Controls whether a model must call a tool.
///
/// The required tool must be offered. A request that requires a tool and offers none, or not the
/// named one, is not sent: it fails with [`ModelError::Setup`](super::ModelError::Setup).
///
/// An agent requires one call in a run, whatever the driver: it does not take a reply without the
/// call as the answer, but asks the model again within the [limits](crate::agent::Limits) of the
/// run. Once the call was made, the choice is [`Auto`](Self::Auto): otherwise, the run would never
/// end. A call that the choice does not allow does not run, whatever the model and the driver
/// do: its result is `TOOL_DENIED` with what the model may call now.
///
/// ```
/// use tool_runtime::{ChatOptions, ToolChoice};
///
/// let options = ChatOptions::default().tool_choice(ToolChoice::Tool("search".into()));
/// assert_ne!(options.tool_choice, ToolChoice::Auto);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides whether to call tools.
    #[default]
    Auto,
    /// The model must call at least one tool.
    Required,
    /// The model must not call a tool, although the definitions are sent.
    None,
    /// The model must call the tool that is offered under this
    /// [name](crate::ToolDefinition::name).
    Tool(String),
}

impl ToolChoice {
    /// Whether the model must call a tool.
    pub(crate) fn requires_call(&self) -> bool {
        matches!(self, Self::Required | Self::Tool(_))
    }
}

impl ChatOptions {
    /// Sets whether the model must call a tool. Default: [`ToolChoice::Auto`].
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets whether the model may call several tools in one reply.
    #[must_use]
    pub fn parallel_calls(mut self, allow: bool) -> Self {
        self.parallel_calls = Some(allow);
        self
    }

    /// Sets the JSON Schema that the text of the reply must match (structured output).
    #[must_use]
    pub fn output(mut self, schema: impl Into<Schema>) -> Self {
        self.output = Some(schema.into());
        self
    }

    /// Sets the sampling temperature, from 0.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum number of tokens in the reply.
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Adds a text that ends the reply. Call it once for each text.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Adds a member to the request, in the spelling of the provider.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Returns options in which nothing is set.
    pub(super) fn unset() -> &'static Self {
        static UNSET: LazyLock<ChatOptions> = LazyLock::new(ChatOptions::default);
        &UNSET
    }
}
