//! The traffic of a connection: requests in flight with their progress, and notifications.
//!
//! The SDK gives each notification a separate task, so their order is lost. The guard puts them
//! here instead, in the order in which they arrived. Everything is bounded.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorData,
    ProgressNotificationParam, ProgressToken, RequestId,
};
use tokio::sync::{Notify, oneshot};
use tool_core::event::Progress;

use crate::client::tools::page::{Page, PageLimits};
use crate::client::tools::text::clean_line;

/// The number of progress notifications that may wait for one call.
const MAX_PROGRESS: usize = 1_024;

/// The number of requests of the server that may wait for one call.
const MAX_QUESTIONS: usize = 8;

/// The number of log messages, and of changed resources, that may wait.
const MAX_NOTICES: usize = 256;

/// The number of characters of a progress message that are kept.
const MAX_PROGRESS_CHARS: usize = 500;

/// A request of the server that the call it belongs to answers.
pub(crate) enum Question {
    Elicit {
        params: Box<ElicitRequestParams>,
        /// Whether the question belongs to the call that answers it, as far as the client knows.
        is_of_call: bool,
        answer: oneshot::Sender<Result<ElicitResult, ErrorData>>,
    },
    Sample(
        Box<CreateMessageRequestParams>,
        oneshot::Sender<Result<CreateMessageResult, ErrorData>>,
    ),
}

/// The error of a question that is refused because too many wait.
#[derive(Debug)]
pub(crate) struct TooManyQuestions;

/// The messages that arrive for one request before its response.
#[derive(Default)]
pub(crate) struct RequestSlot {
    progress: Mutex<VecDeque<Progress>>,
    questions: Mutex<VecDeque<Question>>,
    has_arrived: Notify,
    /// The limits of the page that answers the request, if it is one.
    page_limits: Option<PageLimits>,
    page: Mutex<Option<Page>>,
    answers_questions: bool,
    /// Whether the request has no response as long as the connection lives.
    is_subscription: bool,
}

impl RequestSlot {
    /// Creates the slot of a request that ignores what arrives for it.
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Creates the slot of a request that subscribes to notifications.
    pub(crate) fn of_subscription() -> Arc<Self> {
        Arc::new(Self { is_subscription: true, ..Self::default() })
    }

    /// Creates the slot of a call, which answers questions.
    pub(crate) fn of_call() -> Arc<Self> {
        Arc::new(Self { answers_questions: true, ..Self::default() })
    }

    /// Creates the slot of a request that a page of a list answers.
    pub(crate) fn of_page(limits: PageLimits) -> Arc<Self> {
        Arc::new(Self { page_limits: Some(limits), ..Self::default() })
    }

    /// Takes the page that answered the request.
    pub(crate) fn take_page(&self) -> Option<Page> {
        lock(&self.page).take()
    }

    /// Waits until there is progress or a question.
    pub(crate) async fn new_messages(&self) {
        self.has_arrived.notified().await;
    }

    /// Takes the next question of the server.
    pub(crate) fn take_question(&self) -> Option<Question> {
        lock(&self.questions).pop_front()
    }

    /// Adds a question of the server, unless too many wait.
    pub(crate) fn push_question(&self, question: Question) -> Result<(), TooManyQuestions> {
        let mut questions = lock(&self.questions);
        if questions.len() >= MAX_QUESTIONS {
            return Err(TooManyQuestions);
        }
        questions.push_back(question);
        drop(questions);
        self.has_arrived.notify_one();
        Ok(())
    }

    /// Takes the progress so far, in order.
    pub(crate) fn take_progress(&self) -> VecDeque<Progress> {
        std::mem::take(&mut *lock(&self.progress))
    }

    fn push_progress(&self, progress: Progress) {
        let mut waiting = lock(&self.progress);
        if waiting.len() >= MAX_PROGRESS {
            waiting.pop_front();
        }
        waiting.push_back(progress);
        drop(waiting);
        self.has_arrived.notify_one();
    }
}

/// Notifications that belong to no request. Several changes of a list count as one.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) tools_changed: bool,
    /// Whether the server acknowledged a subscription.
    pub(crate) is_subscribed: bool,
    /// Why the stream of notifications can't be opened.
    pub(crate) interruption: Option<String>,
    /// Whether the stream of notifications is open again.
    pub(crate) is_reopened: bool,
    /// Whether the server does not know the session any more.
    pub(crate) has_expired: bool,
    pub(crate) prompts_changed: bool,
    pub(crate) resources_changed: bool,
    pub(crate) updated_resources: BTreeSet<String>,
    pub(crate) logs: VecDeque<LogNotice>,
    pub(crate) dropped: u64,
}

/// A log message of the server.
#[derive(Debug)]
pub(crate) struct LogNotice {
    pub(crate) level: String,
    pub(crate) text: String,
}

impl Notices {
    pub(crate) fn push_log(&mut self, log: LogNotice) {
        if self.logs.len() >= MAX_NOTICES {
            self.logs.pop_front();
            self.dropped += 1;
        }
        self.logs.push_back(log);
    }

