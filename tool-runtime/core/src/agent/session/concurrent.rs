//! Prompts to a session whose other run is in progress, or waits for decisions.

use std::time::Duration;

use super::hold::Patience;
use super::{Session, SessionError, SessionLock};
use crate::agent::StopReason;

/// The longest lifetime of a lease, so that its end is a time that each clock can represent.
const MAX_LEASE_LIFETIME: Duration = Duration::from_secs(365 * 24 * 3_600);

impl Session {
    /// Lets a prompt fail with [`SessionError::Busy`], before the model is called, if another run
    /// of the session is in progress. A web server answers it with the status `409 Conflict`.
    ///
    /// By default, prompts wait in the order of arrival. Each one starts when the run before it has
    /// ended, and continues the conversation. Don't start a run of a session while you hold another
    /// run of it: the new run would wait for the held run forever. The same applies to a tool that
    /// prompts the session in which it runs.
    ///
    /// A run is in progress from its start until it ends, pauses or is dropped. In one process, the
    /// runs whose stores [share their locks](super::SessionStore::locks), such as clones of a
    /// store, start in the order of arrival. A run in another process, or of a store that was
    /// opened separately, holds the [lease](super::SessionStore::acquire) of the session: prompts
    /// ask for it until it is free, in no order. The lease of a process that was killed lasts [30
    /// seconds](Self::lease_lifetime) at most; with SQLite, it ends with the process.
    ///
    /// ```
    /// use tool_runtime::agent::session::{MemorySessions, SessionError};
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi!")]);
    /// let session =
    ///     Agent::new(model, Tools::new()).session(MemorySessions::new(), "ada").fail_if_busy();
    /// let run = session.start("Hello").await?;
    /// let stopped = session.start("Are you there?").await.unwrap_err();
    /// assert!(matches!(stopped.reason, StopReason::Session(SessionError::Busy { .. })));
    /// assert_eq!(run.finish().await?.to_string(), "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn fail_if_busy(mut self) -> Self {
        self.fails_if_busy = true;
        self
    }

    /// Lets a prompt abandon a run that waits for decisions on its calls, or for answers.
    ///
    /// By default, such a prompt is [refused](StopReason::PromptRefused), so that no call is
    /// discarded that a person is about to decide on. With this method, those calls get a result
    /// that says that they were not run, and later decisions on them are
    /// [refused](SessionError::StaleDecision).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::dispatch::AskLater;
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
    ///
    /// /// Pays a person.
    /// #[tool(permission = "ask")]
    /// async fn pay(to: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
    /// #     ChatReply::text("It is noon."),
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("Pay Ada.").await.unwrap_err();
    ///
    /// let refused = session.run("What time is it?").await.unwrap_err();
    /// let StopReason::PromptRefused(paused) = refused.reason else { panic!() };
    /// assert_eq!(paused.pending()[0].tool, "pay");
    ///
    /// let answer = session.abandon_paused().run("What time is it?").await?;
    /// assert_eq!(answer.text, "It is noon.");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn abandon_paused(mut self) -> Self {
        self.abandons_paused = true;
        self
    }

    /// Sets the time after which a lease of the session expires that is not renewed; 30 seconds by
    /// default.
    ///
    /// A run renews its lease each third of this time. So this is how long other processes wait for
    /// the session of a machine that failed, and how long a run continues while it can't reach the
    /// store. A store that does not grant or refuse the lease within this time counts as
    /// [unavailable](SessionError::Unavailable). Use the same value in all processes. A longer time
    /// than a year counts as a year.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.lease_lifetime(Duration::from_secs(10)).run("Hello").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn lease_lifetime(mut self, lifetime: Duration) -> Self {
        self.lease_lifetime = lifetime.min(MAX_LEASE_LIFETIME);
        self
    }

    /// Returns how long a prompt or a change waits for another process.
    pub(super) fn patience(&self) -> Patience {
        if self.fails_if_busy { Patience::None } else { Patience::Unlimited }
    }

    /// Returns the error for a run of this process.
    pub(super) fn busy(&self) -> SessionError {
        let owner = self.store.locks().owner().label.clone();
        SessionError::Busy { session: self.name.clone(), owner }
    }

    /// Takes the lock of the session. Waiting ends if the agent is cancelled.
    pub(super) async fn lock(&self) -> Result<SessionLock, StopReason> {
        let (locks, name) = (self.store.locks(), self.name.as_str());
        // A session that is free needs no turn, so that a cancelled run stops as any other does.
        if let Some(lock) = locks.try_lock(name) {
            return Ok(lock);
        }
        match &self.agent.config.cancellation {
            _ if self.fails_if_busy => Err(self.busy().into()),
            None => Ok(locks.lock(name).await),
            Some(cancellation) => cancellation
                .run_until_cancelled(locks.lock(name))
                .await
                .ok_or(StopReason::Cancelled),
        }
    }
}
