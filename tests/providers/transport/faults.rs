//! Faults of servers, for all providers.

use std::error::Error;

use tool_runtime::providers::OpenAi;
use tool_runtime::{Agent, ModelError, StopReason, Tools};

use super::exchange_kinds;
use crate::provider::KEY;
use support::server::{Reply, Server};

#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let target = Server::start([Reply::new(200, "{}")]).await;
        let header = format!("location: {}", target.base_url());
        for (provider, is_streamed) in exchange_kinds() {
            let reply = Reply::with_header(status, &header, "moved");
            let error = provider.result_of(is_streamed, reply).await.unwrap_err();
            assert!(matches!(&error, ModelError::Api(refusal) if refusal.status == status));
            let expected = format!("status {status}: it redirects to {} moved", target.base_url());
            assert!(error.to_string().ends_with(&expected), "{}: {error}", provider.name);
            assert!(target.requests().is_empty());
        }
    }
}

/// `Provider::send_request` checks every error for secrets.
#[tokio::test]
async fn quoted_key_is_redacted() {
    let json = "content-type: application/json";
    for (provider, is_streamed) in exchange_kinds() {
        for (status, body) in [
            (401, format!("no such key: {KEY}")),
            (401, format!(r#"{{"error": {{"message": "no such key: {KEY}"}}}}"#)),
            (401, format!(r#"{{"error": "no such key: {KEY}"}}"#)),
            (200, format!("no such key: {KEY}")),
            (200, format!(r#"{{"error": {{"message": "no such key: {KEY}"}}}}"#)),
        ] {
            let reply = Reply::with_header(status, json, &body);
            let error = provider.result_of(is_streamed, reply).await.unwrap_err();
            assert!(error.to_string().contains("key: …"), "{}: {error}", provider.name);
            let excerpt = body.replace(KEY, "…");
            let is_quoted = error.to_string().ends_with(&excerpt);
            assert!(status == 200 || is_quoted, "{}: {error}", provider.name);
        }
    }
}

#[tokio::test]
async fn broken_connection_is_unreachable() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, good) = provider.good(is_streamed);
        let half = &good[..good.len() / 3];
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n");
        let (unreachable, interrupted) = ("MODEL_UNREACHABLE", "MODEL_INTERRUPTED");
        for (bytes, code) in [
            (String::new(), unreachable),
            ("HTTP/1.1 200 O".to_owned(), unreachable),
            ("this is no HTTP\r\n\r\n".to_owned(), unreachable),
            (format!("{head}content-length: {}\r\n\r\n{half}", good.len()), interrupted),
            (format!("{head}transfer-encoding: chunked\r\n\r\nffff\r\n{half}"), interrupted),
            (format!("{head}transfer-encoding: chunked\r\n\r\n5\r\ndata:"), interrupted),
        ] {
            let reply = Reply::Bytes(bytes.clone().into());
            let error = provider.result_of(is_streamed, reply).await.unwrap_err();
            let is_expected = matches!(error, ModelError::Unreachable { .. });
            assert!(is_expected, "{}, {bytes:?}: {error:?}", provider.name);
            assert_eq!(error.code(), code, "{}, {bytes:?}", provider.name);
            assert!(error.source().is_some());
        }
    }
}

/// Whatever the byte at which it is closed: the server did not announce the length of the body.
#[tokio::test]
async fn connection_closed_within_a_reply_is_transient() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, good) = provider.good(is_streamed);
        let whole = provider.result_of(is_streamed, Reply::with_header(200, header, &good)).await;
        let whole = whole.unwrap();
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\nconnection: close\r\n\r\n");
        let (mut closed, step) = (0, good.len() / 60 + 1);
        for end in (1..8).chain((8..good.len()).step_by(step)) {
            let bytes = [head.as_bytes(), &good.as_bytes()[..end]].concat();
            let case = format!("{}, streamed: {is_streamed}, {end}", provider.name);
            match provider.result_of(is_streamed, Reply::Bytes(bytes)).await {
                Ok(reply) => assert_eq!(reply, whole, "{case}"),
                Err(error) => {
                    assert!(error.is_transient(), "{case}: {error:?}");
                    closed += 1;
                }
            }
        }
        assert!(closed > 20, "{}: {closed}", provider.name);
    }
}

