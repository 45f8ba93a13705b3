//! Results that are saved while other calls of the same reply are in flight.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::sessions::{Intercepted, OnSave};
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, EffectRecord, Message, ModelError, StopReason,
    ToolContext, Usage, async_trait, tool, tools,
};

/// The recipients of payments.
type Log = Arc<Mutex<Vec<u64>>>;

/// Pays after so many seconds.
#[tool(effect = "external")]
async fn pay(after: u64, ctx: &ToolContext) -> String {
    sleep(Duration::from_secs(after)).await;
    ctx.record(EffectRecord::TokensSpent { usage: Usage::new(after, 0), cost: None, model: None });
    ctx.get::<Log>().unwrap().lock().unwrap().push(after);
    format!("paid {after}")
}

/// Requests a stop after so many seconds.
#[tool(effect = "external")]
async fn enough(after: u64, ctx: &ToolContext) {
    sleep(Duration::from_secs(after)).await;
    ctx.record(EffectRecord::stop("it is late"));
}

/// Makes these calls in one reply, then answers.
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

/// A slow store that accepts so many saves, one at a time.
#[derive(Clone, Debug)]
struct Slow {
    takes: Duration,
    most: usize,
    saves: Arc<AtomicUsize>,
    running_saves: Arc<AtomicUsize>,
}

impl Slow {
    fn new(takes: Duration, most: usize) -> Intercepted<Self> {
        let (saves, running_saves) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        Intercepted::new(Self { takes, most, saves, running_saves })
    }

    fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl OnSave for Slow {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        if self.saves.fetch_add(1, Ordering::SeqCst) >= self.most {
            return Err(SessionError::unavailable("the disk is full"));
        }
        assert_eq!(self.running_saves.fetch_add(1, Ordering::SeqCst), 0, "two at once");
        sleep(self.takes).await;
        self.running_saves.fetch_sub(1, Ordering::SeqCst);
        store.save(session, write).await
    }
}

/// Returns the results, one line each.
fn result_lines(messages: &[Message]) -> Vec<String> {
    let results = messages.iter().flat_map(|message| match message {
        Message::Tool { results } => results.as_slice(),
        _ => &[],
    });
    results.map(|it| it.error.clone().unwrap_or_else(|| it.text.clone())).collect()
}

const PAYS: [(&str, u64); 4] = [("pay", 3), ("pay", 1), ("pay", 2), ("pay", 4)];

/// Whenever the process ends, finished results and their usage are saved.
#[tokio::test(start_paused = true)]
async fn finished_result_survives_the_end_of_the_process() {
    for ends_after in 0..=4 {
        let (log, store) = (Log::default(), MemorySessions::default());
        let session = agent(&PAYS, &log).session(store.clone(), "s");
        let half_past = Duration::from_millis(ends_after * 1_000 + 500);
        let answer = match timeout(half_past, session.run("Go")).await {
            Ok(answer) => answer.unwrap(),
            Err(_) => session.resume().await.unwrap().unwrap().finish().await.unwrap(),
        };
        let expected = PAYS.map(|(_, after)| {
            if after <= ends_after {
                format!("paid {after}")
            } else {
                "TOOL_INDETERMINATE".to_owned()
            }
        });
        assert_eq!(result_lines(&answer.transcript), expected);
        assert_eq!(log.lock().unwrap().as_slice(), (1..=ends_after).collect::<Vec<_>>());
        assert_eq!(answer.usage.input_tokens, (1..=ends_after).sum::<u64>());
    }
}

/// The number of saves of a run with one call: its start, the reply, the start of the call, the
/// result, the answer.
const SAVES_OF_ONE_CALL: usize = 5;

/// Once the answer is saved, it is returned without a further save.
#[tokio::test(start_paused = true)]
async fn saved_answer_is_returned() {
    for (most, is_resumed) in [(SAVES_OF_ONE_CALL, true), (SAVES_OF_ONE_CALL - 1, false)] {
        let (log, store) = (Log::default(), Slow::new(Duration::ZERO, most));
        let session = agent(&PAYS[..1], &log).session(store, "s");
        let ended = session.run("Go").await;
        assert_eq!(ended.is_ok(), is_resumed, "{most} saves");
        let messages = session.messages().await.unwrap();
        assert_eq!(messages.last().unwrap().text() == "Done.", is_resumed);
    }
}

#[tokio::test(start_paused = true)]
async fn last_result_is_saved_with_the_step() {
    for (calls, takes, expected) in [
        (&PAYS[..], 0, SAVES_OF_ONE_CALL + 3),
        (&PAYS[..1], 0, SAVES_OF_ONE_CALL),
        // All calls end at the same time.
        (&[("pay", 1); 9], 0, SAVES_OF_ONE_CALL),
        // Results that arrive during a write go with the next one.
        (&[("pay", 10), ("pay", 11), ("pay", 12), ("pay", 99)], 4, SAVES_OF_ONE_CALL + 2),
        // So does the last result.
        (&[("pay", 10), ("pay", 11), ("pay", 12)], 4, SAVES_OF_ONE_CALL + 1),
    ] {
        let (log, store) = (Log::default(), Slow::new(Duration::from_secs(takes), 99));
        let answer = agent(calls, &log).session(store.clone(), "s").run("Go").await.unwrap();
        assert_eq!(store.on_save.saves(), expected, "{calls:?}");
        let in_order: Vec<_> = calls.iter().map(|(_, after)| format!("paid {after}")).collect();
        assert_eq!(result_lines(&answer.transcript), in_order);
        let duration: u64 = calls.iter().map(|(_, after)| after).sum();
        assert_eq!(answer.usage.input_tokens, duration);
        assert_eq!(store.load("s").await.unwrap().unwrap().messages, answer.transcript);
    }
}

