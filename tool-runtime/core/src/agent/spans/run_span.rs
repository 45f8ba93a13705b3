//! The span of a run.

use std::cell::LazyCell;

use tracing::field::Empty;

use super::content::Content;
use super::request_span::{finish_reason_name, record_usage};
use super::settings::record_settings;
use crate::agent::Turn;
use crate::agent::config::AgentConfig;
use crate::dispatch::Dispatcher;
use crate::guard::catch_panic;
use crate::message::{FinishReason, Message, Usage};
use crate::span::{Span, TARGET, text_array};

/// The `invoke_agent` span of a run, or of the part of a run that this process has resumed.
pub(in crate::agent) struct RunSpan {
    span: Span,
    /// The usage of the run before this span.
    usage_before: Usage,
    /// The finish reason of the last reply.
    finish_reason: Option<FinishReason>,
}

impl RunSpan {
    /// Creates the span of a run of this agent.
    pub(in crate::agent) fn new(agent: &AgentConfig) -> Self {
        let name = agent.name.as_deref();
        let model = LazyCell::new(|| catch_panic(|| agent.model.info()).unwrap_or_default().name);
        let span = tracing::info_span!(
            target: TARGET,
            "invoke_agent",
            "otel.name" = name.map_or_else(
                || "invoke_agent".to_owned(),
                |name| format!("invoke_agent {name}"),
            ),
            "otel.kind" = "internal",
            "otel.status_code" = Empty,
            "gen_ai.operation.name" = "invoke_agent",
            "gen_ai.agent.name" = name,
            "gen_ai.request.model" = model.as_deref(),
            "gen_ai.conversation.id" = Empty,
            "gen_ai.output.type" = Empty,
            "gen_ai.request.choice.count" = Empty,
            "gen_ai.request.frequency_penalty" = Empty,
            "gen_ai.request.max_tokens" = Empty,
            "gen_ai.request.presence_penalty" = Empty,
            "gen_ai.request.seed" = Empty,
            "gen_ai.request.stop_sequences" = Empty,
            "gen_ai.request.temperature" = Empty,
            "gen_ai.request.top_p" = Empty,
            "gen_ai.response.finish_reasons" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.system_instructions" = Empty,
            "gen_ai.input.messages" = Empty,
            "gen_ai.output.messages" = Empty,
            "error.type" = Empty,
        );
        Self { span, usage_before: Usage::default(), finish_reason: None }
    }

    /// Returns the span, in which the steps of the run run.
    pub(in crate::agent) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records what is known before the first step.
    pub(in crate::agent) fn record_start(
        &mut self,
        agent: &AgentConfig,
        dispatcher: &Dispatcher,
        turn: &Turn,
        session: impl FnOnce() -> Option<String>,
    ) {
        if self.span.is_disabled() {
            return;
        }
        self.usage_before = turn.usage();
        if let Some(mut session) = session() {
            dispatcher.redact(&mut session);
            self.span.record("gen_ai.conversation.id", session);
        }
        record_settings(&self.span, &agent.options);
        if let Some(content) = Content::of(dispatcher) {
            content.record_input(&self.span, turn.transcript());
        }
    }

    /// Sets the finish reason of the last reply.
    pub(in crate::agent) fn set_finish_reason(&mut self, reason: FinishReason) {
        self.finish_reason = Some(reason);
    }

    /// Records what is known after the last step.
    pub(in crate::agent) fn record_end(&self, dispatcher: &Dispatcher, turn: &Turn) {
        if self.span.is_disabled() {
            return;
        }
        record_usage(&self.span, turn.usage().since(self.usage_before));
        let Some(reason) = self.finish_reason else { return };
        let reason = finish_reason_name(reason);
        self.span.record("gen_ai.response.finish_reasons", text_array([reason]));
        let last = turn.transcript().last();
        if let Some((content, Message::Assistant { parts, .. })) = Content::of(dispatcher).zip(last)
        {
            content.record_output(&self.span, parts, reason);
        }
    }
}
