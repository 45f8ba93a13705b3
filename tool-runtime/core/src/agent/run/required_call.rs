//! Decides which calls the tool choice allows, and asks for the call that it requires.
//!
//! A required call is requested until the model makes it. A reply without it joins the transcript,
//! unless it is empty; a message asks for the call, and the limits of the run apply.

use super::Run;
use crate::agent::{Outcome, Step, StopReason};
use crate::event::ModelEvent;
use crate::message::{ContentPart, Message, ToolCall};
use crate::models::ToolChoice;
use crate::registry::Snapshot;

impl Run {
    /// Asks for the call that the tool choice requires, if the model has answered without it.
    /// Returns whether it has.
    pub(super) fn ask_for_required_call(
        &mut self,
        choice: &ToolChoice,
    ) -> Result<bool, StopReason> {
        if !choice.requires_call() || self.turn().has_required_call() {
            return Ok(false);
        }
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        let reply = self.turn().transcript().iter().rev().find(is_reply);
        let is_required = |call: &ToolCall| match &self.requests.offered {
            Some(tools) => tools.entry(&call.name).is_some() && is_allowed(choice, tools, call),
            None => false,
        };
        if reply.into_iter().flat_map(Message::calls).any(is_required) {
            self.state.turn.record_required_call();
            return Ok(false);
        }
        let is_answer =
            matches!(self.turn().next(), Step::Done(Outcome::Answered | Outcome::EmptyReply));
        if !is_answer {
            return Ok(false);
        }
        let (text, attempt) =
            (reply.map(Message::text).unwrap_or_default(), self.turn().iterations());
        let reason = match choice {
            ToolChoice::Tool(name) => {
                format!("This is no answer yet: call the tool `{name}` before you answer.")
            }
            _ => "This is no answer yet: call one of the tools before you answer.".to_owned(),
        };
        self.emit_held_back(false);
        self.emit(|| ModelEvent::ValidationFailed { text, reason: reason.clone(), attempt });
        self.collect_added_messages();
        self.state.turn.reject_reply(vec![ContentPart::Text { text: reason }])?;
        self.session.rewrite_from(self.turn().transcript().len().saturating_sub(1));
        // The event above has the message.
        self.emit_added_as(None);
        Ok(true)
    }
}

/// Returns the result of calls that the tool choice does not allow, or `None` if it allows all.
pub(super) fn refusal(choice: &ToolChoice) -> Option<String> {
    match choice {
        ToolChoice::Auto | ToolChoice::Required => None,
        ToolChoice::None => Some("Not run: no tool can be called now. Answer in words.".to_owned()),
        ToolChoice::Tool(name) => {
            Some(format!("Not run: the only tool that can be called now is `{name}`."))
        }
    }
}

/// Whether the tool choice allows the call. The model may use either name of the tool.
pub(super) fn is_allowed(choice: &ToolChoice, tools: &Snapshot, call: &ToolCall) -> bool {
    match choice {
        ToolChoice::Auto | ToolChoice::Required => true,
        ToolChoice::None => false,
        ToolChoice::Tool(name) => {
            call.name == *name || tools.entry(&call.name).is_some_and(|entry| entry.name() == name)
        }
    }
}
