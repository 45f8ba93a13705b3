//! Runs the prompts of schedules, in a session or without one.

use serde_json::Value;
use tool_core::agent::Prompt;
use tool_core::agent::session::Session;
use tool_core::{Agent, Message, StopReason, Stopped};

use super::attempt::{SCHEDULE, failed, fired, metadata};
use super::plan::AttemptResult;
use crate::definition::Schedule;
use crate::record::Claim;

/// Runs a prompt in a new conversation, which is not stored. A further attempt repeats the run, so
/// it is safe only if no tool was called.
pub(super) async fn without_session(
    agent: &Agent,
    schedule: &Schedule,
    firing: &Claim,
    text: &str,
) -> AttemptResult {
    match agent.run(prompt_of(schedule, firing, text)).await {
        Ok(answer) => fired(&answer.text),
        Err(Stopped { reason: StopReason::AwaitingApproval(_), .. }) => {
            let advice = "allow the tool, or name a session, which keeps the run";
            failed(format!("the run awaits an approval: {advice}"), false)
        }
        Err(stopped) => {
            let has_called = stopped.transcript.iter().any(|it| matches!(it, Message::Tool { .. }));
            let is_retryable = !has_called && is_transient(&stopped);
            failed(stopped, is_retryable)
        }
    }
}

/// Runs a prompt in a session, or resumes the run of an earlier attempt. A run that no schedule has
/// started is not abandoned.
pub(super) async fn in_session(
    session: &Session,
    schedule: &Schedule,
    firing: &Claim,
    text: &str,
) -> AttemptResult {
    let name = session.name();
    match session.paused().await {
        Ok(None) => {}
        Ok(Some(_)) => return failed(format!("the session `{name}` awaits an approval"), true),
        Err(error) => {
            let is_transient = error.is_transient();
            return failed(error, is_transient);
        }
    }
    let metadata = metadata(schedule, firing);
    // Waits for the runs of this process, and for up to 30 seconds for those of another one.
    let finished = match session.resume_failed().await {
        Ok(None) => None,
        Ok(Some(run)) => {
            let stored = run.state().metadata;
            if !stored.contains_key(SCHEDULE) {
                let reason = "its process has ended, or it failed";
                return failed(
                    format!("the session `{name}` has an unfinished run: {reason}"),
                    true,
                );
            }
            let is_same = metadata
                .iter()
                .all(|(key, value)| stored.get(*key).and_then(Value::as_str) == Some(value));
            // Dropped, the run of another occurrence is abandoned by the prompt.
            if is_same { Some(run.finish().await) } else { None }
        }
        Err(stopped) => Some(Err(stopped)),
    };
    let result = match finished {
        Some(result) => result,
        None => session.run(prompt_of(schedule, firing, text)).await,
    };
    match result {
        Ok(answer) => fired(&answer.text),
        Err(stopped) => {
            let is_retryable = is_transient(&stopped);
            failed(stopped, is_retryable)
        }
    }
}

/// Returns whether a later attempt may succeed: the model was unavailable, the session was busy or
/// the store unreachable, or a run has paused meanwhile.
fn is_transient(stopped: &Stopped) -> bool {
    match &stopped.reason {
        StopReason::Model(error) => error.is_transient(),
        StopReason::Session(error) => error.is_transient(),
        StopReason::PromptRefused(_) => true,
        _ => false,
    }
}

fn prompt_of(schedule: &Schedule, firing: &Claim, text: &str) -> Prompt {
    metadata(schedule, firing)
        .into_iter()
        .fold(Prompt::from(text), |prompt, (key, value)| prompt.metadata(key, value))
}
