//! Ensures that the end of each started call is emitted once.
//!
//! A call that ends may lose its result: its step is dropped, or the write of the result is. When
//! the run is resumed, such a call is answered without being run. The first of the call, its drop
//! and its run to claim the end emits it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::RunId;
use crate::message::CallId;

/// The maximum number of runs whose calls are kept; the oldest are evicted.
const MAX_RUNS: usize = 1_024;

/// The end of one start of a call. A call that is made again has another.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndClaim(Arc<AtomicBool>);

impl EndClaim {
    /// Records that the end is emitted. Returns `false` if it was emitted before.
    pub(crate) fn claim(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// The ends of the calls whose results are not saved yet, of all runs of an agent. The dispatchers
/// of its runs share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct EmittedEnds(Arc<Mutex<VecDeque<(RunId, StartedCalls)>>>);

type StartedCalls = HashMap<CallId, EndClaim>;

impl EmittedEnds {
    /// Returns the end of a call that starts, perhaps again.
    pub(crate) fn start(&self, run: RunId, call: &CallId) -> EndClaim {
        self.with_calls(run, |calls| {
            let end = EndClaim::default();
            calls.insert(call.clone(), end.clone());
            end
        })
    }

    /// Records that the end of a call is emitted. Returns `false` if it was emitted before.
    pub(crate) fn claim(&self, run: RunId, call: &CallId) -> bool {
        // Another process may have started the call.
        self.with_calls(run, |calls| calls.entry(call.clone()).or_default().claim())
    }

    /// Removes the calls of a run, because their results are saved.
    pub(crate) fn release(&self, run: RunId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != run);
    }

    fn with_calls<T>(&self, run: RunId, f: impl FnOnce(&mut StartedCalls) -> T) -> T {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, calls)) = runs.iter_mut().rev().find(|(id, _)| *id == run) {
            return f(calls);
        }
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        let mut calls = StartedCalls::new();
        let value = f(&mut calls);
        runs.push_back((run, calls));
        value
    }
}
