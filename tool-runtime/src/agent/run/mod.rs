//! Drives a [`Turn`] with a model and a dispatcher, one step at a time.

mod asking;
mod calls;
mod early;
mod elsewhere;
mod given_up;
mod told;

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use given_up::GivenUp;

use super::ask::Pieces;
use super::config::AgentConfig;
use super::deadline::RunDeadline;
use super::ending::{stopped, stopped_at};
use super::keep::Keeper;
use super::state::RunState;
use super::{Answer, Outcome, Step, StopReason, Stopped, Turn, steering};
use crate::dispatch::Dispatcher;
use crate::event::{Observer, Origin, RunEvent, RunId, ToolExecution};
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::schema::Schema;
use crate::span::{self, Span};
use crate::tool::{Spent, ToolDefinition};

/// A run that is gone through step by step: what [`Agent::start`](crate::Agent::start) returns.
///
/// Nothing happens between two steps: whoever holds it may look at the conversation, keep it, or change it.
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
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("roll", "{}"),
/// #     ChatReply::text("Six!"),
/// # ]);
/// let agent = Agent::new(model, tools![roll]);
/// let mut run = agent.start("Roll the dice.");
/// while let Some(stepped) = run.next().await {
///     if let CompletedStep::Called(executions) = stepped {
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
    /// Where the run itself is told of from.
    root: Origin,
    /// The run that this one lies within.
    outer: Option<RunId>,
    /// What calls took that have no result yet; where a step is dropped, they never have one.
    spent: Spent,
    /// What was offered on a turn is what its calls are looked up in.
    tools: Option<Snapshot>,
    /// What came into the conversation that they have yet to be told of.
    heard: Vec<RunEvent>,
    /// From when on its time is counted, and those who watch know of it.
    started: Option<Instant>,
    ended: Option<Result<(), StopReason>>,
    /// Whether those who watch were told of its end.
    is_over: bool,
    span: Span,
    pieces: Option<Pieces<'static>>,
    pub(super) keeper: Option<Keeper>,
    /// The run that this one takes the place of.
    gave_up: Option<GivenUp>,
    /// What the answer has to be. No tools are offered then.
    pub(super) wanted: Option<Schema>,
}

/// What a step came to.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompletedStep {
    /// The model replied; that is the last message now, with the results of calls that may not be run behind it.
    Replied,
    /// Its calls were run; their results are the last message now.
    Called(Vec<ToolExecution>),
    /// Something was said to the model meanwhile, by [`Steering`](super::Steering).
    Steered,
}

impl Run {
    pub(super) fn new(agent: Arc<AgentConfig>, state: RunState) -> Self {
        let registry = agent.registry.clone().unwrap_or_default();
        let dispatcher = agent.dispatcher.for_run(registry, state.run, state.approved.clone());
        let root = Origin::new(state.run, 0);
        let span = span::invoke_agent(agent.name.as_deref());
        Self {
            agent,
            dispatcher,
            state,
            root,
            outer: None,
            spent: Spent::default(),
            tools: None,
            heard: Vec::new(),
            started: None,
            ended: None,
            is_over: false,
            span,
            pieces: None,
            keeper: None,
            gave_up: None,
            wanted: None,
        }
    }

    /// Keeps each step there.
    pub(super) fn keeper(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Takes the place of that one, of which those who watch are told so once that is kept.
    pub(super) fn in_place_of(mut self, given_up: Option<GivenUp>) -> Self {
        self.gave_up = given_up;
        self
    }

    /// Tells this of pieces of replies as they come.
    pub(super) fn pieces(mut self, pieces: Pieces<'static>) -> Self {
        self.pieces = Some(pieces);
        self
    }

    /// Tells this one as well of what happens.
    pub(super) fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.dispatcher.add_observer(observer);
        self
    }

    /// The run lies within a call of another.
    pub(super) fn within(mut self, outer: &Origin, call: &CallId) -> Self {
        self.root = Origin { run: self.state.run, turn: 0, ..outer.within(call) };
        self.outer = Some(outer.run);
        self
    }

    /// Which run it is.
    pub fn id(&self) -> RunId {
        self.state.run
    }

    /// How far it is: the conversation, and what it took.
    pub fn turn(&self) -> &Turn {
        &self.state.turn
    }

