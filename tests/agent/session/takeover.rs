//! Resuming takes a run over, also from a process that still drives it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tool_runtime::agent::session::{MemorySessions, SessionError};
use tool_runtime::{
    Agent, ChatReply, ScriptedModel, ScriptedTurn, StopReason, ToolContext, tool, tools,
};

use super::process::Process;
use super::runs::{Log, agent};

/// Counts the calls of each tool; the first ones are slow.
#[derive(Clone, Default)]
struct CallCounts(Arc<[AtomicU32; 2]>, Arc<Notify>, Arc<Mutex<Vec<String>>>);

impl CallCounts {
    async fn run_call(&self, worker: usize, ctx: &ToolContext) {
        self.2.lock().unwrap().push(ctx.idempotency_key());
        if self.0[worker].fetch_add(1, Ordering::SeqCst) == 0 {
            self.1.notified().await;
        }
    }

    fn times(&self) -> [u32; 2] {
        [0, 1].map(|worker| self.0[worker].load(Ordering::SeqCst))
    }
}

/// Pays Ada.
#[tool(effect = "external")]
async fn pay(ctx: &ToolContext) -> &'static str {
    ctx.get::<CallCounts>().unwrap().run_call(0, ctx).await;
    "paid"
}

/// Requests a receipt.
#[tool(effect = "external", idempotent)]
async fn receipt(ctx: &ToolContext) -> &'static str {
    ctx.get::<CallCounts>().unwrap().run_call(1, ctx).await;
    "there"
}

#[tokio::test]
async fn run_that_was_taken_over_stops_before_its_next_call() {
    let (counts, store) = (CallCounts::default(), MemorySessions::default());
    let agent = |replies: Vec<ScriptedTurn>| {
        Agent::new(ScriptedModel::new(replies), tools![pay, receipt]).extension(counts.clone())
    };
    let calls = || ChatReply::default().call("pay", "{}").call("receipt", "{}");
    let first = agent(vec![calls().into(), ChatReply::text("Here goes.").into()]);
    let first = first.session(store.clone(), "ada");
    let run = tokio::spawn(async move { first.run("Pay Ada.").await });
    while counts.times() != [1, 1] {
        tokio::task::yield_now().await;
    }

    // Another process, which assumes that the first is dead.
    let second = agent(vec![ScriptedTurn::new(ChatReply::text("I do not know."))]);
    let second = second.session(Process::of(&store), "ada");
    let answer = second.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!(counts.times(), [1, 2], "what may not be made twice is not");
    assert_eq!(answer.text, "I do not know.");

    counts.1.notify_waiters();
    let stopped = run.await.unwrap().unwrap_err();
    let StopReason::Session(error) = &stopped.reason else { panic!("{stopped}") };
    assert!(matches!(error, SessionError::Conflict { .. }), "{error}");
    assert_eq!(second.messages().await.unwrap(), answer.transcript, "nothing of it is kept");
    let keys = counts.2.lock().unwrap();
    assert_eq!(keys[1], keys[2], "a service takes the second call for the first");
}

#[tokio::test]
async fn second_writer_of_a_session_conflicts() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&log).session(store.clone(), "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    // A run of this process would wait.
    let other = agent(&log).session(Process::of(&store), "s").run("Wait!").await;
    assert!(other.is_ok());
    let paid = log.lock().unwrap().len();
    let stopped = run.finish().await.unwrap_err();
    assert!(
        matches!(stopped.reason, StopReason::Session(SessionError::Conflict { .. })),
        "{stopped}"
    );
    assert_eq!(log.lock().unwrap().len(), paid, "the late run made no calls");
}
