//! Redaction of the calls of tools that are unregistered meanwhile.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tool_runtime::event::Recorder;
use tool_runtime::{Dispatcher, Registry, Tool, ToolCall, ToolContext, tool, tools};

/// Logs a user in.
#[tool(effect = "read")]
async fn enter(#[arg(secret)] word: String) -> String {
    word
}

/// Finds flights.
#[tool(effect = "read")]
async fn search_flights(destination: String) -> String {
    format!("Two flights to {destination}.")
}

/// Waits for a permit and returns the password.
#[tool(effect = "read")]
async fn wait_and_enter(#[arg(secret)] word: String, ctx: &ToolContext) -> String {
    let gate = ctx.get::<Arc<Semaphore>>().map(Arc::clone).expect("an extension");
    let _permit = gate.acquire().await;
    format!("entered with {word}")
}

/// A call of a tool that is unregistered meanwhile, among many changes of the registry.
#[tokio::test]
async fn secrets_of_a_running_call_are_redacted_after_its_tool_is_unregistered() {
    let gate = Arc::new(Semaphore::new(0));
    let registry = Registry::try_from(tools![wait_and_enter, search_flights]).unwrap();
    let recorder = Recorder::new(1_000);
    let dispatcher =
        Dispatcher::new(registry.clone()).observer(recorder.clone()).extension(Arc::clone(&gate));
    let call = ToolCall::new("1", "wait_and_enter", r#"{"word": "hunter22"}"#);
    let running = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move { dispatcher.dispatch(vec![call]).await.remove(0) }
    });
    tokio::task::yield_now().await;
    registry.unregister("wait_and_enter");
    let flight = || ToolCall::new("2", "search_flights", r#"{"destination": "Trondheim"}"#);
    let mut dropped = Vec::new();
    for _ in 0..100 {
        let tool: Arc<dyn Tool> = Arc::new(enter {});
        dropped.push(Arc::downgrade(&tool));
        registry.register(tool).unwrap();
        dispatcher.dispatch(vec![flight()]).await;
        registry.unregister("enter");
        dispatcher.dispatch(vec![flight()]).await;
        // Nothing of the tool is left.
        assert!(dropped.iter().all(|tool| tool.upgrade().is_none()));
    }
    gate.add_permits(1);
    let execution = running.await.unwrap();
    assert_eq!(execution.result.text, "entered with [redacted]");
    // The last snapshot with secrets is gone.
    dispatcher.dispatch(vec![flight()]).await;
    let executions = recorder.executions();
    let arguments_of = |name: &str| -> Vec<_> {
        let of_name = executions.iter().filter(|execution| execution.call.name == name);
        of_name.map(|execution| execution.call.arguments.to_text().into_owned()).collect()
    };
    assert_eq!(arguments_of("wait_and_enter"), [r#"{"word":"[redacted]"}"#]);
    // Tools without secrets are known, although no registered tool has secrets any more.
    assert_eq!(arguments_of("search_flights").len(), 201);
    assert!(arguments_of("search_flights").iter().all(|it| it.contains("Trondheim")));
    assert!(!format!("{:?}", recorder.events()).contains("hunter22"));
}
