//! Rate limits and the order of items; `conformance` tests the other replies.

use serde_json::json;
use tool_runtime::models::{ApiError, ApiErrorKind};
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ModelError};

use super::client;
use support::canned::{Canned, Reply};
use support::streamed::streamed;

async fn read(status: u16, body: &str) -> Result<ChatReply, ModelError> {
    client(&Canned::new([Reply::text(status, body)])).reply(ChatRequest::new(&[])).await
}

#[tokio::test]
async fn rate_limit_with_a_success_status_is_reported() {
    for body in [
        r#"{"error": {"code": "rate_limit_exceeded"}}"#,
        r#"{"output": [], "status": "failed", "error": {"code": "rate_limit_exceeded"}}"#,
    ] {
        let error = read(200, body).await.unwrap_err();
        let is_limited = |refusal: &ApiError| refusal.kind == ApiErrorKind::RateLimited;
        assert!(matches!(&error, ModelError::Api(refusal) if is_limited(refusal)), "{error:?}");
    }
}

#[tokio::test]
async fn items_are_ordered_by_their_index() {
    let item = |index: u64, id: &str| {
        let item = json!({ "type": "function_call", "call_id": id, "name": id, "arguments": "{}" });
        let completed =
            json!({ "type": "response.output_item.done", "output_index": index, "item": item });
        format!("data: {completed}\n\n")
    };
    let end = "data: {\"type\": \"response.completed\", \"response\": {}}\n\n";
    let text = item(1, "b") + &item(0, "a") + end;
    let (reply, _) = streamed(&client(&Canned::new([Reply::text(200, &text)]))).await;
    let assistant = Message::Assistant { id: None, parts: reply.unwrap().parts };
    assert_eq!(assistant.calls().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}
