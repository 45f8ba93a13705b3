//! The options of a client that do not depend on its transport.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Root;
use tool_core::agent::Steering;

use super::events::EventHook;
use super::limits::{ListLimits, ResultLimits};
use super::pins::PinStore;
use super::trust::{Trust, TrustPolicy};
use crate::LogLevel;
use crate::client::calls::metadata::CallMetaHook;
use crate::client::calls::trace_context::TraceContextHook;
use crate::client::questions::elicitation::ElicitationHandler;
use crate::client::questions::sampling::Sampling;

/// The settings of a client that do not depend on its transport.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) send_timeout: Duration,
    pub(super) max_message_bytes: usize,
    pub(super) lists: ListLimits,
    pub(super) results: ResultLimits,
    pub(super) trust: TrustPolicy,
    pub(super) pins: Option<Arc<dyn PinStore>>,
    pub(super) approves_new_tools: bool,
    pub(super) elicitation: Option<Arc<dyn ElicitationHandler>>,
    pub(super) sampling: Option<Sampling>,
    /// `None` if the client does not declare the capability.
    pub(super) roots: Option<Vec<Root>>,
    pub(super) log_level: Option<LogLevel>,
    pub(super) steering: Option<Steering>,
    pub(super) events: EventHook,
    pub(super) call_meta: CallMetaHook,
    pub(super) trace_context: TraceContextHook,
    pub(super) offers_resources: bool,
    pub(super) offers_prompts: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(120),
            send_timeout: Duration::from_secs(10),
            max_message_bytes: 16 << 20,
            lists: ListLimits::default(),
            results: ResultLimits::default(),
            trust: TrustPolicy { server: Trust::new(), tools: HashMap::new() },
            pins: None,
            approves_new_tools: false,
            elicitation: None,
            sampling: None,
            roots: None,
            log_level: None,
            steering: None,
            events: EventHook::default(),
            call_meta: CallMetaHook::default(),
            trace_context: TraceContextHook::default(),
            offers_resources: false,
            offers_prompts: false,
        }
    }
}
