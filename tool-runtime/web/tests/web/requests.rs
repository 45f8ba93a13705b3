//! Requests that change something.

use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::NetworkRequest;
use tool_runtime::http::HttpMethod;
use tool_runtime::web::Web;
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolExecution, async_trait, tools};

use super::fixture::{Fixture, PUBLIC, call};
use super::server::Reply;

/// Approves every call whose preview ends with this text.
struct Approves(&'static str);

#[async_trait]
impl Approver for Approves {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        let preview = request.preview.as_deref().unwrap();
        if preview.ends_with(self.0) { Approval::Once } else { Approval::Deny(preview.into()) }
    }
}

fn dispatcher(fixture: &Fixture, approves: &'static str) -> Dispatcher {
    let web = Web::new()
        .resolver(fixture.names.clone())
        .allow_net(PUBLIC.to_string())
        .unwrap()
        .timeout(Duration::from_millis(500));
    let methods = [HttpMethod::Post, HttpMethod::Put, HttpMethod::Delete];
    let registry = Registry::try_from(tools![..web.requests(methods)]).unwrap();
    Dispatcher::new(registry).policy(Policy::new().approver(Approves(approves)).previewer(web))
}

async fn request(fixture: &Fixture, method: &str, path: &str, more: Value) -> ToolExecution {
    let url = fixture.url(&format!("http://public.test:{{port}}{path}"));
    let mut arguments = json!({ "method": method, "url": url });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call(&dispatcher(fixture, ""), "http_request", arguments).await
}

#[tokio::test]
async fn request_is_sent_and_recorded() {
    let fixture = Fixture::new(|_| {
        Reply::new("201 Created", "content-type: application/json", r#"{"id":7}"#)
    })
    .await;
    for (method, more, expected) in [
        ("POST", json!({ "body": "{\"a\": 1}" }), "content-type: application/json\r\n"),
        ("PUT", json!({ "body": "text" }), "content-type: text/plain; charset=utf-8\r\n"),
        (
            "POST",
            json!({ "body": "a=1", "content_type": "application/x-www-form-urlencoded" }),
            "content-type: application/x-www-form-urlencoded\r\n",
        ),
        ("DELETE", json!({}), "DELETE /cards HTTP/1.1\r\n"),
    ] {
        let execution = request(&fixture, method, "/cards", more.clone()).await;
        let text = &execution.result.text;
        assert!(text.starts_with("Status 201, JSON, 8 bytes."), "{text}");
        assert!(text.contains("\"id\": 7"), "{text}");
        let url = fixture.url("http://public.test:{port}/cards");
        assert_eq!(execution.effects, [NetworkRequest::new(method, url).status(201).into()]);
        let request = fixture.public.requests().pop().unwrap();
        assert!(request.contains(expected), "{request}");
        assert!(request.ends_with(more["body"].as_str().unwrap_or("\r\n")), "{request}");
    }
}

#[tokio::test]
async fn rest_of_a_long_response_is_omitted() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "a".repeat(50_000))).await;
    let execution = request(&fixture, "POST", "/", json!({})).await;
    let text = &execution.result.text;
    assert!(text.contains("\n[the rest of 50000 bytes is omitted]\n"), "{}", &text[..200]);
    assert!(!text.contains("offset"), "{}", &text[..200]);
}

#[tokio::test]
async fn redirect_of_a_request_is_not_followed() {
    let fixture = Fixture::new(|path| {
        let status: u16 = path[1..].parse().unwrap();
        Reply::redirect(status, "http://inside.test/next")
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let execution = request(&fixture, "POST", &format!("/{status}"), json!({})).await;
        let text = &execution.result.text;
        assert!(text.starts_with(&format!("Status {status}, ")), "{text}");
        assert!(text.contains("\nLocation: http://inside.test/next\n"), "{text}");
    }
    assert_eq!(fixture.public.requests().len(), 5);
    fixture.assert_nothing_inside();
}

#[tokio::test]
async fn request_reaches_public_hosts_only() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let dispatcher = dispatcher(&fixture, "");
    for url in ["http://127.0.0.1:{port}/", "http://inside.test:{port}/", "http://[::1]:{port}/"] {
        let arguments = json!({ "method": "POST", "url": fixture.url(url), "body": "a" });
        let execution = call(&dispatcher, "http_request", arguments).await;
        assert!(execution.failed_with("TOOL_DENIED"), "{url}: {}", execution.result.text);
        assert_eq!(execution.effects, []);
    }
    fixture.assert_nothing_inside();
}

