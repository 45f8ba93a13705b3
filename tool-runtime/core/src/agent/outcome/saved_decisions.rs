//! Decisions and answers that are collected for a paused run before it is resumed.

use super::paused::Paused;
use super::pending_call::{PendingCall, ToolState};
use crate::message::{CallId, visible};
use crate::tool::Approval;

impl Paused {
    /// Returns whether a call of this run, or of a run nested in it, has neither a decision nor an
    /// answer yet.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, AskLater};
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
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let reason = agent.run("Pay Ada.").await.unwrap_err().reason;
    /// let StopReason::AwaitingApproval(mut paused) = reason else { panic!() };
    /// assert!(paused.is_waiting());
    /// let call = paused.pending()[0].call.id.clone();
    /// paused.decide(&call, Approval::Once, "Grace")?;
    /// assert!(!paused.is_waiting());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_waiting(&self) -> bool {
        self.pending.iter().any(|pending| match &pending.state {
            Some(ToolState::Run(nested)) => nested.is_waiting(),
            _ if pending.question.is_some() => !pending.is_answered(),
            Some(ToolState::Other(_)) => false,
            None => self.decision_on(&pending.call.id).is_none(),
        })
    }

    /// Returns the decision on a pending call of this run that was recorded or
    /// [saved](crate::agent::session::Session::save_decisions), and the name of the approver.
    /// Returns `None` if there is none yet.
    pub fn decision_on(&self, call: &CallId) -> Option<(&Approval, &str)> {
        let decision = self.decisions.iter().find(|decision| decision.call == *call)?;
        let is_made = decision.approval != Approval::Defer;
        is_made.then_some((&decision.approval, decision.decided_by.as_str()))
    }

    /// Adds the decisions and answers of another copy of the paused run. Returns why one of them
    /// does not apply: its call is not pending with these arguments and this definition, or was
    /// decided otherwise.
    pub(in crate::agent) fn merge(&mut self, other: &Self) -> Result<(), String> {
        let decisions = other.decisions.iter().filter(|it| it.approval != Approval::Defer);
        for decision in decisions {
            let pending = self.pending.iter().find(|pending| pending.call.id == decision.call);
            let is_bound = pending.is_some_and(|pending| {
                pending.awaits_decision()
                    && pending.decision(decision.approval.clone(), &decision.decided_by)
                        == *decision
            });
            if !is_bound {
                return Err(not_pending(&decision.call));
            }
            match self.decision_on(&decision.call) {
                None => {
                    self.decisions.retain(|deferred| deferred.call != decision.call);
                    self.decisions.push(decision.clone());
                }
                Some((approval, by))
                    if (approval, by) == (&decision.approval, &decision.decided_by) => {}
                Some((_, by)) => return Err(already_decided(&decision.call, "decided", by)),
            }
        }
        for from in &other.pending {
            let to = self.pending.iter_mut().find(|pending| pending.call.id == from.call.id);
            match (to, &from.answer, &from.state) {
                (
                    Some(PendingCall { state: Some(ToolState::Run(to)), .. }),
                    _,
                    Some(ToolState::Run(from)),
                ) if to.run == from.run && to.turn.is_at_step_of(&from.turn) => {
                    to.merge(from)?;
                }
                (_, None, Some(ToolState::Run(nested))) if !nested.has_decisions() => {}
                (_, None, None | Some(ToolState::Other(_))) => {}
                (Some(to), Some(answer), state)
                    if to.question == from.question && to.state == *state =>
                {
                    match &to.answer {
                        None => to.answer = Some(answer.clone()),
                        Some(earlier) if earlier == answer => {}
                        Some(earlier) => {
                            return Err(already_decided(
                                &from.call.id,
                                "answered",
                                &earlier.answered_by,
                            ));
                        }
                    }
                }
                _ => return Err(not_pending(&from.call.id)),
            }
        }
        Ok(())
    }

    /// Returns whether a call of this run, or of a run nested in it, was decided on or answered.
    fn has_decisions(&self) -> bool {
        self.decisions.iter().any(|decision| decision.approval != Approval::Defer)
            || self.pending.iter().any(|pending| {
                pending.is_answered() || pending.nested_run().is_some_and(Self::has_decisions)
            })
    }
}

fn not_pending(call: &CallId) -> String {
    format!(
        "call `{}` is not pending with these arguments and this definition",
        visible(call.as_str())
    )
}

fn already_decided(call: &CallId, verb: &str, by: &str) -> String {
    format!("call `{}` was already {verb} by `{}`", visible(call.as_str()), visible(by))
}
