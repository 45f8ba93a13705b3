//! A schedule as it is created: a timing, an action and a principal.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::timing::Timing;

/// A timing, an action, and the principal with whose rights the action is performed.
///
/// ```
/// use tool_runtime::schedule::{Action, MissedPolicy, Schedule, Timing};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let action = Action::prompt("Summarize my mail.");
/// let schedule = Schedule::new("mail", Timing::cron("0 9 * * 1-5", "Europe/Oslo")?, action, "ada")
///     .missed(MissedPolicy::Skip)
///     .max_retries(2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Schedule {
    /// The name of the schedule, unique among those of its principal.
    pub name: String,
    /// The times at which the schedule fires.
    pub timing: Timing,
    /// The action that is performed when the schedule fires.
    pub action: Action,
    /// The name of the principal with whose rights the action is performed.
    pub principal: String,
    /// The policy for occurrences that were due while no scheduler ran.
    pub missed: MissedPolicy,
    /// The number of times that a failed action is retried, if that is safe.
    pub max_retries: u32,
}

impl Schedule {
    /// Creates a schedule that performs an action with the rights of a principal.
    pub fn new(
        name: impl Into<String>,
        timing: Timing,
        action: Action,
        principal: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            timing,
            action,
            principal: principal.into(),
            missed: MissedPolicy::default(),
            max_retries: 0,
        }
    }

    /// Sets the policy for missed occurrences. Default: [`MissedPolicy::Once`].
    #[must_use]
    pub fn missed(mut self, policy: MissedPolicy) -> Self {
        self.missed = policy;
        self
    }

    /// Sets the number of times that a failed action is retried. Default: 0.
    ///
    /// The scheduler retries only what is safe to repeat: calls of tools that are idempotent or
    /// only read, calls that did not start, runs that stopped because the model was unavailable
    /// (they are resumed; without a session, only if they have called no tool), prompts to a
    /// session whose run awaits an approval or is unfinished, and messages that were refused
    /// because the queue was full. It waits for 30 seconds before the first retry, and twice as
    /// long before each further one, at most for an hour.
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }
}

/// The action that a schedule performs when it fires.
///
/// ```
/// use tool_runtime::schedule::Action;
///
/// let action = Action::call("send_mail", serde_json::json!({ "to": "ada@example.com" }));
/// assert_eq!(action.to_string(), r#"call send_mail {"to":"ada@example.com"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Runs the agent of the principal on a prompt.
    Prompt {
        /// The name of the session, which is created if it does not exist. `None` starts a new
        /// conversation each time, which is not stored.
        session: Option<String>,
        /// The text of the prompt.
        text: String,
    },
    /// Calls a tool of the principal's dispatcher.
    Call {
        /// The name of the tool.
        tool: String,
        /// The arguments of the call.
        arguments: Value,
    },
    /// Sends a message to the running agent of the principal.
    Message {
        /// The name of the session whose run receives the message; `None` allows any run.
        session: Option<String>,
        /// The text of the message.
        text: String,
    },
}

impl Action {
    /// Creates an action that runs the agent on a prompt, without a session.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt { session: None, text: text.into() }
    }

    /// Creates an action that calls a tool.
    pub fn call(tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self::Call { tool: tool.into(), arguments: arguments.into() }
    }

    /// Creates an action that sends a message to the running agent, or with its next run.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message { session: None, text: text.into() }
    }

    /// Names the session of a prompt or a message. A call has none.
    ///
    /// ```
    /// use tool_runtime::schedule::Action;
    ///
    /// let action = Action::prompt("Any mail?").session("ada");
    /// assert_eq!(action.to_string(), r#"prompt "Any mail?" in session ada"#);
    /// ```
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> Self {
        if let Self::Prompt { session, .. } | Self::Message { session, .. } = &mut self {
            *session = Some(name.into());
        }
        self
    }
}

/// Describes the action for people, such as `prompt "Hello" in session ada`.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt { session: None, text } => write!(f, "prompt {text:?}"),
            Self::Prompt { session: Some(session), text } => {
                write!(f, "prompt {text:?} in session {session}")
            }
            Self::Call { tool, arguments } => write!(f, "call {tool} {arguments}"),
            Self::Message { session: None, text } => write!(f, "message {text:?}"),
            Self::Message { session: Some(session), text } => {
                write!(f, "message {text:?} to session {session}")
            }
        }
    }
}

/// Policy for occurrences that were due while no scheduler ran.
///
/// ```
/// use tool_runtime::schedule::MissedPolicy;
///
/// assert_eq!(MissedPolicy::default(), MissedPolicy::Once);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissedPolicy {
    /// Fires only the latest occurrence, and only if it is late by at most the [grace
    /// period](crate::Scheduler::grace_period). Earlier ones are reported as missed.
    Skip,
    /// Fires the latest of the missed occurrences, however late. Earlier ones are reported as
    /// missed. This is the default.
    #[default]
    Once,
    /// Fires the latest occurrences, each of them, in their order. Earlier ones are reported as
    /// missed.
    All {
        /// The maximum number of occurrences to fire; at most [`MAX_MISSED`].
        max_occurrences: u32,
    },
}

/// The upper limit of `max_occurrences` in [`MissedPolicy::All`].
pub const MAX_MISSED: u32 = 100;
