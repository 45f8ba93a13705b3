//! The limit of calls in a reply.

use std::sync::Arc;

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::{ChatReply, ChatRequest, Delta, Message, ModelError};

use crate::provider::{PROVIDERS, Provider, Setup, Shared};

#[path = "../../../tool-runtime/benches/support/call_streams.rs"]
mod call_streams;

fn stream_of(provider: &Provider, calls: usize) -> String {
    match provider.name {
        "anthropic" => call_streams::anthropic(calls),
        "gemini" => call_streams::gemini(calls),
        "ollama" => call_streams::ollama(calls),
        "responses" => call_streams::responses(calls),
        _ => call_streams::chat(calls, true),
    }
}

fn whole_of(provider: &Provider, calls: usize) -> Value {
    let calls = |call: Value| vec![call; calls];
    let function = json!({ "id": "a", "function": { "name": "f", "arguments": {} } });
    match provider.name {
        "anthropic" => json!({ "content":
            calls(json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} })) }),
        "gemini" => json!({ "candidates": [{ "finishReason": "STOP", "content":
            { "parts": calls(json!({ "functionCall": { "name": "f" } })) } }] }),
        "ollama" => json!({ "message": { "tool_calls": calls(function) }, "done": true }),
        "responses" => json!({ "output":
            calls(json!({ "type": "function_call", "call_id": "a", "name": "f" })) }),
        _ => json!({ "choices": [{ "message": { "tool_calls": calls(function) } }] }),
    }
}

/// Returns the reply, and the number of calls that were emitted.
async fn answer(
    provider: &Provider,
    body: &str,
    is_streamed: bool,
    max_calls: Option<u32>,
) -> (Result<ChatReply, ModelError>, usize) {
    let canned = Canned::new([Reply::text(200, body)]);
    let transport = Some(Shared(Arc::new(canned)));
    let setup = Setup { max_calls, transport, ..Setup::new("http://models.invalid/v1") };
    let model = (provider.model)(setup);
    let messages = [Message::user("Hello")];
    let request = ChatRequest::new(&messages);
    let mut emitted = 0;
    let mut count = |delta: Delta<'_>| {
        if let Delta::Call { index, .. } | Delta::Arguments { index, .. } = delta {
            emitted = emitted.max(index + 1);
        }
    };
    let reply = if is_streamed {
        model.stream(request, &mut count).await
    } else {
        model.reply(request).await
    };
    (reply, emitted)
}

fn calls(reply: ChatReply) -> usize {
    Message::Assistant { id: None, parts: reply.parts }.calls().count()
}

fn assert_refused(reply: Result<ChatReply, ModelError>, limit: usize, name: &str) {
    let error = reply.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }), "{name}: {error:?}");
    assert!(!error.is_transient());
    let reason = format!("more than {limit} calls, the limit of `max_calls_per_reply`");
    assert!(error.to_string().contains(&reason), "{name}: {error}");
}

#[tokio::test]
async fn reply_with_more_calls_than_the_limit_is_refused() {
    for provider in PROVIDERS {
        for (count, limit) in [(0, 0), (1, 0), (3, 3), (4, 3), (200, 3)] {
            let (whole, stream) =
                (whole_of(&provider, count).to_string(), stream_of(&provider, count));
            for (is_streamed, body) in [(false, whole), (true, stream)] {
                let limit_of = Some(limit as u32);
                let (reply, emitted) = answer(&provider, &body, is_streamed, limit_of).await;
                assert!(emitted <= limit, "{}: {emitted} emitted", provider.name);
                if count > limit {
                    assert_refused(reply, limit, provider.name);
                } else {
                    assert_eq!(calls(reply.unwrap()), count, "{}", provider.name);
                }
            }
        }
    }
}

/// The calls of the default limit arrive in order, whole and streamed.
async fn assert_default_limit(providers: &[Provider]) {
    const LIMIT: usize = 10_000;
    for provider in providers {
        let (reply, emitted) = answer(provider, &stream_of(provider, LIMIT), true, None).await;
        assert_eq!((calls(reply.unwrap()), emitted), (LIMIT, LIMIT), "{}", provider.name);
        let (reply, _) = answer(provider, &stream_of(provider, LIMIT + 1), true, None).await;
        assert_refused(reply, LIMIT, provider.name);
    }
}

/// Two tests, which run at the same time.
#[tokio::test]
async fn default_limit_of_some_providers_is_ten_thousand_calls() {
    assert_default_limit(&PROVIDERS[..3]).await;
}

#[tokio::test]
async fn default_limit_of_other_providers_is_ten_thousand_calls() {
    assert_default_limit(&PROVIDERS[3..]).await;
}
