use serde::{Deserialize, Serialize};

use super::{ChatOptions, ToolChoice};
use crate::message::{Arguments, AssistantPart, CallId, Message, ToolCall, Usage};
use crate::tool::ToolDefinition;

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ChatRequest<'a> {
    /// The conversation so far, oldest first.
    pub messages: &'a [Message],
    /// The tools that it may call.
    pub tools: &'a [&'a ToolDefinition],
    /// How it is to answer.
    pub options: &'a ChatOptions,
}

impl<'a> ChatRequest<'a> {
    /// A request to go on with this conversation, without tools.
    pub fn new(messages: &'a [Message]) -> Self {
        Self { messages, tools: &[], options: ChatOptions::unset() }
    }

    /// Offers these tools.
    #[must_use]
    pub fn tools(mut self, tools: &'a [&'a ToolDefinition]) -> Self {
        self.tools = tools;
        self
    }

    /// Says how it is to answer.
    #[must_use]
    pub fn options(mut self, options: &'a ChatOptions) -> Self {
        self.options = options;
        self
    }

    /// The tools that its tool choice lets it call.
    pub(crate) fn callable(&self) -> Vec<&'a ToolDefinition> {
        let tools = self.tools.iter().copied();
        match &self.options.tool_choice {
            ToolChoice::None => Vec::new(),
            ToolChoice::Tool(name) => tools.filter(|tool| tool.name == *name).collect(),
            ToolChoice::Auto | ToolChoice::Required => tools.collect(),
        }
    }
}

/// What a model answered: text, calls, or both.
///
/// ```
/// use tool_runtime::ChatReply;
///
/// let reply = ChatReply::text("One moment.").call("forecast", r#"{"city": "Oslo"}"#);
/// assert_eq!(reply.parts.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatReply {
    /// What it said, in order.
    pub parts: Vec<AssistantPart>,
    /// Why it stopped there.
    #[serde(default, skip_serializing_if = "Finish::is_stop")]
    pub finish: Finish,
    /// What it took, where the provider tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Why a model said no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// It had said what it had to say. What is taken where a provider gives no reason.
    #[default]
    Stop,
    /// It waits for the results of its calls.
    Calls,
    /// It ran out of tokens: words are cut off.
    Length,
    /// Its provider withheld it, or the rest of it.
    Filtered,
    /// For a reason that only its provider knows.
    Other,
}

impl Finish {
    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}

impl ChatReply {
    /// A reply of these parts.
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// A reply in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![AssistantPart::Text { text: text.into() }])
    }

    /// All that it said in words.
    pub fn words(&self) -> String {
        let words = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text } => Some(text.as_str()),
            AssistantPart::Call(_) | AssistantPart::Reasoning(_) => None,
        });
        words.collect()
    }

    /// The calls that it asks for, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning(_) => None,
        })
    }

    /// Says why the model stopped there.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    /// Says what it took.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Adds a call without an id; the run mints one.
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        self.parts.push(AssistantPart::Call(ToolCall::new(CallId::from(""), tool, arguments)));
        self
    }
}
