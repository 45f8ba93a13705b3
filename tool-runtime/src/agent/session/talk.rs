//! A conversation that an agent has, kept at each of its steps.

use std::fmt;
use std::sync::Arc;

use super::{SessionError, SessionRecord, SessionStore};
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
/// use tool_runtime::agent::session::MemoryStore;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hi, Ada."), ChatReply::text("Ada.")]);
/// let agent = Agent::new(model, Tools::new());
/// let store = MemoryStore::new();
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

    /// Runs the agent on this prompt until the model answers.
    ///
    /// The prompt is a text, or a [`Prompt`] whose messages are appended to the conversation so far. Each prompt is a
    /// run of its own, to which the agent's limits apply anew. A run that was left unfinished is abandoned: its open
    /// calls are answered and not run.
    ///
    /// # Errors
    /// Returns the errors of [`Agent::run`](crate::Agent::run), and [`StopReason::Session`] if the conversation can't
    /// be read or saved, or if another process or task changed the session meanwhile.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        self.start(prompt).await?.finish().await
    }

    /// Starts a run and streams its text, calls and events as they happen.
    ///
    /// The stream owns the run: it is `'static` and `Send`, and it outlives the session handle. Dropping it cancels
    /// the run and all in-flight calls; what was saved by then can be [resumed](Self::resume).
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be read.
    pub async fn stream(&self, prompt: impl Into<Prompt>) -> Result<RunStream, Stopped> {
        self.start(prompt).await.map(Run::stream)
    }

    /// Runs the agent on this prompt until the model gives its answer as a `T`, as
    /// [`Agent::extract`](crate::Agent::extract) does.
    ///
    /// If the process ends before that, [`resume`](Self::resume) and [`Run::extract`] continue to the value; if the
    /// run is paused for an approval, [`resume_with`](Self::resume_with) and [`Run::extract`].
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and [`StopReason::ExtractionFailed`] if the model gave no such value.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    pub async fn extract<T: Extract>(
        &self,
        prompt: impl Into<Prompt>,
    ) -> Result<Extracted<T>, Stopped> {
        self.start(prompt).await?.extract().await
    }

    /// Starts a run that you drive, as [`Agent::start`](crate::Agent::start) does; each of its steps is saved.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be read.
    pub async fn start(&self, prompt: impl Into<Prompt>) -> Result<Run, Stopped> {
        let (state, keeper, given_up) = self.said(prompt.into()).await?;
        Ok(self.begin(state, keeper).in_place_of(given_up))
    }

    /// Resumes the run that was left unfinished, under the agent's limits, as
    /// [`Agent::resume`](crate::Agent::resume) does. Returns `None` if there is none.
    ///
    /// Also returns `None` if the model has answered: its answer is the last of the [messages](Self::messages), even
    /// if the process ended before it was returned. A run that [extracts](Self::extract) a value is unfinished until
    /// the value is there; [`Run::extract`] continues to it. If calls await approval, the run pauses for them again;
    /// [`resume_with`](Self::resume_with) takes the decisions.
    ///
    /// # Exclusive writes
    /// Resuming takes the run over, also from a process that is still at work on it. The session belongs to the run
    /// that writes next. The next write of the other run builds on a revision that is no longer current: it is
    /// refused, and that run stops with [`Conflict`](SessionError::Conflict) before it calls a tool or the model
    /// again. Work that it has in flight by then is completed and not saved: a model request may be paid for nothing,
    /// and a tool may run while the same call is made again here, if it is idempotent or read-only.
    ///
    /// To prevent that, resume a session only when no other process has it: after the other process has ended, or
    /// under a lock of your own on the session's name, held for as long as a run lasts.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be read.
    pub async fn resume(&self) -> Result<Option<Run>, Stopped> {
        let Some((state, keeper)) = self.kept().await? else { return Ok(None) };
        let (state, keeper) = self.resumed(state, keeper);
        Ok(state.is_unfinished().then(|| self.begin(state, keeper)))
    }

    /// Resumes a paused run with the decisions on its pending calls, once.
    ///
    /// [`Agent::resume`](crate::Agent::resume) refuses such a run, which it would resume outside of the session.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be read; with
    /// [`NotWaiting`](SessionError::StaleDecision) if the run was resumed before, or the conversation has continued
    /// without it.
    pub async fn resume_with(&self, paused: Paused) -> Result<Run, Stopped> {
        let keeper = match self.kept().await? {
            Some((kept, keeper)) if kept.waits_as(&paused) => keeper,
            kept => return Err(self.not_waiting(kept.map(|(kept, _)| kept), paused)),
        };
        let (state, keeper) = self.resumed(paused.into(), keeper);
        Ok(self.begin(state, keeper))
    }

    /// Creates the run that saves each of its steps.
    fn begin(&self, state: RunState, keeper: Keeper) -> Run {
        Run::new(Arc::clone(&self.agent.config), state).keeper(keeper)
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
        let error = SessionError::StaleDecision { session: self.name.clone(), why };
        stopped_at(StopReason::Session(error), paused.into())
    }

    /// The run as it goes on when this is said.
    async fn said(&self, prompt: Prompt) -> Result<(RunState, Keeper, Option<GivenUp>), Stopped> {
        let Some((state, keeper)) = self.kept().await? else {
            return Ok((RunState::new(self.agent.config.turn(prompt)), self.keeper(0, 0), None));
        };
        let was = state.turn.shared_transcript();
        let (mut state, mut keeper) = self.resumed(state, keeper);
        let given_up = GivenUp::of(&mut state);
        let RunState { turn, window, .. } = state;
        let (before, offered) = turn.into_parts();
        let turn = prompt.append_to(before, offered).into_turn(None);
        let turn = turn.with_limits(self.agent.config.limits.clone());
        keeper.rewrite_from(turn.common_prefix_len(&was));
        Ok((RunState::new(turn).with_window(window), keeper, given_up))
    }

    /// The run as it goes on from what is kept.
    fn resumed(&self, state: RunState, mut keeper: Keeper) -> (RunState, Keeper) {
        let was = state.turn.shared_transcript();
        let state = state.resumed(&self.agent.config.limits);
        keeper.rewrite_from(state.turn.common_prefix_len(&was));
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

    fn read(&self, stored: SessionRecord) -> Result<(RunState, Keeper), SessionError> {
        let SessionRecord { messages, state, revision } = stored;
        let unreadable = |error: serde_json::Error| SessionError::CorruptRecord {
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
