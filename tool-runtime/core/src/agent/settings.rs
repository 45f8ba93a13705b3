//! The settings of an agent.

use std::any::type_name;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::config::AgentConfig;
use super::window::Window;
use super::{Agent, AnswerValidator, Inbox, Limits, ModelHook, Steering};
use crate::dispatch::{Dispatch, Dispatcher, Policy};
use crate::drivers::Driver;
use crate::event::{Event, Observer, ToolExecution};
use crate::models::ChatOptions;
use crate::registry::{Registry, Selector};

impl Agent {
    /// Returns the configuration. It is copied first if a run or another agent shares it.
    fn config_mut(&mut self) -> &mut AgentConfig {
        Arc::make_mut(&mut self.config)
    }

    fn map_dispatcher(mut self, change: impl FnOnce(Dispatcher) -> Dispatcher) -> Self {
        let dispatcher = &mut self.config_mut().dispatcher;
        let placeholder = Dispatcher::new(Registry::new());
        *dispatcher = change(mem::replace(dispatcher, placeholder));
        self
    }

    /// Sets the name of the agent in events, reports and spans. It is not sent to the model.
    ///
    /// Default: none; a [sub-agent](Self::into_tool) has the name of its tool.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config_mut().name = Some(name.into());
        self
    }

    /// Sets the system message of new conversations. A conversation that starts with a system
    /// message keeps its own.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.config_mut().system = Some(text.into());
        self
    }

    /// Sets the options of model requests, such as the temperature.
    ///
    /// If the options require a tool call, every request requires it until the model has made the
    /// call: a reply without it is not taken as the answer, and the model is asked again within the
    /// limits of the run. Later requests require no call.
    /// [`ToolChoice::None`](crate::ToolChoice::None) applies to all requests. A call that the
    /// choice does not allow does not run; its result is `TOOL_DENIED`.
    #[must_use]
    pub fn options(mut self, options: ChatOptions) -> Self {
        self.config_mut().options = options;
        self
    }

    /// Sets the driver, which encodes tools into requests and decodes calls from replies.
    ///
    /// Default: [`Native`](crate::drivers::Native), the tool calls of the provider's API.
    #[must_use]
    pub fn driver(mut self, driver: impl Driver + 'static) -> Self {
        self.config_mut().driver = Arc::new(driver);
        self
    }

    /// Adds a hook that runs before and after each model request. Hooks run in the order in which
    /// they were added before a request, and in the reverse order after it. By default, a hook
    /// holds back each streamed reply until it has seen it: [`check`](Self::check) names those that
    /// do.
    #[must_use]
    pub fn model_hook<H: ModelHook + 'static>(mut self, hook: H) -> Self {
        let config = self.config_mut();
        config.hooks.push(Arc::new(hook));
        config.hook_types.push(type_name::<H>());
        self
    }

    /// Adds a validator that checks each answer before the run ends with it.
    ///
    /// If the validator rejects the answer, the model is asked again with its feedback. After
    /// [`max_answer_attempts`](Self::max_answer_attempts) rejections in a row the run stops with
    /// [`AnswerRejected`](crate::StopReason::AnswerRejected).
    #[must_use]
    #[doc(alias = "guardrail")]
    #[doc(alias = "output_validator")]
    pub fn answer_validator<V: AnswerValidator + 'static>(mut self, validator: V) -> Self {
        let config = self.config_mut();
        config.answer_validators.push(Arc::new(validator));
        config.validator_types.push(type_name::<V>());
        self
    }

    /// Sets the context window, which selects the messages that are sent to the model.
    ///
    /// Default: all messages are sent.
    #[must_use]
    pub fn window(mut self, window: Window) -> Self {
        self.config_mut().window = Some(window);
        self
    }

    /// Sets the steering handle, whose messages are delivered with the next model request. Tools
    /// find it as an [extension](Self::extension), addressed to their own session or run.
    ///
    /// If the agent serves several conversations at once, address the messages:
    /// [`Steering::for_session`], [`Steering::for_run`].
    #[must_use]
    pub fn steering(mut self, steering: &Steering) -> Self {
        self.config_mut().steering = Some(steering.clone());
        self.extension(steering.clone())
    }

    /// Sets the inbox, in which other processes put messages for the sessions that this agent runs.
    ///
    /// Each step of a run in a session reads it. Runs without a session have none. If the store
    /// can't be reached, the run continues without its messages, and emits
    /// [`RunEvent::InboxFailed`](crate::event::RunEvent::InboxFailed).
    #[must_use]
    pub fn inbox(mut self, inbox: &Inbox) -> Self {
        self.config_mut().inbox = Some(inbox.clone());
        self
    }

    /// Sets the policy: permissions, approvals, limits, retries, breakers, interceptors and
    /// secrets.
    ///
    /// Replaces every setting of an earlier policy and starts its counters anew. Default:
    /// [`Policy::new`].
    ///
    /// The agent has no separate methods for these settings: [`Policy::secrets`] redacts,
    /// [`Policy::approver`] sets the approver, [`Policy::rate_limits`] and [`Policy::concurrency`]
    /// set the limits of calls, and [`Policy::max_retries`] sets the retries. The limits of a run
    /// are [`limits`](Self::limits).
    ///
    /// ```
    /// use tool_runtime::dispatch::{AskLater, Concurrency};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, Tools};
    ///
    /// # let model = ScriptedModel::new([ChatReply::text("")]);
    /// let limits = Concurrency::default().max_calls(8);
    /// let policy = Policy::new().approver(AskLater).concurrency(limits);
    /// let agent = Agent::new(model, Tools::new()).policy(policy);
    /// # let _ = agent;
    /// ```
    #[must_use]
    #[doc(alias = "approver")]
    #[doc(alias = "permissions")]
    #[doc(alias = "rate_limits")]
    #[doc(alias = "redact")]
    #[doc(alias = "retries")]
    #[doc(alias = "secrets")]
    pub fn policy(self, policy: Policy) -> Self {
        self.map_dispatcher(|dispatcher| dispatcher.policy(policy))
    }

    /// Sets a [`Dispatch`] that runs the calls, for example in another process.
    ///
    /// The agent's [policy](Self::policy) is not applied to such calls: permissions, limits and
    /// retries are up to the remote side. The run emits when each call starts and finishes; events
    /// between these are emitted where the call runs. To leave calls open for approval, the remote
    /// side has to know the tools by the same [full names](crate::ToolDefinition::full_name).
    ///
    /// Default: the agent runs the calls itself.
    #[must_use]
    pub fn dispatch_with(mut self, remote: impl Dispatch + 'static) -> Self {
        self.config_mut().remote = Some(Arc::new(remote));
        self
    }

    /// Sets a token that cancels the agent's runs.
    ///
    /// In-flight calls are cancelled and answered as such, and the run stops with
    /// [`StopReason::Cancelled`](crate::StopReason::Cancelled). If the model has answered by then,
    /// the run returns the answer.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.config_mut().cancellation = Some(token);
        self
    }

    /// Sets the selector, which chooses the tools that are offered with each request.
    ///
    /// Default: all tools that are not [hidden](crate::ToolPreference::hidden).
    #[must_use]
    pub fn selector(mut self, selector: impl Selector + 'static) -> Self {
        self.config_mut().selector = Some(Arc::new(selector));
        self
    }

    /// Sets the number of model requests in one run. Default: 20.
    ///
    /// This is [`Limits::max_iterations`], which documents what counts. [`limits`](Self::limits)
    /// replaces it when called later.
    #[must_use]
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.config_mut().limits.max_iterations = iterations;
        self
    }

    /// Sets the limits of a run: iterations, tokens, cost and repeated calls.
    ///
    /// Replaces all of them, also an earlier [`max_iterations`](Self::max_iterations).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config_mut().limits = limits.clamp_finite();
        self
    }

    /// Sets the time limit of a run: the time for which it is in progress, from its first step.
    /// Default: none.
    ///
    /// When it passes, in-flight calls are cancelled and answered, and the run stops with
    /// [`StopReason::Timeout`](crate::StopReason::Timeout). The time before a run was
    /// [resumed](Self::resume) counts, and the time between does not: to continue a run that has
    /// reached its limit, resume it with an agent that has a longer one. To limit the calls of one
    /// reply without stopping the run, use [`Policy::batch_timeout`].
    ///
    /// A write to the store of a [session](Self::session) is awaited however long it takes: if it
    /// were cancelled, it would be unknown whether it was done. An answer that arrives in time is
    /// returned, even if saving it takes longer.
    #[must_use]
    pub fn run_timeout(mut self, timeout: Duration) -> Self {
        self.config_mut().run_timeout = Some(timeout);
        self
    }

    /// Sets the number of attempts to [extract](Self::extract) a valid value, or to give an answer
    /// that the [validators](Self::answer_validator) accept, at least 1. Default: 3.
    ///
    /// The requests for a value come on top of [`max_iterations`](Self::max_iterations). The limits
    /// on tokens and cost apply.
    #[must_use]
    pub fn max_answer_attempts(mut self, attempts: u32) -> Self {
        self.config_mut().max_answer_attempts = attempts.max(1);
        self
    }

    /// Adds a value that tools get by its type, with [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.map_dispatcher(|dispatcher| dispatcher.extension(value))
    }

    /// Adds a function that receives each execution as soon as it has its result, in the task of
    /// the call.
    #[must_use]
    pub fn on_tool_result(self, observer: impl Fn(&ToolExecution) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Some(execution) = event.execution() {
                observer(execution);
            }
        })
    }

    /// Records messages and definitions of tools on the spans of runs and requests, and arguments
    /// and results on the spans of calls, with their secrets redacted. Default: off.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_content(self, is_on: bool) -> Self {
        self.map_dispatcher(|dispatcher| dispatcher.trace_content(is_on))
    }

    /// Adds a function that receives every event of a run, with [secrets](Policy::secrets)
    /// redacted.
    ///
    /// It is called in the task in which the event happens, so it should return quickly. Use
    /// [`Background`](crate::event::Background) for slow work.
    #[must_use]
    pub fn on_event(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer(observer)
    }

    /// Adds an observer that receives every event of a run, such as a
    /// [`Recorder`](crate::event::Recorder) or [`JsonLines`](crate::event::JsonLines).
    #[must_use]
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.map_dispatcher(|dispatcher| dispatcher.observer(observer))
    }

    /// Returns the number of threads of `blocking` tools that are still at work after their call
    /// has its result. See [`Dispatcher::detached_threads`].
    pub fn detached_threads(&self) -> usize {
        self.config.dispatcher.detached_threads()
    }
}
