//! The span of a model request.

use std::cell::LazyCell;
use std::time::Duration;

use tracing::field::Empty;

use super::content::Content;
use super::settings::record_settings;
use crate::agent::StopReason;
use crate::dispatch::Dispatcher;
use crate::guard::catch_panic;
use crate::message::{FinishReason, Usage};
use crate::models::{ChatModel, ChatReply, ChatRequest};
use crate::span::{Span, TARGET, text_array};

/// The `chat` span of a model request and of its repetitions by the driver.
pub(in crate::agent) struct RequestSpan {
    span: Span,
    content: Option<Content>,
}

impl RequestSpan {
    /// Creates the span of a request to this model.
    pub(in crate::agent) fn new(
        dispatcher: &Dispatcher,
        model: &dyn ChatModel,
        session: Option<&str>,
    ) -> Self {
        let info = LazyCell::new(|| catch_panic(|| model.info()).unwrap_or_default());
        let session = LazyCell::new(|| {
            let mut session = session?.to_owned();
            dispatcher.redact(&mut session);
            Some(session)
        });
        let span = tracing::info_span!(
            target: TARGET,
            "chat",
            "otel.name" = info
                .name
                .as_deref()
                .map_or_else(|| "chat".to_owned(), |name| format!("chat {name}")),
            "otel.kind" = "client",
            "otel.status_code" = Empty,
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = info.provider.as_deref(),
            "gen_ai.request.model" = info.name.as_deref(),
            "server.address" = info.server_address.as_deref(),
            "server.port" = info.server_port.map(i64::from),
            "gen_ai.conversation.id" = session.as_deref(),
            "gen_ai.output.type" = Empty,
            "gen_ai.request.choice.count" = Empty,
            "gen_ai.request.frequency_penalty" = Empty,
            "gen_ai.request.max_tokens" = Empty,
            "gen_ai.request.presence_penalty" = Empty,
            "gen_ai.request.previous_response.id" = Empty,
            "gen_ai.request.reasoning.level" = Empty,
            "gen_ai.request.seed" = Empty,
            "gen_ai.request.stop_sequences" = Empty,
            "gen_ai.request.stream" = Empty,
            "gen_ai.request.temperature" = Empty,
            "gen_ai.request.top_k" = Empty,
            "gen_ai.request.top_p" = Empty,
            "gen_ai.response.finish_reasons" = Empty,
            "gen_ai.response.id" = Empty,
            "gen_ai.response.model" = Empty,
            "gen_ai.response.time_to_first_chunk" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.cache_read.input_tokens" = Empty,
            "gen_ai.usage.cache_write.input_tokens" = Empty,
            "gen_ai.usage.audio.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.usage.reasoning.output_tokens" = Empty,
            "gen_ai.usage.audio.output_tokens" = Empty,
            "gen_ai.system_instructions" = Empty,
            "gen_ai.input.messages" = Empty,
            "gen_ai.output.messages" = Empty,
            "gen_ai.tool.definitions" = Empty,
            "error.type" = Empty,
        );
        let content = if span.is_disabled() { None } else { Content::of(dispatcher) };
        Self { span, content }
    }

    /// Returns the span, in which the request runs.
    pub(in crate::agent) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records the request as it is sent.
    pub(in crate::agent) fn record_request(&self, request: ChatRequest<'_>, is_streamed: bool) {
        if self.span.is_disabled() {
            return;
        }
        record_settings(&self.span, request.options);
        if is_streamed {
            self.span.record("gen_ai.request.stream", true);
        }
        if let Some(content) = &self.content {
            content.record_input(&self.span, request.messages);
            content.record_tools(&self.span, request.tools);
        }
    }

    /// Records the reply, and the time until its first piece arrived, if it was streamed.
    pub(in crate::agent) fn record_reply(&self, reply: &ChatReply, first_delta: Option<Duration>) {
        if self.span.is_disabled() {
            return;
        }
        let reason = finish_reason_name(reply.finish_reason);
        self.span.record("gen_ai.response.finish_reasons", text_array([reason]));
        self.span.record("gen_ai.response.id", reply.id.as_deref());
        self.span.record("gen_ai.response.model", reply.model.as_deref());
        self.record_first_delta(first_delta);
        if let Some(usage) = reply.usage {
            record_usage(&self.span, usage);
        }
        if let Some(content) = &self.content {
            content.record_output(&self.span, &reply.parts, reason);
        }
    }

    /// Records that the request has failed: of a failure, a finish reason is expected as well.
    pub(in crate::agent) fn record_failure(
        &self,
        reason: &StopReason,
        first_delta: Option<Duration>,
    ) {
        if reason.error_type().is_some() {
            self.span.record("gen_ai.response.finish_reasons", text_array(["error"]));
        }
        self.record_first_delta(first_delta);
    }

    fn record_first_delta(&self, first_delta: Option<Duration>) {
        let seconds = first_delta.map(|time| time.as_secs_f64());
        self.span.record("gen_ai.response.time_to_first_chunk", seconds);
    }
}

/// Records the tokens of a request or a run. Counts that are part of another are recorded if there
/// are such tokens.
pub(super) fn record_usage(span: &Span, usage: Usage) {
    if usage.is_zero() {
        return;
    }
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    span.record("gen_ai.usage.input_tokens", count(usage.input_tokens));
    span.record("gen_ai.usage.output_tokens", count(usage.output_tokens));
    for (name, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens),
        ("gen_ai.usage.cache_write.input_tokens", usage.cache_creation_tokens),
        ("gen_ai.usage.audio.input_tokens", usage.audio_input_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
        ("gen_ai.usage.audio.output_tokens", usage.audio_output_tokens),
    ] {
        if tokens > 0 {
            span.record(name, count(tokens));
        }
    }
}

/// Returns the name of a finish reason in the conventions.
pub(super) fn finish_reason_name(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_call",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        // Not in the conventions, which allow other values.
        FinishReason::Paused => "paused",
        FinishReason::Other => "other",
    }
}
