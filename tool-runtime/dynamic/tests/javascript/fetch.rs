//! Requests of scripts over the network, through the guarded client of the program.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{any, get};
use serde_json::json;
use tokio::net::TcpListener;
use tool_dynamic::{JavaScript, ToolBackend, ToolSpec};
use tool_runtime::web::Web;
use tool_runtime::{Dispatcher, Effect, EffectRecord, Policy, Registry, ToolCall, ToolExecution};

use super::fixture::script;

/// The address of the server that the client may reach.
const ALLOWED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A server, and one inside that no request may reach.
struct Servers {
    allowed: SocketAddr,
    inside: SocketAddr,
    inside_requests: Arc<AtomicUsize>,
}

async fn serve(address: IpAddr, router: Router) -> SocketAddr {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn echo(headers: HeaderMap, request: Request) -> impl IntoResponse {
    let (method, path) = (request.method().to_string(), request.uri().to_string());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let custom = headers.get("x-custom").map(|value| value.to_str().unwrap().to_owned());
    let body = String::from_utf8(body.to_vec()).unwrap();
    let json = json!({ "method": method, "path": path, "custom": custom, "body": body });
    ([("x-answer", "42"), ("content-type", "application/json")], json.to_string())
}

impl Servers {
    async fn start() -> Self {
        let inside_requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&inside_requests);
        let answer = move || {
            count.fetch_add(1, Ordering::Relaxed);
            async { "inside" }
        };
        let inside = serve(Ipv4Addr::LOCALHOST.into(), Router::new().fallback(answer)).await;
        let to_inside = format!("http://{inside}/");
        let router = Router::new()
            .route("/echo", any(echo))
            .route("/missing", get(|| async { (StatusCode::NOT_FOUND, "no such page") }))
            .route("/large", get(|| async { "x".repeat((1 << 20) + 1) }))
            .route("/endless", get(std::future::pending::<&'static str>))
            .route("/inside", get(move || async move { Redirect::to(&to_inside) }))
            .route("/html", get(|| async { ([(header::CONTENT_TYPE, "text/html")], "<p>é</p>") }));
        Self { allowed: serve(ALLOWED, router).await, inside, inside_requests }
    }

    /// Calls a script whose variables `server` and `inside` are the URLs of the servers.
    async fn call(&self, spec: ToolSpec, policy: Policy) -> ToolExecution {
        let mut spec = spec;
        let (allowed, inside) = (self.allowed, self.inside);
        spec.body = format!(
            "const server = 'http://{allowed}', inside = 'http://{inside}';\n{}",
            spec.body
        );
        let web = Web::new().allow_net(ALLOWED.to_string()).unwrap();
        let tool = JavaScript::new().web(web).build(&spec.check().unwrap()).await.unwrap();
        let registry = Registry::new();
        registry.register_all([tool].into_iter().collect()).unwrap();
        let call = ToolCall::new("1", "script", "{}");
        Dispatcher::new(registry).policy(policy).dispatch(vec![call]).await.remove(0)
    }

    async fn text(&self, body: &str) -> String {
        let spec = script(body).capability("network").timeout_seconds(10);
        self.call(spec, Policy::new().grant(["network"])).await.result.text
    }
}

#[tokio::test]
async fn response_has_status_headers_and_body() {
    let servers = Servers::start().await;
    let body = "
        const response = await fetch(`${server}/echo?a=b`, { headers: { 'X-Custom': 'yes' } });
        const { status, ok, url, headers } = response;
        return [status, ok, url === `${server}/echo?a=b`, headers['x-answer'], await response.json()];";
    let echoed = json!({ "method": "GET", "path": "/echo?a=b", "custom": "yes", "body": "" });
    let text = servers.text(body).await;
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!(value, json!([200, true, true, "42", echoed]));
    let body = "
        const pages = await Promise.all(['missing', 'html'].map(page => fetch(`${server}/${page}`)));
        return Promise.all(pages.map(async page => [page.status, page.ok, await page.text()]));";
    assert_eq!(servers.text(body).await, r#"[[404,false,"no such page"],[200,true,"<p>é</p>"]]"#);
}

#[tokio::test]
async fn addresses_inside_are_not_reached() {
    let servers = Servers::start().await;
    for url in [
        "inside",
        "`${server}/inside`",
        "'http://localhost/'",
        "'http://169.254.169.254/'",
        "'file:///etc/passwd'",
    ] {
        let body =
            format!("return await fetch({url}).then(r => r.text(), e => `refused: ${{e}}`);");
        let text = servers.text(&body).await;
        assert!(text.starts_with("refused: Error: "), "{url}: {text}");
    }
    assert_eq!(servers.inside_requests.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn network_needs_the_capability_and_the_policy() {
    let servers = Servers::start().await;
    let body = "return typeof fetch;";
    let execution = servers.call(script(body), Policy::new().grant(["network"])).await;
    assert_eq!(execution.result.text, "undefined");
    let granted = script(body).capability("network");
    let execution = servers.call(granted.clone(), Policy::new().grant(["network"])).await;
    assert_eq!(execution.result.text, "function");
    let execution = servers.call(granted.clone(), Policy::new()).await;
    assert!(execution.failed_with("TOOL_DENIED"), "{}", execution.result.text);
    // A program without a client.
    let checked = granted.check().unwrap();
    let scripts = JavaScript::new();
    assert_eq!(scripts.check(&checked)[0].path, "capabilities[0]");
    let tool = scripts.build(&checked).await.unwrap();
    let output = tool.call("{}".into(), &tool_runtime::ToolContext::default()).await.unwrap();
    assert_eq!(output.as_text(), "undefined");
}

#[tokio::test]
async fn request_that_changes_something_needs_the_effect() {
    let servers = Servers::start().await;
    let body = "
        const options = { method: 'POST', body: '{\"a\":1}', headers: { 'content-type': 'text/x' } };
        return await fetch(`${server}/echo`, options).then(r => r.json(), e => e.message);";
    let text = servers.text(body).await;
    assert!(text.contains("POST needs a tool with the effect `external`"), "{text}");
    let mut external = script(body).capability("network");
    external.effect = Effect::External;
    let allowed = tool_runtime::dispatch::Permissions::default()
        .tool("script", tool_runtime::Permission::Allow);
    let policy = Policy::new().grant(["network"]).permissions(allowed);
    let execution = servers.call(external, policy).await;
    assert!(execution.result.text.contains(r#""body":"{\"a\":1}""#), "{}", execution.result.text);
    let is_sent = |effect: &EffectRecord| {
        matches!(effect, EffectRecord::RequestSent(request)
            if request.method == "POST" && request.status == Some(200))
    };
    assert!(execution.effects.iter().any(is_sent), "{:?}", execution.effects);
}

#[tokio::test]
async fn refused_requests_throw_the_reason() {
    let servers = Servers::start().await;
    for (call, expected) in [
        ("fetch(`${server}/large`)", "the response has more than 1048576 bytes"),
        ("fetch(`${server}/echo`, { headers: { Cookie: 'a=b' } })", "`cookie` can't be set"),
        ("fetch(`${server}/echo`, { method: 'TRACE' })", "`method` has to be GET"),
        ("fetch(`${server}/echo`, { body: 'b' })", "remove `body`: a GET request has none"),
        ("fetch(`${server}/echo`, { body: {} })", "`body` is a text: send `JSON.stringify(value)`"),
        (
            "fetch(`${server}/echo`, { headers: 1 })",
            "the options of `fetch` are invalid: invalid type",
        ),
        ("fetch(`${server}/echo`, { headers: { a: 'x'.repeat(3e5) } })", "at most 262144 bytes"),
        ("fetch('no url')", "`url` is not a valid URL"),
        ("fetch()", "`url` is not a valid URL"),
    ] {
        let body = format!("return await {call}.then(r => r.text(), e => e.message);");
        let text = servers.text(&body).await;
        assert!(text.to_lowercase().contains(&expected.to_lowercase()), "{call}: {text}");
    }
    let body = "
        let count = 0;
        try { while (true) { await fetch('no url').catch(() => {}); count++; } }
        catch (e) { return `${count} ${e.message}`; }";
    // The limit is that of calls.
    let text = servers
        .text(&body.replace(
            ".catch(() => {})",
            ".catch(e => { if \
        (e.message.includes('at most')) throw e; })",
        ))
        .await;
    assert_eq!(text, "100 a script makes at most 100 calls");
}

#[tokio::test]
async fn server_that_does_not_answer_ends_at_the_time_limit() {
    let servers = Servers::start().await;
    let spec = script("await fetch(`${server}/endless`);").capability("network");
    let started = Instant::now();
    let granted = Policy::new().grant(["network"]);
    let execution = servers.call(spec.timeout_seconds(1), granted).await;
    assert!(execution.failed_with("TOOL_TIMEOUT"), "{}", execution.result.text);
    assert!(started.elapsed() < Duration::from_secs(10));
}
