//! Saves decisions on the calls of a paused run before the run is resumed.

use super::{Session, SessionError};
use crate::agent::Paused;
use crate::agent::state::RunState;

impl Session {
    /// Saves the decisions and answers of a paused run with the session, without running anything.
    /// Returns the paused run with all that is saved so far.
    ///
    /// The next [`resume`](Self::resume), in any process, applies them. So several processes can
    /// decide on one call each, and nothing is lost if the process ends before the run is resumed.
    /// As long as a call [waits](Paused::is_waiting), the status of the session is
    /// [`Paused`](super::SessionStatus::Paused), and then
    /// [`Interrupted`](super::SessionStatus::Interrupted). `resume` may be called earlier: it
    /// applies what is saved, and the run pauses again for the other calls. No event is emitted
    /// until then. A prompt is [refused](Self::abandon_paused) until the run is resumed.
    ///
    /// A decision is bound to its call as one that is passed to
    /// [`resume_with`](Self::resume_with). A decision that is saved already may be saved again; it
    /// can't be changed.
    ///
    /// # Errors
    /// Returns [`StaleDecision`](SessionError::StaleDecision), and saves nothing, if the run was
    /// resumed or abandoned, if a call is no longer pending with these arguments and this
    /// definition, or if another decision on it is saved. Returns [`Busy`](SessionError::Busy) if a
    /// run is in progress and the session [does not wait](Self::fail_if_busy) for it, and the
    /// errors of [`messages`](Self::messages).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tool, tools};
    ///
    /// /// Pays a person.
    /// #[tool(permission = "ask")]
    /// async fn pay(to: String) {}
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
    /// // In the handler of a form, which does not continue the run:
    /// let mut paused = session.paused().await?.ok_or("no call is pending")?;
    /// paused.decide_each(|_| Approval::Once, "Grace");
    /// let paused = session.save_decisions(&paused).await?;
    /// assert!(!paused.is_waiting());
    ///
    /// // In a process that runs them.
    /// let run = session.resume().await?.ok_or("the run is decided on")?;
    /// assert_eq!(run.finish().await?.text, "Done.");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn save_decisions(&self, paused: &Paused) -> Result<Paused, SessionError> {
        let hold = self.hold_to_edit().await?;
        let saved = self.save_decided(paused, hold.epoch()).await;
        hold.release().await;
        saved
    }

    async fn save_decided(
        &self,
        paused: &Paused,
        epoch: Option<u64>,
    ) -> Result<Paused, SessionError> {
        let (state, mut writer) = match self.load().await? {
            Some((state, writer)) if state.is_paused_at(paused) => (state, writer),
            loaded => {
                let stored = loaded.map(|(state, _)| state);
                return Err(self.stale(self.stale_reason(stored, paused)));
            }
        };
        let Some(stored) = state.clone().into_unresumed(&self.name) else {
            return Err(self.stale(self.stale_reason(Some(state), paused)));
        };
        let merged = merged(&state, paused, &self.name).map_err(|reason| self.stale(reason))?;
        if merged != stored {
            let state = RunState { has_saved_decisions: true, ..state.decided(merged.clone()) };
            writer = writer.with_epoch(epoch);
            writer.save(&state).await?;
        }
        Ok(merged)
    }
}

/// Returns the paused run with the decisions that are saved and those of this copy of it, or why
/// they do not fit.
pub(super) fn merged(stored: &RunState, paused: &Paused, session: &str) -> Result<Paused, String> {
    match stored.clone().into_unresumed(session) {
        Some(mut merged) => merged.merge(paused).map(|()| merged),
        // The run was resumed with decisions, and no call has started since.
        None => Ok(paused.clone()),
    }
}
