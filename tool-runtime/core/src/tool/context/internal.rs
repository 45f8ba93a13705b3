//! Crate-internal methods of a context, for the dispatcher and for nested runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
#[cfg(feature = "process")]
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::ToolContext;
use crate::event::EffectRecord;
use crate::json::Fix;
use crate::message::ToolCall;
use crate::tool::SuspendedCall;
use crate::tool::work::blocking::BlockingThread;
use crate::tool::work::end::CallEnd;
use crate::tool::work::{CallWork, EndWorkOnDrop};

/// How the arguments that a tool received differ from the text of the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArgumentRecord {
    pub(crate) fixes: Vec<Fix>,
    /// The JSON that the tool received; `None` if it rejected the arguments.
    pub(crate) json: Option<String>,
}

/// The parts of a context that outlive its call.
pub(crate) struct FinishedCall {
    pub(crate) call: ToolCall,
    pub(crate) arguments: Option<Box<ArgumentRecord>>,
    pub(crate) attempts: u32,
    pub(crate) effects: Vec<EffectRecord>,
}

impl ToolContext {
    /// Returns the call, which interceptors may change.
    pub(crate) fn call_mut(&mut self) -> &mut ToolCall {
        &mut self.call
    }

    /// Records that a function refused its arguments, so that its code does not run.
    pub(in crate::tool) fn refuse_arguments(&self) {
        self.has_refused_arguments.store(true, Ordering::Relaxed);
    }

    /// Ends the decoding of the arguments. If they were refused, this was no attempt.
    #[inline]
    pub(crate) fn end_decoding(&self) {
        if self.has_refused_arguments() {
            self.uncount_attempt();
        }
    }

    /// Takes back the count of an attempt that did not begin after all.
    pub(crate) fn uncount_attempt(&self) {
        self.attempts.store(self.attempts().saturating_sub(1), Ordering::Relaxed);
    }

    pub(super) fn has_refused_arguments(&self) -> bool {
        self.has_refused_arguments.load(Ordering::Relaxed)
    }

    /// Returns the metadata of the run, if an interceptor changed it for this call.
    pub(crate) fn changed_metadata(&self) -> Option<&Arc<Map<String, Value>>> {
        self.metadata.as_ref()
    }

    /// Sets the metadata that the run has for this call.
    pub(crate) fn set_metadata(&mut self, metadata: Map<String, Value>) {
        self.metadata = Some(Arc::new(metadata));
    }

    /// Returns the suspended call that this call continues.
    pub(crate) fn suspended_call(&self) -> Option<&SuspendedCall> {
        self.host.as_ref()?.suspended_call(&self.call)
    }

    /// Registers the thread that is about to run the attempt.
    pub(in crate::tool) fn begin_thread(&self) -> Arc<BlockingThread> {
        let detached = self.host.as_ref().map(|host| host.detached_threads().clone());
        let thread = Arc::new(BlockingThread::new(detached.unwrap_or_default()));
        self.work().begin_thread(&thread);
        thread
    }

    /// Spawns a task that ends by itself when the attempt ends.
    #[cfg(feature = "process")]
    pub(in crate::tool) fn spawn_until_end<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.work().spawn_until_end(self.batch_cancellation(), task)
    }

    /// Returns a token for which the end of the attempt waits briefly until it is dropped.
    pub(in crate::tool) fn track(&self) -> TaskTrackerToken {
        self.work().track(self.batch_cancellation())
    }

    /// Whether the attempt timed out before a thread was free for it.
    pub(crate) fn never_began(&self) -> bool {
        self.work.get().is_some_and(|work| work.never_began())
    }

    /// Counts an attempt that begins.
    #[inline]
    pub(crate) fn begin_attempt(&self, deadline: Option<Instant>) {
        // The attempts of a call run one after the other, so nothing else writes.
        let before = self.attempts();
        self.attempts.store(before + 1, Ordering::Relaxed);
        if before > 0 {
            // The tool may have called a function that refused other arguments.
            self.has_refused_arguments.store(false, Ordering::Relaxed);
            self.end.clear();
        }
        if deadline.is_some() || self.work.get().is_some() {
            self.work().begin(deadline);
        }
    }

    /// Records why the attempt ended, unless it had ended before.
    #[inline]
    pub(crate) fn end(&self, end: CallEnd) {
        self.end.set(end);
        if let Some(work) = self.work.get() {
            work.end.set(end);
        }
    }

    /// Records that the future of the attempt is dropped before it has returned.
    pub(crate) fn end_dropped(&self) {
        if self.end.get().is_none() {
            let end = self.host.as_ref().map_or(CallEnd::Dropped, |it| it.end_of_dropped_calls());
            self.end(end);
        }
    }

    /// Returns the call, for the runs and calls that are nested in it.
    pub(crate) fn caller(&self) -> Arc<CallWork> {
        Arc::clone(self.work())
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Whether the tool may have started further work.
    pub(crate) fn has_work(&self) -> bool {
        self.work.get().is_some()
    }

    /// Ends the work of the attempt; returns whether all of it has ended.
    pub(crate) async fn end_attempt(&self) -> bool {
        match self.work.get() {
            None => true,
            Some(work) => work.end().await,
        }
    }

    /// Returns a guard that ends the work of the call when it is dropped.
    #[inline]
    pub(crate) fn end_work_on_drop(&self) -> EndWorkOnDrop<'_> {
        EndWorkOnDrop(&self.work)
    }

    /// Returns what the execution records about the call.
    #[inline]
    pub(crate) fn into_finished(mut self) -> FinishedCall {
        FinishedCall {
            attempts: self.attempts(),
            effects: self.work.get().map_or_else(Vec::new, |work| work.take_effects()),
            arguments: self.arguments.take(),
            call: self.call,
        }
    }

    /// Records how the arguments were decoded. Only the first record of a call is kept: a retry
    /// repairs the same text in the same way.
    pub(crate) fn record_arguments(&self, record: impl FnOnce() -> ArgumentRecord) {
        self.arguments.get_or_init(|| Box::new(record()));
    }

    /// Records the JSON that the tool receives, if an approver examines it first.
    pub(crate) fn record_json(&self, json: &str) {
        self.record_arguments(|| ArgumentRecord { fixes: Vec::new(), json: Some(json.to_owned()) });
    }

    /// Returns where a text contains secrets.
    #[cfg(feature = "process")]
    pub(in crate::tool) fn secret_ranges(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let redactor = self.scope().and_then(|scope| scope.redactor.as_ref());
        redactor.map(|redactor| redactor.secret_ranges(text)).unwrap_or_default()
    }

    /// Whether a text contains a secret.
    pub(in crate::tool) fn contains_secret(&self, text: &str) -> bool {
        let redactor = self.scope().and_then(|scope| scope.redactor.as_ref());
        redactor.is_some_and(|redactor| redactor.contains_secret(text))
    }
}
