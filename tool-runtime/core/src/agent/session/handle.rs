//! A session of an agent: starts runs that save each of their steps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{SessionError, SessionStore};
use crate::agent::outcome::answer::stopped_at;
use crate::agent::persist::{SessionWriter, decode_state, load, load_record};
use crate::agent::run::{AbandonedRun, Run, RunSession};
use crate::agent::state::RunState;
use crate::agent::{
    Agent, Answer, Extract, Extracted, Paused, Prompt, RunStream, StopReason, Stopped, Turn,
};
use crate::message::Message;

/// A named, persisted conversation of an agent.
///
/// [`Agent::session`](crate::Agent::session) returns it. Each run continues the conversation of the
/// runs before it. The session saves the model's reply before its calls start, marks the calls as
/// started, and saves each result on arrival. So the process may end at any moment.
///
/// An unfinished run is continued with [`resume`](Self::resume), or abandoned by the next prompt,
/// unless it [waits for decisions](Self::abandon_paused). A call that was in flight when the
/// process ended is made again if its tool is [repeatable](crate::ToolDefinition::is_retry_safe).
/// Any other call gets the result `TOOL_INDETERMINATE`, because it may or may not have run; an
/// event reports that as the end of the call. The end of an abandoned run is emitted with its own
/// id and the code `ABANDONED`.
///
/// Each prompt starts a separate run, to which the full [limits](crate::agent::Limits) of the
/// agent apply. A resumed run continues with the remaining limits.
///
/// ```
/// use tool_runtime::agent::session::MemorySessions;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hi, Ada."), ChatReply::text("Ada.")]);
/// let agent = Agent::new(model, Tools::new());
/// let store = MemorySessions::new();
/// agent.session(store.clone(), "ada").run("I am Ada.").await?;
///
/// // Later, with the same store.
/// let answer = agent.session(store, "ada").run("Who am I?").await?;
/// assert_eq!(answer.to_string(), "Ada.");
/// assert_eq!(answer.transcript.len(), 4);
/// # Ok(())
/// # }
/// ```
///
/// # Concurrent runs
/// The runs of a session are executed one after the other, in all processes that share its store:
/// see [`fail_if_busy`](Self::fail_if_busy).
#[derive(Clone)]
pub struct Session {
    pub(super) agent: Agent,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) name: String,
    pub(super) principal: Option<String>,
    pub(super) fails_if_busy: bool,
    pub(super) abandons_paused: bool,
    pub(super) lease_lifetime: Duration,
}

/// The time after which a lease expires that is not renewed.
const LEASE_LIFETIME: Duration = Duration::from_secs(30);

impl Agent {
    /// Returns the session of this name in a store. The session is created by its first run.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("Hello").await?;
    /// assert_eq!(session.messages().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(&self, store: impl SessionStore + 'static, name: impl Into<String>) -> Session {
        Session {
            agent: self.clone(),
            store: Arc::new(store),
            name: name.into(),
            principal: None,
            fails_if_busy: false,
            abandons_paused: false,
            lease_lifetime: LEASE_LIFETIME,
        }
    }
}

