//! Sessions that save a run whose nested run is paused, and resume it in another process.

use tool_runtime::agent::session::{MemorySessions, SessionStore};
use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor};
use tool_runtime::{Policy, ToolCall};

use super::*;

fn agent(paid: &Paid) -> Agent {
    caller_of(caller_of(cashier(paid), "cashier").into_tool("foreman", "Sees to all."), "foreman")
}

/// Each step is taken by a new agent that has only the store.
async fn assert_nested_run_resumes(store: impl SessionStore + Clone + 'static) {
    let paid = Paid::default();
    let session = |name: &str| agent(&paid).session(store.clone(), name);

    paused(session("ada").run("Pay Ada.").await.unwrap_err());
    // Resumed without decisions, it pauses where it was.
    let mut waiting =
        paused(session("ada").resume().await.unwrap().unwrap().finish().await.unwrap_err());
    assert!(paid.all().is_empty());
    approve_all(&mut waiting);
    let answer = session("ada").resume_with(waiting.clone()).await.unwrap().finish().await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("Done.", Usage::new(60, 6)));
    assert_eq!(paid.all(), ["Ada"]);
    assert_eq!(session("ada").messages().await.unwrap(), answer.transcript);
    // It is no longer paused.
    assert!(session("ada").resume().await.unwrap().is_none());
    let reason = session("ada").resume_with(waiting).await.unwrap_err().reason;
    assert!(matches!(reason, StopReason::Session(_)), "{reason}");
    assert_eq!(paid.all(), ["Ada"]);

    // If the run is abandoned, the suspended call is indeterminate.
    paused(session("bob").run("Pay Ada.").await.unwrap_err());
    let _ = session("bob").abandon_paused().run("Never mind.").await;
    let messages = session("bob").messages().await.unwrap();
    assert_complete(&messages);
    let output = &results(&messages[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(paid.all(), ["Ada"]);
}

#[tokio::test]
async fn nested_paused_run_resumes_from_a_memory_store() {
    assert_nested_run_resumes(MemorySessions::default()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn nested_paused_run_resumes_from_sqlite() {
    assert_nested_run_resumes(tool_runtime::store::Sqlite::in_memory().unwrap()).await;
}

/// Never returns.
struct Hangs;

#[async_trait]
impl Interceptor for Hangs {
    async fn before_call(&self, _: &mut ToolCall, _: &mut InterceptContext<'_>) -> InterceptAction {
        std::future::pending().await
    }
}

/// If a process ends during a call, the next one has its state and all decisions.
#[tokio::test(start_paused = true)]
async fn process_end_during_a_resumed_call_loses_no_decision() {
    for may_repeat in [false, true] {
        let (paid, store) = (Paid::default(), MemorySessions::default());
        let agent = || {
            let cashier = cashier(&paid).map_definition(|definition| {
                if may_repeat { definition.idempotent() } else { definition }
            });
            caller_of(cashier, "cashier")
        };
        let session = |agent: Agent| agent.session(store.clone(), "ada");
        let mut waiting = paused(session(agent()).run("Pay Ada.").await.unwrap_err());
        approve_all(&mut waiting);
        let hangs = session(agent().policy(Policy::new().interceptor(Hangs)));
        let hanging = hangs.resume_with(waiting).await.unwrap().finish();
        let ended = tokio::time::timeout(Duration::from_secs(1), hanging).await;
        assert!(ended.is_err());

        let answer = session(agent()).resume().await.unwrap().unwrap().finish().await.unwrap();
        let output = &results(&answer.transcript[2])[0];
        if may_repeat {
            assert_eq!(output.text, "Ada has her money.");
        } else {
            assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"));
        }
        assert_eq!(paid.all().len(), usize::from(may_repeat));
    }
}

/// Never returns.
#[tool]
async fn hang() {
    std::future::pending::<()>().await;
}

/// A pending call is saved as such while another call of its reply is in flight and the process
/// ends.
#[tokio::test(start_paused = true)]
async fn pending_call_is_saved_while_another_call_is_in_flight() {
    let (paid, store) = (Paid::default(), MemorySessions::default());
    let agent = || {
        let all = ask("cashier").call("pay", json!({ "to": "Bob" })).call("hang", "{}");
        let model = story([all, ChatReply::text("Done.")]);
        let tools = tools![pay, hang].with(cashier(&paid));
        Agent::new(model, tools).extension(paid.clone()).policy(Policy::new().approver(AskLater))
    };
    let session = || agent().session(store.clone(), "ada");
    let first = session();
    let ended = tokio::time::timeout(Duration::from_secs(1), first.run("Pay Ada and Bob.")).await;
    assert!(ended.is_err() && paid.all().is_empty());
    let mut waiting =
        paused(session().resume().await.unwrap().unwrap().finish().await.unwrap_err());
    let tools: Vec<_> = waiting.pending().iter().map(|it| it.tool.clone()).collect();
    assert_eq!(tools, ["cashier", "pay"]);
    approve_all(&mut waiting);
    let answer = session().resume_with(waiting).await.unwrap().finish().await.unwrap();
    let output: Vec<_> = results(&answer.transcript[2]).iter().collect();
    assert_eq!(output[0].text, "Ada has her money.");
    assert_eq!(output[1].text, "Bob is paid");
    assert_eq!(output[2].error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(paid.all(), ["Ada", "Bob"]);
    assert_eq!(answer.usage, Usage::new(40, 4));
}

/// Stores any value.
#[tool(permission = "ask")]
async fn store_value(value: serde_json::Value) -> &'static str {
    drop(value);
    "laid down"
}

/// Arguments too deep to be decoded again do not pause the run: the model gets an error and can
/// send others.
#[tokio::test]
async fn call_with_arguments_too_deep_to_save_does_not_pause() {
    let deep = |depth: usize| {
        let arguments = format!("{{\"value\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        ChatReply::default().call("store_value", arguments.as_str())
    };
    // Each at the maximum depth, and with one level more.
    for (depth, waits) in [(95, true), (96, false), (124, false)] {
        let replies = [deep(depth), ChatReply::text("Kept.")];
        let mut agent = Agent::new(story(replies), tools![store_value])
            .policy(Policy::new().approver(AskLater));
        for _ in 0..7 {
            let tool = agent.into_tool("keeper", "Keeps.").max_depth(9);
            agent = caller_of(tool, "keeper");
        }
        let session = agent.session(MemorySessions::default(), "s");
        for ended in [agent.run("Go").await, session.run("Go").await] {
            match ended {
                Ok(answer) => assert!(!waits && answer.text == "Done.", "{depth}"),
                Err(stopped) => {
                    assert!(waits, "{depth}: {stopped}");
                    // A round trip through JSON.
                    paused(stopped);
                }
            }
        }
    }
    let agent = Agent::new(story([deep(99), ChatReply::text("Well.")]), tools![store_value]);
    let answer = agent.policy(Policy::new().approver(AskLater)).run("Go").await.unwrap();
    let output = &results(&answer.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_DENIED"));
    assert!(output.text.contains("Send them with fewer levels: at most 96."), "{}", output.text);
}

#[tokio::test]
async fn session_extracts_a_value_from_a_resumed_run() {
    let paid = Paid::default();
    let value = || ChatReply::text(r#"{"value": 7}"#);
    let model = story([ask("cashier"), ChatReply::text("Paid."), value()]);
    let agent = Agent::new(model, Tools::new().with(cashier(&paid)));
    let session = agent.session(MemorySessions::default(), "s");
    let mut waiting = paused(session.extract::<u8>("Pay Ada.").await.unwrap_err());
    approve_all(&mut waiting);
    let run = session.resume_with(waiting).await.unwrap();
    let value = run.extract::<u8>().await.unwrap();
    assert_eq!((value.value, value.usage), (7, Usage::new(50, 5)));
    assert_eq!(session.messages().await.unwrap(), value.transcript);
    assert_eq!(paid.all(), ["Ada"]);
}
