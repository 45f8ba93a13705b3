//! The configuration of an agent, shared by the agent and its runs.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::hook::{ReplyChanges, reply_changes};
use super::window::Window;
use super::{AnswerValidator, Inbox, Limits, ModelHook, Prompt, RunState, Steering};
use crate::dispatch::{Dispatch, Dispatcher};
use crate::drivers::{Driver, Native};
use crate::guard::catch_panic;
use crate::models::{ChatModel, ChatOptions};
use crate::registry::{Registry, RegistryError, Selector};

/// The default number of attempts to extract a valid value or to give an accepted answer.
const DEFAULT_ANSWER_ATTEMPTS: u32 = 3;

/// Everything that is set on an [`Agent`](super::Agent). A run holds a reference-counted handle to
/// it.
#[derive(Clone)]
pub(super) struct AgentConfig {
    pub(super) name: Option<String>,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) registry: Result<Registry, RegistryError>,
    /// Holds the policy. Each run derives its own dispatcher from it.
    pub(super) dispatcher: Dispatcher,
    /// Runs the calls instead of the dispatcher, if set.
    pub(super) remote: Option<Arc<dyn Dispatch>>,
    /// Without a selector, all tools are offered that are not hidden.
    pub(super) selector: Option<Arc<dyn Selector>>,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) system: Option<String>,
    pub(super) options: ChatOptions,
    pub(super) driver: Arc<dyn Driver>,
    pub(super) hooks: Vec<Arc<dyn ModelHook>>,
    /// The types of the hooks, for the startup check.
    pub(super) hook_types: Vec<&'static str>,
    pub(super) answer_validators: Vec<Arc<dyn AnswerValidator>>,
    /// The types of the validators, for the startup check.
    pub(super) validator_types: Vec<&'static str>,
    pub(super) window: Option<Window>,
    pub(super) steering: Option<Steering>,
    pub(super) inbox: Option<Inbox>,
    pub(super) limits: Limits,
    pub(super) run_timeout: Option<Duration>,
    pub(super) max_answer_attempts: u32,
}

impl AgentConfig {
    /// The defaults for this model and these tools.
    pub(super) fn new(
        model: Arc<dyn ChatModel>,
        registry: Result<Registry, RegistryError>,
    ) -> Self {
        Self {
            name: None,
            model,
            registry,
            dispatcher: Dispatcher::new(Registry::new()),
            remote: None,
            selector: None,
            cancellation: None,
            system: None,
            options: ChatOptions::default(),
            driver: Arc::new(Native),
            hooks: Vec::new(),
            hook_types: Vec::new(),
            answer_validators: Vec::new(),
            validator_types: Vec::new(),
            window: None,
            steering: None,
            inbox: None,
            limits: Limits::default(),
            run_timeout: None,
            max_answer_attempts: DEFAULT_ANSWER_ATTEMPTS,
        }
    }

    /// Creates the state of a run that starts with this prompt.
    pub(super) fn first_state(&self, mut prompt: Prompt) -> RunState {
        let metadata = prompt.take_metadata();
        let turn = prompt.into_turn(self.system.as_deref()).with_limits(self.limits.clone());
        RunState::new(turn).with_metadata(metadata)
    }

    /// Whether replies are not streamed before the hooks, or the validators of the answer, have
    /// seen them.
    pub(super) fn holds_back_replies(&self) -> bool {
        self.holding_hooks().next().is_some() || self.holding_validators().next().is_some()
    }

    /// Returns the types of the hooks that hold back all replies until they are complete.
    pub(super) fn holding_hooks(&self) -> impl Iterator<Item = &'static str> {
        let hooks = self.hooks.iter().zip(&self.hook_types);
        hooks
            .filter(|(hook, _)| reply_changes(hook.as_ref()) == ReplyChanges::Whole)
            .map(|(_, hook_type)| *hook_type)
    }

    /// Returns the types of the validators that hold back answers until they are accepted.
    pub(super) fn holding_validators(&self) -> impl Iterator<Item = &'static str> {
        let validators = self.answer_validators.iter().zip(&self.validator_types);
        validators
            .filter(|(validator, _)| catch_panic(|| validator.holds_back_answers()).unwrap_or(true))
            .map(|(_, validator_type)| *validator_type)
    }

    /// Returns whether the agent has tools. Tools that can't be registered count: the run reports
    /// why.
    pub(super) fn has_tools(&self) -> bool {
        self.registry.as_ref().map_or(true, |tools| !tools.snapshot().all_definitions().is_empty())
    }
}
