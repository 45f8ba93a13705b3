//! Events name the session to which a run belongs.

use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::{EventKind, Recorder, RunEvent};
use tool_runtime::report::RunReport;
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, Tools, tool, tools};

/// Pays a person, once that is approved.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

/// Returns the session of each run that started, with its depth.
fn started_sessions(recorder: &Recorder) -> Vec<(u32, Option<String>)> {
    let started = recorder.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Run(RunEvent::Started { session, .. }) => Some((event.origin.depth, session)),
        _ => None,
    });
    started.collect()
}

#[tokio::test]
async fn started_event_names_the_session() {
    let recorder = Recorder::new(100);
    let cashier =
        ScriptedModel::new([ChatReply::default().call("pay", "{}"), ChatReply::text("Paid.")]);
    let cashier = Agent::new(cashier, tools![pay]).policy(Policy::new().approver(AskLater));
    let tools = Tools::new().with(cashier.into_tool("cashier", "Pays."));
    let call = ChatReply::default().call("cashier", r#"{"task": "Pay Ada."}"#);
    let model = [call, ChatReply::text("Done."), ChatReply::text("Well.")];
    let agent = Agent::new(ScriptedModel::new(model), tools)
        .observer(recorder.clone())
        .policy(Policy::new().secrets(["hunter22"]));
    let session = agent.session(MemorySessions::default(), "letters of hunter22");
    let stopped = session.run("Pay Ada.").await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!("{stopped}") };
    paused.decide_each(|_| Approval::Once, "Grace");
    // Also that of a run that was resumed outside of its session.
    assert_eq!(
        agent.resume(*paused.clone()).finish().await.unwrap_err().reason.code(),
        "BELONGS_TO_SESSION"
    );
    session.resume_with(*paused).await.unwrap().finish().await.unwrap();
    agent.run("Hello").await.unwrap();

    // A sub-agent's run belongs to no session itself.
    let session_start = || (0, Some("letters of [redacted]".to_owned()));
    assert_eq!(
        started_sessions(&recorder),
        [session_start(), (1, None), session_start(), session_start(), (1, None), (0, None)]
    );
    let html = RunReport::from(&recorder).to_html();
    assert!(html.contains(r#"["Session","letters of [redacted]"]"#), "the report tells it as well");
}

#[tokio::test]
async fn abandoned_run_event_names_the_session() {
    let recorder = Recorder::new(100);
    let message = [ChatReply::default().call("gone", "{}"), ChatReply::text("Well.")];
    let agent = Agent::new(ScriptedModel::new(message), Tools::new()).observer(recorder.clone());
    let session = agent.session(MemorySessions::default(), "letters");
    let mut run = session.start("Hello").await.unwrap();
    run.next().await;
    drop(run);
    session.run("Never mind.").await.unwrap();
    let session_start = || (0, Some("letters".to_owned()));
    assert_eq!(started_sessions(&recorder), [session_start(), session_start(), session_start()]);
}
