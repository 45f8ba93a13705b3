//! Open calls of a reply: which may have started, and their results.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Halt, Step, StopRequest, TransitionError, Turn};
use crate::event::micros;
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::tool::{ToolErrorKind, indeterminate_text};

/// The time at which a call started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StartTime(#[serde(with = "micros::since_1970")] pub(super) SystemTime);

/// The marks of started calls at some time.
pub(in crate::agent) struct StartedMarks(BTreeMap<CallId, StartTime>);

impl Turn {
    /// Marks the open calls as started at this time.
    ///
    /// Save the run after this and before the calls run. If the process then ends before their
    /// results are saved, [`fail_interrupted`](Self::fail_interrupted) knows which calls may have
    /// run. A [`Session`](crate::agent::session::Session) does this for you.
    #[doc(hidden)]
    pub fn begin_calls(&mut self, at: SystemTime) {
        if let Step::RunCalls(calls) = self.next() {
            // A call that started in another process keeps its time.
            let earlier = std::mem::take(&mut self.started_calls);
            let time = |id: &CallId| earlier.get(id).copied().unwrap_or(StartTime(at));
            self.started_calls =
                calls.into_iter().map(|it| (it.id.clone(), time(&it.id))).collect();
        }
    }

    /// Returns the calls without a result that may have started, and when.
    ///
    /// After a crash, the service of such a call may know its result, by the
    /// [idempotency key](crate::ToolContext::idempotency_key) of the call, as long as the service
    /// keeps it.
    pub fn started_calls(&self) -> impl Iterator<Item = (&CallId, SystemTime)> {
        self.started_calls.iter().map(|(call, StartTime(at))| (call, *at))
    }

    pub(in crate::agent) fn has_started_calls(&self) -> bool {
        !self.started_calls.is_empty()
    }

    /// Returns the marks of started calls, to [restore](Self::restore_started) them.
    pub(in crate::agent) fn started_marks(&self) -> StartedMarks {
        StartedMarks(self.started_calls.clone())
    }

    /// Restores the marks that were set before, because the calls did not start after all.
    pub(in crate::agent) fn restore_started(&mut self, marks: StartedMarks) {
        self.started_calls = marks.0;
    }

    /// Clears the started marks: a call that has no result by now did not run.
    pub(in crate::agent) fn clear_started(&mut self) {
        self.started_calls.clear();
    }

    /// Clears the started mark of a call that did not start or that resumes from its own saved
    /// state.
    pub(in crate::agent) fn mark_not_started(&mut self, call: &CallId) {
        self.started_calls.remove(call);
    }

    /// Adds the missing results of started calls, after their run was interrupted: its future was
    /// dropped, or its process ended.
    ///
    /// A call for which `is_resumable` returns `false` gets the result `TOOL_INDETERMINATE`. All
    /// other calls stay open, and those that have started stay marked: their work may go on
    /// elsewhere, also if they are not made again. Returns the calls that were answered, with their
    /// results.
    #[doc(hidden)]
    pub fn fail_interrupted(
        &mut self,
        is_resumable: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        let started = self.started_calls.clone();
        if started.is_empty() {
            return Vec::new();
        }
        self.fail_calls(ToolErrorKind::Indeterminate, &interrupted_text(false), |call| {
            started.contains_key(&call.id) && !is_resumable(call)
        })
    }

    /// Answers all open calls because the run is abandoned. Started calls may have had effects,
    /// unless `is_retry_safe`.
    pub(in crate::agent) fn abandon(
        &mut self,
        is_retry_safe: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        let started = self.started_calls.clone();
        let mut failed = self.fail_interrupted(is_retry_safe);
        let text = interrupted_text(true);
        failed.extend(self.fail_calls(ToolErrorKind::Indeterminate, &text, |call| {
            started.contains_key(&call.id)
        }));
        let text = "Not run: the run was abandoned.";
        failed.extend(self.fail_calls(ToolErrorKind::Cancelled, text, |_| true));
        failed
    }

    /// Answers the selected open calls with a failure and returns them with their results.
    pub(in crate::agent) fn fail_calls(
        &mut self,
        kind: ToolErrorKind,
        text: &str,
        is_selected: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        let Step::RunCalls(mut calls) = self.next() else { return Vec::new() };
        calls.retain(is_selected);
        let fail = |call: ToolCall| {
            let result = ToolResult::failure(&call, kind.code(), text);
            (call, result)
        };
        let failed: Vec<_> = calls.into_iter().map(fail).collect();
        if !failed.is_empty() {
            self.record_results(failed.iter().map(|(_, result)| result.clone()).collect());
        }
        failed
    }

    /// Records the results of all open calls: one for each call, in the order of the calls.
    ///
    /// # Errors
    /// Returns an error if no call is open, or if the results are not exactly those of the open
    /// calls in their order. No result is recorded then.
    #[doc(hidden)]
    pub fn on_results(&mut self, results: Vec<ToolResult>) -> Result<(), TransitionError> {
        let Step::RunCalls(calls) = self.next() else {
            return Err(TransitionError::new("no calls are open"));
        };
        let open: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
        let answered: Vec<_> = results.iter().map(|result| result.call.as_str()).collect();
        if open != answered {
            return Err(TransitionError::new(format!(
                "the results do not match the open calls: expected {open:?}, got {answered:?}"
            )));
        }
        self.on_partial_results(results)
    }

