//! The loop: ask the model, run what it calls, tell it what came of it, until it answers.
//!
//! [`Turn`] decides, `run` does; nothing here knows how a call is run or how a provider is asked.

mod ask;
mod budget;
mod choice;
mod config;
mod deadline;
mod effects;
mod ending;
mod extract;
mod hook;
mod keep;
mod limits;
mod offered;
mod outcome;
mod paused;
mod prompt;
mod run;
pub mod session;
mod state;
mod steering;
mod stream;
mod subagent;
mod turn;
pub mod window;

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use extract::{Extract, Extracted};
pub use hook::ModelHook;
pub use limits::{Limits, Prices};
pub use offered::OfferedTools;
pub use outcome::{Answer, StopReason, Stopped};
pub use paused::{NotPending, Paused, PendingCall};
pub use prompt::Prompt;
pub use run::{CompletedStep, Run};
pub use state::RunState;
pub use steering::Steering;
pub use stream::{RunStream, StreamItem};
pub use subagent::SubAgent;
pub use turn::{InvalidTransition, Outcome, Step, StopRequest, Turn};

use self::config::AgentConfig;
use self::window::Window;
use crate::dispatch::{Dispatch, Dispatcher, Policy};
use crate::drivers::Driver;
use crate::event::{Event, Observer, ToolExecution};
use crate::models::{ChatModel, ChatOptions};
use crate::registry::{IntoRegistry, Registry, Selector};

/// A model with tools.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Tells how warm it is.
/// #[tool(effect = "read")]
/// async fn temperature(
///     /// City name.
///     city: String,
/// ) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new([
///     ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
///     ChatReply::text("Take a coat."),
/// ]);
/// let agent = Agent::new(model, tools![temperature]).system("Be brief.");
///
/// let answer = agent.run("What should I wear in Oslo?").await?;
/// assert_eq!(answer.to_string(), "Take a coat.");
/// assert_eq!(answer.transcript.len(), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    /// Shared with the agent's runs, which are thereby owned and cheap to start.
    config: Arc<AgentConfig>,
}

impl Agent {
    /// An agent of this model and these tools: a list by [`tools!`](crate::tools), or a
    /// [`Registry`] that the program goes on changing.
    ///
    /// Tools that can't be registered are reported by [`run`](Self::run).
    pub fn new(model: impl ChatModel + 'static, tools: impl IntoRegistry) -> Self {
        Self { config: Arc::new(AgentConfig::new(Arc::new(model), tools.into_registry())) }
    }

    /// The configuration, copied first if a run or another agent shares it.
    fn config_mut(&mut self) -> &mut AgentConfig {
        Arc::make_mut(&mut self.config)
    }

