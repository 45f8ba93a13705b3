//! Redaction of texts, calls and results outside of a batch.

use serde_json::Value;

use super::Dispatcher;
use crate::event::{RunId, ToolExecution};
use crate::message::ToolCall;
use crate::registry::Snapshot;
use crate::secret::Redactor;

impl Dispatcher {
    /// Registers the secrets of the tools that a model is offered, and of its earlier calls.
    pub(crate) fn register_secrets<'a>(
        &self,
        tools: &Snapshot,
        calls: impl Iterator<Item = &'a ToolCall>,
    ) {
        if let Some(redactor) = self.state.redactor_for(tools, RunId::default()) {
            calls.for_each(|call| redactor.collect_secrets(call));
        }
    }

    /// Returns the redactor of the run, or `None` if there is nothing to redact.
    pub(crate) fn redactor(&self) -> Option<&Redactor> {
        Some(&self.state.redactor).filter(|redactor| redactor.is_active())
    }

    /// Redacts a text.
    pub(crate) fn redact(&self, text: &mut String) {
        if self.state.redactor.is_active() {
            self.state.redactor.redact(text);
        }
    }

    /// Redacts the execution of a call that another dispatcher ran, and marks what people can't see
    /// in its result.
    pub(crate) fn clean_result(&self, execution: &mut ToolExecution) {
        if self.state.redactor.is_active() {
            self.state.redactor.redact_result(execution);
        }
        execution.result.mark_invisible();
    }

    /// Redacts a call that is shown to people.
    pub(crate) fn redact_call(&self, call: &mut ToolCall) {
        if self.state.redactor.is_active() {
            self.state.redactor.redact_call(call);
        }
    }

    /// Redacts the validated arguments of a tool that are shown to people.
    pub(crate) fn redact_arguments(&self, tool: &str, arguments: &mut Value) {
        if self.state.redactor.is_active() {
            self.state.redactor.redact_arguments(tool, arguments);
        }
    }

    /// Redacts the JSON text of the decoded arguments of a tool.
    pub(crate) fn redact_json(&self, tool: &str, json: &str) -> String {
        if self.state.redactor.is_active() {
            self.state.redactor.redact_json(tool, json)
        } else {
            json.to_owned()
        }
    }
}
