//! Retries of requests.

use std::time::Duration;

use tokio::time::Instant;
use tool_runtime::http::Headers;
use tool_runtime::models::ApiErrorKind;
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ModelError};

use support::canned::{Canned, Reply};

const COMPLETION: &str = r#"{"choices": [{"message": {"content": "Hi"}}]}"#;

fn busy(status: u16, retry_after: &str) -> Reply {
    let mut reply = Reply::text(status, "busy");
    reply.headers = Headers::from_iter([("retry-after", retry_after), ("x-request-id", "r1")]);
    reply
}

fn model(canned: &Canned) -> OpenAi {
    OpenAi::new("http://models.invalid/v1", "m").transport(canned.clone())
}

async fn ask(model: &OpenAi) -> Result<ChatReply, ModelError> {
    model.reply(ChatRequest::new(&[Message::user("Hello")])).await
}

#[tokio::test(start_paused = true)]
async fn retries_respect_retry_after() {
    let canned = Canned::new([busy(429, "7"), busy(503, "1"), Reply::text(200, COMPLETION)]);
    let start = Instant::now();
    assert_eq!(ask(&model(&canned)).await.unwrap(), ChatReply::text("Hi"));
    assert_eq!(start.elapsed(), Duration::from_secs(8));
    let requests = canned.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| *request == requests[0]));
}

#[tokio::test(start_paused = true)]
async fn retries_are_limited_to_transient_errors() {
    for (replies, retries, requests) in [
        (vec![busy(429, "0"), busy(429, "0"), busy(429, "0"), busy(429, "0")], 2, 3),
        (vec![busy(429, "0"), busy(429, "0")], 0, 1),
        // Longer than the longest pause.
        (vec![busy(429, "3600"), busy(429, "0")], 2, 1),
        (vec![busy(400, "0"), busy(429, "0")], 2, 1),
        (vec![busy(401, "0"), busy(429, "0")], 2, 1),
    ] {
        let canned = Canned::new(replies);
        let error = ask(&model(&canned).max_retries(retries)).await.unwrap_err();
        let ModelError::Api(refusal) = &error else { panic!("{error:?}") };
        assert_eq!(refusal.request_id.as_deref(), Some("r1"));
        assert!(error.to_string().ends_with("busy (request r1)"), "{error}");
        assert_eq!(canned.requests().len(), requests, "{error}");
    }
    let canned = Canned::new([busy(429, "3600")]);
    let Err(ModelError::Api(refusal)) = ask(&model(&canned)).await else { panic!() };
    assert_eq!(refusal.kind, ApiErrorKind::RateLimited);
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(3_600)));
}