impl Session {
    /// Returns the name of the session.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loads the messages of the conversation so far. Empty if the session does not exist.
    ///
    /// If some of the last calls have no result yet, the last message has the results of the
    /// others. While the run [waits for decisions](Self::paused), the pending calls have the result
    /// `TOOL_AWAITING_APPROVAL`.
    ///
    /// # Errors
    /// Returns [`SessionError::Unavailable`] if the store can't be reached, and
    /// [`SessionError::Corrupt`] if the messages can't be decoded.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// assert!(session.messages().await?.is_empty());
    ///
    /// session.run("Hello").await?;
    /// assert_eq!(session.messages().await?, [Message::user("Hello"), Message::assistant("Hi!")]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn messages(&self) -> Result<Vec<Message>, SessionError> {
        self.check_principal().await?;
        let Some(record) = load_record(self.store.as_ref(), &self.name).await? else {
            return Ok(Vec::new());
        };
        // Whatever is wrong with the state, people can still read the conversation.
        Ok(match decode_state(&self.name, &record.state) {
            Ok(state) => state.with_transcript(record.messages).into_messages(&self.name),
            Err(_) => record.messages,
        })
    }

    /// Returns the run of the session that waits for decisions, or `None` if there is none. It has
    /// the decisions that were [saved](Self::save_decisions) so far.
    ///
    /// Nothing is run, emitted or saved, so any number of processes can call this at any time.
    /// Decide on its calls, and pass it to [`resume_with`](Self::resume_with).
    ///
    /// # Errors
    /// Returns [`SessionError::Unavailable`] if the store can't be reached, and
    /// [`SessionError::Corrupt`] if the record can't be decoded.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tool, tools};
    ///
    /// /// Pays a person.
    /// #[tool(permission = "ask")]
    /// async fn pay(to: String) -> String {
    ///     format!("{to} is paid")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
    /// #     ChatReply::text("Done."),
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("Pay Ada.").await.unwrap_err();
    ///
    /// let mut paused = session.paused().await?.ok_or("no call is pending")?;
    /// assert_eq!(paused.pending()[0].tool, "pay");
    /// paused.decide_each(|_| Approval::Once, "Grace");
    /// let answer = session.resume_with(paused).await?.finish().await?;
    /// assert_eq!(answer.to_string(), "Done.");
    /// assert!(session.paused().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn paused(&self) -> Result<Option<Paused>, SessionError> {
        let loaded = self.load().await?;
        Ok(loaded.and_then(|(state, _)| state.into_paused(&self.name)))
    }

    /// Runs the agent on this prompt until the model answers.
    ///
    /// The prompt is a text, or a [`Prompt`] whose messages are appended to the conversation so
    /// far. Each prompt is a separate run, to which the agent's limits apply anew. An unfinished
    /// run is abandoned: its calls without a result are not run, and get a result that states this.
    ///
    /// # Errors
    /// Returns the errors of [`Agent::run`](crate::Agent::run);
    /// [`StopReason::PromptRefused`] if a paused run [waits for decisions](Self::abandon_paused);
    /// and [`StopReason::Session`] if the conversation can't be loaded or saved, if the session is
    /// [busy](Self::fail_if_busy), or if the run loses its lease.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi, Ada."), ChatReply::text("Ada.")]);
    /// let session = Agent::new(model, Tools::new()).session(MemorySessions::new(), "ada");
    /// session.run("I am Ada.").await?;
    /// assert_eq!(session.run("Who am I?").await?.text, "Ada.");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        self.start(prompt).await?.into_answer().await
    }

    /// Starts a run and streams its text, calls and events as they happen.
    ///
    /// The stream owns the run: it is `'static` and `Send`. Dropping it cancels the run and all
    /// in-flight calls. What was saved by then can be [resumed](Self::resume).
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be loaded, and
    /// [`StopReason::PromptRefused`] if a paused run [waits for decisions](Self::abandon_paused).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let mut stream = agent.session(MemorySessions::new(), "ada").stream("Hello").await?;
    /// while let Some(item) = stream.next().await {
    ///     println!("{item:?}");
    /// }
    /// assert_eq!(stream.finish().await?.to_string(), "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stream(&self, prompt: impl Into<Prompt>) -> Result<RunStream, Stopped> {
        self.start(prompt).await.map(Run::stream)
    }

    /// Runs the agent on this prompt until the model gives its answer as a `T`, as
    /// [`Agent::extract`](crate::Agent::extract) does.
    ///
    /// If the process ends first, continue to the value with [`resume`](Self::resume) and
    /// [`Run::extract`]; if the run pauses for an approval, with [`resume_with`](Self::resume_with)
    /// and [`Run::extract`].
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and [`StopReason::ExtractionFailed`] if no attempt
    /// gave a valid value.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text(r#"{"value": 1815}"#)]);
    /// let session = Agent::new(model, Tools::new()).session(MemorySessions::new(), "ada");
    /// assert_eq!(session.extract::<u32>("When was Ada born?").await?.value, 1815);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn extract<T: Extract>(
        &self,
        prompt: impl Into<Prompt>,
    ) -> Result<Extracted<T>, Stopped> {
        self.start(prompt).await?.extract().await
    }

    /// Starts a run that you drive, as [`Agent::start`](crate::Agent::start) does. Each of its
    /// steps is saved.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be loaded.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// let mut run = session.start("Hello").await?;
    /// while run.next().await.is_some() {
    ///     println!("{} messages are saved", session.messages().await?.len());
    /// }
    /// assert_eq!(run.finish().await?.to_string(), "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start(&self, prompt: impl Into<Prompt>) -> Result<Run, Stopped> {
        // Before the lease, which the sessions of others must not be without.
        self.check_principal().await.map_err(not_loaded)?;
        let hold = self.hold(self.patience()).await.map_err(not_started)?;
        let (state, writer, abandoned) = match self.continued(prompt.into()).await {
            Ok(continued) => continued,
            Err(refused) => {
                hold.release().await;
                return Err(refused);
            }
        };
        Ok(self.begin(state, RunSession::new(writer, abandoned, hold)))
    }

    pub(super) fn begin(&self, state: RunState, session: RunSession) -> Run {
        Run::new(Arc::clone(&self.agent.config), state).in_session(session)
    }

    /// Returns the state of a run that continues the conversation with this prompt, and the run
    /// that it replaces.
    async fn continued(
        &self,
        mut prompt: Prompt,
    ) -> Result<(RunState, SessionWriter, Option<AbandonedRun>), Stopped> {
        let Some((state, writer)) = self.load().await.map_err(not_loaded)? else {
            let writer = SessionWriter::new(Arc::clone(&self.store), &self.name, 0, 0);
            let writer = writer.with_principal(self.principal.clone());
            return Ok((self.agent.config.first_state(prompt), writer, None));
        };
        if !self.abandons_paused
            && let Some(paused) = state.clone().into_unresumed(&self.name)
        {
            return Err(stopped_at(StopReason::PromptRefused(Box::new(paused)), state));
        }
        let stored = state.turn.shared_transcript();
        let (mut state, mut writer) = self.resumed(state, writer);
        let abandoned = AbandonedRun::take_from(&mut state, &self.agent.config);
        let RunState { turn, window, delivered, .. } = state;
        let (before, offered) = turn.into_parts();
        let metadata = prompt.take_metadata();
        let turn = prompt.append_to(before, offered).into_turn(None);
        let turn = turn.with_limits(self.agent.config.limits.clone());
        writer.rewrite_from(turn.common_prefix_len(&stored));
        let state = RunState::new(turn).with_window(window).with_delivered(delivered);
        Ok((state.with_metadata(metadata), writer, abandoned))
    }

    /// Returns the state to resume. Messages that were repaired are saved with the next write.
    pub(super) fn resumed(
        &self,
        state: RunState,
        mut writer: SessionWriter,
    ) -> (RunState, SessionWriter) {
        let stored = state.turn.shared_transcript();
        let state = state.resumed(&self.agent.config.limits);
        writer.rewrite_from(state.turn.common_prefix_len(&stored));
        (state, writer)
    }

    /// Loads the last state and the messages that the window needs, with the writer that continues
    /// from them.
    pub(super) async fn load(&self) -> Result<Option<(RunState, SessionWriter)>, SessionError> {
        self.check_principal().await?;
        let config = &self.agent.config;
        // The secrets of earlier calls are collected from their arguments.
        let has_secrets = config.registry.as_ref().is_ok_and(|it| it.snapshot().has_secrets());
        let window = config.window.as_ref().filter(|_| !has_secrets);
        load(&self.store, &self.name, |state| window.map_or(0, |it| it.first_needed(state))).await
    }
}

/// Stops a run whose session can't be loaded.
pub(super) fn not_loaded(error: SessionError) -> Stopped {
    not_started(StopReason::Session(error))
}

/// Stops a run before it has loaded its session.
pub(super) fn not_started(reason: StopReason) -> Stopped {
    stopped_at(reason, RunState::new(Turn::new(Vec::new(), 0)))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).finish_non_exhaustive()
    }
}
