//! Replacements for the spans that do nothing.

use std::time::Duration;

use crate::agent::config::AgentConfig;
use crate::agent::{StopReason, Turn};
use crate::dispatch::Dispatcher;
use crate::message::FinishReason;
use crate::models::{ChatModel, ChatReply, ChatRequest};
use crate::span::Span;

/// Stands in for the span of a run.
pub(in crate::agent) struct RunSpan;

/// Stands in for the span of a model request.
pub(in crate::agent) struct RequestSpan;

impl RunSpan {
    pub(in crate::agent) fn new(_: &AgentConfig) -> Self {
        Self
    }

    pub(in crate::agent) fn span(&self) -> Span {
        Span
    }

    pub(in crate::agent) fn record_start(
        &mut self,
        _: &AgentConfig,
        _: &Dispatcher,
        _: &Turn,
        _: impl FnOnce() -> Option<String>,
    ) {
    }

    pub(in crate::agent) fn set_finish_reason(&mut self, _: FinishReason) {}

    pub(in crate::agent) fn record_end(&self, _: &Dispatcher, _: &Turn) {}
}

impl RequestSpan {
    pub(in crate::agent) fn new(_: &Dispatcher, _: &dyn ChatModel, _: Option<&str>) -> Self {
        Self
    }

    pub(in crate::agent) fn span(&self) -> Span {
        Span
    }

    pub(in crate::agent) fn record_request(&self, _: ChatRequest<'_>, _: bool) {}

    pub(in crate::agent) fn record_reply(&self, _: &ChatReply, _: Option<Duration>) {}

    pub(in crate::agent) fn record_failure(&self, _: &StopReason, _: Option<Duration>) {}
}
