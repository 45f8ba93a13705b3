//! The calls of a reply: which are open, which may have begun, and what came of them.

use super::{Halt, OutOfTurn, Step, StopRequest, Turn};
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::tool::ToolErrorKind;

impl Turn {
    /// The open calls begin to run. Where that is kept and the process ends before their results are, nobody can
    /// tell whether they ran.
    pub fn begin(&mut self) {
        if let Step::Call(calls) = self.next() {
            self.begun = calls.into_iter().map(|call| call.id).collect();
        }
    }

    /// What came of the calls that were begun is known: one that has no result yet did not run.
    pub(in crate::agent) fn end(&mut self) {
        self.begun.clear();
    }

    /// This one has not begun, though it was to; or goes on from what is kept elsewhere.
    pub(in crate::agent) fn put_off(&mut self, call: &CallId) {
        self.begun.retain(|begun| begun != call);
    }

    /// What was begun was not seen to end: calls that may not be made a second time are answered with
    /// `TOOL_INDETERMINATE`, the others stay to be run. Gives those that are answered now.
    pub fn interrupted(
        &mut self,
        may_repeat: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        let begun = std::mem::take(&mut self.begun);
        if begun.is_empty() {
            return Vec::new();
        }
        let text = "The program ended while this call was running; it may have had effects.";
        self.settle(ToolErrorKind::Indeterminate, text, |call| {
            begun.contains(&call.id) && !may_repeat(call)
        })
    }

    /// Nobody goes on with this run: calls that are open are answered. Those that were begun may have had
    /// effects.
    pub(in crate::agent) fn give_up(&mut self) -> Vec<(ToolCall, ToolResult)> {
        let mut settled = self.interrupted(|_| false);
        let text = "Not run: the run was given up.";
        settled.extend(self.settle(ToolErrorKind::Cancelled, text, |_| true));
        settled
    }

    /// Answers open calls with a failure, and gives them.
    pub(in crate::agent) fn settle(
        &mut self,
        kind: ToolErrorKind,
        text: &str,
        is_settled: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        let Step::Call(mut calls) = self.next() else { return Vec::new() };
        calls.retain(is_settled);
        let answered = |call: ToolCall| {
            let result = ToolResult::failure(&call, kind.code(), text);
            (call, result)
        };
        let settled: Vec<_> = calls.into_iter().map(answered).collect();
        if !settled.is_empty() {
            self.take(settled.iter().map(|(_, result)| result.clone()).collect());
        }
        settled
    }

    /// The calls were run; one result for each, in their order.
    ///
    /// # Errors
    /// There were no calls to run, or the results are not theirs.
    pub fn on_results(&mut self, results: Vec<ToolResult>) -> Result<(), OutOfTurn> {
        let Step::Call(calls) = self.next() else {
            return Err(OutOfTurn("there were no calls to run"));
        };
        if !calls.iter().map(|call| &call.id).eq(results.iter().map(|result| &result.call)) {
            return Err(OutOfTurn("the results are not those of the calls, in their order"));
        }
        self.on_some_results(results)
    }

    /// Some of the calls were run; a result for each of those. What is left stays to be run.
    ///
    /// # Errors
    /// A result belongs to no call that is open; none of them is taken then.
    pub fn on_some_results(&mut self, results: Vec<ToolResult>) -> Result<(), OutOfTurn> {
        let mut open = match self.next() {
            Step::Call(open) => open,
            _ => Vec::new(),
        };
        for result in &results {
            let Some(place) = open.iter().position(|call| call.id == result.call) else {
                return Err(OutOfTurn("a result is of no call that was to be run"));
            };
            open.remove(place);
        }
        if !results.is_empty() {
            self.take(results);
        }
        Ok(())
    }

    /// Results of open calls.
    pub(super) fn take(&mut self, results: Vec<ToolResult>) {
        self.begun.retain(|begun| results.iter().all(|result| result.call != *begun));
        self.early.extend(results);
        let calls: Vec<_> = self.transcript.last().iter().flat_map(|said| said.calls()).collect();
        if self.early.len() < calls.len() {
            return;
        }
        let mut results = std::mem::take(&mut self.early);
        results.sort_by_key(|result| calls.iter().position(|call| call.id == result.call));
        // Whoever gave it may have named another tool: providers want the one that was called.
        for (result, call) in results.iter_mut().zip(calls) {
            result.tool.clone_from(&call.name);
        }
        if let Some(most) = self.limits.repeats {
            for result in &mut results {
                if most > 0 && self.repeats.times(&result.call) == most {
                    result.text.push_str(&notice(most));
                }
            }
        }
        self.say(Message::Tool { results });
    }

    /// Ends the run where it would go on; calls that are open are answered and not run.
    pub fn stop(&mut self, request: StopRequest) {
        self.halt_with(Halt::Requested(request), "Not run: the run was asked to stop.");
    }

    /// The same, once the calls that are under way have ended.
    pub(in crate::agent) fn stop_later(&mut self, request: StopRequest) {
        self.halt = Some(Halt::Requested(request));
    }

    pub(super) fn halt_with(&mut self, halt: Halt, text: &str) {
        self.halt = Some(halt);
        self.answer_open(text);
    }

    /// Answers the calls that are open, which are not run.
    pub(super) fn answer_open(&mut self, text: &str) {
        self.settle(ToolErrorKind::Cancelled, text, |_| true);
    }
}

/// What the model is told before it is stopped.
fn notice(times: u32) -> String {
    let times = match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    format!(
        "\n\n(You have made this very call {times} in a row now. Made once more, it ends the run: do something else, \
         or answer.)"
    )
}
