//! The status of a session.

use std::fmt;

/// The status of a session: what it waits for.
///
/// A run saves it with each step. Whether a run is in progress also depends on the lease of the
/// session, so a store decides that when it lists the session.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, SessionQuery, SessionStatus, SessionStore};
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tool, tools};
/// use tool_runtime::dispatch::AskLater;
///
/// /// Pays a person.
/// #[tool(permission = "ask")]
/// async fn pay(to: String) {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([ChatReply::default().call("pay", r#"{"to": "Ada"}"#)]);
/// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let store = MemorySessions::new();
/// agent.session(store.clone(), "ada").run("Pay Ada.").await.unwrap_err();
///
/// let waiting = store.list(SessionQuery::all().status(SessionStatus::Paused)).await?;
/// assert_eq!(waiting[0].session, "ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionStatus {
    /// No run is unfinished: the session waits for a prompt.
    #[default]
    Idle,
    /// A run is in progress: the session is leased.
    Running,
    /// A run is unfinished, and no process runs it. [`Session::resume`](super::Session::resume)
    /// continues it.
    Interrupted,
    /// A run waits for decisions on its calls, or for answers to their questions.
    /// [`Session::resume_with`](super::Session::resume_with) continues it.
    Paused,
    /// The last run stopped with an error. The session accepts prompts, and
    /// [`Session::resume_failed`](super::Session::resume_failed) continues that run.
    Failed,
}

impl SessionStatus {
    const ALL: [(Self, &str); 5] = [
        (Self::Idle, "idle"),
        (Self::Running, "running"),
        (Self::Interrupted, "interrupted"),
        (Self::Paused, "paused"),
        (Self::Failed, "failed"),
    ];

    /// Returns the name under which a store keeps the status, such as `idle`.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("idle", |(_, name)| name)
    }

    /// Returns the status of this name.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionStatus;
    ///
    /// assert_eq!(SessionStatus::from_name("paused"), Some(SessionStatus::Paused));
    /// assert_eq!(SessionStatus::from_name("gone"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, of_status)| *of_status == name).map(|(status, _)| *status)
    }

    /// Returns the status to list for a saved one: a run without a live lease was interrupted.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionStatus;
    ///
    /// let listed = [true, false].map(|is_leased| SessionStatus::Running.listed(is_leased));
    /// assert_eq!(listed, [SessionStatus::Running, SessionStatus::Interrupted]);
    /// assert_eq!(SessionStatus::Idle.listed(true), SessionStatus::Idle);
    /// ```
    #[must_use]
    pub fn listed(self, is_leased: bool) -> Self {
        match self {
            Self::Running if !is_leased => Self::Interrupted,
            saved => saved,
        }
    }

    /// Returns the saved statuses that can be listed as this one.
    pub fn saved_as(self) -> &'static [Self] {
        match self {
            Self::Idle => &[Self::Idle],
            Self::Running => &[Self::Running],
            Self::Interrupted => &[Self::Running, Self::Interrupted],
            Self::Paused => &[Self::Paused],
            Self::Failed => &[Self::Failed],
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
