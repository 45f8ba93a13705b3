//! A conversation that an agent has, kept at each of its steps.

use std::fmt;
use std::sync::Arc;

use super::{SessionError, SessionStore, Stored};
use crate::agent::ending::stopped_at;
use crate::agent::keep::{Keeper, load};
use crate::agent::run::{GivenUp, Run};
use crate::agent::state::RunState;
use crate::agent::{
    Agent, Answer, Extract, Extracted, Paused, Prompt, RunStream, StopReason, Stopped, Turn,
};
use crate::message::Message;

/// A conversation of an agent that is kept in a store: what [`Agent::session`](crate::Agent::session) gives.
///
/// Each run goes on with what was said in those before it, and each of its steps is kept before the next
/// begins: what the model said before its calls are made, that they are made, and what came of each, while others still
/// run. So a process may end at any moment. A run that it left unfinished is [gone on with](Self::resume), or given up by
/// saying the next thing. A call that was being made when the process ended is made again where its tool is
/// idempotent or only reads; any other is answered with `TOOL_INDETERMINATE`, for nobody can tell what came of it. Those
/// who watch are told of that as the call's end; and of a run that was given up, under its own id, as ended with
/// `GIVEN_UP`.
///
/// Each question is a run of its own, with the agent's [limits](crate::agent::Limits) from the start; a run that is
/// gone on with has what is left of them.
///
/// ```
/// use tool_runtime::agent::session::Memory;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hi, Ada."), ChatReply::text("Ada.")]);
/// let agent = Agent::new(model, Tools::new());
/// let store = Memory::new();
/// agent.session(store.clone(), "ada").run("I am Ada.").await?;
///
/// // Another day.
/// let answer = agent.session(store, "ada").run("Who am I?").await?;
/// assert_eq!(answer.to_string(), "Ada.");
/// assert_eq!(answer.transcript.len(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    agent: Agent,
    store: Arc<dyn SessionStore>,
    name: String,
}

impl Agent {
    /// The conversation of this name in a store.
    pub fn session(&self, store: impl SessionStore + 'static, name: impl Into<String>) -> Session {
        Session { agent: self.clone(), store: Arc::new(store), name: name.into() }
    }
}

impl Session {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that was said so far.
    ///
    /// # Errors
    /// The store can't be reached, or what it keeps can't be read.
    pub async fn messages(&self) -> Result<Vec<Message>, SessionError> {
        let stored = load(self.store.as_ref(), &self.name).await?;
        Ok(stored.map(|stored| stored.messages).unwrap_or_default())
    }