/// If the store refuses writes, in-flight calls finish and their results are returned.
#[tokio::test(start_paused = true)]
async fn full_store_loses_no_in_flight_call() {
    for most in 0..8 {
        let (log, store) = (Log::default(), Slow::new(Duration::ZERO, most));
        let session = agent(&PAYS, &log).session(store, "s");
        let stopped = session.run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::Session(_)), "{stopped}");
        let ran = log.lock().unwrap().len();
        assert_eq!(ran, if most > 2 { 4 } else { 0 }, "{most}");
        let paid =
            result_lines(&stopped.transcript).iter().filter(|it| it.starts_with("paid")).count();
        assert_eq!(paid, ran, "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn stop_request_survives_the_end_of_the_process() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&[("enough", 1), ("pay", 9)], &log).session(store, "s");
    assert!(timeout(Duration::from_secs(5), session.run("Go")).await.is_err());
    let run = session.resume().await.unwrap().unwrap();
    let stopped = run.finish().await.unwrap_err();
    assert!(
        matches!(&stopped.reason, StopReason::StopRequested { reason, .. } if reason == "it is late")
    );
    assert_eq!(result_lines(&stopped.transcript), ["ok", "TOOL_INDETERMINATE"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_step_keeps_early_results() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&PAYS, &log).session(store, "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    assert!(timeout(Duration::from_millis(2_500), run.next()).await.is_err());
    let answer = run.finish().await.unwrap();
    let unknown = "TOOL_INDETERMINATE";
    assert_eq!(result_lines(&answer.transcript), [unknown, "paid 1", "paid 2", unknown]);
    assert_eq!(answer.usage.input_tokens, 1 + 2);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

/// Saves at once and acknowledges after a second; one write is done but reported as failed.
#[derive(Clone, Debug)]
struct Unacknowledged {
    /// The epoch of the last save.
    epoch: Arc<Mutex<Option<u64>>>,
    fails_at: usize,
    saves: Arc<AtomicUsize>,
}

#[async_trait]
impl OnSave for Unacknowledged {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        *self.epoch.lock().unwrap() = write.epoch;
        let saved = store.save(session, write).await;
        sleep(Duration::from_secs(1)).await;
        if self.saves.fetch_add(1, Ordering::SeqCst) == self.fails_at {
            Err(SessionError::unavailable("the line went dead"))
        } else {
            saved
        }
    }
}

fn late(fails_at: usize) -> Intercepted<Unacknowledged> {
    Intercepted::new(Unacknowledged { fails_at, saves: Arc::default(), epoch: Arc::default() })
}

/// A write that was done without an acknowledgement is not a foreign write.
#[tokio::test(start_paused = true)]
async fn write_that_was_done_despite_an_error_is_no_conflict() {
    let (log, store) = (Log::default(), late(3));
    let calls = [("pay", 1), ("pay", 9), ("pay", 10)];
    let session = agent(&calls, &log).session(store.clone(), "s");
    let answer = session.run("Go").await.unwrap();
    assert_eq!(result_lines(&answer.transcript), ["paid 1", "paid 9", "paid 10"]);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
    assert!(store.on_save.saves.load(Ordering::SeqCst) > 3);
}

#[tokio::test(start_paused = true)]
async fn step_dropped_during_a_save_can_be_continued() {
    for dropped_at in [500, 1_500, 2_500, 5_500] {
        let (log, store) = (Log::default(), late(99));
        let session = agent(&[("pay", 1), ("pay", 9)], &log).session(store, "s");
        let mut run = session.start("Go").await.unwrap();
        run.next().await;
        assert!(timeout(Duration::from_millis(dropped_at), run.next()).await.is_err());
        let answer = run.finish().await.unwrap();
        let paid = if log.lock().unwrap().contains(&1) { "paid 1" } else { "TOOL_INDETERMINATE" };
        assert_eq!(result_lines(&answer.transcript), [paid, "TOOL_INDETERMINATE"], "{dropped_at}");
        assert_eq!(session.messages().await.unwrap(), answer.transcript);
    }
}

/// A write by another writer, under the epoch of the run, is a conflict and is not overwritten.
#[tokio::test(start_paused = true)]
async fn foreign_write_stays_a_conflict() {
    let (log, store) = (Log::default(), late(3));
    let session = agent(&[("pay", 1), ("pay", 9)], &log).session(store.clone(), "s");
    let other = async {
        sleep(Duration::from_secs(7)).await;
        let found = store.store.load("s").await.unwrap().unwrap();
        let epoch = *store.on_save.epoch.lock().unwrap();
        let write = SessionWrite::update(found.revision).messages(found.messages.len(), &[]);
        let write = write.state("{}").epoch(epoch);
        store.store.save("s", write).await.unwrap()
    };
    let (stopped, revision) = tokio::join!(session.run("Go"), other);
    let stopped = stopped.unwrap_err();
    assert!(stopped.to_string().contains("changed by another writer"), "{stopped}");
    assert_eq!(store.load("s").await.unwrap().unwrap().revision, revision);
}