    pub(crate) fn push_updated(&mut self, uri: String) {
        if self.updated_resources.len() < MAX_NOTICES {
            self.updated_resources.insert(uri);
        } else {
            self.dropped += 1;
        }
    }
}

/// The call that answers a question of the server.
pub(crate) struct AnsweringCall {
    pub(crate) slot: Arc<RequestSlot>,
    /// Whether the question belongs to this call. Otherwise it may belong to another request in
    /// flight.
    pub(crate) is_certain: bool,
}

/// The traffic of one connection.
#[derive(Default)]
pub(crate) struct Traffic {
    routes: Mutex<Routes>,
    notices: Mutex<Notices>,
    has_notices: Notify,
}

#[derive(Default)]
struct Routes {
    by_id: HashMap<RequestId, Route>,
    by_token: HashMap<ProgressToken, RequestId>,
    count: u64,
}

struct Route {
    number: u64,
    slot: Arc<RequestSlot>,
    token: Option<ProgressToken>,
}

impl Traffic {
    /// Records a request that is being sent.
    pub(crate) fn add(&self, id: RequestId, token: Option<ProgressToken>, slot: Arc<RequestSlot>) {
        let mut routes = lock(&self.routes);
        routes.count += 1;
        let number = routes.count;
        if let Some(token) = &token {
            routes.by_token.insert(token.clone(), id.clone());
        }
        routes.by_id.insert(id, Route { number, slot, token });
    }

    /// Removes a request that has been answered or given up. Returns whether it was in flight.
    pub(crate) fn remove(&self, id: &RequestId) -> bool {
        let mut routes = lock(&self.routes);
        let Some(route) = routes.by_id.remove(id) else { return false };
        if let Some(token) = &route.token {
            routes.by_token.remove(token);
        }
        true
    }

    /// Returns whether a request in flight is a call.
    pub(crate) fn is_call(&self, id: &RequestId) -> bool {
        lock(&self.routes).by_id.get(id).is_some_and(|route| route.slot.answers_questions)
    }

    /// Returns whether a request is in flight.
    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        lock(&self.routes).by_id.contains_key(id)
    }

    /// Returns whether a page of a list is awaited.
    pub(crate) fn awaits_page(&self) -> bool {
        lock(&self.routes).by_id.values().any(|route| route.slot.page_limits.is_some())
    }

    /// Returns the limits of the page that answers a request in flight, if a page does.
    pub(crate) fn page_limits(&self, id: &RequestId) -> Option<PageLimits> {
        lock(&self.routes).by_id.get(id)?.slot.page_limits
    }

    /// Puts a page into the slot of its request.
    pub(crate) fn put_page(&self, id: &RequestId, page: Page) {
        let slot = lock(&self.routes).by_id.get(id).map(|route| Arc::clone(&route.slot));
        if let Some(slot) = slot {
            *lock(&slot.page) = Some(page);
        }
    }

    /// Returns the ids of all requests in flight that expect a response.
    pub(crate) fn in_flight(&self) -> Vec<RequestId> {
        let routes = lock(&self.routes);
        let expecting = routes.by_id.iter().filter(|(_, route)| !route.slot.is_subscription);
        expecting.map(|(id, _)| id.clone()).collect()
    }

    /// Passes progress to its request.
    pub(crate) fn progress(&self, params: &ProgressNotificationParam) {
        let slot = {
            let routes = lock(&self.routes);
            let id = routes.by_token.get(&params.progress_token);
            id.and_then(|id| routes.by_id.get(id)).map(|route| Arc::clone(&route.slot))
        };
        let Some(slot) = slot else { return };
        let message = params.message.as_deref();
        slot.push_progress(Progress {
            done: params.progress,
            total: params.total,
            message: message.map(|text| clean_line(text, MAX_PROGRESS_CHARS)),
        });
    }

    /// Returns the call that answers the questions for a request. If the request is unknown, that
    /// is the newest call.
    pub(crate) fn answering(&self, of: Option<&RequestId>) -> Option<AnsweringCall> {
        let routes = lock(&self.routes);
        let answers = |route: &&Route| route.slot.answers_questions;
        let (route, is_certain) = match of {
            Some(id) => (routes.by_id.get(id).filter(answers), true),
            None => {
                let awaited = routes.by_id.values().filter(|route| !route.slot.is_subscription);
                let is_only = awaited.count() == 1;
                let calls = routes.by_id.values().filter(answers);
                (calls.max_by_key(|route| route.number), is_only)
            }
        };
        route.map(|route| AnsweringCall { slot: Arc::clone(&route.slot), is_certain })
    }

    /// Changes the notices that wait, and wakes their reader.
    pub(crate) fn notify(&self, change: impl FnOnce(&mut Notices)) {
        change(&mut lock(&self.notices));
        self.has_notices.notify_one();
    }

    /// Waits for notices and takes them.
    pub(crate) async fn next_notices(&self) -> Notices {
        self.has_notices.notified().await;
        std::mem::take(&mut *lock(&self.notices))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
