//! Calls: arguments, errors, progress, cancellation and what belongs to the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::sync::Notify;
use tool_mcp::LogLevel;
use tool_mcp::McpServer;
use tool_mcp::server::{Limits, McpRequest};
use tool_runtime::event::{Progress, ProtocolError, Recorder};
use tool_runtime::{
    Agent, ChatReply, Dispatcher, Policy, Registry, ScriptedModel, ToolContext, ToolError, Tools,
    tool, tools,
};

use crate::client::{Client, NEW, OLD, text};

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails in a given way.
#[tool]
async fn fail(with: String) -> Result<String, ToolError> {
    Err(match with.as_str() {
        "protocol" => ToolError::failed("sign in")
            .with_protocol_error(ProtocolError::new(-32042).data(json!({ "url": "https://a" }))),
        "panic" => panic!("it broke"),
        text => ToolError::failed(text),
    })
}

/// Reports progress and logs.
#[tool]
async fn report(ctx: &ToolContext) -> Result<String, ToolError> {
    let request = ctx.require::<McpRequest>()?;
    request.log(LogLevel::Debug, "report", "starting").await;
    for value in [1.0, 2.0, 2.0, f64::NAN, 1.0, 3.0] {
        ctx.progress(Progress { done: value, total: Some(3.0), message: None });
    }
    request.log(LogLevel::Error, "report", json!({ "left": 0 })).await;
    Ok("done".into())
}

#[tokio::test]
async fn calls_pass_the_whole_dispatcher() {
    for revision in [OLD, NEW] {
        let recorder = Recorder::new(100);
        let registry = Registry::try_from(tools![add, fail]).unwrap();
        let dispatcher = Dispatcher::new(registry)
            .policy(Policy::new().secrets(["hunter2"]))
            .observer(recorder.clone());
        let mut client = Client::connect(McpServer::new(dispatcher), revision).await;

        let repaired = client.call("add", json!({ "a": "2", "b": 3.0 })).await;
        assert_eq!((text(&repaired), &repaired["isError"]), ("5", &json!(false)), "{repaired}");
        let invalid = client.call("add", json!({ "a": "two" })).await;
        assert_eq!(invalid["isError"], true);
        assert!(text(&invalid).contains("`a`") && text(&invalid).contains("`b`"), "{invalid}");
        let failed = client.call("fail", json!({ "with": "password hunter2" })).await;
        assert_eq!(text(&failed), "password [redacted]");
        let panicked = client.call("fail", json!({ "with": "panic" })).await;
        assert_eq!(panicked["isError"], true, "{panicked}");

        let executions = recorder.executions();
        assert_eq!(executions.len(), 4);
        assert!(executions[0].was_repaired());
        let ids: std::collections::BTreeSet<_> = executions.iter().map(|it| &it.call.id).collect();
        assert_eq!(ids.len(), 4, "the ids of calls differ");
    }
}

#[tokio::test]
async fn protocol_errors_have_their_code_and_data() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(McpServer::new(tools![add, fail]), revision).await;
        let params = json!({ "name": "fail", "arguments": { "with": "protocol" } });
        let error = client.request("tools/call", params).await["error"].clone();
        let expected =
            json!({ "code": -32042, "message": "sign in", "data": { "url": "https://a" } });
        assert_eq!(error, expected);

        let unknown = client.request("tools/call", json!({ "name": "sub" })).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        assert_eq!(unknown["error"]["message"], "unknown tool: sub");
    }
}

#[tokio::test]
async fn progress_and_logs_are_sent_in_order_before_the_answer() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(McpServer::new(tools![report]), revision).await;
        let mut meta = json!({ "progressToken": "p" });
        if revision == NEW {
            meta["io.modelcontextprotocol/logLevel"] = "debug".into();
        } else {
            client.request("logging/setLevel", json!({ "level": "debug" })).await;
        }
        let params = json!({ "name": "report", "arguments": {}, "_meta": meta });
        let response = client.request("tools/call", params).await;
        assert_eq!(text(&response["result"]), "done");
        let received: Vec<_> = client.received.drain(..).collect();
        let values: Vec<_> = received
            .iter()
            .map(|message| match message["method"].as_str().unwrap() {
                "notifications/progress" => message["params"]["progress"].clone(),
                "notifications/message" => message["params"]["data"].clone(),
                other => panic!("{other}"),
            })
            .collect();
        let progress = [json!(1.0), json!(2.0), json!(3.0)];
        let expected = [&[json!("starting")][..], &progress, &[json!({ "left": 0 })]].concat();
        assert_eq!(values, expected, "progress only increases");
    }
}

