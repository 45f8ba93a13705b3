//! Calls that started in an earlier dispatch and continue from the saved state of their tool.

use crate::dispatch::context::BatchContext;
use crate::event::ToolExecution;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::{SuspendedCall, ToolError, ToolErrorKind};

impl BatchContext {
    /// Returns the suspended call that this call continues, unless the name belongs to another tool
    /// by now.
    pub(crate) fn resumed_call(&self, call: &ToolCall) -> Option<&SuspendedCall> {
        let suspended = self.suspended_call(call)?;
        let is_same_tool = self.tools.entry(&call.name)?.full_name() == suspended.tool;
        is_same_tool.then_some(suspended)
    }

    /// Suspends a resumed call again if its question has no answer yet. An answer is valid for the
    /// definition whose tool asked.
    pub(crate) fn check_answered(&self, call: &ToolCall, entry: &Entry) -> Result<(), ToolError> {
        let Some(suspended) = self.resumed_call(call) else { return Ok(()) };
        let question = if self.is_resumed(call, entry) {
            suspended.open_question()
        } else {
            suspended.question.as_deref()
        };
        match question {
            Some(question) => {
                let mut error = ToolError::waiting(question, suspended.state.clone(), true);
                error.set_answer_schema(suspended.answer_schema.clone());
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Returns whether this call continues, with the definition that its tool had when it started.
    pub(crate) fn is_resumed(&self, call: &ToolCall, entry: &Entry) -> bool {
        let started_with = self.resumed_call(call).and_then(|suspended| suspended.fingerprint);
        started_with.is_some_and(|it| it == entry.definition().fingerprint())
    }

    /// Checks that a resumed call still has the tool that it started with.
    pub(crate) fn check_suspended(&self, call: &ToolCall, entry: &Entry) -> Result<(), ToolError> {
        match self.suspended_call(call) {
            Some(suspended) if suspended.tool != entry.full_name() => {
                let text =
                    format!("`{}` has been replaced by another tool since the call.", call.name);
                Err(ToolError::new(ToolErrorKind::NotFound, text))
            }
            _ => Ok(()),
        }
    }

    /// Converts the error of a call whose tool was not invoked. If the call is resumed, the tool
    /// may have had effects before, so the error becomes `TOOL_INDETERMINATE`.
    pub(crate) fn indeterminate_if_resumed(&self, call: &ToolCall, error: ToolError) -> ToolError {
        let has_started = self.suspended_call(call).is_some() || self.has_started_before(call);
        if !has_started || error.question().is_some() {
            return error;
        }
        let text =
            format!("The call had started, may have had effects, and can't continue. {error}");
        ToolError::new(ToolErrorKind::Indeterminate, text).with_source(error.to_string())
    }

    /// Returns the name of the person or program that answered the question of a call that ran.
    pub(crate) fn answered_by(&self, execution: &ToolExecution) -> Option<String> {
        let answer = self.suspended_call(&execution.call)?.answer.as_ref();
        answer.filter(|_| execution.did_run()).map(|answer| answer.answered_by.clone())
    }

    /// Returns the suspended call that this call continues.
    pub(crate) fn suspended_call(&self, call: &ToolCall) -> Option<&SuspendedCall> {
        let all = self.suspended();
        let found = all.binary_search_by(|suspended| suspended.call.cmp(&call.id));
        all.get(found.ok()?)
    }
}
