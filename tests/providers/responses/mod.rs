//! Requests and replies of OpenAI's Responses, over a transport of the tests.

mod pairing;
mod programs;
mod reasoning;
mod replies;
mod requests;

use serde_json::Value;
use support::canned::{Canned, Reply};
use tool_runtime::providers::OpenAiResponses;
use tool_runtime::{ChatModel, ChatRequest};

fn client(canned: &Canned) -> OpenAiResponses {
    OpenAiResponses::new("https://models.invalid/v1", "gpt-5")
        .transport(canned.clone())
        .max_retries(0)
}

/// Returns the body that is sent for a request.
async fn request_body(request: ChatRequest<'_>) -> Value {
    let canned = Canned::new([Reply::text(200, r#"{"output": []}"#)]);
    client(&canned).reply(request).await.unwrap();
    serde_json::from_slice(&canned.requests()[0].body).unwrap()
}