#[tokio::test]
async fn logs_below_the_wanted_level_are_not_sent() {
    for (revision, level, expected) in
        [(OLD, None, 1), (OLD, Some("critical"), 0), (OLD, Some("debug"), 2), (NEW, None, 0)]
    {
        let mut client = Client::connect(McpServer::new(tools![report]), revision).await;
        if let Some(level) = level {
            client.request("logging/setLevel", json!({ "level": level })).await;
        }
        client.call("report", json!({})).await;
        assert_eq!(client.received.len(), expected, "{revision} {level:?}");
    }
}

/// Waits until it is cancelled.
struct Waiting(Arc<Notify>, Arc<AtomicBool>);

#[tokio::test]
async fn cancelled_requests_cancel_their_calls() {
    /// Waits for ever.
    #[tool]
    async fn wait(ctx: &ToolContext) -> Result<(), ToolError> {
        struct OnDrop(Arc<AtomicBool>, Arc<Notify>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
                self.1.notify_one();
            }
        }
        let Waiting(started, stopped) = ctx.require()?;
        let _guard = OnDrop(Arc::clone(stopped), Arc::clone(started));
        started.notify_one();
        std::future::pending().await
    }

    for revision in [OLD, NEW] {
        let (changed, stopped) = (Arc::<Notify>::default(), Arc::<AtomicBool>::default());
        let dispatcher = Dispatcher::new(Registry::try_from(tools![wait, add]).unwrap())
            .extension(Waiting(Arc::clone(&changed), Arc::clone(&stopped)));
        let mut client = Client::connect(McpServer::new(dispatcher), revision).await;
        let id = client.start("tools/call", json!({ "name": "wait", "arguments": {} })).await;
        changed.notified().await;
        client.notify("notifications/cancelled", json!({ "requestId": id })).await;
        changed.notified().await;
        assert!(stopped.load(Ordering::Relaxed));
        // The connection works on.
        assert_eq!(text(&client.call("add", json!({ "a": 1, "b": 1 })).await), "2");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn requests_over_the_limit_are_refused() {
    /// Waits until the test lets it go.
    #[tool]
    async fn hold(ctx: &ToolContext) -> Result<(), ToolError> {
        ctx.require::<Arc<Notify>>()?.notified().await;
        Ok(())
    }

    let release = Arc::<Notify>::default();
    let dispatcher =
        Dispatcher::new(Registry::try_from(tools![hold]).unwrap()).extension(Arc::clone(&release));
    let server = McpServer::new(dispatcher).limits(Limits::default().max_requests(2));
    let mut client = Client::connect(server, OLD).await;
    let hold = json!({ "name": "hold", "arguments": {} });
    let first = client.start("tools/call", hold.clone()).await;
    let second = client.start("tools/call", hold.clone()).await;
    let refused = client.request("tools/call", hold.clone()).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    release.notify_waiters();
    for id in [first, second] {
        assert_eq!(client.response(id).await["result"]["isError"], false);
    }
}

#[tokio::test]
async fn agents_are_served_as_tools() {
    let model = ScriptedModel::new([
        ChatReply::default().call("add", r#"{"a": 2, "b": 3}"#),
        ChatReply::text("The sum is 5."),
    ]);
    let agent = Agent::new(model, tools![add]).into_tool("ask", "Answers questions.");
    let mut client = Client::connect(McpServer::new(Tools::new().with(agent)), NEW).await;
    let result = client.call("ask", json!({ "task": "What is 2 + 3?" })).await;
    assert_eq!((text(&result), &result["isError"]), ("The sum is 5.", &json!(false)));
}

#[tokio::test]
async fn trace_context_is_in_the_metadata_of_the_run() {
    /// Returns the trace of the call.
    #[tool]
    async fn trace(ctx: &ToolContext) -> String {
        ctx.metadata()["traceparent"].as_str().unwrap_or_default().to_owned()
    }

    let mut client = Client::connect(McpServer::new(tools![trace]), OLD).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta = json!({ "traceparent": parent });
    let params = json!({ "name": "trace", "arguments": {}, "_meta": meta });
    assert_eq!(text(&client.request("tools/call", params).await["result"]), parent);
}
