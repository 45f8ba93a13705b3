//! What came of a call is kept while others of the same reply are still under way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{
    MemoryStore, SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, EffectRecord, Message, ModelError, StopReason,
    ToolContext, Usage, async_trait, tool, tools,
};

/// Who was paid.
type Log = Arc<Mutex<Vec<u64>>>;

/// Pays, after so many seconds.
#[tool(effect = "external")]
async fn pay(after: u64, ctx: &ToolContext) -> String {
    sleep(Duration::from_secs(after)).await;
    ctx.record(EffectRecord::TokensSpent { usage: Usage::new(after, 0), cost: None });
    ctx.get::<Log>().unwrap().lock().unwrap().push(after);
    format!("paid {after}")
}

/// Wants the run to end, after so many seconds.
#[tool(effect = "external")]
async fn enough(after: u64, ctx: &ToolContext) {
    sleep(Duration::from_secs(after)).await;
    ctx.record(EffectRecord::StopRequested { reason: "it is late".into() });
}

/// Makes these calls at once, and is done.
struct Calls(Vec<(&'static str, u64)>);

#[async_trait]
impl ChatModel for Calls {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(match request.messages.last() {
            Some(Message::Tool { .. }) => ChatReply::text("Done."),
            _ => self.0.iter().fold(ChatReply::default(), |reply, (tool, after)| {
                reply.call(*tool, serde_json::json!({ "after": after }))
            }),
        })
    }
}

fn agent(calls: &[(&'static str, u64)], log: &Log) -> Agent {
    Agent::new(Calls(calls.to_vec()), tools![pay, enough]).extension(Arc::clone(log))
}

/// Takes its time, at most so many saves, and one at a time.
#[derive(Clone, Debug)]
struct Slow {
    inner: MemoryStore,
    takes: Duration,
    most: usize,
    saves: Arc<AtomicUsize>,
    at_it: Arc<AtomicUsize>,
}

impl Slow {
    fn new(takes: Duration, most: usize) -> Self {
        let (saves, at_it) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        Self { inner: MemoryStore::default(), takes, most, saves, at_it }
    }

    fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl SessionStore for Slow {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.inner.load(session).await
    }
    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        if self.saves.fetch_add(1, Ordering::SeqCst) >= self.most {
            return Err(SessionError::unavailable("the disk is full"));
        }
        assert_eq!(self.at_it.fetch_add(1, Ordering::SeqCst), 0, "two at once");
        sleep(self.takes).await;
        self.at_it.fetch_sub(1, Ordering::SeqCst);
        self.inner.save(session, write).await
    }
    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        self.inner.list().await
    }
    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.inner.delete(session).await
    }
}

/// What was told, in one line each.
fn told(messages: &[Message]) -> Vec<String> {
    let results = messages.iter().flat_map(|message| match message {
        Message::Tool { results } => results.as_slice(),
        _ => &[],
    });
    results.map(|it| it.error.clone().unwrap_or_else(|| it.text.clone())).collect()
}

const PAYS: [(&str, u64); 4] = [("pay", 3), ("pay", 1), ("pay", 2), ("pay", 4)];

/// Wherever the process ends, what has ended is known, and what it took.
#[tokio::test(start_paused = true)]
async fn what_has_ended_outlives_the_process() {
    for ends_after in 0..=4 {
        let (log, store) = (Log::default(), MemoryStore::default());
        let session = agent(&PAYS, &log).session(store.clone(), "s");
        let half_past = Duration::from_millis(ends_after * 1_000 + 500);
        let answer = match timeout(half_past, session.run("Go")).await {
            Ok(answer) => answer.unwrap(),
            Err(_) => session.resume().await.unwrap().unwrap().finish().await.unwrap(),
        };
        let expected = PAYS.map(|(_, after)| match after <= ends_after {
            true => format!("paid {after}"),
            false => "TOOL_INDETERMINATE".to_owned(),
        });
        assert_eq!(told(&answer.transcript), expected);
        assert_eq!(log.lock().unwrap().as_slice(), (1..=ends_after).collect::<Vec<_>>());
        assert_eq!(answer.usage.input, (1..=ends_after).sum::<u64>());
    }
}

/// How often a run of one call is kept: as it begins, the reply, that the call begins, what came of it, the answer.
const OF_ONE: usize = 5;

