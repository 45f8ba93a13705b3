//! Policy: permissions, concurrency, rate limits, retries and circuit breakers.
//!
//! Run it with `cargo run --example policy`. It sends calls through a dispatcher with a strict
//! policy. It needs no key and no network.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tool_runtime::dispatch::{Breaker, Breakers, Concurrency, Permissions, RateLimits};
use tool_runtime::{
    Dispatcher, Permission, Policy, RateLimit, Registry, RegistryError, ToolCall, ToolContext,
    ToolError, ToolExecution, tool, tools,
};

/// Reads a file.
#[tool(effect = "read")]
async fn read(path: &str) -> String {
    format!("the text of {path}")
}

/// Deletes a file.
#[tool(effect = "write")]
async fn delete(path: &str) -> String {
    format!("deleted {path}")
}

/// Draws a picture, slowly.
#[tool(effect = "none")]
async fn draw() -> &'static str {
    sleep(Duration::from_millis(100)).await;
    "drawn"
}

/// Sends a text message. Each message costs money.
#[tool(rate_limit = "2/s")]
async fn send(to: &str) -> String {
    format!("sent to {to}")
}

/// Looks up a price. The first two attempts fail.
#[tool(effect = "read", idempotent, max_retries = 3)]
async fn price(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    match ctx.attempt() {
        1 => Err(ToolError::transient("the connection failed")),
        2 => Err(ToolError::transient("busy").retry_after(Duration::from_millis(200))),
        _ => Ok("12 euros"),
    }
}

/// Number of weather requests so far.
struct WeatherRequests(AtomicU32);

/// Returns the weather. The first two requests fail.
#[tool(effect = "read")]
async fn weather(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    let WeatherRequests(count) = ctx.get().ok_or("the request counter is missing")?;
    match count.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Err(ToolError::transient("the service is down")),
        _ => Ok("sunny"),
    }
}

fn dispatcher() -> Result<Dispatcher, RegistryError> {
    let registry = Registry::try_from(tools![read, delete, draw, send, price])?;
    registry.register_all_from("sky", tools![weather])?;
    let is_secret = |path: Option<&str>| path.is_some_and(|path| path.starts_with("secret"));
    let permissions =
        Permissions::default().tool("delete", Permission::Deny).when(move |call, _| {
            is_secret(call.arguments["path"].as_str()).then_some(Permission::Deny)
        });
    let policy = Policy::new()
        .permissions(permissions)
        .concurrency(Concurrency::default().max_calls(8).max_tool_calls("draw", 1))
        .rate_limits(RateLimits::default().all(RateLimit::per_second(100)))
        .breakers(Breakers::default().each(Breaker::after(2).cool_down(Duration::from_secs(1))))
        .batch_timeout(Duration::from_secs(10));
    Ok(Dispatcher::new(registry).policy(policy).extension(WeatherRequests(AtomicU32::new(0))))
}

/// Runs the calls of one reply and prints the result of each.
async fn reply(title: &str, dispatcher: &Dispatcher, calls: &[(&str, &str)]) -> Vec<ToolExecution> {
    println!("{title}");
    let numbered = calls.iter().enumerate();
    let calls = numbered.map(|(n, (name, json))| ToolCall::new(format!("call_{n}"), *name, *json));
    let executions = dispatcher.dispatch(calls.collect()).await;
    for execution in &executions {
        let (millis, text) = (execution.duration.as_millis(), &execution.result.text);
        println!(
            "  {:<36} {} attempts, {millis:>4} ms: {text}",
            execution.call.to_string(),
            execution.attempts
        );
    }
    executions
}

#[tokio::main]
async fn main() -> Result<(), RegistryError> {
    let dispatcher = dispatcher()?;
    let note = r#"{"path": "note.txt"}"#;
    let secret = r#"{"path": "secret/key"}"#;
    let calls = [("read", note), ("read", secret), ("delete", note)];
    let executions = reply("Permissions: by tool and by arguments", &dispatcher, &calls).await;
    assert_eq!(
        executions.iter().map(ToolExecution::is_blocked).collect::<Vec<_>>(),
        [false, true, true]
    );

    let started = Instant::now();
    reply("Concurrency: one call at a time", &dispatcher, &[("draw", "{}"); 3]).await;
    assert!(started.elapsed() >= Duration::from_millis(300));

    let call = ("send", r#"{"to": "Ada"}"#);
    let started = Instant::now();
    reply("Rate limit: two calls per second", &dispatcher, &[call; 3]).await;
    assert!(started.elapsed() >= Duration::from_secs(1));

    let executions = reply("Retries: a transient error", &dispatcher, &[("price", "{}")]).await;
    assert_eq!(executions[0].attempts, 3);

    let calls = [("weather", "{}")];
    for title in
        ["Breaker: a provider fails", "Breaker: it fails again", "Breaker: the call is blocked"]
    {
        reply(title, &dispatcher, &calls).await;
    }
    sleep(Duration::from_secs(1)).await;
    let executions =
        reply("Breaker: after the cool-down, a call runs again", &dispatcher, &calls).await;
    assert!(executions[0].is_success());
    Ok(())
}
