//! Faults of servers whose text depends on this API; `transport` tests the others.

use std::error::Error;
use std::time::Duration;

use serde_json::json;
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, StopReason, Tools,
};

use crate::provider::KEY;
use support::server::{Reply, Server};
use support::streamed::streamed;

/// Returns the result of a client with a key for this reply, whole or streamed.
async fn ask_for(is_streamed: bool, reply: Reply) -> Result<ChatReply, ModelError> {
    let server = Server::start([reply]).await;
    let model = OpenAi::new(server.base_url(), "m").key(KEY).max_retries(0);
    let answer = if is_streamed {
        streamed(&model).await.0
    } else {
        model.reply(ChatRequest::new(&[Message::user("Hello")])).await
    };
    if let Err(error) = &answer {
        assert!(!format!("{error} {error:?} {model:?}").contains(KEY), "{error:?}");
    }
    answer
}

#[tokio::test]
async fn error_response_names_status_and_body() {
    for status in [400, 401, 404, 429, 500, 503] {
        for is_streamed in [false, true] {
            let reply = Reply::new(status, "because of this");
            let error = ask_for(is_streamed, reply).await.unwrap_err();
            assert!(matches!(&error, ModelError::Api(refusal) if refusal.status == status));
            let text = error.to_string();
            assert!(text.contains(&format!("status {status}: because of this")), "{text}");
            assert!(text.contains("/v1/chat/completions"), "{text}");
        }
    }
}