    /// Says this, and runs until the model answers: a text, or a [`Prompt`] whose messages come behind what was
    /// said so far. It is a run of its own, so that the agent's limits begin anew. A run that was left unfinished is
    /// given up: its open calls are answered and not made.
    ///
    /// # Errors
    /// As of [`Agent::run`](crate::Agent::run); and [`StopReason::Session`], where the conversation can't be read or
    /// kept, or somebody else went on with it meanwhile.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        self.iterate(prompt).await?.finish().await
    }

    /// The same, step by step.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn iterate(&self, prompt: impl Into<Prompt>) -> Result<Run<'_>, Stopped> {
        let (state, keeper, given_up) = self.said(prompt.into()).await?;
        Ok(Run::new(&self.agent, state).keeper(keeper).in_place_of(given_up))
    }

    /// The same, told of piece by piece.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn stream(&self, prompt: impl Into<Prompt>) -> Result<RunStream<'_>, Stopped> {
        self.iterate(prompt).await.map(Run::stream)
    }

    /// The same, and has the model give its answer as a `T`, as [`Agent::extract`](crate::Agent::extract) does. Where
    /// the process ends before it has, [`resume_iterate`](Self::resume_iterate) and [`Run::extract`] go on to the
    /// value; where it waits for somebody, [`decided_iterate`](Self::decided_iterate).
    ///
    /// # Errors
    /// As of [`run`](Self::run); and [`StopReason::Unfit`], where the model gave no such value.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn extract<T: Extract>(
        &self,
        prompt: impl Into<Prompt>,
    ) -> Result<Extracted<T>, Stopped> {
        self.iterate(prompt).await?.extract().await
    }

    /// The same, told of piece by piece.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn extract_stream<T: Extract + Send + 'static>(
        &self,
        prompt: impl Into<Prompt>,
    ) -> Result<RunStream<'_, Extracted<T>>, Stopped> {
        self.iterate(prompt).await.map(Run::extract_stream)
    }

    /// Goes on with a run that was left unfinished, under the agent's limits, as
    /// [`Agent::resume`](crate::Agent::resume) does; none where there is none, as where the model has answered: what it
    /// said is the last of the [messages](Self::messages), also where the process ended before anybody was handed it.
    /// Where calls wait for somebody's approval it stops for that again; [`decided`](Self::decided) takes the answer.
    ///
    /// # Two at once
    /// It takes the run over, also from a process that is still alive and at work on it: nobody is asked. Whoever writes
    /// next has the session then. The other one's next write builds on a revision that the session is not at any more:
    /// it is refused, and that run stops with [`Conflict`](SessionError::Conflict) before it calls or asks anything
    /// else. What it had under way by then goes on to its end and is not kept: a model is paid for nothing, and a tool may
    /// be at work while the same call is made again here, if it is idempotent or only reads.
    ///
    /// Where that must not be, resume only what nobody has: after the other process has ended, or under a lock of the
    /// program's own by the session's name, which is held for as long as a run lasts.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn resume(&self) -> Result<Option<Answer>, Stopped> {
        match self.unfinished().await? {
            Some(run) if run.state.goes_on() => run.finish().await.map(Some),
            _ => Ok(None),
        }
    }

    /// The same, step by step; or to the [value](Run::extract) that the run owes.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn resume_iterate(&self) -> Result<Option<Run<'_>>, Stopped> {
        let run = self.unfinished().await?;
        Ok(run.filter(|run| run.state.is_unfinished()))
    }

    /// The same, told of piece by piece.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn resume_stream(&self) -> Result<Option<RunStream<'_>>, Stopped> {
        let run = self.unfinished().await?;
        Ok(run.filter(|run| run.state.goes_on()).map(Run::stream))
    }

    /// The last run, as it goes on if it does.
    async fn unfinished(&self) -> Result<Option<Run<'_>>, Stopped> {
        let Some((state, keeper)) = self.kept().await? else { return Ok(None) };
        let (state, keeper) = self.resumed(state, keeper);
        Ok(Some(Run::new(&self.agent, state).keeper(keeper)))
    }

    /// Goes on with a run that waited for somebody to decide on calls, once. [`Agent::resume`](crate::Agent::resume)
    /// would go on with it beside the session, and refuses.
    ///
    /// # Errors
    /// As of [`run`](Self::run). Where it was decided before, or the session was gone on with since, that is
    /// [`NotWaiting`](SessionError::NotWaiting).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn decided(&self, paused: Paused) -> Result<Answer, Stopped> {
        self.decided_iterate(paused).await?.finish().await
    }

    /// The same, told of piece by piece.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn decided_stream(&self, paused: Paused) -> Result<RunStream<'_>, Stopped> {
        self.decided_iterate(paused).await.map(Run::stream)
    }

    /// The same, step by step, or to a [value](Run::extract).
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read, or doesn't wait for that any more.
    pub async fn decided_iterate(&self, paused: Paused) -> Result<Run<'_>, Stopped> {
        let keeper = match self.kept().await? {
            Some((kept, keeper)) if kept.waits_as(&paused) => keeper,
            kept => return Err(self.not_waiting(kept.map(|(kept, _)| kept), paused)),
        };
        let (state, keeper) = self.resumed(paused.into(), keeper);
        Ok(Run::new(&self.agent, state).keeper(keeper))
    }

    /// Why it doesn't wait for what was decided.
    fn not_waiting(&self, kept: Option<RunState>, paused: Paused) -> Stopped {
        let why = match (&paused.session, kept) {
            (Some(other), _) if *other != self.name => format!("it belongs to the session `{other}`"),
            (_, Some(kept)) if kept.run == paused.run => {
                "this was decided already; `resume` goes on with what is left of the run, if anything is".into()
            }
            _ => "the conversation has gone on without it".to_owned(),
        };
        let error = SessionError::NotWaiting { session: self.name.clone(), why };
        stopped_at(StopReason::Session(error), paused.into())
    }

    /// The run as it goes on when this is said.
    async fn said(&self, prompt: Prompt) -> Result<(RunState, Keeper, Option<GivenUp>), Stopped> {
        let Some((state, keeper)) = self.kept().await? else {
            return Ok((RunState::new(self.agent.turn(prompt)), self.keeper(0, 0), None));
        };
        let was = state.turn.shared_transcript();
        let (mut state, mut keeper) = self.resumed(state, keeper);
        let given_up = GivenUp::of(&mut state);
        let RunState { turn, window, .. } = state;
        let (before, offered) = turn.into_parts();
        let turn = prompt.behind(before, offered).into_turn(None);
        let turn = turn.with_limits(self.agent.limits.clone());
        keeper.rewrite_from(turn.same_as(&was));
        Ok((RunState::new(turn).with_window(window), keeper, given_up))
    }

    /// The run as it goes on from what is kept.
    fn resumed(&self, state: RunState, mut keeper: Keeper) -> (RunState, Keeper) {
        let was = state.turn.shared_transcript();
        let state = state.resumed(&self.agent.limits);
        keeper.rewrite_from(state.turn.same_as(&was));
        (state, keeper)
    }

    /// What is kept, and where more is.
    async fn kept(&self) -> Result<Option<(RunState, Keeper)>, Stopped> {
        let stored = load(self.store.as_ref(), &self.name).await;
        let read = stored.and_then(|stored| stored.map(|stored| self.read(stored)).transpose());
        read.map_err(|error| {
            stopped_at(StopReason::Session(error), RunState::new(Turn::new(Vec::new(), 0)))
        })
    }

    fn read(&self, stored: Stored) -> Result<(RunState, Keeper), SessionError> {
        let Stored { messages, state, revision } = stored;
        let unreadable = |error: serde_json::Error| SessionError::Unreadable {
            session: self.name.clone(),
            place: None,
            why: error.to_string(),
        };
        let kept = messages.len();
        let state: RunState = serde_json::from_str(&state).map_err(unreadable)?;
        Ok((state.with_transcript(messages), self.keeper(revision, kept)))
    }

    fn keeper(&self, revision: u64, kept: usize) -> Keeper {
        Keeper::new(Arc::clone(&self.store), self.name.clone(), revision, kept)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).finish_non_exhaustive()
    }
}
