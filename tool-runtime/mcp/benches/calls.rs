//! Measures calls, lists and registrations over MCP, beside client and server of the SDK alone.
//!
//! Client and server share one thread and a pipe in memory, and both sides speak the same revision.
//! On Linux, the time of calls is the CPU time of that thread, which other load changes less.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::future::Future;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, JsonObject,
    ProtocolVersion, TASKS_EXTENSION_ID,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::{Json, ServerHandler, ServiceExt, tool_handler, tool_router};
use serde_json::json;
use tokio::io::{DuplexStream, duplex, split};
use tool_mcp::{McpClient, McpServer};
use tool_runtime::schema::Schema;
use tool_runtime::{
    Arguments, Dispatcher, Registry, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolOutput, Tools, args, async_trait, tool, tools,
};

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;
const PARALLEL: usize = 64;
const TOOLS: usize = 1_000;

/// A sum.
#[args]
#[derive(serde::Serialize)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> Sum {
    Sum { sum: a + b }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Addends {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct SdkSum {
    sum: i64,
}

#[derive(Clone)]
struct SdkServer {
    tool_router: ToolRouter<Self>,
}

#[tool_router(router = tool_router)]
impl SdkServer {
    #[rmcp::tool(name = "add", description = "Adds two numbers.")]
    async fn add(&self, numbers: Parameters<Addends>) -> Json<SdkSum> {
        Json(SdkSum { sum: numbers.0.a + numbers.0.b })
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for SdkServer {}

/// One of many tools of a server.
struct Numbered(ToolDefinition);

#[async_trait]
impl Tool for Numbered {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

fn numbered() -> Tools {
    let schema = Schema::of::<Sum>();
    Tools::new().with_all((0..TOOLS).map(|number| {
        Numbered(ToolDefinition::new(format!("tool_{number}"), "Does something.", schema.clone()))
    }))
}

/// Starts a server of the SDK and returns the end for the client.
fn sdk_server() -> DuplexStream {
    let (near, far) = duplex(1 << 16);
    tokio::spawn(async move {
        let server = SdkServer { tool_router: SdkServer::tool_router() };
        let running = server.serve(split(far)).await.expect("a connection");
        running.waiting().await.expect("an end");
    });
    near
}

/// Starts a server of this crate and returns the end for the client.
fn own_server(tools: Tools) -> DuplexStream {
    let (near, far) = duplex(1 << 16);
    let (reader, writer) = split(far);
    tokio::spawn(McpServer::new(tools).serve(reader, writer));
    near
}

type SdkClient = RunningService<RoleClient, ClientConfig>;

async fn sdk_client(near: DuplexStream, revision: &ProtocolVersion) -> SdkClient {
    let info = Implementation::new("bench", "1");
    // The client of this crate declares the same.
    let mut capabilities = ClientCapabilities::default();
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
    let config = ClientConfig::new(capabilities, info).with_protocol_version(revision.clone());
    let lifecycle = if revision.has_initialize() {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Discover { preferred_versions: vec![revision.clone()] }
    };
    config.serve_with_lifecycle(split(near), lifecycle).await.expect("a connection")
}

/// Connects the client of this crate, which prefers the newest revision.
async fn own_client(near: DuplexStream) -> Dispatcher {
    let registry = Registry::new();
    let near = std::sync::Mutex::new(Some(near));
    let open = move || {
        let near = near.lock().expect("no panic").take();
        async { near.map(split).ok_or_else(|| std::io::Error::other("connected once")) }
    };
    let client = McpClient::streams(open);
    client.connect("sums", &registry).await.expect("a connection");
    Dispatcher::new(registry)
}

fn arguments() -> JsonObject {
    json!({ "a": 20, "b": 22 }).as_object().cloned().unwrap_or_default()
}

async fn call_by_sdk(client: &SdkClient) {
    let params = CallToolRequestParams::new("add").with_arguments(arguments());
    let result = client.call_tool(params).await.expect("a result");
    assert_eq!(result.structured_content, Some(json!({ "sum": 42 })));
}

async fn call_by_dispatcher(dispatcher: &Dispatcher) {
    let call = ToolCall::new("1", "sums__add", r#"{"a": 20, "b": 22}"#);
    let execution = dispatcher.dispatch(vec![call]).await.pop().expect("an execution");
    assert_eq!(execution.result.structured, Some(json!({ "sum": 42 })), "{execution:?}");
}

/// Returns the microseconds per call, one by one and many at once.
async fn measure<F: Future<Output = ()>>(call: impl Fn() -> F) -> [f64; 2] {
    let start = now();
    for _ in 0..CALLS {
        call().await;
    }
    let one_by_one = microseconds(start, CALLS);
    let start = now();
    let batches = CALLS / PARALLEL;
    for _ in 0..batches {
        join_all((0..PARALLEL).map(|_| call())).await;
    }
    [one_by_one, microseconds(start, batches * PARALLEL)]
}

/// Returns the CPU time of this thread, or the time since the first call if that is not known.
fn now() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|it| it.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn microseconds(start: Duration, count: usize) -> f64 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    (now() - start).as_secs_f64() * 1e6 / f64::from(count)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

async fn calls(revision: &ProtocolVersion) {
    let sdk = sdk_client(sdk_server(), revision).await;
    let server = sdk_client(own_server(tools![add]), revision).await;
    // The client of this crate chooses the revision, and the server of the SDK speaks both.
    let is_newest = !revision.has_initialize();
    let clients = if is_newest {
        Some((own_client(sdk_server()).await, own_client(own_server(tools![add])).await))
    } else {
        None
    };
    let mut times: Vec<[f64; 2]> = Vec::new();
    for _ in 0..ROUNDS {
        times.push(measure(|| call_by_sdk(&sdk)).await);
        times.push(measure(|| call_by_sdk(&server)).await);
        if let Some((client, pair)) = &clients {
            times.push(measure(|| call_by_dispatcher(client)).await);
            times.push(measure(|| call_by_dispatcher(pair)).await);
        }
    }
    let pairs = ["client and server of the SDK", "our server", "our client", "both ours"];
    let pairs = &pairs[..if is_newest { 4 } else { 2 }];
    let column = |pair: usize, kind: usize| {
        median(times.iter().skip(pair).step_by(pairs.len()).map(|times| times[kind]).collect())
    };
    for (index, pair) in pairs.iter().enumerate() {
        let [one_by_one, at_once] = [column(index, 0), column(index, 1)];
        let [ratio, ratio_at_once] = [one_by_one / column(0, 0), at_once / column(0, 1)];
        println!(
            "| {revision} | {pair} | {one_by_one:.1} | {ratio:.2} | {at_once:.1} | \
             {ratio_at_once:.2} |"
        );
    }
}

async fn lists() {
    let client = sdk_client(own_server(numbered()), &ProtocolVersion::V_2025_11_25).await;
    let (mut listed, mut registered) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(client.list_all_tools().await.expect("a list").len(), TOOLS);
        listed.push(start.elapsed().as_secs_f64() * 1e3);
        let near = own_server(numbered());
        let start = Instant::now();
        let dispatcher = own_client(near).await;
        registered.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(dispatcher.registry().snapshot().entries().count(), TOOLS);
    }
    println!(
        "\n{TOOLS} tools of our server, listed by the client of the SDK: {:.1} ms",
        median(listed)
    );
    println!("{TOOLS} tools of our server, connected and registered: {:.1} ms", median(registered));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("| revision | | µs, one by one | ratio | µs, {PARALLEL} at once | ratio at once |");
    println!("|---|---|---|---|---|---|");
    for revision in [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28] {
        calls(&revision).await;
    }
    lists().await;
}
