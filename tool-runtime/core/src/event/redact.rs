//! Redacts the secrets in an event.
//!
//! Every field is named, so that a new field does not compile until this file covers it.

use super::{
    Attachment, CalledTool, EffectRecord, Event, EventKind, FileChange, FileOp, LogEvent,
    ModelEvent, NetworkRequest, ProcessEnd, ProcessStart, Progress, ProtocolError, Review,
    RunChanges, RunEvent, ToolEvent, ToolExecution, UnmatchedRule,
};
use crate::message::{
    Audio, ContentPart, EmbeddedResource, FileData, Image, ResourceData, ResourceLink, Source,
    ToolKind, ToolResult,
};
use crate::secret::Redactor;

impl Redactor {
    /// Redacts all texts of an event, for observers.
    pub(super) fn redact_event(&self, event: &mut Event) {
        match &mut event.kind {
            EventKind::Log(LogEvent::Dropped { .. }) | EventKind::Run(RunEvent::StateEvicted) => {}
            EventKind::Run(
                RunEvent::LeaseRenewalFailed { session, error }
                | RunEvent::LeaseReleaseFailed { session, error }
                | RunEvent::InboxFailed { session, error },
            ) => {
                self.redact(session);
                self.redact(error);
            }
            EventKind::Run(RunEvent::Started { parent_run: _, agent, session, metadata }) => {
                self.redact_option(agent);
                self.redact_option(session);
                self.redact_map(metadata);
            }
            EventKind::Run(RunEvent::MessageAdded {
                source: _,
                source_name,
                message: _,
                text,
                attachments,
            }) => {
                self.redact_attachments(attachments);
                self.redact_option(source_name);
                self.redact(text);
            }
            EventKind::Run(RunEvent::RuleUnmatched(UnmatchedRule {
                setting: _,
                target: _,
                name,
                nearest,
            })) => {
                self.redact(name);
                self.redact_option(nearest);
            }
            EventKind::Run(RunEvent::Finished {
                code: _,
                error,
                usage: _,
                // Names of models are no secrets, as in `model.replied`.
                usage_by_model: _,
                cost: _,
                duration: _,
            }) => {
                self.redact_option(error);
            }
            EventKind::Model(ModelEvent::Requested { message: _ }) => {}
            EventKind::Model(
                ModelEvent::SummaryFailed { reason }
                | ModelEvent::HookWarning { reason }
                | ModelEvent::ClientWarning { reason },
            ) => self.redact(reason),
            EventKind::Model(ModelEvent::Replied {
                message: _,
                text,
                reasoning,
                calls,
                sources,
                attachments,
                provider: _,
                model: _,
                requested_model: _,
                server_address: _,
                server_port: _,
                finish_reason: _,
                usage: _,
                context_tokens: _,
                first_delta: _,
                duration: _,
            }) => {
                calls.iter_mut().for_each(|call| self.redact_call(call));
                let before = (!sources.is_empty()).then(|| text.clone());
                self.redact(text);
                self.redact_attachments(attachments);
                for source in sources {
                    self.redact_source(source);
                    if before.as_ref().is_some_and(|before| before != text) {
                        source.range = None;
                    }
                }
                self.redact_option(reasoning);
            }
            EventKind::Model(ModelEvent::Failed {
                code: _,
                error,
                text,
                provider: _,
                model: _,
                server_address: _,
                server_port: _,
                usage: _,
                duration: _,
            }) => {
                self.redact(error);
                self.redact(text);
            }
            EventKind::Model(ModelEvent::ReplyReplaced { text }) => self.redact(text),
            EventKind::Model(
                ModelEvent::ExtractionFailed { text, reason, attempt: _ }
                | ModelEvent::ValidationFailed { text, reason, attempt: _ },
            ) => {
                self.redact(text);
                self.redact(reason);
            }
            EventKind::Tool(event) => self.redact_tool_event(event),
        }
    }

    fn redact_tool_event(&self, event: &mut ToolEvent) {
        match event {
            ToolEvent::Started { call, tool } => {
                self.redact_call(call);
                if let Some(CalledTool { title, effect: _, kind, provider: _ }) =
                    tool.as_deref_mut()
                {
                    self.redact_option(title);
                    self.redact_kind(kind);
                }
            }
            ToolEvent::ApprovalRequested {
                call: _,
                tool,
                arguments,
                title,
                expires_at: _,
                void_decision,
                preview,
            } => {
                self.redact_option(title);
                *arguments = self.redact_json(tool, arguments);
                self.redact_option(void_decision);
                self.redact_option(preview);
                self.redact(tool);
            }
            ToolEvent::Approved { call: _, approved_by } => self.redact(approved_by),
            ToolEvent::Blocked { call: _, blocked_by: _, reason } => self.redact(reason),
            ToolEvent::Retried { call: _, attempt: _, error, text, delay: _ } => {
                self.redact(error);
                self.redact(text);
            }
            ToolEvent::Progress { call: _, progress } => {
                let Progress { done: _, total: _, message } = progress;
                self.redact_option(message);
            }
            ToolEvent::QuestionAsked { call: _, tool, question, answer_schema } => {
                self.redact(tool);
                self.redact(question);
                if let Some(schema) = answer_schema {
                    self.redact_value(schema);
                }
            }
            ToolEvent::OutputEmitted { call: _, text } => self.redact(text),
            ToolEvent::Abandoned { call: _, tool, error } => {
                self.redact(tool);
                self.redact_option(error);
            }
            ToolEvent::DataEmitted { call: _, name, data } => {
                self.redact(name);
                self.redact_value(data);
            }
            ToolEvent::Running { call: _, attempt: _ } | ToolEvent::Cancelled { call: _ } => {}
            ToolEvent::Finished(execution) => self.redact_execution(execution),
        }
    }

