//! Drives a [`Turn`] with a model and a dispatcher, one step at a time.
//!
//! A step runs in this order:
//!
//! 1. `steps.rs`: the run checks that it may continue and asks the turn what to do.
//! 2. `request.rs`: if a reply is due, it is requested from the model, and an answer is validated
//!    (`validate.rs`); or
//! 3. `calls.rs`: if calls are open, the dispatcher runs them (`remote.rs`: a
//!    [`Dispatch`](crate::dispatch::Dispatch) of the program). `early_results.rs` saves results
//!    while other calls are in flight.
//! 4. `session.rs` saves the state, if the run belongs to a session.
//! 5. `events.rs` emits the events of the run as a whole; `abandoned.rs` those of a run that this
//!    one replaces.
//!
//! # Invariants
//! - A run of a session saves its state before it starts a call and after each step. If a write
//!   fails, the run stops.
//! - The calls of a step that was dropped are answered before the next step.
//! - The end of a run is emitted exactly once, even if the run is dropped.

mod abandoned;
mod calls;
mod early_results;
mod events;
mod inbox;
mod remote;
mod reply_deltas;
mod request;
mod required_call;
mod session;
mod steps;
mod validate;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub(super) use abandoned::AbandonedRun;
pub(super) use session::RunSession;
pub(super) use steps::failure_code;

use super::config::AgentConfig;
use super::state::RunState;
use super::steering::RunInProgress;
use super::{Answer, StopReason, Stopped, Turn};
use crate::agent::outcome::answer::stopped_at;
use crate::dispatch::Dispatcher;
use crate::event::{Observer, Origin, RunId, ToolExecution, micros};
use crate::message::{CallId, Message};
use crate::tool::{CallWork, RunInfo, UsageMeter};
use events::RunEvents;
use request::RequestState;

/// A run of an agent that you drive, step by step or to its end.
///
/// [`Agent::start`](crate::Agent::start) and [`Agent::resume`](crate::Agent::resume) return it, and
/// so do [`Session::start`](super::session::Session::start) and
/// [`Session::resume`](super::session::Session::resume). A run owns all that it needs: it is
/// `'static` and `Send`. Nothing happens until you call one of these methods:
///
/// | method | runs | returns |
/// |---|---|---|
/// | [`next`](Self::next) | one step | what was completed |
/// | [`finish`](Self::finish) | to the end | the [`Answer`] |
/// | [`stream`](Self::stream) | as far as it is polled | text, calls and events as they happen |
/// | [`extract`](Self::extract) | to the end | the answer as a value |
/// | [`extract_stream`](Self::extract_stream) | as far as it is polled | both |
///
/// Between two steps you can look at the [turn](Self::turn), [change](Self::turn_mut) it, or save
/// the [state](Self::state).
///
/// # Cancellation
/// Dropping a run, or a future of it, cancels all in-flight calls. After a future of
/// [`next`](Self::next) was dropped, the run can still be driven: its in-flight calls are made
/// again if their tool is idempotent or read-only. Otherwise their result is `TOOL_INDETERMINATE`.
/// Calls that had ended keep their result.
///
/// ```
/// use tool_runtime::agent::CompletedStep;
/// use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, tool, tools};
///
/// /// Rolls the dice.
/// #[tool(effect = "none")]
/// async fn roll() -> u8 {
///     4
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("roll", "{}"),
/// #     ChatReply::text("Six!"),
/// # ]);
/// let agent = Agent::new(model, tools![roll]);
/// let mut run = agent.start("Roll the dice.");
/// while let Some(step) = run.next().await {
///     if let CompletedStep::Called(executions) = step {
///         assert_eq!(executions[0].result.text, "4");
///         run.turn_mut().edit(|messages| {
///             if let Some(Message::Tool { results }) = messages.last_mut() {
///                 results[0].text = "6".into();
///             }
///         });
///     }
/// }
/// assert_eq!(run.finish().await?.to_string(), "Six!");
/// # Ok(())
/// # }
/// ```
pub struct Run {
    pub(super) agent: Arc<AgentConfig>,
    dispatcher: Dispatcher,
    pub(super) state: RunState,
    pub(super) requests: RequestState,
    /// The usage of calls without a result. If a step is dropped, they never get one.
    meter: UsageMeter,
    /// The call that this run is nested in, if it is.
    caller: Option<Arc<CallWork>>,
    events: RunEvents,
    pub(super) session: RunSession,
    /// When the run started, from which its time limit counts. `None` until its first step.
    started: Option<Instant>,
    /// The time for which the run was in progress before this process took it over.
    active_before: Duration,
    ended: Option<Result<(), StopReason>>,
}