/// Once the answer is kept, nothing is between it and whoever asked.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_kept_is_given() {
    for (most, is_given) in [(OF_ONE, true), (OF_ONE - 1, false)] {
        let (log, store) = (Log::default(), Slow::new(Duration::ZERO, most));
        let session = agent(&PAYS[..1], &log).session(store, "s");
        let ended = session.run("Go").await;
        assert_eq!(ended.is_ok(), is_given, "{most} saves");
        let said = session.messages().await.unwrap();
        assert_eq!(said.last().unwrap().text() == "Done.", is_given);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_one_is_kept_with_the_step() {
    for (calls, takes, expected) in [
        (&PAYS[..], 0, OF_ONE + 3),
        (&PAYS[..1], 0, OF_ONE),
        // All at once.
        (&[("pay", 1); 9], 0, OF_ONE),
        // Those that come while a write is under way go with the next.
        (&[("pay", 10), ("pay", 11), ("pay", 12), ("pay", 99)], 4, OF_ONE + 2),
        // So does the last one.
        (&[("pay", 10), ("pay", 11), ("pay", 12)], 4, OF_ONE + 1),
    ] {
        let (log, store) = (Log::default(), Slow::new(Duration::from_secs(takes), 99));
        let answer = agent(calls, &log).session(store.clone(), "s").run("Go").await.unwrap();
        assert_eq!(store.saves(), expected, "{calls:?}");
        let in_order: Vec<_> = calls.iter().map(|(_, after)| format!("paid {after}")).collect();
        assert_eq!(told(&answer.transcript), in_order);
        let took: u64 = calls.iter().map(|(_, after)| after).sum();
        assert_eq!(answer.usage.input, took);
        assert_eq!(store.load("s").await.unwrap().unwrap().messages, answer.transcript);
    }
}

/// Where a store takes no more, what is under way is let finish, and told.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_full_loses_no_call() {
    for most in 0..8 {
        let (log, store) = (Log::default(), Slow::new(Duration::ZERO, most));
        let session = agent(&PAYS, &log).session(store, "s");
        let stopped = session.run("Go").await.unwrap_err();
        assert!(matches!(stopped.why, StopReason::Session(_)), "{stopped}");
        let ran = log.lock().unwrap().len();
        assert_eq!(ran, if most > 2 { 4 } else { 0 }, "{most}");
        let paid = told(&stopped.transcript).iter().filter(|it| it.starts_with("paid")).count();
        assert_eq!(paid, ran, "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_stop_outlives_the_process() {
    let (log, store) = (Log::default(), MemoryStore::default());
    let session = agent(&[("enough", 1), ("pay", 9)], &log).session(store, "s");
    assert!(timeout(Duration::from_secs(5), session.run("Go")).await.is_err());
    let run = session.resume().await.unwrap().unwrap();
    let stopped = run.finish().await.unwrap_err();
    assert!(matches!(&stopped.why, StopReason::Requested(it) if it.reason == "it is late"));
    assert_eq!(told(&stopped.transcript), ["ok", "TOOL_INDETERMINATE"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_dropped_has_what_came() {
    let (log, store) = (Log::default(), MemoryStore::default());
    let session = agent(&PAYS, &log).session(store, "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    assert!(timeout(Duration::from_millis(2_500), run.next()).await.is_err());
    let answer = run.finish().await.unwrap();
    let unknown = "TOOL_INDETERMINATE";
    assert_eq!(told(&answer.transcript), [unknown, "paid 1", "paid 2", unknown]);
    assert_eq!(answer.usage.input, 1 + 2);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

/// Does what it is told at once, and takes a second to say so; but once it says that it could not.
#[derive(Clone, Debug)]
struct Late {
    inner: MemoryStore,
    fails_at: usize,
    saves: Arc<AtomicUsize>,
}

#[async_trait]
impl SessionStore for Late {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.inner.load(session).await
    }
    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let saved = self.inner.save(session, write).await;
        sleep(Duration::from_secs(1)).await;
        match self.saves.fetch_add(1, Ordering::SeqCst) == self.fails_at {
            true => Err(SessionError::unavailable("the line went dead")),
            false => saved,
        }
    }
    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        self.inner.list().await
    }
    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.inner.delete(session).await
    }
}

fn late(fails_at: usize) -> Late {
    Late { inner: MemoryStore::default(), fails_at, saves: Arc::default() }
}

/// What a store did though it could not say so is nobody else's doing.
#[tokio::test(start_paused = true)]
async fn a_store_that_did_what_it_says_it_could_not_stops_nobody() {
    let (log, store) = (Log::default(), late(3));
    let calls = [("pay", 1), ("pay", 9), ("pay", 10)];
    let session = agent(&calls, &log).session(store.clone(), "s");
    let answer = session.run("Go").await.unwrap();
    assert_eq!(told(&answer.transcript), ["paid 1", "paid 9", "paid 10"]);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
    assert!(store.saves.load(Ordering::SeqCst) > 3);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_dropped_while_it_was_kept_goes_on() {
    for dropped_at in [500, 1_500, 2_500, 5_500] {
        let (log, store) = (Log::default(), late(99));
        let session = agent(&[("pay", 1), ("pay", 9)], &log).session(store, "s");
        let mut run = session.start("Go").await.unwrap();
        run.next().await;
        assert!(timeout(Duration::from_millis(dropped_at), run.next()).await.is_err());
        let answer = run.finish().await.unwrap();
        let paid = if log.lock().unwrap().contains(&1) { "paid 1" } else { "TOOL_INDETERMINATE" };
        assert_eq!(told(&answer.transcript), [paid, "TOOL_INDETERMINATE"], "{dropped_at}");
        assert_eq!(session.messages().await.unwrap(), answer.transcript);
    }
}

/// Somebody else's write stays what it is: nothing of it is written over.
#[tokio::test(start_paused = true)]
async fn a_store_that_says_nothing_hides_nobody() {
    let (log, store) = (Log::default(), late(3));
    let session = agent(&[("pay", 1), ("pay", 9)], &log).session(store.clone(), "s");
    let other = async {
        sleep(Duration::from_secs(7)).await;
        let found = store.inner.load("s").await.unwrap().unwrap();
        let write =
            SessionWrite::on(found.revision).messages(found.messages.len(), &[]).state("{}");
        store.inner.save("s", write).await.unwrap()
    };
    let (stopped, revision) = tokio::join!(session.run("Go"), other);
    let stopped = stopped.unwrap_err();
    assert!(stopped.to_string().contains("changed by somebody else"), "{stopped}");
    assert_eq!(store.load("s").await.unwrap().unwrap().revision, revision);
}
