//! The chat-completions client when the server refuses, breaks off, is silent or isn't there.

use std::error::Error;
use std::time::Duration;

use serde_json::json;
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, StopReason, Tools,
};

use crate::KEY;
use crate::server::{Reply, Server};

/// What a client with a key makes of this reply.
async fn ask(reply: Reply) -> Result<ChatReply, ModelError> {
    let server = Server::start([reply]).await;
    let model = OpenAi::new(server.base_url(), "m").key(KEY).retries(0);
    let answer = model.reply(ChatRequest::new(&[Message::user("Hello")])).await;
    if let Err(error) = &answer {
        assert!(!format!("{error} {error:?} {model:?}").contains(KEY), "{error:?}");
    }
    answer
}

#[tokio::test]
async fn a_refusal_names_status_and_body() {
    for status in [400, 401, 404, 429, 500, 503] {
        let error = ask(Reply::new(status, "because of this")).await.unwrap_err();
        assert!(matches!(&error, ModelError::Refused(refusal) if refusal.status == status));
        let shown = error.to_string();
        assert!(shown.contains(&format!("status {status}: because of this")), "{shown}");
        assert!(shown.contains("/v1/chat/completions"), "{shown}");
    }
}

#[tokio::test]
async fn a_key_that_the_server_quotes_is_not_repeated() {
    let body = format!("{{\"error\": \"no such key: {KEY}\"}}");
    let error = ask(Reply::new(401, &body)).await.unwrap_err();
    assert!(error.to_string().ends_with(r#"{"error": "no such key: …"}"#), "{error}");
}

#[tokio::test]
async fn a_huge_refusal_is_cut() {
    let error = ask(Reply::new(500, &"é".repeat(1 << 20))).await.unwrap_err();
    let shown = error.to_string();
    assert!(shown.len() < 5_000 && shown.ends_with("é …"), "{}", shown.len());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let target = Server::start([Reply::message(json!({ "content": "Hi" }))]).await;
        let header = format!("location: {}", target.base_url());
        let error = ask(Reply::with_header(status, &header, "moved")).await.unwrap_err();
        let expected = format!("status {status}: it redirects to {} moved", target.base_url());
        assert!(error.to_string().ends_with(&expected), "{error}");
        assert!(target.requests().is_empty());
    }
}

#[tokio::test]
async fn what_is_no_completion_is_named() {
    let whole = json!({ "choices": [{ "message": { "content": "Hello" } }] }).to_string();
    for (body, reason) in [
        ("<!DOCTYPE html><h1>Sign in</h1>", "Sign in"),
        ("", "it is empty"),
        (" \n", "it is empty"),
        (&whole[..whole.len() - 9], "EOF while parsing"),
        ("{}", "missing field `choices`"),
        (r#"{"error": {"message": "overloaded"}}"#, "it reports an error, overloaded"),
    ] {
        let error = ask(Reply::new(200, body)).await.unwrap_err();
        assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_body_without_an_end_is_given_up() {
    let error = ask(Reply::Endless).await.unwrap_err();
    let ModelError::Malformed { reason, body } = &error else { panic!("{error:?}") };
    assert!(reason.contains("longer than"), "{reason}");
    assert!(body.len() < 5_000);
}

#[tokio::test]
async fn a_connection_that_breaks_is_unreachable() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": [";
    for bytes in ["", "HTTP/1.1 200 O", cut, "this is no HTTP\r\n\r\n"] {
        let error = ask(Reply::Bytes(bytes.into())).await.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{bytes:?}: {error:?}");
        assert!(error.source().is_some());
    }
}

#[tokio::test]
async fn a_silent_server_is_left_after_the_limit() {
    let limit = Duration::from_millis(50);
    let server = Server::start([Reply::Never]).await;
    let model = OpenAi::new(server.base_url(), "m").timeout(limit);
    let error = model.reply(ChatRequest::new(&[])).await.unwrap_err();
    assert!(matches!(error, ModelError::Timeout { limit: named, .. } if named == limit));
    assert!(error.to_string().contains("50ms"), "{error}");
}

#[tokio::test]
async fn a_run_without_a_server_says_so_in_one_line() {
    let base = Server::nobody().await;
    let stopped = Agent::new(OpenAi::new(&base, "m").retries(0), Tools::new())
        .run("Hello")
        .await
        .unwrap_err();

    assert!(matches!(stopped.why, StopReason::Model(ModelError::Unreachable { .. })));
    assert_eq!(stopped.transcript, [Message::user("Hello")]);
    let shown = stopped.to_string();
    let start =
        format!("the run stopped: the model could not be reached at {base}/chat/completions: ");
    assert!(shown.starts_with(&start) && shown.len() > start.len(), "{shown}");
    // The operating system's own words, which are also at the bottom of the sources.
    let mut bottom: &dyn Error = &stopped;
    while let Some(source) = bottom.source() {
        bottom = source;
    }
    assert!(shown.ends_with(&bottom.to_string()), "{shown}");
}

#[tokio::test]
async fn what_can_not_be_sent_is_a_matter_of_setup() {
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