/// A step that a run has completed.
///
/// ```
/// use tool_runtime::agent::CompletedStep;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
/// let mut run = agent.start("Hello");
/// assert!(matches!(run.next().await, Some(CompletedStep::Replied)));
/// assert!(run.next().await.is_none());
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CompletedStep {
    /// The model replied to a request. The reply is the last message, followed by the results of
    /// calls that may not run.
    Replied,
    /// The calls of the last reply were run. Their results are the last message.
    Called(Vec<ToolExecution>),
    /// Messages of a [`Steering`](super::Steering) handle were added.
    Steered,
}

impl Run {
    pub(super) fn new(agent: Arc<AgentConfig>, state: RunState) -> Self {
        let registry = agent.registry.clone().unwrap_or_default();
        let dispatcher = agent.dispatcher.for_run(registry, state.run, state.approved.clone());
        let events = RunEvents::new(state.run, &agent);
        let steering = agent.steering.as_ref();
        let active_before = state.turn.active_time();
        let in_progress = steering.map(|steering| RunInProgress::new(steering, state.run));
        Self {
            agent,
            dispatcher,
            state,
            requests: RequestState { _in_progress: in_progress, ..RequestState::default() },
            meter: UsageMeter::default(),
            caller: None,
            events,
            session: RunSession::default(),
            started: None,
            active_before,
            ended: None,
        }
    }

    /// Saves each step to this session.
    pub(super) fn in_session(mut self, session: RunSession) -> Self {
        self.session = session;
        self
    }

    /// Adds an observer of this run.
    pub(super) fn with_observer(mut self, observer: impl Observer + 'static) -> Self {
        self.dispatcher.add_observer(observer);
        self
    }

    /// Sets the call that this run works for, whose end is the end of its own calls.
    pub(super) fn called_by(mut self, caller: Arc<CallWork>) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Nests this run in a call of another.
    pub(super) fn nested_in(mut self, outer: &Origin, call: &CallId) -> Self {
        self.events.nest(outer, call);
        self
    }

    /// Returns the id of the run, which stays the same when the run is resumed.
    pub fn id(&self) -> RunId {
        self.state.run
    }

    /// Returns the turn: the transcript, what comes next, and the usage so far.
    pub fn turn(&self) -> &Turn {
        &self.state.turn
    }

    /// Returns the turn, to change it before the next step.
    pub fn turn_mut(&mut self) -> &mut Turn {
        self.state.turn.add_metered(self.meter.take());
        self.session.rewrite_from(0);
        &mut self.state.turn
    }