#[tokio::test(start_paused = true)]
async fn retry_header_and_exhausted_quota_decide_about_retries() {
    let reply = |status: u16, code: &str, should_retry: &str| {
        let body = serde_json::json!({ "error": { "code": code, "message": "No." } });
        let mut reply = Reply::text(status, &body.to_string());
        reply.headers = Headers::from_iter([("x-should-retry", should_retry)]);
        reply
    };
    for (status, code, should_retry, requests) in [
        (429, "rate_limit_exceeded", "", 3),
        (429, "rate_limit_exceeded", "false", 1),
        (503, "server_error", "FALSE", 1),
        (400, "invalid_value", "", 1),
        (409, "conflict", "true", 3),
        (429, "credit_balance_exhausted", "", 1),
        (429, "organization_spend_limit_exceeded", "true", 1),
    ] {
        let canned = Canned::new((0..3).map(|_| reply(status, code, should_retry)));
        let error = ask(&model(&canned)).await.unwrap_err();
        assert!(matches!(error, ModelError::Api(_)), "{error:?}");
        assert_eq!(canned.requests().len(), requests, "{status} {code} {should_retry}");
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_includes_all_attempts() {
    let canned = Canned::new((0..9).map(|_| busy(503, "20")));
    let model = model(&canned).max_retries(8).timeout(Duration::from_secs(50));
    let start = Instant::now();
    let error = ask(&model).await.unwrap_err();
    // A third pause would exceed the limit, and the last error says more than a timeout.
    assert!(matches!(error, ModelError::Api(_)), "{error:?}");
    assert_eq!(start.elapsed(), Duration::from_secs(40));
    assert_eq!(canned.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn broken_body_is_retried_unless_it_was_streamed() {
    let broken = || {
        let mut reply =
            Reply::text(200, "data: {\"choices\": [{\"delta\": {\"content\": \"H\"}}]}\n\n");
        reply.breaks = true;
        reply
    };
    let canned = Canned::new([broken(), Reply::text(200, COMPLETION)]);
    assert_eq!(ask(&model(&canned)).await.unwrap(), ChatReply::text("Hi"));

    let canned = Canned::new([busy(429, "0"), broken(), Reply::text(200, COMPLETION)]);
    let mut streamed_text = String::new();
    let model = model(&canned);
    let messages = [Message::user("Hello")];
    let reply = model
        .stream(ChatRequest::new(&messages), &mut |delta| streamed_text += &format!("{delta:?}"))
        .await;
    assert!(matches!(reply, Err(ModelError::Unreachable { .. })), "{reply:?}");
    assert_eq!(streamed_text, r#"Text("H")"#);
    assert_eq!(canned.requests().len(), 2);
}

/// Gateways report the failure of a model behind them with a success status.
#[tokio::test(start_paused = true)]
async fn error_in_a_successful_response_is_retried_until_a_piece_is_emitted() {
    let overloaded = r#"{"error": {"type": "overloaded_error", "message": "busy"}}"#;
    let failed = |body: &str| {
        let mut reply = Reply::text(200, body);
        reply.headers = Headers::from_iter([("retry-after", "7")]);
        reply
    };
    let event = format!("data: {overloaded}\n\n");
    let role = r#"data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}"#;
    let piece = r#"data: {"choices": [{"delta": {"content": "H"}}]}"#;
    let stream = "data: {\"choices\": [{\"delta\": {\"content\": \"Hi\"}, \"finish_reason\": \"stop\"}]}\n\n\
                  data: [DONE]\n\n";
    let invalid = r#"{"error": {"type": "invalid_request_error", "code": 400}}"#;
    let ended = r#"{"choices": [{"message": {"content": "H"}, "finish_reason": "error"}]}"#;
    let end = r#"data: {"choices": [{"delta": {}, "finish_reason": "error"}]}"#;
    for (is_streamed, first, is_retried) in [
        (false, overloaded, true),
        (false, ended, true),
        (true, &*format!("{end}\n\ndata: [DONE]\n\n"), true),
        (true, &*format!("{piece}\n\n{end}\n\ndata: [DONE]\n\n"), false),
        (false, invalid, false),
        (false, "not JSON", false),
        (true, &*event, true),
        (true, &*format!("{role}\n\n{event}"), true),
        (true, &*format!("{piece}\n\n{event}"), false),
        (true, "data: not JSON\n\n", false),
    ] {
        let second = if is_streamed { stream } else { COMPLETION };
        let canned = Canned::new([failed(first), Reply::text(200, second)]);
        let start = Instant::now();
        let (reply, deltas) = if is_streamed {
            support::streamed::streamed(&model(&canned)).await
        } else {
            (ask(&model(&canned)).await, support::streamed::Collected::default())
        };
        assert_eq!(reply.is_ok(), is_retried, "{first}: {reply:?}");
        assert_eq!(canned.requests().len(), 1 + usize::from(is_retried), "{first}");
        if is_retried {
            assert_eq!(reply.unwrap(), ChatReply::text("Hi"), "{first}");
            assert_eq!(start.elapsed(), Duration::from_secs(7), "{first}");
            assert_eq!(deltas.text, if is_streamed { "Hi" } else { "" });
        }
    }
}
