//! The calls of dropped runs whose end was emitted: when the call was dropped, or when the run was
//! resumed and the call answered, whichever came first. Observers receive it once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::RunId;
use crate::message::CallId;

/// The maximum number of calls that are kept; the oldest are evicted.
const MAX_CALLS: usize = 1_024;

/// The lost calls of a dispatcher. Its clones, and the dispatchers of single runs, share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostCalls(Arc<Mutex<VecDeque<(RunId, CallId)>>>);

impl LostCalls {
    /// Records that the end of a call is emitted. Returns `false` if it was emitted before. A call
    /// outside of a run is never resumed.
    pub(crate) fn claim_end(&self, run: RunId, call: &CallId) -> bool {
        if run == RunId::default() {
            return true;
        }
        let mut calls = self.lock();
        if find(&calls, run, call).is_some() {
            return false;
        }
        if calls.len() >= MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back((run, call.clone()));
        true
    }

    /// Records that a call starts, perhaps again: it will have an end.
    pub(crate) fn start(&self, run: RunId, call: &CallId) {
        let mut calls = self.lock();
        if let Some(index) = find(&calls, run, call) {
            calls.remove(index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(RunId, CallId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(calls: &VecDeque<(RunId, CallId)>, run: RunId, call: &CallId) -> Option<usize> {
    calls.iter().position(|(of_run, id)| *of_run == run && id == call)
}
