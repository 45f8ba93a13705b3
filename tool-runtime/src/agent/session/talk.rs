//! A conversation that an agent has, kept at each of its steps.

use std::fmt;
use std::sync::Arc;

use super::{SessionError, SessionStore, Stored};
use crate::agent::ending::stopped_at;
use crate::agent::keep::{Keeper, load};
use crate::agent::run::Run;
use crate::agent::state::RunState;
use crate::agent::{Agent, Answer, Paused, RunStream, Step, StopReason, Stopped, Turn};
use crate::message::{Message, UserPart};

/// A conversation of an agent that is kept in a store: what [`Agent::session`](crate::Agent::session) gives.
///
/// Each run goes on with what was said in those before it, and each of its steps is kept before the next
/// begins: what the model said before its calls are made, that they are made, and what came of them. So a
/// process may end at any moment. A run that it left unfinished is [gone on with](Self::resume), or given up by
/// saying the next thing. A call that was being made when the process ended is made again where its tool is
/// idempotent or only reads; any other is answered with `TOOL_INDETERMINATE`, for nobody can tell what came of it.
///
/// ```
/// use tool_runtime::agent::session::Memory;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hi, Ada."), ChatReply::text("Ada.")]);
/// let agent = Agent::new(model, Tools::new());
/// let store = Memory::default();
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

    /// Says this, and runs until the model answers. A run that was left unfinished is given up: its open calls
    /// are answered and not made.
    ///
    /// # Errors
    /// As of [`Agent::run`](crate::Agent::run); and [`StopReason::Session`], where the conversation can't be read or
    /// kept, or somebody else went on with it meanwhile.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn run(&self, text: impl Into<String>) -> Result<Answer, Stopped> {
        self.iterate(text).await?.finish().await
    }

    /// The same, step by step.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn iterate(&self, text: impl Into<String>) -> Result<Run<'_>, Stopped> {
        let (state, keeper) = self.said(text.into()).await?;
        Ok(Run::new(&self.agent, state).keeper(keeper))
    }

    /// The same, told of piece by piece.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn stream(&self, text: impl Into<String>) -> Result<RunStream<'_>, Stopped> {
        let (state, keeper) = self.said(text.into()).await?;
        Ok(RunStream::of(Run::new(&self.agent, state).keeper(keeper)))
    }

    /// Goes on with a run that was left unfinished; none where there is none.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn resume(&self) -> Result<Option<Answer>, Stopped> {
        match self.resume_iterate().await? {
            None => Ok(None),
            Some(run) => run.finish().await.map(Some),
        }
    }

    /// The same, step by step.
    ///
    /// # Errors
    /// [`StopReason::Session`], where the conversation can't be read.
    pub async fn resume_iterate(&self) -> Result<Option<Run<'_>>, Stopped> {
        let Some((state, keeper)) = self.kept().await? else { return Ok(None) };
        let goes_on = matches!(state.turn.next(), Step::Ask | Step::Call(_));
        Ok(goes_on.then(|| Run::new(&self.agent, state).keeper(keeper)))
    }

    /// Goes on with a run that waited for somebody to decide on calls.
    ///
    /// # Errors
    /// As of [`run`](Self::run). Where the session was gone on with since, that is a
    /// [`Conflict`](SessionError::Conflict).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn decided(&self, paused: Paused) -> Result<Answer, Stopped> {
        let keeper = match self.kept().await? {
            Some((kept, keeper)) if kept.waits_as(&paused) => keeper,
            // The store refuses to have what somebody else went on with written over.
            _ => self.keeper(0, 0),
        };
        let state = RunState::from(paused);
        Run::new(&self.agent, state).keeper(keeper).finish().await
    }

    /// The run as it goes on when this is said.
    async fn said(&self, text: String) -> Result<(RunState, Keeper), Stopped> {
        let said = UserPart::Text { text };
        let Some((mut before, mut keeper)) = self.kept().await? else {
            let prompt = vec![Message::User { parts: vec![said] }].into();
            return Ok((RunState::new(self.agent.turn(prompt)), self.keeper(0, 0)));
        };
        let was = before.turn.shared_transcript();
        before.give_up();
        let RunState { turn, window, .. } = before;
        let (mut transcript, offered) = turn.into_parts();
        transcript.push(Message::User { parts: vec![said] });
        let turn = Turn::new(transcript, 0).with_offered(offered);
        let turn = turn.with_limits(self.agent.limits.clone());
        // What a provider would refuse was mended.
        let same = was.iter().zip(turn.transcript()).take_while(|(was, is)| was == is);
        keeper.rewrite_from(same.count());
        Ok((RunState::new(turn).with_window(window), keeper))
    }

    /// What is kept, and where more is.
    async fn kept(&self) -> Result<Option<(RunState, Keeper)>, Stopped> {
        let stored = load(self.store.as_ref(), &self.name).await;
        let read = stored.and_then(|stored| stored.map(|stored| self.read(stored)).transpose());
        read.map_err(|error| stopped_at(StopReason::Session(error), Turn::new(Vec::new(), 0)))
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
