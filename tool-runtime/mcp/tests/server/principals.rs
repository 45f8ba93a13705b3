//! Principals over HTTP: what each may see, and how much of the server one can take.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use serde_json::json;
use tool_mcp::McpServer;
use tool_mcp::server::{Access, Denied, Limits};
use tool_runtime::{
    Arguments, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Tools,
    async_trait,
};
use tower::ServiceExt;

use crate::client::{NEW, OLD};
use crate::http::Http;

/// A tool with an argument that clients repeat in a header.
struct Regional(ToolDefinition);

impl Regional {
    fn new() -> Self {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let schema = json!({ "type": "object", "properties": { "region": region } });
        Self(ToolDefinition::new("regional", "Does something.", schema))
    }
}

#[async_trait]
impl Tool for Regional {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

/// Gives Ada all tools and Bob none.
fn server() -> McpServer {
    let registry = Registry::try_from(Tools::new().with(Regional::new())).unwrap();
    let none = registry.filter(|_| false);
    McpServer::new(registry).authenticate(move |request: &Parts| {
        match request.headers.get("authorization").map(|it| it.as_bytes()) {
            Some(b"Bearer ada") => Ok(Access::new("Ada")),
            Some(b"Bearer bob") => Ok(Access::new("Bob").registry(none.clone())),
            _ => Err(Denied::forbidden()),
        }
    })
}

#[tokio::test]
async fn headers_are_checked_by_the_tools_of_the_principal() {
    let router = server().router();
    let ask = async |token: &'static str, name: &str| {
        let client = Http::new(&router, Some(token), NEW);
        let params = json!({ "name": name, "arguments": { "region": "eu" } });
        let reply = client.post("tools/call", params).await;
        let error = &reply.message["error"];
        (reply.status, error["code"].clone(), error["message"].as_str().map(str::to_owned))
    };
    // The header is missing.
    let (status, code, message) = ask("ada", "regional").await;
    assert_eq!((status, code), (StatusCode::BAD_REQUEST, json!(-32020)), "{message:?}");
    // A hidden tool looks like none.
    let (hidden, unknown) = (ask("bob", "regional").await, ask("bob", "regionem").await);
    assert_eq!((hidden.0, hidden.1), (unknown.0, unknown.1));
    assert_eq!(hidden.2.unwrap().replace("regional", "regionem"), unknown.2.unwrap());
}

#[tokio::test]
async fn one_principal_can_not_take_all_streams() {
    let router = server().limits(Limits::default().max_requests(4)).router();
    let mut streams = Vec::new();
    let mut open = async |token: &'static str| {
        let mut client = Http::new(&router, Some(token), OLD);
        client.initialize().await;
        let mut request = client.request(Method::GET, Body::empty());
        request.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        streams.push(response);
        status
    };
    assert_eq!(open("ada").await, StatusCode::OK);
    assert_eq!(open("bob").await, StatusCode::OK);
    assert_eq!(open("ada").await, StatusCode::OK);
    // Two of four are open: even a handshake needs a third.
    let mut ada = Http::new(&router, Some("ada"), OLD);
    assert_eq!(ada.initialize().await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(Http::new(&router, Some("bob"), OLD).initialize().await.status, StatusCode::OK);
    drop(streams);
    assert_eq!(ada.initialize().await.status, StatusCode::OK);
}

#[tokio::test]
async fn one_principal_can_not_take_all_sessions() {
    let limits = Limits::default().max_sessions(20).max_sessions_per_principal(5);
    let router = server().limits(limits).router();
    let mut started = Vec::new();
    for token in ["ada", "bob"] {
        for number in 0..10 {
            let mut client = Http::new(&router, Some(token), OLD);
            let status = client.initialize().await.status;
            let expected =
                if number < 5 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            assert_eq!(status, expected, "{token} {number}");
            started.push(client);
        }
    }
    // An ended session makes room.
    let first = &started[0];
    assert!(first.send(first.request(Method::DELETE, Body::empty())).await.status.is_success());
    assert_eq!(Http::new(&router, Some("ada"), OLD).initialize().await.status, StatusCode::OK);
}
