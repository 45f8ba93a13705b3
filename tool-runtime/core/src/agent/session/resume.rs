//! Resumes the unfinished, paused or failed run of a session.

use super::decisions::merged;
use super::handle::{not_loaded, not_started};
use super::hold::Patience;
use super::{Session, SessionError};
use crate::agent::outcome::answer::stopped_at;
use crate::agent::persist::SessionWriter;
use crate::agent::run::{Run, RunSession};
use crate::agent::state::RunState;
use crate::agent::{Paused, StopReason, Stopped};

impl Session {
    /// Resumes the unfinished run of the session, under the agent's limits, as
    /// [`Agent::resume`](crate::Agent::resume) does. Returns `None` if there is none.
    ///
    /// There is none if the model has answered: its answer is the last of the
    /// [messages](Self::messages), even if the process ended before it was returned. A run that
    /// [extracts](Self::extract) a value is unfinished until it has the value, and [`Run::extract`]
    /// continues to it.
    ///
    /// Also returns `None` if the run [failed](super::SessionStatus::Failed): it stopped with an
    /// error other than a cancellation. [`resume_failed`](Self::resume_failed) continues such a
    /// run, and the next prompt begins another one.
    ///
    /// If calls await approval, the run pauses for them again; pass the decisions to
    /// [`resume_with`](Self::resume_with). A [`Paused`] that was stored before stays valid, if this
    /// agent has the same limits as the one that paused the run.
    ///
    /// # Concurrent runs
    /// Resuming waits until a [run of this process](Self::fail_if_busy) has ended. If another
    /// process holds the [lease](super::SessionStore::acquire) of the session, it waits for 30
    /// seconds at most: as long as the lease of a process that was killed may last. With SQLite,
    /// such a lease ends with its process. [`resume_now`](Self::resume_now) does not wait.
    ///
    /// If a process loses its lease, for example because it was suspended, its run starts neither a
    /// call nor a request from then on, and stops with [`LeaseLost`](SessionError::LeaseLost). What
    /// was in flight is cancelled; a repeatable call among it may run again under the new owner.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be loaded, and with
    /// [`Busy`](SessionError::Busy) if another process still holds the lease.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
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
    /// #     ChatReply::text("Four."),
    /// # ]);
    /// let session = Agent::new(model, tools![roll]).session(MemorySessions::new(), "ada");
    /// let mut run = session.start("Roll the dice.").await?;
    /// run.next().await;
    /// drop(run);
    ///
    /// // Later, perhaps in another process.
    /// if let Some(run) = session.resume().await? {
    ///     assert_eq!(run.finish().await?.to_string(), "Four.");
    /// }
    /// assert!(session.resume().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume(&self) -> Result<Option<Run>, Stopped> {
        self.resume_within(Patience::Lifetime, |state| state.failure.is_none()).await
    }

    /// Resumes the unfinished run of the session as [`resume`](Self::resume) does, but does not
    /// wait for another run, in this process or in another one.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] with [`Busy`](SessionError::Busy), which names the owner, if
    /// a run of the session is in progress, and the errors of [`resume`](Self::resume).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// let run = session.start("Hello").await?;
    /// assert!(session.resume_now().await.is_err(), "its run is in progress");
    /// assert_eq!(run.finish().await?.text, "Hi!");
    /// assert!(session.resume_now().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_now(&self) -> Result<Option<Run>, Stopped> {
        self.resume_within(Patience::None, |state| state.failure.is_none()).await
    }

    /// Resumes the last run of the session even if it [failed](super::SessionStatus::Failed), for
    /// example by an agent with higher limits. Returns `None` if it needs no further step.
    ///
    /// # Errors
    /// Returns the errors of [`resume`](Self::resume).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
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
    /// #     ChatReply::text("I could not roll."),
    /// # ]);
    /// let agent = Agent::new(model, tools![roll]).max_iterations(1);
    /// let store = MemorySessions::new();
    /// let stopped = agent.session(store.clone(), "ada").run("Roll.").await.unwrap_err();
    /// assert_eq!(stopped.reason.code(), "ITERATION_LIMIT");
    ///
    /// let session = agent.max_iterations(3).session(store, "ada");
    /// assert!(session.resume().await?.is_none());
    /// let run = session.resume_failed().await?.ok_or("the run has no answer")?;
    /// assert_eq!(run.finish().await?.text, "I could not roll.");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_failed(&self) -> Result<Option<Run>, Stopped> {
        self.resume_within(Patience::Lifetime, |_| true).await
    }

    async fn resume_within(
        &self,
        patience: Patience,
        is_wanted: impl Fn(&RunState) -> bool,
    ) -> Result<Option<Run>, Stopped> {
        let lock = match patience {
            Patience::None => self.store.locks().try_lock(&self.name).ok_or_else(|| self.busy()),
            _ => Ok(self.lock().await.map_err(not_started)?),
        };
        let lock = lock.map_err(not_loaded)?;
        // A lease takes two writes, and most sessions have no run to resume.
        if self.load_unfinished(&is_wanted).await?.is_none() {
            return Ok(None);
        }
        let hold = self.hold_locked(lock, patience).await.map_err(not_started)?;
        match self.load_unfinished(&is_wanted).await {
            Ok(Some((state, writer))) => {
                Ok(Some(self.begin(state, RunSession::new(writer, None, hold))))
            }
            loaded => {
                hold.release().await;
                loaded.map(|_| None)
            }
        }
    }

    /// Loads the unfinished run of the session, if there is one and it is wanted.
    async fn load_unfinished(
        &self,
        is_wanted: impl Fn(&RunState) -> bool,
    ) -> Result<Option<(RunState, SessionWriter)>, Stopped> {
        let Some((state, writer)) = self.load().await.map_err(not_loaded)? else { return Ok(None) };
        let (state, writer) = self.resumed(state, writer);
        Ok((state.is_unfinished() && is_wanted(&state)).then_some((state, writer)))
    }

    /// Resumes a paused run with the decisions on its pending calls.
    ///
    /// Each pause takes one call of this method, with decisions on all pending calls or on some of
    /// them. Those that were [saved](Self::save_decisions) apply as well.
    /// [`Agent::resume`](crate::Agent::resume) refuses the run, because it would resume it outside
    /// of the session.
    ///
    /// # Errors
    /// Returns [`StopReason::Session`] if the conversation can't be loaded, and with
    /// [`StaleDecision`](SessionError::StaleDecision) if the run was resumed with decisions before,
    /// belongs to another session, or another prompt has abandoned it, and if another decision on a
    /// call is saved.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
    ///
    /// /// Pays a person.
    /// #[tool(permission = "ask")]
    /// async fn pay(to: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
    /// #     ChatReply::text("Done."),
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// let stopped = session.run("Pay Ada.").await.unwrap_err();
    /// let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    ///
    /// paused.decide_each(|_| Approval::Once, "Grace");
    /// let answer = session.resume_with(*paused).await?.finish().await?;
    /// assert_eq!(answer.to_string(), "Done.");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_with(&self, paused: Paused) -> Result<Run, Stopped> {
        self.check_principal().await.map_err(not_loaded)?;
        let hold = self.hold(self.patience()).await.map_err(not_started)?;
        let refused = match self.load().await.map_err(not_loaded) {
            Ok(Some((state, writer))) if state.is_paused_at(&paused) => {
                // Another process may have saved decisions meanwhile.
                match merged(&state, &paused, &self.name) {
                    Ok(paused) => {
                        let state = state.decided(paused);
                        // From the first write on, the decisions can't be replaced by others.
                        let state = RunState { has_saved_decisions: true, ..state };
                        let (state, writer) = self.resumed(state, writer);
                        return Ok(self.begin(state, RunSession::new(writer, None, hold)));
                    }
                    Err(reason) => {
                        let error = self.stale(reason);
                        stopped_at(StopReason::Session(error), paused.into())
                    }
                }
            }
            Ok(loaded) => {
                let error = self.stale(self.stale_reason(loaded.map(|(state, _)| state), &paused));
                stopped_at(StopReason::Session(error), paused.into())
            }
            Err(stopped) => stopped,
        };
        hold.release().await;
        Err(refused)
    }

    pub(super) fn stale(&self, reason: String) -> SessionError {
        SessionError::StaleDecision { session: self.name.clone(), reason }
    }

    /// Returns why the session does not wait for these decisions.
    pub(super) fn stale_reason(&self, stored: Option<RunState>, paused: &Paused) -> String {
        match (&paused.session, stored) {
            (Some(other), _) if *other != self.name => {
                format!("the run belongs to the session `{other}`")
            }
            (_, Some(stored)) if stored.run == paused.run => {
                "the run was resumed before; `resume` continues what is left of it".into()
            }
            _ => "the conversation has continued without the run".to_owned(),
        }
    }
}
