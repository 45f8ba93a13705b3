//! The choice between queueing and refusing prompts while a run of their session is in progress.

use super::{Session, SessionError, SessionLock};
use crate::agent::StopReason;

/// Behavior of a session when a prompt arrives while another run is in progress.
///
/// It applies to the runs of one process whose stores [share their
/// locks](super::SessionStore::locks), such as clones of a store. A run is in progress from its
/// start until it ends, pauses or is dropped. If another process runs the
/// session, the run that writes second stops with a [conflict](SessionError::Conflict).
///
/// ```
/// use tool_runtime::agent::session::{ConcurrentRuns, MemorySessions, SessionError};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hi!")]);
/// let session = Agent::new(model, Tools::new())
///     .session(MemorySessions::new(), "ada")
///     .concurrent_runs(ConcurrentRuns::Fail);
/// let run = session.start("Hello").await?;
/// let stopped = session.start("Are you there?").await.unwrap_err();
/// assert!(matches!(stopped.reason, StopReason::Session(SessionError::Busy { .. })));
/// assert_eq!(run.finish().await?.to_string(), "Hi!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentRuns {
    /// Prompts wait in the order of arrival. Each one starts when the run before it has ended, and
    /// continues the conversation.
    ///
    /// Do not start a run of a session while you hold another run of it: the new run would wait for
    /// the held run forever. The same applies to a tool that prompts the session in which it runs.
    #[default]
    Queue,
    /// The prompt fails with [`SessionError::Busy`] before the model is called. A web server
    /// answers it with the status `409 Conflict`.
    Fail,
}

impl Session {
    /// Sets what a prompt does if another run of the session is in progress. Default:
    /// [`Queue`](ConcurrentRuns::Queue).
    #[must_use]
    pub fn concurrent_runs(mut self, policy: ConcurrentRuns) -> Self {
        self.concurrent_runs = policy;
        self
    }

    /// Takes the lock of the session. Waiting ends if the agent is cancelled.
    pub(super) async fn lock(&self) -> Result<SessionLock, StopReason> {
        let (locks, name) = (self.store.locks(), self.name.as_str());
        // A session that is free needs no turn, so that a cancelled run stops as any other does.
        if let Some(lock) = locks.try_lock(name) {
            return Ok(lock);
        }
        match (self.concurrent_runs, &self.agent.config.cancellation) {
            (ConcurrentRuns::Queue, None) => Ok(locks.lock(name).await),
            (ConcurrentRuns::Queue, Some(cancellation)) => cancellation
                .run_until_cancelled(locks.lock(name))
                .await
                .ok_or(StopReason::Cancelled),
            (ConcurrentRuns::Fail, _) => {
                Err(SessionError::Busy { session: name.to_owned() }.into())
            }
        }
    }
}
