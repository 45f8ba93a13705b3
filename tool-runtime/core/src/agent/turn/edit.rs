//! Edited transcripts and transcripts from outside: brings them into an order that providers
//! accept.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Halt, Limits, Outcome, Step, TransitionError, Turn};
use crate::message::{CallId, ContentPart, Message, ToolResult};
use crate::models::FinishReason;
use crate::models::history::{is_empty_reply, push_user, repaired, with_all_results};

impl Turn {
    /// Edits the transcript in place, and normalizes it afterwards like the
    /// [conversation](crate::agent::Prompt#conversations) of a prompt.
    ///
    /// If the edit replaces a truncated last reply, the run no longer counts as truncated.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::Turn;
    ///
    /// let mut turn = Turn::new(vec![Message::user("My card is 4111-1111.")], 20);
    /// turn.edit(|messages| messages[0] = Message::user("My card is [removed]."));
    /// assert_eq!(turn.transcript(), [Message::user("My card is [removed].")]);
    /// ```
    pub fn edit(&mut self, change: impl FnOnce(&mut Vec<Message>)) {
        let before = self.shared_transcript();
        let mut transcript = Arc::unwrap_or_clone(std::mem::take(&mut self.transcript));
        change(&mut transcript);
        self.transcript = Arc::new(transcript);
        self.normalize();
        self.identify_from(0);
        if self.transcript.last() != before.last() {
            // The finish reason of the replaced reply does not apply to the new last message.
            self.finish = FinishReason::default();
        }
        self.reported = self.reported.after_edit(&before, &self.transcript);
    }

    /// Adds a user message that rejects the last reply. An empty reply is removed, because
    /// providers accept none in a request.
    ///
    /// # Errors
    /// Returns an error if the last message is no complete reply.
    pub(in crate::agent) fn reject_reply(
        &mut self,
        parts: Vec<ContentPart>,
    ) -> Result<(), TransitionError> {
        if self.next() != Step::Done(Outcome::EmptyReply) {
            return self.add_user_parts(parts);
        }
        self.reset_open_calls();
        let transcript = Arc::make_mut(&mut self.transcript);
        transcript.pop();
        push_user(transcript, None, parts);
        self.identify_last();
        Ok(())
    }

    /// Prepares a stored run to continue under the given limits. Its earlier usage still counts.
    pub(in crate::agent) fn resume_with_limits(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self.halt = self.halt.take().filter(|halt| match halt {
            Halt::BudgetExhausted => limits.is_exhausted(&self.metered),
            Halt::RepeatedCall => {
                limits.max_repeats.is_some_and(|limit| self.repeated_calls.exceed(limit))
            }
            Halt::StopRequested(_) => true,
        });
        self.normalize();
        self
    }

    /// Brings the transcript into an order that providers accept, and drops the state of calls that
    /// are no longer open.
    fn normalize(&mut self) {
        let mut transcript = Arc::unwrap_or_clone(std::mem::take(&mut self.transcript));
        let has_call_state = !self.early_results.is_empty() || !self.started_calls.is_empty();
        if has_call_state && !ends_with_calls(&transcript) {
            // `mended` moves the early results up to their calls and fails the other calls.
            transcript.push(Message::Tool { results: std::mem::take(&mut self.early_results) });
        }
        // An empty last reply stays: it decides how the run ended.
        let is_empty_reply = |message: &mut Message| matches!(message, Message::Assistant { parts, .. } if is_empty_reply(parts));
        let transcript = match transcript.pop_if(is_empty_reply) {
            None => repaired(transcript),
            Some(last) => {
                let mut before = with_all_results(&transcript).into_owned();
                before.push(last);
                before
            }
        };
        self.transcript = Arc::new(transcript);
        self.retain_open_call_state();
    }

    /// Keeps early results and started marks of open calls only, at most one result for each call.
    fn retain_open_call_state(&mut self) {
        let early = std::mem::take(&mut self.early_results);
        let mut results: HashMap<CallId, ToolResult> = HashMap::new();
        for result in early {
            results.entry(result.call.clone()).or_insert(result);
        }
        let mut started = std::mem::take(&mut self.started_calls);
        for call in self.transcript.last().iter().flat_map(|reply| reply.calls()) {
            self.early_results.extend(results.remove(&call.id));
            self.started_calls.extend(started.remove_entry(&call.id));
        }
        self.reset_open_calls();
        if !self.early_results.is_empty() {
            // Moves the results into the transcript if no call is open.
            self.record_results(Vec::new());
        }
    }
}

/// Whether the transcript ends with calls and all call ids in it are present and unique.
fn ends_with_calls(transcript: &[Message]) -> bool {
    let mut ids = HashSet::new();
    transcript.last().is_some_and(|last| last.calls().next().is_some())
        && transcript
            .iter()
            .flat_map(Message::calls)
            .all(|call| !call.id.as_str().is_empty() && ids.insert(&call.id))
}