    /// Redacts an execution completely, for observers.
    fn redact_execution(&self, execution: &mut ToolExecution) {
        self.redact_result(execution);
        let ToolExecution {
            call,
            modified_call,
            decoded_arguments,
            review,
            run_changes,
            tool_kind,
            // Redacted above.
            result: _,
            full_text: _,
            cause: _,
            protocol_error: _,
            effects: _,
            // These hold no text.
            fixes: _,
            attempts: _,
            cached: _,
            blocked_by: _,
            has_detached_thread: _,
            started_at: _,
            duration: _,
        } = execution;
        let called_name = modified_call.as_deref().unwrap_or(call).name.clone();
        self.redact_call(call);
        if let Some(modified) = modified_call {
            self.redact_call(modified);
        }
        if let Some(json) = decoded_arguments {
            *json = self.redact_json(&called_name, json);
        }
        if let Some(review) = review {
            let Review { decided_by, answered_by, void_decision, preview, .. } = &mut **review;
            self.redact_option(decided_by);
            self.redact_option(answered_by);
            self.redact_option(void_decision);
            self.redact_option(preview);
        }
        if let Some(RunChanges { metadata, stop }) = run_changes.as_deref_mut() {
            self.redact_map(metadata);
            self.redact_option(stop);
        }
        if let Some(kind) = tool_kind {
            self.redact_kind(kind);
        }
    }

    fn redact_kind(&self, kind: &mut ToolKind) {
        match kind {
            ToolKind::Function => {}
            ToolKind::Program(text) | ToolKind::Remote(text) | ToolKind::Dynamic(text) => {
                self.redact(text);
            }
        }
    }

    /// Redacts the result of a call but not the call itself, for the model and the program: the
    /// provider expects the call back unchanged.
    pub(crate) fn redact_result(&self, execution: &mut ToolExecution) {
        let ToolExecution { result, full_text, cause, review, protocol_error, effects, .. } =
            execution;
        let ToolResult { call: _, tool, text, parts, structured, error } = result;
        self.redact(tool);
        self.redact(text);
        self.redact_option(error);
        self.redact_option(full_text);
        self.redact_option(cause);
        parts.iter_mut().for_each(|part| self.redact_part(part));
        if let Some(structured) = structured {
            self.redact_value(structured);
        }
        if let Some(ProtocolError { code: _, data }) = protocol_error.as_deref_mut() {
            self.redact_value(data);
        }
        if let Some(review) = review {
            // Observers never receive the state of a tool, and the other texts are redacted for
            // them alone.
            let Review {
                question,
                answer_schema,
                decided_by: _,
                answered_by: _,
                void_decision: _,
                preview: _,
                suspended_state: _,
                resumptions: _,
            } = &mut **review;
            self.redact_option(question);
            if let Some(schema) = answer_schema {
                self.redact_value(schema);
            }
        }
        effects.iter_mut().for_each(|effect| self.redact_effect(effect));
    }

    /// Redacts the texts of a part. The data of images, audio and files is not searched.
    fn redact_part(&self, part: &mut ContentPart) {
        match part {
            ContentPart::Text { text } => self.redact(text),
            ContentPart::Image(Image { media_type: _, base64: _ }) => {}
            ContentPart::Audio(Audio { media_type: _, base64: _ }) => {}
            ContentPart::File(FileData { name, media_type: _, base64: _ }) => {
                self.redact_option(name);
            }
            ContentPart::Link(ResourceLink { uri, name, description, media_type: _, size: _ }) => {
                self.redact(uri);
                self.redact(name);
                self.redact_option(description);
            }
            ContentPart::Resource(EmbeddedResource { uri, media_type: _, data }) => {
                self.redact(uri);
                match data {
                    ResourceData::Text(text) => self.redact(text),
                    ResourceData::Base64(_) => {}
                }
            }
        }
    }

    fn redact_effect(&self, effect: &mut EffectRecord) {
        match effect {
            EffectRecord::FileChanged(change) => {
                let FileChange { path, op, bytes_before: _, bytes_after: _, digest, diff } = change;
                self.redact(path);
                if let FileOp::Rename { to } = op {
                    self.redact(to);
                }
                self.redact_option(digest);
                self.redact_option(diff);
            }
            EffectRecord::ProcessStarted(ProcessStart { command, pid: _, background: _ }) => {
                self.redact(command);
            }
            EffectRecord::ProcessEnded(ProcessEnd { pid: _, code: _, signal: _ }) => {}
            EffectRecord::RequestSent(NetworkRequest { method, url, status: _ }) => {
                self.redact(method);
                self.redact(url);
            }
            EffectRecord::ToolsFound { names } => {
                names.iter_mut().for_each(|name| self.redact(name))
            }
            EffectRecord::StopRequested { reason } => self.redact(reason),
            EffectRecord::TokensSpent { usage: _, cost: _, model: _ } => {}
            EffectRecord::Other { name, data } => {
                self.redact(name);
                self.redact_value(data);
            }
        }
    }

    fn redact_attachments(&self, attachments: &mut [Attachment]) {
        for Attachment { name, media_type: _, byte_len: _ } in attachments {
            self.redact_option(name);
        }
    }

    pub(crate) fn redact_source(&self, source: &mut Source) {
        let Source { url, title, media_type, file_name, file_id, location, quote, range: _ } =
            source;
        for text in [url, title, media_type, file_name, file_id, location, quote] {
            self.redact_option(text);
        }
    }

    fn redact_option(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.redact(text);
        }
    }
}
