use std::collections::HashSet;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use rmcp::model::RequestId;

use super::session::lock;

/// The ids of the requests that await their response.
pub(crate) struct Unanswered {
    state: Mutex<UnansweredState>,
    limit: usize,
}

#[derive(Default)]
struct UnansweredState {
    ids: HashSet<RequestId>,
    /// Reads on when there is room.
    reader: Option<Waker>,
}

impl Unanswered {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    pub(crate) fn insert(&self, id: RequestId) {
        lock(&self.state).ids.insert(id);
    }

    /// Removes a request. Returns whether it was unanswered.
    pub(crate) fn remove(&self, id: &RequestId) -> bool {
        let (was_unanswered, reader) = {
            let mut state = lock(&self.state);
            (state.ids.remove(id), state.reader.take())
        };
        if let Some(reader) = reader {
            reader.wake();
        }
        was_unanswered
    }

    /// Waits until there is room for a request.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.ids.len() < self.limit {
            return Poll::Ready(());
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.state).ids.len()
    }
}
