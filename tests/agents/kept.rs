//! Sessions with paused nested runs: they resume in another process.

use tool_runtime::agent::session::{MemoryStore, SessionStore};
use tool_runtime::dispatch::{InterceptAction, Interceptor};
use tool_runtime::{Policy, ToolCall};

use super::*;

fn agent(paid: &Paid) -> Agent {
    above(above(cashier(paid), "cashier").into_tool("foreman", "Sees to all."), "foreman")
}

/// Runs each step with a new agent that has only the store.
async fn resumes_nested_run(store: impl SessionStore + Clone + 'static) {
    let paid = Paid::default();
    let session = |name: &str| agent(&paid).session(store.clone(), name);

    paused(session("ada").run("Pay Ada.").await.unwrap_err());
    // Resumed without decisions, the run stays pending.
    let mut waiting =
        paused(session("ada").resume().await.unwrap().unwrap().finish().await.unwrap_err());
    assert!(paid.all().is_empty());
    once(&mut waiting);
    let answer = session("ada").resume_with(waiting.clone()).await.unwrap().finish().await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("Done.", Usage::new(60, 6)));
    assert_eq!(paid.all(), ["Ada"]);
    assert_eq!(session("ada").messages().await.unwrap(), answer.transcript);
    // The run is no longer pending.
    assert!(session("ada").resume().await.unwrap().is_none());
    let why = session("ada").resume_with(waiting).await.unwrap_err().why;
    assert!(matches!(why, StopReason::Session(_)), "{why}");
    assert_eq!(paid.all(), ["Ada"]);

    // The abandoned call may have had effects.
    paused(session("bob").run("Pay Ada.").await.unwrap_err());
    let _ = session("bob").run("Never mind.").await;
    let messages = session("bob").messages().await.unwrap();
    assert_complete(&messages);
    let told = &results(&messages[2])[0];
    assert_eq!(told.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(paid.all(), ["Ada"]);
}

#[tokio::test]
async fn memory_store_resumes_nested_run() {
    resumes_nested_run(MemoryStore::default()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_store_resumes_nested_run() {
    resumes_nested_run(tool_runtime::store::Sqlite::in_memory().unwrap()).await;
}

/// Interceptor that never returns.
struct Hangs;

#[async_trait]
impl Interceptor for Hangs {
    async fn before_call(&self, _: &mut ToolCall) -> InterceptAction {
        std::future::pending().await
    }
}

/// If the process ends during a call, the next one has the run with all decisions.
#[tokio::test(start_paused = true)]
async fn run_survives_the_end_of_the_process_during_a_call() {
    for may_repeat in [false, true] {
        let (paid, store) = (Paid::default(), MemoryStore::default());
        let agent = || {
            let cashier = cashier(&paid).map_definition(|definition| match may_repeat {
                true => definition.idempotent(),
                false => definition,
            });
            above(cashier, "cashier")
        };
        let session = |agent: Agent| agent.session(store.clone(), "ada");
        let mut waiting = paused(session(agent()).run("Pay Ada.").await.unwrap_err());
        once(&mut waiting);
        let hangs = session(agent().policy(Policy::new().interceptor(Hangs)));
        let hanging = hangs.resume_with(waiting).await.unwrap().finish();
        let ended = tokio::time::timeout(Duration::from_secs(1), hanging).await;
        assert!(ended.is_err());

        let answer = session(agent()).resume().await.unwrap().unwrap().finish().await.unwrap();
        let told = &results(&answer.transcript[2])[0];
        match may_repeat {
            false => assert_eq!(told.error.as_deref(), Some("TOOL_INDETERMINATE")),
            true => assert_eq!(told.text, "Ada has her money."),
        }
        assert_eq!(paid.all().len(), usize::from(may_repeat));
    }
}

/// Never returns.
#[tool]
async fn hang() {
    std::future::pending::<()>().await;
}

/// A pending call stays pending if the process ends during another call of its reply.
#[tokio::test(start_paused = true)]
async fn pending_call_survives_the_end_of_the_process_during_another_call() {
    let (paid, store) = (Paid::default(), MemoryStore::default());
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
    once(&mut waiting);
    let answer = session().resume_with(waiting).await.unwrap().finish().await.unwrap();
    let told: Vec<_> = results(&answer.transcript[2]).iter().collect();
    assert_eq!(told[0].text, "Ada has her money.");
    assert_eq!(told[1].text, "Bob is paid");
    assert_eq!(told[2].error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(paid.all(), ["Ada", "Bob"]);
    assert_eq!(answer.usage, Usage::new(40, 4));
}

/// Stores any value.
#[tool(permission = "ask")]
async fn lay_down(what: serde_json::Value) -> &'static str {
    drop(what);
    "laid down"
}

/// Arguments too deep to be read again are refused. The model can send them in another form.
#[tokio::test]
async fn too_deep_arguments_are_refused() {
    let deep = |depth: usize| {
        let arguments = format!("{{\"what\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        ChatReply::default().call("lay_down", arguments.as_str())
    };
    // Arguments have the maximum depth, or one level more.
    for (depth, waits) in [(95, true), (96, false), (124, false)] {
        let replies = [deep(depth), ChatReply::text("Kept.")];
        let mut agent =
            Agent::new(story(replies), tools![lay_down]).policy(Policy::new().approver(AskLater));
        for _ in 0..7 {
            let tool = agent.into_tool("keeper", "Keeps.").max_depth(9);
            agent = above(tool, "keeper");
        }
        let session = agent.session(MemoryStore::default(), "s");
        for ended in [agent.run("Go").await, session.run("Go").await] {
            match ended {
                Ok(answer) => assert!(!waits && answer.text == "Done.", "{depth}"),
                Err(stopped) => {
                    assert!(waits, "{depth}: {stopped}");
                    // The state is stored and loaded.
                    paused(stopped);
                }
            }
        }
    }
    let agent = Agent::new(story([deep(99), ChatReply::text("Well.")]), tools![lay_down]);
    let answer = agent.policy(Policy::new().approver(AskLater)).run("Go").await.unwrap();
    let told = &results(&answer.transcript[2])[0];
    assert_eq!(told.error.as_deref(), Some("TOOL_DENIED"));
    assert!(told.text.contains("Send them with fewer levels: at most 96."), "{}", told.text);
}

#[tokio::test]
async fn session_extracts_a_value_from_a_resumed_run() {
    let paid = Paid::default();
    let value = || ChatReply::text(r#"{"value": 7}"#);
    let model = story([ask("cashier"), ChatReply::text("Paid."), value()]);
    let agent = Agent::new(model, Tools::new().with(cashier(&paid)));
    let session = agent.session(MemoryStore::default(), "s");
    let mut waiting = paused(session.extract::<u8>("Pay Ada.").await.unwrap_err());
    once(&mut waiting);
    let run = session.resume_with(waiting).await.unwrap();
    let given = run.extract::<u8>().await.unwrap();
    assert_eq!((given.value, given.usage), (7, Usage::new(50, 5)));
    assert_eq!(session.messages().await.unwrap(), given.transcript);
    assert_eq!(paid.all(), ["Ada"]);
}