    /// Records that a call of the last reply did not run because its output was cached, so that it
    /// does not count towards the [repeat limit](super::super::Limits::max_repeats).
    ///
    /// Call this before the result of the call is recorded. A [`Run`](super::super::Run) does this
    /// for you if [`ToolExecution::cached`](crate::ToolExecution) is set.
    #[doc(hidden)]
    pub fn discount_repeat(&mut self, call: &CallId) {
        self.repeated_calls.discount(call);
    }

    /// Records the results of some open calls. The other calls stay open.
    ///
    /// # Errors
    /// Returns an error if a result belongs to no open call. No result is recorded then.
    #[doc(hidden)]
    pub fn on_partial_results(&mut self, results: Vec<ToolResult>) -> Result<(), TransitionError> {
        if let Some(result) = self.unexpected_result(&results) {
            let reason = format!("no open call has the id `{}` of a result", result.call);
            return Err(TransitionError::new(reason));
        }
        if !results.is_empty() {
            self.record_results(results);
        }
        Ok(())
    }

    /// Records results of open calls; once no call is open, appends them to the transcript.
    pub(super) fn record_results(&mut self, results: Vec<ToolResult>) {
        for result in &results {
            self.started_calls.remove(&result.call);
        }
        let is_last = self.close_calls(&results);
        self.early_results.extend(results);
        if !is_last {
            return;
        }
        let calls: Vec<_> = self.transcript.last().iter().flat_map(|reply| reply.calls()).collect();
        let mut results = std::mem::take(&mut self.early_results);
        let positions: HashMap<_, _> =
            calls.iter().enumerate().map(|(index, call)| (&call.id, index)).collect();
        results.sort_by_key(|result| positions.get(&result.call));
        // A dispatcher may have named another tool; providers require the name that was called.
        for (result, call) in results.iter_mut().zip(calls) {
            result.tool.clone_from(&call.name);
        }
        if let Some(limit) = self.limits.max_repeats {
            for result in &mut results {
                if limit > 0 && self.repeated_calls.count(&result.call) == limit {
                    result.text.push_str(&repeat_warning(limit));
                }
            }
        }
        self.push_message(Message::Tool { results });
    }

    /// Ends the run instead of sending the next model request. Open calls are answered and do not
    /// run.
    ///
    /// If the model has already answered, the answer stays.
    pub fn stop(&mut self, reason: impl Into<String>) {
        self.stop_with(StopRequest::new(None, reason));
    }

    pub(in crate::agent) fn stop_with(&mut self, request: StopRequest) {
        self.halt_with(Halt::StopRequested(request), "Not run: the run was asked to stop.");
    }

    /// Ends the run instead of sending the next model request, after the running calls have ended.
    pub(in crate::agent) fn stop_after_calls(&mut self, request: StopRequest) {
        self.halt = Some(Halt::StopRequested(request));
    }

    /// Records results for the calls of the last reply beyond the first `limit`; they do not run.
    pub(super) fn cancel_excess_calls(&mut self, limit: usize) {
        let Step::RunCalls(calls) = self.next() else { return };
        let excess: HashSet<_> = calls.into_iter().skip(limit).map(|call| call.id).collect();
        if excess.is_empty() {
            return;
        }
        let text = format!(
            "Not run: one reply can make at most {limit} calls. If this call is still needed, make it in your next \
             reply."
        );
        self.fail_calls(ToolErrorKind::Cancelled, &text, |call| excess.contains(&call.id));
    }

    /// Returns the calls of the last reply that have a result, with their results.
    pub(in crate::agent) fn answered_calls(
        &self,
    ) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
        let (results, reply) = match self.transcript.as_slice() {
            [.., reply, Message::Tool { results }] => (results, Some(reply)),
            other => (&self.early_results, other.last()),
        };
        let results: HashMap<_, _> = results.iter().map(|result| (&result.call, result)).collect();
        let calls = reply.into_iter().flat_map(Message::calls);
        calls.filter_map(move |call| results.get(&call.id).map(|result| (call, *result)))
    }

    /// Sets the reason to end the run and answers the open calls with `text`.
    pub(super) fn halt_with(&mut self, halt: Halt, text: &str) {
        self.halt = Some(halt);
        self.cancel_open_calls(text);
    }

    /// Answers all open calls as cancelled; they do not run. Those that have started before may
    /// have had effects.
    pub(super) fn cancel_open_calls(&mut self, text: &str) {
        let started = self.started_calls.clone();
        if !started.is_empty() {
            let text = interrupted_text(false);
            self.fail_calls(ToolErrorKind::Indeterminate, &text, |call| {
                started.contains_key(&call.id)
            });
        }
        self.fail_calls(ToolErrorKind::Cancelled, text, |_| true);
    }
}

/// Returns the warning that the last allowed repetition of a call gets with its result.
fn repeat_warning(count: u32) -> String {
    let times = match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    };
    format!(
        "\n\n(You have made this very call {times} in a row now. Made once more, it ends the run: do something else, \
         or answer.)"
    )
}

fn interrupted_text(is_retry_safe: bool) -> String {
    indeterminate_text("The run was interrupted while this call was running", is_retry_safe)
}
