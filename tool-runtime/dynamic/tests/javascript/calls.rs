//! Calls of other tools, under the policy of the caller.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tool_dynamic::{JavaScript, ToolBackend, ToolSpec};
use tool_runtime::dispatch::Batch;
use tool_runtime::{
    CancellationToken, Dispatcher, Registry, ToolCall, ToolContext, ToolExecution, tool, tools,
};

use super::fixture::{build, script};

/// Doubles a number.
#[tool(effect = "none")]
async fn double(n: i64) -> i64 {
    2 * n
}

/// Returns a text.
#[tool(effect = "read")]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Deletes everything.
#[tool(effect = "external", permission = "ask")]
async fn wipe() -> String {
    "wiped".into()
}

async fn dispatcher(specs: &[ToolSpec]) -> Dispatcher {
    let registry = Registry::try_from(tools![double, greet, wipe, wait]).unwrap();
    for spec in specs {
        registry.register_all([build(spec).await.unwrap()].into_iter().collect()).unwrap();
    }
    Dispatcher::new(registry)
}

async fn call(dispatcher: &Dispatcher) -> ToolExecution {
    dispatcher.dispatch(vec![ToolCall::new("1", "script", "{}")]).await.remove(0)
}

/// Waits until the call is cancelled.
#[tool(effect = "read")]
async fn wait(ctx: &ToolContext) {
    ctx.cancellation().cancelled().await;
}

#[tokio::test]
async fn script_composes_calls() {
    let body = "
        const n = await call_tool('double', { n: 4 });
        const all = await Promise.all([1, 2, 3].map(n => call_tool('double', { n })));
        const text = await call_tool('greet', { name: 'Ada' });
        return { n: n + 1, all, text };";
    let spec = script(body).tool("double").tool("greet");
    let execution = call(&dispatcher(&[spec]).await).await;
    let expected = r#"{"all":[2,4,6],"n":9,"text":"Hello, Ada!"}"#;
    assert_eq!(execution.result.text, expected);
}

#[tokio::test]
async fn failed_calls_throw_what_the_model_would_read() {
    for (call_text, expected) in [
        ("call_tool('double', { n: 'four' })", "`n`: expected an integer"),
        ("call_tool('wipe')", "`wipe` needs approval"),
        ("call_tool('scripts')", "Error: No tool named `scripts` is registered now."),
        ("call_tool('grep')", "`grep` can't be called: it is not among the `tools` of this tool"),
        ("call_tool(['double'])", "Error"),
    ] {
        let body = format!("try {{ return await {call_text}; }} catch (e) {{ return `${{e}}`; }}");
        let spec = script(&body).tool("double").tool("wipe").tool("scripts");
        let execution = call(&dispatcher(&[spec]).await).await;
        assert!(execution.is_success(), "{call_text}: {}", execution.result.text);
        assert!(execution.result.text.contains(expected), "{}", execution.result.text);
        assert!(!execution.result.text.contains("Did you mean"), "{}", execution.result.text);
    }
}

#[tokio::test]
async fn number_of_calls_is_limited() {
    let body = "
        let count = 0;
        try {
            while (true) { await call_tool('double', { n: count }); count++; }
        } catch (e) { return `${count} ${e.message}`; }";
    let execution = call(&dispatcher(&[script(body).tool("double")]).await).await;
    assert_eq!(execution.result.text, "100 a script makes at most 100 calls");
}

#[tokio::test]
async fn tools_that_call_each_other_are_stopped() {
    static DEPTH: AtomicU32 = AtomicU32::new(0);

    /// Counts its calls.
    #[tool(effect = "read")]
    async fn count() -> u32 {
        DEPTH.fetch_add(1, Ordering::Relaxed)
    }

    let body = "await call_tool('count'); return await call_tool('other');";
    let first = script(body).tool("other").tool("count");
    let mut second = script("return await call_tool('script');").tool("script");
    second.name = "other".into();
    let dispatcher = dispatcher(&[first, second]).await;
    let execution = {
        let registry = dispatcher.registry();
        registry.register_all(tools![count]).unwrap();
        call(&dispatcher).await
    };
    assert!(execution.is_failure());
    assert!(DEPTH.load(Ordering::Relaxed) < 8);
}

#[tokio::test]
async fn calls_that_multiply_end_with_the_call_of_the_model() {
    static COUNT: AtomicU32 = AtomicU32::new(0);

    /// Counts its calls.
    #[tool(effect = "read")]
    async fn count() -> u32 {
        COUNT.fetch_add(1, Ordering::Relaxed)
    }

    let body = |name: &str| {
        let call = format!("call_tool('{name}').catch(() => call_tool('count'))");
        format!("while (true) await Promise.all(Array.from({{ length: 9 }}, () => {call}));")
    };
    let first = script(&body("other")).tool("other").tool("count").timeout_seconds(2);
    let mut second = script(&body("script")).tool("script").tool("count").timeout_seconds(2);
    second.name = "other".into();
    let dispatcher = dispatcher(&[first, second]).await;
    dispatcher.registry().register_all(tools![count]).unwrap();
    let started = Instant::now();
    let execution = call(&dispatcher).await;
    assert!(execution.failed_with("TOOL_TIMEOUT"), "{}", execution.result.text);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let counted = COUNT.load(Ordering::Relaxed);
    assert!(counted > 0);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(COUNT.load(Ordering::Relaxed), counted);
}

#[tokio::test]
async fn cancelled_call_stops_code_and_waiting() {
    for body in ["while (true) {}", "await call_tool('wait');"] {
        let tool = build(&script(body).tool("wait").timeout_seconds(60)).await.unwrap();
        let registry = Registry::try_from(tools![wait]).unwrap();
        registry.register_all([tool].into_iter().collect()).unwrap();
        let dispatcher = Dispatcher::new(registry);
        let token = CancellationToken::new();
        let mut batch = Batch::from(vec![ToolCall::new("1", "script", "{}")]);
        batch.cancellation = Some(token.clone());
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            token.cancel();
        };
        let run = dispatcher.dispatch_on(&dispatcher.registry().snapshot(), batch);
        let (executions, ()) = tokio::join!(run, cancel);
        assert!(executions[0].failed_with("TOOL_CANCELLED"), "{:?}", executions[0].result);
    }
}

/// Returns a dispatcher with a script that calls another one.
async fn nested_scripts(backend: &JavaScript) -> Dispatcher {
    let body = "return await call_tool('inner').catch(e => e.message);";
    let outer = script(body).tool("inner").timeout_seconds(5);
    let mut inner = script("return 7;");
    inner.name = "inner".into();
    let registry = Registry::new();
    for spec in [outer, inner] {
        let tool = backend.build(&spec.check().unwrap()).await.unwrap();
        registry.register_all([tool].into_iter().collect()).unwrap();
    }
    Dispatcher::new(registry)
}

#[test]
fn scripts_occupy_no_blocking_threads() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let text = runtime.block_on(async {
        let dispatcher = nested_scripts(&JavaScript::new()).await;
        call(&dispatcher).await.result.text
    });
    assert_eq!(text, "7");
}

#[tokio::test]
async fn scripts_beyond_the_limit_fail_at_once() {
    let dispatcher = nested_scripts(&JavaScript::new().max_concurrent(1)).await;
    let text = call(&dispatcher).await.result.text;
    assert!(text.contains("too many scripts are running"), "{text}");
    let dispatcher = nested_scripts(&JavaScript::new().max_concurrent(2)).await;
    assert_eq!(call(&dispatcher).await.result.text, "7");
}