    /// The same, to change before the next step.
    pub fn turn_mut(&mut self) -> &mut Turn {
        self.state.turn.add_metered(self.spent.take());
        if let Some(keeper) = &mut self.keeper {
            keeper.rewrite_from(0);
        }
        &mut self.state.turn
    }

    /// The run as plain data, to [go on](crate::Agent::resume) with another day. Of a run that is kept in a session, to
    /// look at: the session [goes on](super::session::Session::resume) with it.
    pub fn state(&self) -> RunState {
        let (approved, session) = (self.dispatcher.approved_tools(self.state.run), self.session());
        let mut state = RunState { approved, session, ..self.state.clone() };
        state.turn.add_metered(self.spent.so_far());
        state
    }

    /// The session that it is kept in.
    fn session(&self) -> Option<String> {
        self.keeper.as_ref().map(|keeper| keeper.session().to_owned())
    }

    /// What its calls took that have no result yet, for whoever stops it among them.
    pub(super) fn spent(&self) -> Spent {
        self.spent.clone()
    }

    /// What knows the run's secrets.
    pub(super) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// Takes the next step; none where the run is over. [`finish`](Self::finish) tells how it ended.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn next(&mut self) -> Option<CompletedStep> {
        if self.ended.is_some() {
            return None;
        }
        match self.advance().await {
            Ok(Some(stepped)) => return Some(stepped),
            Ok(None) => {
                let kept = self.keep_end().await;
                self.end(kept);
            }
            Err(why) => self.end(Err(why)),
        }
        None
    }

    /// Takes the next step; none where the model has answered, which need not be the end.
    pub(super) async fn advance(&mut self) -> Result<Option<CompletedStep>, StopReason> {
        let begins = self.started.is_none();
        if begins {
            self.started = Some(Instant::now());
            self.state.has_stopped = false;
            self.tell_start();
        }
        // A step that was dropped took what its calls took.
        self.state.turn.add_metered(self.spent.take());
        let span = self.span.clone();
        let step = async {
            let started = if begins { self.start() } else { Ok(()) };
            self.tell_said();
            started?;
            // What was said or changed since the last step, too: the next may take long.
            if begins || self.keeper.as_ref().is_some_and(|it| it.is_behind(&self.state)) {
                self.keep().await?;
            }
            self.tell_given_up();
            let stepped = self.step().await;
            // What waits for somebody is kept as it waits, and nothing came of the step that finds the answer there.
            if !matches!(stepped, Ok(None) | Err(StopReason::AwaitingApproval(_))) {
                self.state.has_stopped = stepped.is_err();
                self.keep().await?;
            }
            stepped
        };
        span::within(span, step, StopReason::error).await
    }

    /// Goes on to the end.
    ///
    /// # Errors
    /// As of [`Agent::run`](crate::Agent::run).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn finish(mut self) -> Result<Answer, Stopped> {
        while self.next().await.is_some() {}
        if let Some(why) = self.why_ended() {
            return Err(stopped_at(why, self.into_state()));
        }
        let turn = self.into_state().turn;
        let (usage, cost) = (turn.usage(), turn.cost());
        let (transcript, offered) = turn.into_parts();
        let text = transcript.last().map(Message::text).unwrap_or_default();
        Ok(Answer { text, transcript, offered, usage, cost })
    }

    /// Whether those who watch were told of its end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// What stopped it, where it was.
    pub(super) fn why_ended(&mut self) -> Option<StopReason> {
        self.ended.take()?.err()
    }

    /// How far it is, for whoever has no use for the rest.
    pub(super) fn into_state(mut self) -> RunState {
        std::mem::replace(&mut self.state, RunState::new(Turn::new(Vec::new(), 0)))
    }

    fn end(&mut self, ended: Result<(), StopReason>) {
        self.tell_end(ended.as_ref().err());
        self.ended = Some(ended);
    }

    fn start(&mut self) -> Result<(), StopReason> {
        if let (Some(session), None) = (&self.state.session, &self.keeper) {
            return Err(StopReason::InSession(session.clone()));
        }
        let turn = &self.state.turn;
        let is_over = turn.has_no_input() || turn.next() == Step::Done(Outcome::Answered);
        if is_over && turn.iterations() == 0 && !self.is_steered() {
            return Err(StopReason::NothingAsked);
        }
        if let Err(error) = &self.agent.registry {
            return Err(error.clone().into());
        }
        let tools = self.dispatcher.registry().snapshot();
        let calls = self.state.turn.transcript().iter().flat_map(Message::calls);
        self.dispatcher.look_out(&tools, calls);
        // Where a value is wanted, calls that were left open were made without tools as well.
        self.tools = Some(self.tools_to_offer());
        // Calls that a process that ended has begun: nobody was told of their end.
        let settled = self.settle_interrupted();
        self.tell_settled(&self.origin(), settled);
        Ok(())
    }

    /// Answers calls that had begun when their process ended, or their step was dropped.
    fn settle_interrupted(&mut self) -> Vec<(ToolCall, ToolResult)> {
        let Some(tools) = &self.tools else { return Vec::new() };
        // Of a tool that is gone nobody can tell any more whether it ran.
        self.state.turn.fail_interrupted(|call| {
            tools.definition(&call.name).is_some_and(ToolDefinition::may_repeat)
        })
    }

    async fn step(&mut self) -> Result<Option<CompletedStep>, StopReason> {
        // What was answered in time is an answer, however long it took to keep it.
        let has_answered = self.state.turn.next() == Step::Done(Outcome::Answered);
        if has_answered && !self.is_steered() {
            return Ok(None);
        }
        self.may_go_on()?;
        // Those of a step that was dropped were told of as it was.
        self.settle_interrupted();
        let next = self.state.turn.next();
        if matches!(next, Step::RequestModel | Step::Done(Outcome::Answered)) && self.is_steered() {
            // Another run may have been told of it by now.
            let said =
                self.agent.steering.as_ref().map(steering::Steering::drain).unwrap_or_default();
            if !said.is_empty() {
                self.say(steering::user_parts(&said))?;
                self.tell_said_as(said.into_iter().map(RunEvent::from));
                return Ok(Some(CompletedStep::Steered));
            }
        }
        match next {
            Step::RequestModel => {
                self.ask().await?;
                Ok(Some(CompletedStep::Replied))
            }
            Step::RunCalls(calls) => Ok(Some(CompletedStep::Called(self.call(calls).await?))),
            Step::Done(Outcome::Answered) => Ok(None),
            Step::Done(outcome) => Err(self.stopped(outcome)),
        }
    }

    /// Whether nobody has stopped it, and its time isn't over.
    pub(super) fn may_go_on(&self) -> Result<(), StopReason> {
        if self.agent.stop.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(StopReason::Cancelled);
        }
        match self.agent.time_limit.zip(self.started) {
            Some((limit, started)) if started.elapsed() >= limit => {
                Err(StopReason::TimeLimit(limit))
            }
            _ => Ok(()),
        }
    }

    /// Why it ends here. What is secret in a call is not printed with the reason.
    pub(super) fn stopped(&self, outcome: Outcome) -> StopReason {
        let mut why = stopped(&self.state.turn, outcome);
        if let StopReason::Repeated { call, .. } = &mut why {
            self.dispatcher.hide_in_call(call);
        }
        why
    }

    pub(super) async fn keep(&mut self) -> Result<(), StopReason> {
        if let Some(keeper) = &mut self.keeper {
            self.state.approved = self.dispatcher.approved_tools(self.state.run);
            keeper.keep(&self.state).await?;
        }
        Ok(())
    }

    /// Whether something waits to be said to a model that may be asked again: an answer stays one, whatever comes
    /// too late for it.
    pub(super) fn is_steered(&self) -> bool {
        self.agent.steering.as_ref().is_some_and(|steering| !steering.is_empty())
            && self.state.turn.can_request()
    }

    fn until<'a>(&self, agent: &'a AgentConfig) -> RunDeadline<'a> {
        let limit = agent.time_limit;
        let deadline =
            self.started.zip(limit).and_then(|(started, limit)| started.checked_add(limit));
        RunDeadline::new(agent.stop.as_ref(), deadline.zip(limit))
    }

    fn tools_to_offer(&self) -> Snapshot {
        let is_wanted = self.wanted.is_some();
        if is_wanted { Snapshot::default() } else { self.dispatcher.registry().snapshot() }
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
