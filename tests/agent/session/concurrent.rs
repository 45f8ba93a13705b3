//! Two requests on one session of a process: the second waits or fails before a model is called.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tool_runtime::agent::session::{MemorySessions, Session, SessionError};
use tool_runtime::{
    Agent, CancellationToken, ChatModel, ChatReply, ChatRequest, ModelError, StopReason, Tools,
    async_trait,
};

/// Replies with the number of messages of the request, once it may.
#[derive(Clone, Default)]
struct Counting {
    requests: Arc<AtomicUsize>,
    running: Arc<Mutex<Vec<usize>>>,
    proceed: Arc<Notify>,
}

#[async_trait]
impl ChatModel for Counting {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.running.lock().unwrap().push(request.messages.len());
        self.proceed.notified().await;
        Ok(ChatReply::text(request.messages.len().to_string()))
    }
}

/// Returns two sessions of different agents that share a store, as two requests of a server have
/// them.
fn sessions(model: &Counting) -> [Session; 2] {
    let store = MemorySessions::new();
    [(), ()].map(|()| {
        let agent = Agent::new(model.clone(), Tools::new());
        agent.session(store.clone(), "ada")
    })
}

async fn wait_for_requests(model: &Counting, count: usize) {
    while model.requests.load(Ordering::SeqCst) < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn second_prompt_waits_and_continues_the_conversation() {
    let model = Counting::default();
    let [first, second] = sessions(&model);
    let first = tokio::spawn(async move { first.run("One").await });
    wait_for_requests(&model, 1).await;
    let second = tokio::spawn(async move { second.run("Two").await });
    // However long the first one takes.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(*model.running.lock().unwrap(), [1], "no second model request is paid");
    model.proceed.notify_one();
    assert_eq!(first.await.unwrap().unwrap().text, "1");
    model.proceed.notify_one();
    let answer = second.await.unwrap().unwrap();
    assert_eq!((answer.text.as_str(), answer.transcript.len()), ("3", 4));
}

#[tokio::test]
async fn second_prompt_fails_before_the_model_is_called() {
    let model = Counting::default();
    let [first, second] = sessions(&model).map(Session::fail_if_busy);
    let first = tokio::spawn(async move { first.run("One").await });
    wait_for_requests(&model, 1).await;
    let stopped = second.run("Two").await.unwrap_err();
    let StopReason::Session(error) = stopped.reason else { panic!("{}", stopped.reason) };
    assert!(matches!(&error, SessionError::Busy { session, .. } if session == "ada"), "{error}");
    assert!(error.is_transient());
    assert!(matches!(second.truncate(0).await, Err(SessionError::Busy { .. })));
    assert!(matches!(second.rename("grace").await, Err(SessionError::Busy { .. })));
    assert_eq!(model.requests.load(Ordering::SeqCst), 1);
    model.proceed.notify_one();
    first.await.unwrap().unwrap();
    // A run that is dropped frees the session as well.
    drop(second.start("Two").await.unwrap());
    model.proceed.notify_one();
    assert_eq!(second.run("Three").await.unwrap().text, "3");
}

#[tokio::test]
async fn ended_run_frees_the_session_before_it_is_dropped() {
    let model = Counting::default();
    let [first, second] = sessions(&model).map(Session::fail_if_busy);
    let mut run = first.start("One").await.unwrap();
    model.proceed.notify_one();
    while run.next().await.is_some() {}
    assert!(second.start("Two").await.is_ok());
    assert_eq!(run.finish().await.unwrap().text, "1");
}

#[tokio::test]
async fn other_sessions_and_other_stores_do_not_wait() {
    let model = Counting::default();
    let store = MemorySessions::new();
    let agent = Agent::new(model.clone(), Tools::new());
    let run = agent.session(store.clone(), "ada").start("One").await.unwrap();
    assert!(agent.session(store.clone(), "grace").start("One").await.is_ok());
    assert!(agent.session(MemorySessions::new(), "ada").start("One").await.is_ok());
    drop(run);
}

#[tokio::test]
async fn cancelled_agent_stops_waiting() {
    let (model, cancellation) = (Counting::default(), CancellationToken::new());
    let agent = Agent::new(model, Tools::new()).cancellation(cancellation.clone());
    let session = agent.session(MemorySessions::new(), "ada");
    let run = session.start("One").await.unwrap();
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.run("Two").await }
    });
    tokio::task::yield_now().await;
    cancellation.cancel();
    let stopped = waiting.await.unwrap().unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Cancelled), "{stopped}");
    drop(run);
}
