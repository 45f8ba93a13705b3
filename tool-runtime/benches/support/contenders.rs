//! The contenders: ways to call `add` with JSON text.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench stops at the first failure"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde::Deserialize;
use tool_runtime::{
    Arguments, Dispatcher, Registry, Snapshot, Tool, ToolCall, ToolContext, ToolDefinition,
    ToolError, ToolOutput, async_trait, dispatch, tool, tools,
};

/// Numbers of registered tools.
pub(crate) const COUNTS: [usize; 3] = [1, 100, 1_000];

/// The arguments for every contender.
const TEXT: &str = r#"{"a": 20, "b": 22}"#;

/// The result that every contender returns as an owned string.
const ANSWER: &str = "42";

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The numbers to add.
#[tool_runtime::args]
struct Terms {
    a: i64,
    b: i64,
}

/// Adds two numbers.
#[tool]
async fn add_terms(args: Terms) -> i64 {
    args.a + args.b
}

/// Minimal hand-written code: decodes the arguments, calls the function, encodes the result.
pub(crate) fn floor() -> impl FnMut() -> String {
    ready(|| now(by_hand(black_box(TEXT))).unwrap())
}

async fn by_hand(text: &str) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Numbers {
        a: i64,
        b: i64,
    }
    let numbers: Numbers = serde_json::from_str(text)?;
    serde_json::to_string(&add(numbers.a, numbers.b).await)
}

/// The floor behind a lookup by name: the cost of a framework without safety, context or schema.
pub(crate) fn boxed(count: usize) -> impl FnMut() -> String {
    let mut tools: HashMap<String, Box<dyn Boxed>> = HashMap::new();
    tools.insert("add".into(), Box::new(ByHand));
    for name in fillers(count) {
        tools.insert(name, Box::new(Filler(definition("filler"))));
    }
    ready(move || now(tools[black_box("add")].call(black_box(TEXT))).unwrap())
}

trait Boxed: Send + Sync {
    fn call<'a>(&'a self, text: &'a str) -> Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;
}

type Reply = serde_json::Result<String>;

struct ByHand;

impl Boxed for ByHand {
    fn call<'a>(&'a self, text: &'a str) -> Pin<Box<dyn Future<Output = Reply> + Send + 'a>> {
        Box::pin(by_hand(text))
    }
}

/// Calls `#[tool] async fn add(a: i64, b: i64)` among `count` tools.
pub(crate) fn params(count: usize) -> impl FnMut() -> String {
    framework("add", count)
}

/// Calls `#[tool] async fn add_terms(args: Terms)` among `count` tools.
pub(crate) fn args_struct(count: usize) -> impl FnMut() -> String {
    framework("add_terms", count)
}

fn framework(name: &str, count: usize) -> impl FnMut() -> String {
    let call = ToolCall::new("call_1", name, TEXT);
    let tools = snapshot(name, count);
    // The context takes the call by value; creating one is not part of the measurement.
    let ctx = ToolContext::new(call.clone());
    ready(move || {
        let tool = tools.get(black_box(&call.name)).unwrap();
        let arguments = black_box(&call.arguments);
        let output = now(dispatch::invoke(tool.as_ref(), arguments, &ctx));
        output.unwrap().into_text()
    })
}

/// Sends a call through the whole dispatcher with a default policy.
pub(crate) fn pipeline(count: usize) -> impl FnMut() -> String {
    let mut call = Some(ToolCall::new("call_1", "add", TEXT));
    let tools = snapshot("add", count);
    let dispatcher = Dispatcher::new(Registry::new());
    ready(move || {
        // The dispatcher returns the call, so creating one is not part of the measurement.
        let calls = vec![black_box(call.take()).unwrap()];
        let execution = now(dispatcher.dispatch_on(&tools, calls)).pop().unwrap();
        call = Some(execution.call);
        execution.result.text
    })
}

fn snapshot(name: &str, count: usize) -> Snapshot {
    let tools = tools![add, add_terms].into_iter().filter(|tool| tool.definition().name == name);
    let registry = Registry::new();
    for tool in tools {
        registry.register(tool).unwrap();
    }
    for name in fillers(count) {
        registry.register(Arc::new(Filler(definition(&name)))).unwrap();
    }
    registry.snapshot()
}

/// Returns the names of the tools that are never called. The called tool is one of the `count`.
fn fillers(count: usize) -> impl Iterator<Item = String> {
    (1..count).map(|index| format!("filler_{index}"))
}

fn definition(name: &str) -> ToolDefinition {
    let schema = serde_json::json!({ "type": "object", "properties": {} });
    ToolDefinition::new(name, "Does nothing.", schema)
}

struct Filler(ToolDefinition);

#[async_trait]
impl Tool for Filler {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(args.to_text()))
    }
}

impl Boxed for Filler {
    fn call<'a>(&'a self, text: &'a str) -> Pin<Box<dyn Future<Output = Reply> + Send + 'a>> {
        Box::pin(async move { Ok(text.to_owned()) })
    }
}

/// Calls a contender once, to check its result and to initialize what all calls share.
fn ready(mut call: impl FnMut() -> String) -> impl FnMut() -> String {
    assert_eq!(call(), ANSWER);
    call
}

/// Polls a future once, so that no executor is measured. No contender waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("no contender waits"),
    }
}
