//! Messages of a call to the client before its answer: progress, log messages and requests.
//!
//! The handler of the request sends the messages in order, in its own task, and answers once all
//! are sent. Only from this task does the SDK find the stream that belongs to the request.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rmcp::model::{
    ClientResult, ProgressNotification, ProgressNotificationParam, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use rmcp::task_manager::TaskContext;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tool_core::ToolError;

use crate::server::McpRequest;
use crate::server::input::Input;

/// The number of messages that may wait. Further progress replaces the last one, and further log
/// messages wait.
const CAPACITY: usize = 64;

/// The answer to a request to the client, as the protocol delivers it.
pub(crate) type Answer = Result<Value, ToolError>;

enum Outgoing {
    Progress(ProgressNotificationParam),
    Log(Box<ServerNotification>),
    Question(Box<Input>, oneshot::Sender<Answer>),
}

/// The destination of the messages of a call.
#[derive(Clone)]
pub(crate) enum Link {
    /// To the client that awaits the response.
    Client(Peer<RoleServer>),
    /// Into the state of a task, which the client polls.
    Task(TaskContext),
}

#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    added: Notify,
    removed: Notify,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Outgoing>,
    /// The last progress. Progress must increase.
    progress: Option<f64>,
    is_closed: bool,
}

impl Outbox {
    /// Adds progress, unless it does not increase.
    pub(crate) fn progress(&self, progress: ProgressNotificationParam) {
        let mut queue = self.lock();
        let increases = queue.progress.is_none_or(|last| progress.progress > last);
        if queue.is_closed || !increases || !progress.progress.is_finite() {
            return;
        }
        queue.progress = Some(progress.progress);
        let is_full = queue.messages.len() >= CAPACITY;
        match queue.messages.back_mut() {
            Some(Outgoing::Progress(last)) if is_full => *last = progress,
            _ if is_full => {}
            _ => queue.messages.push_back(Outgoing::Progress(progress)),
        }
        drop(queue);
        self.added.notify_one();
    }

    /// Adds a log message as soon as there is room.
    pub(crate) async fn log(&self, message: ServerNotification) {
        self.push(Outgoing::Log(Box::new(message))).await;
    }

    /// Asks the client and waits for its answer.
    pub(crate) async fn ask(&self, question: Input) -> Answer {
        let (sender, receiver) = oneshot::channel();
        self.push(Outgoing::Question(Box::new(question), sender)).await;
        receiver.await.unwrap_or_else(|_| Err(ended()))
    }

    async fn push(&self, message: Outgoing) {
        loop {
            let removed = self.removed.notified();
            {
                let mut queue = self.lock();
                if queue.is_closed {
                    return;
                }
                if queue.messages.len() < CAPACITY {
                    queue.messages.push_back(message);
                    break;
                }
            }
            removed.await;
        }
        self.added.notify_one();
    }

    /// Lets [`deliver`](Self::deliver) end once it has sent what was added before.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.added.notify_one();
        self.removed.notify_waiters();
    }

    /// Sends the messages until the outbox is closed. If the client does not read one in time, the
    /// remaining ones are dropped.
    pub(crate) async fn deliver(&self, link: &Link, send_timeout: Duration, answer: Duration) {
        let mut questions = FuturesUnordered::new();
        loop {
            let (next, is_closed) = {
                let mut queue = self.lock();
                (queue.messages.pop_front(), queue.is_closed)
            };
            self.removed.notify_waiters();
            match next {
                Some(Outgoing::Question(question, sender)) => {
                    questions.push(async move {
                        // The tool may have stopped waiting.
                        let _ = sender.send(link.ask(question.noun(), &question, answer).await);
                    });
                }
                Some(Outgoing::Progress(progress)) => {
                    if !link.progress(progress, send_timeout).await {
                        self.fail();
                    }
                }
                Some(Outgoing::Log(message)) => {
                    if !link.log(*message, send_timeout).await {
                        self.fail();
                    }
                }
                None if is_closed => return,
                None => {
                    tokio::select! {
                        () = self.added.notified() => {}
                        Some(()) = questions.next() => {}
                    }
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    fn fail(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.messages.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended() -> ToolError {
    ToolError::failed("The client can't be asked any more: its request has ended.")
}

impl Link {
    async fn notify(peer: &Peer<RoleServer>, message: ServerNotification, limit: Duration) -> bool {
        matches!(timeout(limit, peer.send_notification(message)).await, Ok(Ok(())))
    }

    async fn progress(&self, progress: ProgressNotificationParam, limit: Duration) -> bool {
        match self {
            Self::Client(peer) => {
                let message = ProgressNotification::new(progress);
                Self::notify(peer, ServerNotification::ProgressNotification(message), limit).await
            }
            Self::Task(task) => {
                if let Some(message) = progress.message {
                    task.set_status_message(message);
                }
                true
            }
        }
    }

    async fn log(&self, message: ServerNotification, limit: Duration) -> bool {
        match self {
            Self::Client(peer) => Self::notify(peer, message, limit).await,
            // A task has no stream to send it on.
            Self::Task(_) => true,
        }
    }

    /// Asks the client a question and returns the result of its response.
    pub(crate) async fn ask(&self, key: &str, question: &Input, limit: Duration) -> Answer {
        let unanswered = |_| ToolError::failed("The client did not answer in time.");
        let answer = match self {
            Self::Client(peer) => {
                let request = peer.send_request(question.server_request()?);
                let result = timeout(limit, request).await.map_err(unanswered)?;
                let result = result.map_err(|error| {
                    ToolError::failed("The client could not be asked.").with_source(error)
                })?;
                client_result(&result)
            }
            Self::Task(task) => {
                let key = unique_key(key);
                let request = task.request_input(key, question.input_request()?);
                let result = timeout(limit, request).await.map_err(unanswered)?;
                result.map_err(|_| ended())
            }
        }?;
        Ok(answer)
    }
}

/// Returns a key for a question of a task. A task can use a key only once.
fn unique_key(key: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{key}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn client_result(result: &ClientResult) -> Answer {
    Ok(serde_json::to_value(result)?)
}

/// Does the work of a request, and sends what it produces before its answer.
pub(crate) async fn delivering<T>(
    request: &McpRequest,
    link: &Link,
    work: impl Future<Output = T>,
) -> T {
    let (outbox, limits) = (request.outbox(), request.limits());
    let mut work = pin!(async {
        let result = work.await;
        outbox.close();
        result
    });
    let deliver = || Box::pin(outbox.deliver(link, limits.send_timeout, limits.answer_timeout));
    // Most requests end at once, without a message.
    match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        Poll::Ready(result) => {
            if !outbox.is_empty() {
                deliver().await;
            }
            result
        }
        Poll::Pending => tokio::join!(work, deliver()).0,
    }
}
