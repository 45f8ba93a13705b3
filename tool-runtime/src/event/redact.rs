//! An event on its way to those who watch: what is secret in it is taken out, field by field, so that
//! a field that is added is not forgotten.

use serde_json::Value;

use super::{
    EffectRecord, Event, EventKind, LogEvent, ModelEvent, Progress, RunEvent, ToolEvent,
    ToolExecution,
};
use crate::message::ToolResult;
use crate::secret::{HIDDEN, Redactor};

impl Redactor {
    pub(super) fn hide_in_event(&self, event: &mut Event) {
        match &mut event.kind {
            EventKind::Log(LogEvent::Lost { .. }) => {}
            EventKind::Run(RunEvent::Started { within: _, agent, session }) => {
                self.hide_in_some(agent);
                self.hide_in_some(session);
            }
            EventKind::Run(RunEvent::Said { by: _, source, text, images: _ }) => {
                self.hide_in_some(source);
                self.hide(text);
            }
            EventKind::Run(RunEvent::Finished { code: _, error, usage: _, cost: _, took: _ }) => {
                self.hide_in_some(error);
            }
            EventKind::Model(ModelEvent::Asked) => {}
            EventKind::Model(ModelEvent::SummaryFailed { reason }) => self.hide(reason),
            EventKind::Model(ModelEvent::Replied { text, reasoning, calls, usage: _, took: _ }) => {
                calls.iter_mut().for_each(|call| self.hide_in_call(call));
                self.hide(text);
                self.hide_in_some(reasoning);
            }
            EventKind::Model(
                ModelEvent::ExtractionFailed { text, reason, attempt: _ }
                | ModelEvent::ValidationFailed { text, reason, attempt: _ },
            ) => {
                self.hide(text);
                self.hide(reason);
            }
            EventKind::Tool(event) => self.hide_in_tool_event(event),
        }
    }

    fn hide_in_tool_event(&self, event: &mut ToolEvent) {
        match event {
            ToolEvent::Started { call } => self.hide_in_call(call),
            ToolEvent::Asked { call: _, tool, arguments } => {
                self.hide_in_arguments(tool, arguments);
                self.hide(tool);
            }
            ToolEvent::Approved { call: _, by } => self.hide(by),
            ToolEvent::Blocked { call: _, by: _, reason } => self.hide(reason),
            ToolEvent::Retried { call: _, attempt: _, error, text, pause: _ } => {
                self.hide(error);
                self.hide(text);
            }
            ToolEvent::Progress { call: _, progress } => {
                let Progress { done: _, total: _, message } = progress;
                self.hide_in_some(message);
            }
            ToolEvent::Cancelled { call: _ } => {}
            ToolEvent::Finished(execution) => self.hide_in_execution(execution),
        }
    }

    /// All of it: for those who watch.
    fn hide_in_execution(&self, execution: &mut ToolExecution) {
        self.hide_in_result(execution);
        let ToolExecution {
            call,
            changed,
            decoded,
            decided_by,
            // Hidden above.
            result: _,
            full_text: _,
            cause: _,
            effects: _,
            // No texts of anybody's.
            fixes: _,
            attempts: _,
            remembered: _,
            blocked_by: _,
            // A state that is handed on as it is, and told to nobody.
            suspended: _,
            left_running: _,
            started: _,
            took: _,
        } = execution;
        let ran = changed.as_deref().unwrap_or(call).name.clone();
        self.hide_in_call(call);
        if let Some(changed) = changed {
            self.hide_in_call(changed);
        }
        if let Some(json) = decoded {
            match serde_json::from_str::<Value>(json) {
                Ok(mut value) => {
                    self.hide_in_arguments(&ran, &mut value);
                    *json = value.to_string();
                }
                Err(_) => *json = Value::from(HIDDEN).to_string(),
            }
        }
        self.hide_in_some(decided_by);
    }

    /// What came of a call, but not the call: for the model and the program, which need that as it is.
    pub(crate) fn hide_in_result(&self, execution: &mut ToolExecution) {
        let ToolExecution { result, full_text, cause, effects, .. } = execution;
        let ToolResult { call: _, tool, text, images: _, error } = result;
        self.hide(tool);
        self.hide(text);
        self.hide_in_some(error);
        self.hide_in_some(full_text);
        self.hide_in_some(cause);
        effects.iter_mut().for_each(|effect| self.hide_in_effect(effect));
    }

    fn hide_in_effect(&self, effect: &mut EffectRecord) {
        match effect {
            EffectRecord::FileWritten { path } => self.hide(path),
            EffectRecord::ProcessStarted { command } => self.hide(command),
            EffectRecord::RequestSent { method, url } => {
                self.hide(method);
                self.hide(url);
            }
            EffectRecord::ToolsFound { names } => names.iter_mut().for_each(|name| self.hide(name)),
            EffectRecord::StopRequested { reason } => self.hide(reason),
            EffectRecord::TokensSpent { usage: _, cost: _ } => {}
            EffectRecord::Other { name, data } => {
                self.hide(name);
                self.hide_in(data);
            }
        }
    }

    fn hide_in_some(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.hide(text);
        }
    }
}