/// A program that alerts on codes has to distinguish these failures.
#[tokio::test]
async fn failures_of_different_causes_have_different_codes() {
    for (provider, is_streamed) in exchange_kinds() {
        let (json, html) = ("content-type: application/json", "content-type: text/html");
        let filtered = r#"{"error": {"code": "content_filter", "message": "It is refused."}}"#;
        for (reply, code) in [
            (Reply::with_header(401, json, "{}"), "MODEL_AUTH"),
            (Reply::with_header(403, json, "{}"), "MODEL_AUTH"),
            (Reply::with_header(429, json, "{}"), "MODEL_RATE_LIMITED"),
            (Reply::with_header(402, json, "{}"), "MODEL_OUT_OF_QUOTA"),
            (Reply::with_header(413, json, "{}"), "MODEL_CONTEXT_TOO_LONG"),
            (Reply::with_header(503, json, "{}"), "MODEL_OVERLOADED"),
            (Reply::with_header(404, json, "{}"), "MODEL_INVALID_REQUEST"),
            (Reply::with_header(400, json, filtered), "MODEL_FILTERED"),
            // The pages of a gateway or a proxy in front of the API.
            (Reply::with_header(502, html, "<h1>Bad gateway</h1>"), "MODEL_OVERLOADED"),
            (Reply::with_header(403, html, "<h1>Forbidden</h1>"), "MODEL_AUTH"),
            (Reply::with_header(200, html, "<h1>Sign in</h1>"), "MODEL_MALFORMED"),
        ] {
            let error = provider.result_of(is_streamed, reply).await.unwrap_err();
            assert_eq!(error.code(), code, "{}: {error}", provider.name);
            assert_eq!(StopReason::from(error).code(), code);
        }
    }
    let refused = OpenAi::new("http://127.0.0.1:1", "m").max_retries(0);
    let stopped = Agent::new(refused, Tools::new()).run("Go").await.unwrap_err();
    assert_eq!(stopped.reason.code(), "MODEL_UNREACHABLE");
    let malformed = OpenAi::new("no url", "m");
    let stopped = Agent::new(malformed, Tools::new()).run("Go").await.unwrap_err();
    assert_eq!(stopped.reason.code(), "MODEL_SETUP");
}

#[tokio::test]
async fn bodies_without_a_reply_are_errors() {
    let page = "<!DOCTYPE html><h1>Sign in</h1>";
    for (provider, is_streamed) in exchange_kinds() {
        let (header, good) = provider.good(is_streamed);
        let half = &good[..good.len() / 2];
        let message =
            |json: &str| if is_streamed { provider.framed(json) } else { format!("{json}\n") };
        let [empty, eof] = if is_streamed { [""; 2] } else { ["empty body", "EOF while parsing"] };
        let [open, five, word] = ["{\"a\": ", "5", "nothing"].map(message);
        for (header, body, reason) in [
            ("content-type: text/html", page, "Sign in"),
            (header, page, "Sign in"),
            (header, "", empty),
            (header, " \n", empty),
            (header, half, eof),
            (header, &open, "EOF"),
            (header, &five, "5"),
            (header, &word, "expected"),
        ] {
            let reply = Reply::with_header(200, header, body);
            let answer = provider.result_of(is_streamed, reply).await;
            let Err(error) = answer else { panic!("{}, {body:?}: {answer:?}", provider.name) };
            let is_expected = match error {
                // The stream started well.
                ModelError::Unreachable { .. } => is_streamed && body == half,
                ModelError::Malformed { .. } => true,
                _ => false,
            };
            assert!(is_expected, "{}, {body:?}: {error:?}", provider.name);
            assert!(error.to_string().contains(reason), "{}, {body:?}: {error}", provider.name);
        }
    }
}

#[tokio::test]
async fn half_a_character_is_an_error() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, _) = provider.good(is_streamed);
        let body = b"data: {\"a\": \"\xc3\"}\n\n";
        let body = if header.contains("event") { &body[..] } else { &body[6..] };
        let reply = Reply::with_header(200, header, body);
        let error = provider.result_of(is_streamed, reply).await.unwrap_err();
        let ModelError::Malformed { reason, .. } = &error else {
            panic!("{}: {error:?}", provider.name)
        };
        assert_eq!(reason, "not UTF-8", "{}", provider.name);
    }
}

#[tokio::test]
async fn endless_body_is_an_error() {
    for (provider, is_streamed) in exchange_kinds() {
        let reply = Reply::Endless(" ".repeat(1 << 16));
        let error = provider.result_of(is_streamed, reply).await.unwrap_err();
        let ModelError::Malformed { reason, body, .. } = &error else {
            panic!("{}: {error:?}", provider.name)
        };
        // 32 MiB of one message, or of a whole reply.
        assert_eq!(reason, "longer than 33554432 bytes", "{}", provider.name);
        assert!(body.len() < 5_000);
    }
}
