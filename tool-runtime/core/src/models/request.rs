use serde::{Deserialize, Serialize};

use super::{ChatOptions, ModelError, ToolChoice};
use crate::message::transcript::sources;
use crate::message::{
    Arguments, AssistantPart, CallId, FinishReason, Message, Source, ToolCall, Usage,
};
use crate::tool::ToolDefinition;

/// The highest number of tool names in an error.
const MAX_NAMES: usize = 20;

/// A request to a model: the conversation, the offered tools and the settings.
///
/// ```
/// use tool_runtime::{ChatOptions, ChatRequest, Message};
///
/// let messages = [Message::user("Hello")];
/// let options = ChatOptions::default().max_tokens(100);
/// let request = ChatRequest::new(&messages).options(&options);
/// assert!(request.tools.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ChatRequest<'a> {
    /// The messages of the conversation, oldest first.
    pub messages: &'a [Message],
    /// The definitions of the offered tools.
    pub tools: &'a [&'a ToolDefinition],
    /// The settings of the request.
    pub options: &'a ChatOptions,
    /// A text that identifies the request, if it belongs to a run: the id of the run, the turn and
    /// the number of the attempt. A request that is repeated after a crash has the same key, so
    /// that a server between can return the reply that it already has, if the messages and options
    /// are the same, too: a program may change the conversation before it resumes a run.
    pub key: Option<&'a str>,
}

impl<'a> ChatRequest<'a> {
    /// Creates a request without tools and with default settings.
    ///
    /// ```
    /// use tool_runtime::{ChatRequest, Message};
    ///
    /// let messages = [Message::system("Be brief."), Message::user("Hello")];
    /// assert_eq!(ChatRequest::new(&messages).messages.len(), 2);
    /// ```
    pub fn new(messages: &'a [Message]) -> Self {
        Self { messages, tools: &[], options: ChatOptions::unset(), key: None }
    }

    /// Sets the offered tools.
    #[must_use]
    pub fn tools(mut self, tools: &'a [&'a ToolDefinition]) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the settings of the request.
    #[must_use]
    pub fn options(mut self, options: &'a ChatOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the text that identifies the request.
    #[must_use]
    pub fn key(mut self, key: &'a str) -> Self {
        self.key = Some(key);
        self
    }

    /// Replaces the messages of the request.
    #[must_use]
    pub fn with_messages(self, messages: &'a [Message]) -> Self {
        Self { messages, ..self }
    }

    /// Returns the offered tools that the tool choice allows the model to call.
    pub fn callable_tools(&self) -> Vec<&'a ToolDefinition> {
        let tools = self.tools.iter().copied();
        match &self.options.tool_choice {
            ToolChoice::None => Vec::new(),
            ToolChoice::Tool(name) => tools.filter(|tool| tool.name == *name).collect(),
            ToolChoice::Auto | ToolChoice::Required => tools.collect(),
        }
    }

    /// Checks that a required tool is offered. Otherwise some providers refuse the request, and
    /// others let the model choose.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the choice and the offered tools.
    pub fn check_tool_choice(&self) -> Result<(), ModelError> {
        let tools = self.tools;
        let required = match &self.options.tool_choice {
            ToolChoice::Auto | ToolChoice::None => return Ok(()),
            ToolChoice::Required if !tools.is_empty() => return Ok(()),
            ToolChoice::Required => "`ToolChoice::Required`".to_owned(),
            ToolChoice::Tool(name) if tools.iter().any(|tool| tool.name == *name) => return Ok(()),
            ToolChoice::Tool(name) => format!("`ToolChoice::Tool({name:?})`"),
        };
        let names: Vec<_> =
            tools.iter().take(MAX_NAMES).map(|tool| format!("`{}`", tool.name)).collect();
        let offered = match (names.as_slice(), tools.len().saturating_sub(MAX_NAMES)) {
            ([], _) => "no tool is offered".to_owned(),
            (names, 0) => format!("the offered tools are {}", names.join(", ")),
            (names, more) => format!("the offered tools are {} and {more} more", names.join(", ")),
        };
        Err(ModelError::Setup(format!("unsatisfiable tool choice: {required}, but {offered}")))
    }
}

/// The reply of a model: text, tool calls, or both.
///
/// ```
/// use tool_runtime::ChatReply;
///
/// let reply = ChatReply::text("One moment.").call("forecast", r#"{"city": "Oslo"}"#);
/// assert_eq!(reply.parts.len(), 2);
/// assert_eq!(reply.to_text(), "One moment.");
/// assert_eq!(reply.calls().count(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatReply {
    /// The parts of the reply, in order.
    pub parts: Vec<AssistantPart>,
    /// The reason why the model stopped.
    #[serde(default, skip_serializing_if = "FinishReason::is_stop")]
    pub finish_reason: FinishReason,
    /// The id that the provider gave the reply, if it gives any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that replied, as the provider names it. It may differ from the requested one, such
    /// as by a date, or if the provider falls back to another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens that the request took, if the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The deviations of the client from the request, for operators: each is emitted as
    /// [`ModelEvent::ClientWarning`](crate::event::ModelEvent::ClientWarning).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl ChatReply {
    /// Creates a reply of these parts.
    ///
    /// ```
    /// use tool_runtime::{AssistantPart, ChatReply, ToolCall};
    ///
    /// let call = AssistantPart::Call(ToolCall::new("call_1", "now", "{}"));
    /// assert_eq!(ChatReply::new(vec![call]).calls().count(), 1);
    /// ```
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Creates a reply of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![AssistantPart::Text { text: text.into() }])
    }

    /// Returns the text parts of the reply as one string.
    pub fn to_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the tool calls of the reply, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the sources that the reply names, in order.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        sources(&self.parts)
    }

    /// Sets the reason why the model stopped. Default: [`FinishReason::Stop`].
    #[must_use]
    pub fn finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = reason;
        self
    }

    /// Sets the tokens that the request took.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the deviations of the client from the request.
    #[must_use]
    pub fn warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Adds a call without an id. The run assigns one.
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        self.parts.push(AssistantPart::Call(ToolCall::new(CallId::from(""), tool, arguments)));
        self
    }
}
