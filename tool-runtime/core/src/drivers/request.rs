//! The requests that a driver prepares.

use std::borrow::Cow;

use super::ReplyParseError;
use crate::message::{ContentPart, Message};
use crate::models::history::{is_empty_reply, push_user};
use crate::models::{ChatOptions, ChatRequest};
use crate::tool::ToolDefinition;

/// A model request as a driver sends it.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::PreparedRequest;
/// use tool_runtime::{ChatRequest, Message, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let now = ToolDefinition::new("now", "Returns the current time.", schema);
/// let (messages, tools) = ([Message::user("What time is it?")], [&now]);
/// let request = ChatRequest::new(&messages).tools(&tools);
///
/// let prepared = PreparedRequest::from(request).without_tools();
/// assert!(prepared.request().tools.is_empty());
/// assert_eq!(prepared.request().messages.len(), 1);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PreparedRequest<'r> {
    /// The conversation so far, oldest message first.
    pub messages: Cow<'r, [Message]>,
    /// The tools that are offered through the provider's own fields.
    pub tools: &'r [&'r ToolDefinition],
    /// The options of the reply, such as temperature and output schema.
    pub options: Cow<'r, ChatOptions>,
}

impl<'r> From<ChatRequest<'r>> for PreparedRequest<'r> {
    fn from(request: ChatRequest<'r>) -> Self {
        let ChatRequest { messages, tools, options, key: _ } = request;
        Self { messages: Cow::Borrowed(messages), tools, options: Cow::Borrowed(options) }
    }
}

impl PreparedRequest<'_> {
    /// Removes the tools and resets the options that concern tools (`tool_choice`,
    /// `parallel_calls`).
    #[must_use]
    pub fn without_tools(mut self) -> Self {
        self.tools = &[];
        let is_set = self.options.tool_choice != ChatOptions::default().tool_choice
            || self.options.parallel_calls.is_some();
        if is_set {
            let options = self.options.to_mut();
            options.tool_choice = Default::default();
            options.parallel_calls = Default::default();
        }
        self
    }

    /// Returns the request as a [`ChatModel`](crate::ChatModel) takes it.
    pub fn request(&self) -> ChatRequest<'_> {
        ChatRequest::new(&self.messages).tools(self.tools).options(&self.options)
    }

    /// Appends the reply that could not be parsed and the feedback on it. Both are only part of
    /// this request, not of the transcript.
    pub(crate) fn push_feedback(&mut self, error: &ReplyParseError) {
        let messages = self.messages.to_mut();
        let parts = error.reply.parts.clone();
        if !is_empty_reply(&parts) {
            messages.push(Message::Assistant { id: None, parts });
        }
        push_user(messages, None, vec![ContentPart::Text { text: error.feedback.clone() }]);
    }
}
