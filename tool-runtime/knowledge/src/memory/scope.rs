//! Scopes of facts: users, sessions and agents.

use std::fmt;

use tool_core::RunContext;

/// The scope of facts: a user, a session or an agent.
///
/// ```
/// use tool_runtime::knowledge::memory::MemoryScope;
///
/// assert_eq!(MemoryScope::user("ada").to_string(), "user ada");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryScope {
    /// The facts of a user, in all sessions and of all agents.
    User(String),
    /// The facts of one session.
    Session(String),
    /// The facts of an agent, for all users.
    Agent(String),
}

impl MemoryScope {
    /// The name of the metadata that contains the user.
    pub const USER: &'static str = "user";

    /// Creates the scope of a user.
    pub fn user(name: impl Into<String>) -> Self {
        Self::User(name.into())
    }

    /// Creates the scope of a session.
    pub fn session(name: impl Into<String>) -> Self {
        Self::Session(name.into())
    }

    /// Creates the scope of an agent.
    pub fn agent(name: impl Into<String>) -> Self {
        Self::Agent(name.into())
    }

    /// Returns the scopes of a run: those of its user, its session and its agent, if it has them.
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    /// use tool_runtime::knowledge::memory::MemoryScope;
    ///
    /// assert!(MemoryScope::of_run(&ToolContext::default().run_context()).is_empty());
    /// ```
    pub fn of_run(ctx: &RunContext<'_>) -> Vec<Self> {
        let user = ctx.metadata().get(Self::USER).and_then(|user| user.as_str());
        [user.map(Self::user), ctx.session().map(Self::session), ctx.agent().map(Self::agent)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the tenant of the facts in a document store.
    pub(super) fn tenant(&self) -> String {
        let (kind, name) = self.parts();
        format!("memory/{kind}/{name}")
    }

    /// Returns the kind of the scope: `user`, `session` or `agent`.
    pub(super) fn owner(&self) -> &'static str {
        self.parts().0
    }

    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::User(name) => ("user", name),
            Self::Session(name) => ("session", name),
            Self::Agent(name) => ("agent", name),
        }
    }
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind} {name}")
    }
}
