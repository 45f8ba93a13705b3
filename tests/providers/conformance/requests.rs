//! Any conversation becomes a request that the API accepts. `.ci/full` tests a million of them.
//!
//! Each provider has a contract: how its conversations are drawn, and which rules of its API a
//! request must keep.

use proptest::prelude::*;
use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::histories::{config, histories};
use tool_runtime::{ChatModel, ChatOptions, ChatRequest, Message, Reasoning, ToolDefinition};

/// What a provider promises about the requests of its client.
pub struct Contract {
    pub client: fn(Canned) -> Box<dyn ChatModel>,
    /// A body from which the client reads an empty reply.
    pub empty_reply: &'static str,
    pub conversations: fn() -> BoxedStrategy<Vec<Message>>,
    /// Options of requests that offer the tool `weather.get`; none for requests without tools.
    pub options: Option<fn() -> BoxedStrategy<ChatOptions>>,
    /// Returns the rule of the API that a request breaks.
    pub broken_rule: fn(&Value) -> Option<String>,
}

/// Draws conversations with this reasoning.
pub fn conversations(thoughts: &'static [fn() -> Reasoning]) -> BoxedStrategy<Vec<Message>> {
    histories(thoughts).boxed()
}

impl Contract {
    /// Returns the body that the client sends for a conversation.
    pub fn request_body(&self, messages: &[Message], options: &ChatOptions) -> Value {
        let tool = ToolDefinition::new("weather.get", "Weather.", json!({ "type": "object" }));
        let tools = [&tool];
        let mut request = ChatRequest::new(messages);
        if self.options.is_some() {
            request = request.tools(&tools).options(options);
        }
        let canned = Canned::new([Reply::text(200, self.empty_reply)]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on((self.client)(canned.clone()).reply(request)).unwrap();
        serde_json::from_slice(&canned.requests()[0].body).unwrap()
    }

    /// Asserts that the API accepts the request of any conversation.
    pub fn assert_any_conversation_is_accepted(&self) {
        let options =
            self.options.map_or(Just(ChatOptions::default()).boxed(), |options| options());
        proptest!(config(), |(messages in (self.conversations)(), options in options)| {
            let body = self.request_body(&messages, &options);
            prop_assert_eq!((self.broken_rule)(&body), None, "{}", body);
        });
    }
}
