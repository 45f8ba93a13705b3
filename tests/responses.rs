//! Requests and replies of OpenAI's Responses, over a transport of the tests.

#[path = "support/canned.rs"]
mod canned;
#[path = "support/histories.rs"]
mod histories;
#[path = "support/oracle.rs"]
mod oracle;
#[path = "responses/pairing.rs"]
mod pairing;
#[path = "responses/reasoning.rs"]
mod reasoning;
#[path = "responses/replies.rs"]
mod replies;
#[path = "responses/requests.rs"]
mod requests;
#[expect(dead_code, reason = "streams are cut where the fixtures are played")]
#[path = "support/streamed.rs"]
mod streamed;

use canned::{Canned, Reply};
use serde_json::Value;
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
    serde_json::from_str(&canned.requests()[0].body).unwrap()
}
