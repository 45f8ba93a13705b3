//! A sub-agent is called like any tool, and its events are nested in its call.

use super::*;
use support::run_events::ONE_CALL_RUN;

#[tokio::test]
async fn sub_agent_runs_as_a_tool() {
    let inner = || {
        let model = ScriptedModel::new([
            echo_call("deep").usage(Usage::new(10, 1)),
            ChatReply::text("found deep").usage(Usage::new(20, 2)),
        ]);
        Agent::new(model, tools![echo]).into_tool("helper", "Looks for things.")
    };
    let finished_calls = Arc::<Mutex<Vec<(String, u32, bool)>>>::default();
    let copy = Arc::clone(&finished_calls);
    let model = ScriptedModel::new([
        ChatReply::default().call("helper", r#"{"task": "Look!"}"#).usage(Usage::new(1, 1)),
        ChatReply::text("Done.").usage(Usage::new(1, 1)),
    ]);
    let agent = Agent::new(model, Tools::new().with(inner())).on_event(move |event| {
        let is_within =
            matches!(event.kind, EventKind::Run(RunEvent::Started { parent_run: Some(_), .. }));
        let name = event.name().to_owned();
        copy.lock().unwrap().push((name, event.origin.depth, is_within));
    });
    let answer = agent.run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "found deep");
    assert_eq!(answer.usage, Usage::new(32, 5), "what it took counts as well");
    let finished_calls = finished_calls.lock().unwrap().clone();
    let inner: Vec<_> = finished_calls
        .iter()
        .filter(|(_, depth, _)| *depth == 1)
        .map(|(name, _, _)| name.as_str())
        .collect();
    assert_eq!(inner, ONE_CALL_RUN);
    assert_eq!(finished_calls.iter().filter(|(_, _, is_within)| *is_within).count(), 1);

    // It fails like any tool.
    let lost = Agent::new(ScriptedModel::new::<ChatReply>([]), Tools::new())
        .into_tool("helper", "Looks for things.");
    let model = ScriptedModel::new([
        ChatReply::default().call("helper", r#"{"task": "Look!"}"#),
        ChatReply::text("Done."),
    ]);
    let answer = Agent::new(model, Tools::new().with(lost)).run("Go").await.unwrap();
    let output = &results(&answer.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    assert_eq!(
        output.text, "The agent stopped without an answer (MODEL_SCRIPT).",
        "and nothing of what its provider said"
    );
}

#[tokio::test]
async fn nesting_depth_of_sub_agents_is_limited() {
    let mut agent = Agent::new(ScriptedModel::new([ChatReply::text("bottom")]), Tools::new());
    for _ in 0..5 {
        let call = ChatReply::default().call("helper", r#"{"task": "Go"}"#);
        let model = ScriptedModel::new([call, ChatReply::text("up")]);
        agent = Agent::new(model, Tools::new().with(agent.into_tool("helper", "Helps.")));
    }
    let denied = Arc::<Mutex<Vec<u32>>>::default();
    let copy = Arc::clone(&denied);
    let agent = agent.on_event(move |event| {
        if event.execution().is_some_and(|execution| execution.failed_with("TOOL_DENIED")) {
            copy.lock().unwrap().push(event.origin.depth);
        }
    });
    assert_eq!(agent.run("Go").await.unwrap().text, "up");
    assert_eq!(*denied.lock().unwrap(), [3]);
}
