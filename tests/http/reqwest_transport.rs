//! Requests and responses over real connections.

use support::server::{Reply, Server};
use tool_runtime::http::{HttpMethod, HttpRequest, ReqwestTransport, Transport, TransportError};

#[tokio::test]
async fn method_headers_and_body_are_sent_unchanged() {
    for (method, body) in [
        (HttpMethod::Get, ""),
        (HttpMethod::Head, ""),
        (HttpMethod::Post, ""),
        (HttpMethod::Post, r#"{"a":1}"#),
        (HttpMethod::Put, r#""é""#),
        (HttpMethod::Patch, "[]"),
        (HttpMethod::Delete, ""),
        (HttpMethod::Delete, "1"),
        (HttpMethod::Options, ""),
    ] {
        let server = Server::start([Reply::with_header(207, "x-answer: yes", "")]).await;
        let request = HttpRequest::new(method, format!("{}/a?b=c", server.base_url()))
            .header("x-team", "red")
            .header("X-Team", "blue")
            .body(body);
        let response = ReqwestTransport::new().send(&request).await.unwrap();
        assert_eq!((response.status, response.headers.get("X-Answer")), (207, Some("yes")));

        let [received] = server.requests().try_into().unwrap();
        assert_eq!(received.line, format!("{method} /v1/a?b=c HTTP/1.1"));
        let teams = received.headers.iter().filter(|(name, _)| name == "x-team");
        assert_eq!(teams.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["blue"]);
        assert_eq!(received.header("content-type"), None, "{method}");
        let length = received.header("content-length").unwrap_or("0");
        assert_eq!(length, body.len().to_string(), "{method}");
        assert_eq!(received.body, serde_json::from_str(body).unwrap_or(serde_json::Value::Null));
    }
}

#[tokio::test]
async fn redirects_are_returned_and_not_followed() {
    let redirect = || Reply::with_header(302, "location: http://pages.invalid/", "");
    let server = Server::start([redirect(), redirect()]).await;
    for method in [HttpMethod::Get, HttpMethod::Post] {
        let request = HttpRequest::new(method, server.base_url());
        let response = ReqwestTransport::new().send(&request).await.unwrap();
        let location = response.headers.get("location");
        assert_eq!((response.status, location), (302, Some("http://pages.invalid/")));
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn body_is_read_while_it_arrives() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ndata: a\n\n";
    let server = Server::start([Reply::Open(head.into())]).await;
    let request = HttpRequest::get(server.base_url());
    let mut response = ReqwestTransport::new().send(&request).await.unwrap();
    let first = response.body.next().await.unwrap();
    assert_eq!(first.as_deref(), Some(&b"data: a\n\n"[..]));
}

#[tokio::test]
async fn size_of_the_body_is_limited() {
    let server = Server::start([Reply::Endless("x".repeat(1_000)), Reply::new(200, "four")]).await;
    let request = HttpRequest::get(server.base_url());
    let transport = ReqwestTransport::new();
    let endless = transport.send(&request).await.unwrap();
    let error = endless.body.read_to_end(10_000).await.unwrap_err();
    assert!(matches!(error, TransportError::BodyTooLong { max_bytes: 10_000, .. }), "{error:?}");
    let complete = transport.send(&request).await.unwrap();
    assert_eq!(complete.body.read_to_end(4).await.unwrap(), b"four");
}
