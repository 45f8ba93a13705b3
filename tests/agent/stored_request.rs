//! A request that another process sends is the request that the model would have received.

use std::sync::Mutex;

use serde_json::json;
use tool_runtime::models::{DeltaSink, StoredChatRequest};
use tool_runtime::schema::Dialect;
use tool_runtime::{
    ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Message, ModelError, ToolChoice,
    ToolDefinition, async_trait,
};

/// Records everything that a client reads of a request.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn record(&self, request: ChatRequest<'_>) {
        let ChatRequest { messages, tools, options, key, .. } = request;
        let parameters: Vec<_> = tools.iter().map(|tool| tool.wire_parameters()).collect();
        self.0
            .lock()
            .unwrap()
            .push(format!("{messages:?} {tools:?} {parameters:?} {options:?} {key:?}"));
    }
}

#[async_trait]
impl ChatModel for Recorder {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.record(request);
        Ok(ChatReply::text("Hi!"))
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.record(request);
        deltas(Delta::Text("Hi!"));
        Ok(ChatReply::text("Hi!"))
    }
}

#[tokio::test]
async fn stored_request_is_sent_as_the_original() {
    let schema = json!({
        "type": "object",
        "properties": { "days": { "type": "integer", "minimum": 1 }, "place": { "type": "string" } },
    });
    let output = tool_runtime::schema::Schema::from(schema.clone());
    let reply = Message::reply(ChatReply::default().call("look", "{}").parts);
    let messages = [Message::system("Be brief."), Message::user("Hello"), reply];
    let dialects = [
        Dialect::Plain,
        Dialect::OpenAiStrict,
        Dialect::AnthropicStrict,
        Dialect::Gemini,
        Dialect::GeminiOpenApi,
        Dialect::Ollama,
    ];
    for dialect in dialects {
        let tool = ToolDefinition::new("look", "Looks.", schema.clone()).title("Look");
        let tool = tool.in_dialect(dialect).unwrap();
        let options = ChatOptions::default()
            .tool_choice(ToolChoice::Required)
            .output(output.for_dialect(dialect).unwrap())
            .temperature(0.5)
            .extra("seed", 7);
        let tools = [&tool];
        let request = ChatRequest::new(&messages).tools(&tools).options(&options).key("1-1-1");
        let stored = serde_json::to_string(&StoredChatRequest::from(request)).unwrap();
        let received: StoredChatRequest = serde_json::from_str(&stored).unwrap();

        let recorder = Recorder::default();
        recorder.reply(request).await.unwrap();
        received.reply(&recorder).await.unwrap();
        let mut pieces = Vec::new();
        received.stream(&recorder, &mut |delta| pieces.push(format!("{delta:?}"))).await.unwrap();
        assert_eq!(pieces, [r#"Text("Hi!")"#]);
        let [original, replied, streamed] = recorder.0.into_inner().unwrap().try_into().unwrap();
        assert_eq!(replied, original, "{dialect:?}");
        assert_eq!(streamed, original, "{dialect:?}");
    }
}

/// A worker may run another version of the program: what travels keeps its form.
#[test]
fn stored_request_has_the_documented_form() {
    let tool = ToolDefinition::new("look", "Looks.", json!({ "type": "object" }));
    let tool = tool.in_dialect(Dialect::OpenAiStrict).unwrap();
    let (messages, tools) = ([Message::user("Hello")], [&tool]);
    let request = ChatRequest::new(&messages).tools(&tools).key("1-1-1");
    let json = serde_json::to_value(StoredChatRequest::from(request)).unwrap();
    assert_eq!(json["tool_dialect"], "open_ai_strict");
    assert_eq!(json["output_dialect"], "plain");
    assert_eq!(json["key"], "1-1-1");
    assert_eq!(json["messages"][0]["parts"][0]["text"], "Hello");
    assert_eq!(json["tools"][0]["parameters"], json!({ "type": "object" }), "not of the dialect");
    let least = json!({ "messages": [] });
    let read: StoredChatRequest = serde_json::from_value(least).unwrap();
    assert!(read.tools.is_empty() && read.key.is_none());
}