#[tokio::test]
async fn method_that_was_not_opted_in_is_denied() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    for (method, code) in [
        ("PATCH", "TOOL_DENIED"),
        ("GET", "TOOL_INVALID_ARGUMENTS"),
        ("CONNECT", "TOOL_INVALID_ARGUMENTS"),
        ("TRACE", "TOOL_INVALID_ARGUMENTS"),
        ("POST /x HTTP/1.1\r\nhost: a", "TOOL_INVALID_ARGUMENTS"),
    ] {
        let execution = request(&fixture, method, "/", json!({})).await;
        assert!(execution.failed_with(code), "{method}: {}", execution.result.text);
    }
    let header = json!({ "body": "a", "content_type": "text/plain\r\ncookie: a=b" });
    let execution = request(&fixture, "POST", "/", header).await;
    assert!(execution.failed_with("TOOL_EXECUTION_FAILED"), "{}", execution.result.text);
    assert_eq!((execution.effects.len(), fixture.public.requests().len()), (0, 0));
}

#[tokio::test]
async fn request_that_may_have_arrived_is_indeterminate() {
    let fixture = Fixture::new(|path| match path {
        "/stalled" => Reply::Stalled(Vec::new()),
        _ => Reply::Bytes(Vec::new()),
    })
    .await;
    for path in ["/stalled", "/closed"] {
        let execution = request(&fixture, "POST", path, json!({ "body": "a" })).await;
        let text = &execution.result.text;
        assert!(execution.failed_with("TOOL_INDETERMINATE"), "{path}: {text}");
        let url = fixture.url(&format!("http://public.test:{{port}}{path}"));
        assert_eq!(execution.effects, [NetworkRequest::new("POST", url).into()]);
    }
    // Nothing listens there, so that nothing can have arrived.
    let arguments = json!({ "method": "POST", "url": "http://public.test:1/" });
    let execution = call(&dispatcher(&fixture, ""), "http_request", arguments).await;
    assert!(execution.failed_with("TOOL_TRANSIENT_FAILURE"), "{}", execution.result.text);
    assert_eq!(execution.effects, []);
}

#[tokio::test]
async fn approver_receives_the_method_the_url_and_the_body() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let url = fixture.url("http://PUBLIC.test:{port}/a/../b#c");
    let arguments = json!({
        "method": "POST", "url": url, "body": "the body", "content_type": "text/plain",
    });
    let approved = dispatcher(&fixture, "/b\ntext/plain\nthe body");
    assert!(call(&approved, "http_request", arguments.clone()).await.is_success());
    let denied = dispatcher(&fixture, "another body");
    let execution = call(&denied, "http_request", arguments).await;
    assert!(execution.is_blocked());
    let expected = fixture.url("POST http://public.test:{port}/b\ntext/plain\nthe body");
    assert!(execution.result.text.ends_with(&expected), "{}", execution.result.text);
    let web = Web::new();
    assert_eq!(web.preview_of("file_read", &json!({ "url": "http://a.test/" })), None);
    let hostile = json!({ "method": "PUT", "url": "http://a.test/", "body": "a\u{1b}[2K" });
    let preview = web.preview_of("http_request", &hostile).unwrap();
    assert_eq!(preview, "PUT http://a.test/\na<U+001B>[2K");
}

#[tokio::test]
async fn tools_that_are_not_opted_in_are_not_registered() {
    let registry = Registry::try_from(tools![..Web::new()]).unwrap();
    let snapshot = registry.snapshot();
    let definitions = snapshot.definitions();
    let names: Vec<_> = definitions.iter().map(|definition| &definition.name).collect();
    assert_eq!(names, ["http_fetch"]);
}