    /// Returns the run as plain data, to save it and [resume](crate::Agent::resume) it later.
    ///
    /// The state of a run in a session is for inspection only: the session
    /// [resumes](super::session::Session::resume) such a run.
    ///
    /// ```
    /// use tool_runtime::agent::RunState;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
    ///
    /// /// Rolls the dice.
    /// #[tool(effect = "none")]
    /// async fn roll() -> u8 {
    ///     4
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("roll", "{}"),
    /// #     ChatReply::text("Four."),
    /// # ]);
    /// let agent = Agent::new(model, tools![roll]);
    /// let mut run = agent.start("Roll the dice.");
    /// run.next().await;
    /// let saved = serde_json::to_string(&run.state())?;
    ///
    /// // Later, perhaps in another process.
    /// let state: RunState = serde_json::from_str(&saved)?;
    /// assert_eq!(agent.resume(state).finish().await?.to_string(), "Four.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn state(&self) -> RunState {
        let approved = self.dispatcher.approved_tools(self.state.run);
        let session = self.session.name();
        let mut state = RunState { approved, session, ..self.state.clone() };
        state.turn.add_metered(self.meter.total());
        state.turn.set_active_time(self.active_time());
        state
    }

    /// Returns the time for which the run was in progress, over all processes.
    pub(super) fn active_time(&self) -> Duration {
        let elapsed = self.started.map(|started| started.elapsed()).unwrap_or_default();
        self.active_before.saturating_add(micros::truncate(elapsed))
    }

    pub(super) fn record_active_time(&mut self) {
        let active = self.active_time();
        self.state.turn.set_active_time(active);
    }

    /// Returns the meter of calls without a result, for a caller that may stop the run while they
    /// are in flight.
    pub(super) fn meter(&self) -> UsageMeter {
        self.meter.clone()
    }

    /// Returns the agent, the session and the metadata of this run.
    fn run_info(&self) -> Arc<RunInfo> {
        let (agent, metadata) = (self.agent.name.clone(), self.state.metadata.clone());
        Arc::new(RunInfo { agent, session: self.session.name(), metadata })
    }

    /// Returns the run's dispatcher, which knows the secrets to redact.
    pub(super) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// Runs the next step. Returns `None` if the run has ended; [`finish`](Self::finish) then
    /// returns its outcome.
    ///
    /// # Cancellation
    /// Dropping the future cancels the step and its in-flight calls. The run can still be driven.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let mut run = agent.start("Hello");
    /// let mut steps = 0;
    /// while run.next().await.is_some() {
    ///     steps += 1;
    /// }
    /// assert_eq!((steps, run.finish().await?.text.as_str()), (1, "Hi!"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<CompletedStep> {
        if self.ended.is_some() {
            return None;
        }
        match self.advance().await {
            Ok(Some(step)) => return Some(step),
            Ok(None) => {
                let saved = self.save_end().await;
                self.end(saved);
            }
            Err(reason) => self.end(Err(reason)),
        }
        self.session.release().await;
        None
    }

    /// Runs to the end and returns the answer.
    ///
    /// # Errors
    /// Returns the errors of [`Agent::run`](crate::Agent::run). A resumed run can also stop with
    /// [`StopReason::BelongsToSession`], and a run of a session with [`StopReason::Session`].
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let run = agent.start("Hello");
    /// println!("run {}", run.id());
    /// assert_eq!(run.finish().await?.to_string(), "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn finish(self) -> Result<Answer, Stopped> {
        self.into_answer().await
    }

    /// Runs to the end, as [`finish`](Self::finish) does.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` stores the run three times, 1,300 bytes each"
    )]
    pub(super) fn into_answer(
        mut self,
    ) -> impl Future<Output = Result<Answer, Stopped>> + Send + use<> {
        async move {
            while self.next().await.is_some() {}
            if let Some(reason) = self.take_stop_reason() {
                return Err(stopped_at(reason, self.into_state()));
            }
            let turn = self.into_state().turn;
            let (usage, cost) = (turn.usage(), turn.cost());
            let usage_by_model = turn.usage_by_model();
            let (transcript, offered_tools) = turn.into_parts();
            let text = transcript.last().map(Message::text).unwrap_or_default();
            Ok(Answer { text, transcript, offered_tools, usage, usage_by_model, cost })
        }
    }

    /// Returns whether the run has ended, and its end was emitted.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes the reason for which the run stopped, if it did.
    pub(super) fn take_stop_reason(&mut self) -> Option<StopReason> {
        self.ended.take()?.err()
    }

    /// Takes the state out of the run, which emits its end if that was not done yet.
    pub(super) fn into_state(mut self) -> RunState {
        std::mem::replace(&mut self.state, RunState::new(Turn::new(Vec::new(), 0)))
    }

    fn end(&mut self, ended: Result<(), StopReason>) {
        if let (Ok(()), Some(steering)) = (&ended, &self.agent.steering) {
            steering.end_run(self.state.run);
        }
        self.emit_finished(ended.as_ref().err());
        self.ended = Some(ended);
    }

    /// Saves the state, if the run belongs to a session.
    pub(super) async fn save(&mut self) -> Result<(), StopReason> {
        if !self.session.is_set() {
            return Ok(());
        }
        self.state.approved = self.dispatcher.approved_tools(self.state.run);
        self.record_active_time();
        // Boxed, since most runs belong to no session.
        Box::pin(self.session.save(&self.state)).await
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("state", &self.state)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
