//! The choice between queueing and refusing prompts while a run of their session is in progress.

use super::{Session, SessionError, SessionLock};
use crate::agent::StopReason;

impl Session {
    /// Lets a prompt fail with [`SessionError::Busy`], before the model is called, if another run
    /// of the session is in progress. A web server answers it with the status `409 Conflict`.
    ///
    /// By default, prompts wait in the order of arrival. Each one starts when the run before it has
    /// ended, and continues the conversation. Don't start a run of a session while you hold another
    /// run of it: the new run would wait for the held run forever. The same applies to a tool that
    /// prompts the session in which it runs.
    ///
    /// Both apply to the runs of one process whose stores [share their
    /// locks](super::SessionStore::locks), such as clones of a store. A run is in progress from its
    /// start until it ends, pauses or is dropped. If another process runs the session, the run that
    /// writes second stops with a [conflict](SessionError::Conflict).
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

    /// Takes the lock of the session. Waiting ends if the agent is cancelled.
    pub(super) async fn lock(&self) -> Result<SessionLock, StopReason> {
        let (locks, name) = (self.store.locks(), self.name.as_str());
        // A session that is free needs no turn, so that a cancelled run stops as any other does.
        if let Some(lock) = locks.try_lock(name) {
            return Ok(lock);
        }
        match &self.agent.config.cancellation {
            _ if self.fails_if_busy => Err(SessionError::Busy { session: name.to_owned() }.into()),
            None => Ok(locks.lock(name).await),
            Some(cancellation) => cancellation
                .run_until_cancelled(locks.lock(name))
                .await
                .ok_or(StopReason::Cancelled),
        }
    }
}