/// Secrets are redacted wherever a server repeats them.
#[tokio::test]
async fn errors_contain_no_secrets() {
    const SECRETS: [&str; 5] = [KEY, "hdr-secret-1", "query-secret", "user-name", "pass-word"];
    let echo = SECRETS.join(" ");
    let id = format!("x-request-id: {echo}");
    let broken = [echo.as_bytes(), b"\xff"].concat();
    for (status, body) in [
        (401, echo.clone().into_bytes()),
        (200, json!({ "error": { "message": echo } }).to_string().into_bytes()),
        (200, json!({ "choices": echo }).to_string().into_bytes()),
        (200, broken),
    ] {
        for is_streamed in [false, true] {
            let head = format!("HTTP/1.1 {status} -\r\n{id}\r\nconnection: close\r\n\r\n");
            let bytes = [head.as_bytes(), &body].concat();
            let server = Server::start([Reply::Bytes(bytes)]).await;
            let base = server.base_url().replace("http://", "http://user-name:pass-word@");
            let model = OpenAi::new(format!("{base}?key=query-secret"), "m")
                .key(KEY)
                .header("x-project", "Bearer hdr-secret-1")
                .max_retries(0);
            let error = if is_streamed {
                streamed(&model).await.0.unwrap_err()
            } else {
                model.reply(ChatRequest::new(&[])).await.unwrap_err()
            };
            let text = format!("{error} {error:?} {model:?}");
            assert!(text.contains('…'), "{text}");
            for secret in SECRETS {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
    let wrong = OpenAi::new("htp://user-name:pass-word@host/v1?key=query-secret", "m");
    let error = wrong.reply(ChatRequest::new(&[])).await.unwrap_err();
    let text = format!("{error} {error:?} {wrong:?}");
    assert!(text.contains("…@host/v1") && !text.contains("-word"), "{text}");
    assert!(!text.contains("query-secret"), "{text}");
}

/// Not every server closes the connection at the end of the stream.
#[tokio::test]
async fn complete_stream_does_not_wait_for_the_connection() {
    let chunk = json!({ "choices": [{ "delta": { "content": "Hi" }, "finish_reason": "stop" }] });
    let text = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
    let server = Server::start([Reply::Open(format!("{head}{text}"))]).await;
    let reply = streamed(&OpenAi::new(server.base_url(), "m")).await.0;
    assert_eq!(reply.unwrap(), ChatReply::text("Hi"));
}

/// The status is enough if the body never ends.
#[tokio::test]
async fn error_response_with_an_endless_body_is_reported() {
    let head = "HTTP/1.1 429 -\r\nretry-after: 9\r\ncontent-length: 100000\r\n\r\nslow down";
    let server = Server::start([Reply::Open(head.into())]).await;
    let model = OpenAi::new(server.base_url(), "m").timeout(Duration::from_millis(400));
    let error = model.reply(ChatRequest::new(&[])).await.unwrap_err();
    let ModelError::Api(refusal) = &error else { panic!("{error:?}") };
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(9)));
    assert_eq!(refusal.body, "slow down");
}

#[tokio::test]
async fn huge_error_body_is_truncated() {
    let error = ask_for(false, Reply::new(500, &"é".repeat(1 << 20))).await.unwrap_err();
    let text = error.to_string();
    assert!(text.len() < 5_000 && text.ends_with("é …"), "{}", text.len());
}

/// Asks for a reply that repeats this text without end.
async fn assert_too_long(is_streamed: bool, filler: String, limit: usize) {
    let error = ask_for(is_streamed, Reply::Endless(filler)).await.unwrap_err();
    let ModelError::Malformed { reason, body, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*reason, format!("longer than {limit} bytes"));
    assert!(body.len() < 5_000);
}

/// A body of spaces is one long line.
#[tokio::test]
async fn endless_line_is_an_error() {
    for is_streamed in [false, true] {
        assert_too_long(is_streamed, " ".repeat(1 << 20), 32 << 20).await;
    }
}

/// The limit of a stream of short messages is higher.
#[tokio::test]
async fn endless_comments_are_an_error() {
    let comment = format!(": {}\n", "x".repeat(1 << 20));
    assert_too_long(true, comment, 8 * (32 << 20)).await;
}

#[tokio::test]
async fn endless_messages_without_content_are_an_error() {
    // Comments make the stream longer than the messages, which take more time.
    let chunk = "data: {\"choices\": []}\n\n".repeat(100);
    let comment = format!(": {}\n", "x".repeat(1 << 20));
    assert_too_long(true, chunk + &comment, 8 * (32 << 20)).await;
}

#[tokio::test]
async fn bodies_without_a_stream_are_errors() {
    let whole = json!({ "choices": [{ "message": { "content": "Hello" } }] }).to_string();
    let json = "content-type: application/json; charset=utf-8";
    let events = "content-type: text/event-stream";
    for (header, body, reason) in [
        ("content-type: text/html", "<!DOCTYPE html><h1>Sign in</h1>", "Sign in"),
        (events, "", "ended before"),
        (events, ": wait\n\n", "ended before"),
        (events, &whole, "ended before"),
        (json, "{", "EOF"),
        (json, r#"{"error": {"message": "no room"}}"#, "the provider reported an error: no room"),
        (events, "data: {\"choices\": [{\"delta\": {\"content\": 5}}]}\n\n", "data did not match"),
        (events, "data: \"half\n\n", "EOF"),
    ] {
        let error = ask_for(true, Reply::with_header(200, header, body)).await.unwrap_err();
        assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{body}: {error}");
    }
    // A server without streams.
    let reply = ask_for(true, Reply::with_header(200, json, &whole)).await;
    assert_eq!(reply.unwrap(), ChatReply::text("Hello"));
}

#[tokio::test]
async fn run_without_a_server_stops_with_one_line() {
    let base = Server::unreachable().await;
    let stopped = Agent::new(OpenAi::new(&base, "m").max_retries(0), Tools::new())
        .run("Hello")
        .await
        .unwrap_err();

    assert!(matches!(stopped.reason, StopReason::Model(ModelError::Unreachable { .. })));
    assert_eq!(stopped.transcript, [Message::user("Hello")]);
    let text = stopped.to_string();
    let start =
        format!("the run stopped: connection to the model failed: {base}/chat/completions: ");
    assert!(text.starts_with(&start) && text.len() > start.len(), "{text}");
    // The error of the operating system, which is also the last source.
    let mut bottom: &dyn Error = &stopped;
    while let Some(source) = bottom.source() {
        bottom = source;
    }
    assert!(text.ends_with(&bottom.to_string()), "{text}");
}

#[tokio::test]
async fn invalid_urls_and_keys_are_setup_errors() {
    let server = Server::start([]).await;
    for (base, key) in [
        ("localhost:8080/v1".to_owned(), KEY),
        (String::new(), KEY),
        (server.base_url(), "two\nlines"),
    ] {
        let model = OpenAi::new(&base, "m").key(key);
        let error = model.reply(ChatRequest::new(&[])).await.unwrap_err();
        assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains(key), "{error:?}");
    }
}