    /// Says what it is called where its runs are told of: in events, in reports and on spans. The model never hears of
    /// it. An agent that is made a tool has the tool's name, unless set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config_mut().name = Some(name.into());
        self
    }

    /// Gives the model standing orders. A conversation that brings its own keeps them.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.config_mut().system = Some(text.into());
        self
    }

    /// Says how the model is to answer. Where it has to call a tool, that goes for its first reply of a
    /// run: it could never end otherwise.
    #[must_use]
    pub fn options(mut self, options: ChatOptions) -> Self {
        self.config_mut().options = options;
        self
    }

    /// Says how calls travel in what the model says; [`Native`](crate::drivers::Native) unless set.
    #[must_use]
    pub fn driver(mut self, driver: impl Driver + 'static) -> Self {
        self.config_mut().driver = Arc::new(driver);
        self
    }

    /// Has this see what the model is asked and what it replies; behind those added before.
    #[must_use]
    pub fn model_hook(mut self, hook: impl ModelHook + 'static) -> Self {
        self.config_mut().hooks.push(Arc::new(hook));
        self
    }

    /// Shows the model so much of a long conversation; all of it unless set.
    #[must_use]
    pub fn window(mut self, window: Window) -> Self {
        self.config_mut().window = Some(window);
        self
    }

    /// Has the model told of what is put in here while a run goes on. Tools find it as well.
    ///
    /// Whichever of the agent's runs asks next is told: an agent that serves several conversations at once takes one
    /// for each, by `agent.clone().steering(&own)`.
    #[must_use]
    pub fn steering(mut self, steering: &Steering) -> Self {
        self.config_mut().steering = Some(steering.clone());
        self.extension(steering.clone())
    }

    /// Sets the policy: permissions, approvals, limits, retries, breakers, interceptors and secrets.
    ///
    /// Replaces every setting of an earlier policy and starts its counters anew. Default:
    /// [`Policy::new`].
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.under(|dispatcher| dispatcher.policy(policy))
    }

    /// Has calls run by this rather than in this process. It is told nothing of permissions, limits
    /// and the rest, which are its own affair then. Those who watch the agent are told when each call
    /// starts and what became of it; what lies between is told where it runs.
    /// Whoever leaves calls open there for approval has to know tools by the same
    /// [full names](crate::ToolDefinition::full_name).
    #[must_use]
    pub fn dispatch(mut self, elsewhere: impl Dispatch + 'static) -> Self {
        self.config_mut().elsewhere = Some(Arc::new(elsewhere));
        self
    }

    /// Stops its runs when this is cancelled: calls that run are stopped and answered as cancelled,
    /// and the run ends with [`StopReason::Cancelled`]. Where the model has answered by then, that is the answer.
    #[must_use]
    pub fn stop_on(mut self, stop: CancellationToken) -> Self {
        self.config_mut().stop = Some(stop);
        self
    }

    fn under(mut self, change: impl FnOnce(Dispatcher) -> Dispatcher) -> Self {
        let dispatcher = &mut self.config_mut().dispatcher;
        let bare = Dispatcher::new(Registry::new());
        *dispatcher = change(mem::replace(dispatcher, bare));
        self
    }

    /// Has this decide which tools the model is offered on each turn; all of them unless set.
    #[must_use]
    pub fn selector(mut self, selector: impl Selector + 'static) -> Self {
        self.config_mut().selector = Arc::new(selector);
        self
    }

    /// How often the model may be asked in one run; 20 unless set. Short for
    /// [`Limits::iterations`], which says what counts: [`limits`](Self::limits) set behind it takes its place.
    #[must_use]
    pub fn max_iterations(mut self, times: u32) -> Self {
        self.config_mut().limits.iterations = times;
        self
    }

    /// How far a run may go: iterations, tokens, money, calls that repeat themselves. All of them are set: what
    /// [`max_iterations`](Self::max_iterations) said before goes, and what it says behind this changes that alone.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config_mut().limits = limits.clamp_finite();
        self
    }

    /// How long a run may take, from its first step on. Calls that are under way by then are stopped and answered, and
    /// the run ends with [`StopReason::TimeLimit`]. A run that is [gone on with](Self::resume) has as long again: who
    /// waits for it now didn't wait before. [`Policy::batch_deadline`] limits the calls of one reply, and the run goes
    /// on. A write to the store of a [session](Self::session) is waited for however long it takes: stopped midway, nobody
    /// would know whether it was done. What was answered in time is an answer, also where it is kept later than that.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.config_mut().time_limit = Some(limit);
        self
    }

    /// How often the model is asked for a value by [`extract`](Self::extract), until what it gives is one; 3 unless
    /// set, and at least once. They come on top of what [`max_iterations`](Self::max_iterations) allows, and tokens and
    /// money limit them as well.
    #[must_use]
    pub fn extract_attempts(mut self, times: u32) -> Self {
        self.config_mut().extract_attempts = times.max(1);
        self
    }

    /// Gives tools a value to use, which they find by its type in
    /// [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.under(|terms| terms.extension(value))
    }

    /// Tells `observer` of each call as soon as it has its result, in the call's own task.
    #[must_use]
    pub fn on_tool_result(self, observer: impl Fn(&ToolExecution) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Some(execution) = event.finished() {
                observer(execution);
            }
        })
    }

    /// Puts arguments and results on the spans of calls, without what is secret in them.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_content(self, is_on: bool) -> Self {
        self.under(|terms| terms.trace_content(is_on))
    }

    /// Tells `observer` of everything that happens in a run: the tap on the wire. Only what is
    /// [secret](Policy::secrets) is left out.
    ///
    /// It is told in the task in which things happen, so it should be quick;
    /// [`Background`](crate::event::Background) is for what isn't.
    #[must_use]
    pub fn on_event(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer(observer)
    }

    /// Tells this observer of everything that happens in a run, such as a
    /// [`Recorder`](crate::event::Recorder) or a [`JsonLines`](crate::event::JsonLines).
    #[must_use]
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.under(|terms| terms.observer(observer))
    }

    /// How many threads of `blocking` tools are at work whose calls have their results; see
    /// [`Dispatcher::left_running`].
    pub fn left_running(&self) -> usize {
        self.config.dispatcher.detached_threads()
    }

    /// Runs until the model answers in words alone.
    ///
    /// A conversation that is gone on with is mended where a provider would refuse it: see
    /// [`Turn::new`]. Calls at its very end are run first.
    ///
    /// Dropping the future stops the run and whatever it has going.
    ///
    /// # Errors
    /// [`Stopped`] says what ended the run without an answer, and carries the conversation.
    ///
    /// # Panics
    /// Outside a tokio runtime, once tools are called, or chosen by a selector that
    /// [takes its time](Selector::blocking).
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        self.start(prompt).finish().await
    }

    /// Starts a run and streams its text, calls and events as they happen.
    ///
    /// The stream owns the run: it is `'static` and `Send`, and it outlives the agent. The run advances only while
    /// the stream is polled. Dropping the stream cancels the run and all in-flight calls.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> RunStream {
        self.start(prompt).stream()
    }

    /// Starts a run that you drive: [step by step](Run::next), to its [answer](Run::finish), as a
    /// [stream](Run::stream), or to a [value](Run::extract).
    ///
    /// The run is owned: it is `'static` and `Send`, and it outlives the agent. Nothing happens until you poll it.
    pub fn start(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(Arc::clone(&self.config), RunState::new(self.config.turn(prompt.into())))
    }

    /// Resumes a run from its saved [state](Run::state), in this process or in another; or a [paused](Paused) run
    /// after its pending calls were [decided](Paused::decide).
    ///
    /// Calls that may have been in flight when the state was saved are made again if their tool is idempotent or
    /// read-only. Others are answered with `TOOL_INDETERMINATE`. A decision holds for the arguments for which it was
    /// made; calls without a decision are submitted for approval again. A sub-agent resumes where it paused. Calls
    /// that have their result are not run again.
    ///
    /// Resuming is not exclusive. If the same state is resumed twice, the remaining calls run twice, each under the
    /// same [`idempotency_key`](crate::ToolContext::idempotency_key). To prevent that, remove the state from its
    /// storage as you resume it, in one transaction; or run in a [session](Self::session), which
    /// [refuses](session::Session::resume) the write of the run that comes second.
    ///
    /// The [limits](Self::limits) of this agent and of its sub-agents apply, whatever applied before; the usage so far
    /// counts. The [time limit](Self::time_limit) starts anew. A state that was damaged in storage is repaired, as the
    /// transcript of a [`Prompt`] is.
    ///
    /// A run of a [session](Self::session) has to be resumed there: here it stops with [`StopReason::InSession`].
    pub fn resume(&self, state: impl Into<RunState>) -> Run {
        Run::new(Arc::clone(&self.config), state.into().resumed(&self.config.limits))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let mut system = config.system.clone();
        if let Some(system) = &mut system {
            config.dispatcher.hide(system);
        }
        f.debug_struct("Agent")
            .field("name", &config.name)
            .field("registry", &config.registry)
            .field("system", &system)
            .field("driver", &config.driver)
            .field("limits", &config.limits)
            .finish_non_exhaustive()
    }
}
