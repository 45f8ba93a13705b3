//! The name that is a tool's alone: `provider__name`, or its name where it has no provider.
//!
//! What models call a provider's tool depends on who else is there; this name doesn't. Settings that
//! name a tool mean it by this one, so that they go on meaning it.

use std::sync::Arc;

use super::ToolDefinition;

/// Between a provider and the name of its tool. No provider's name holds it or ends in a part of it,
/// so the first one in a full name is where the two meet.
pub(crate) const JOINT: &str = "__";

/// The full name of a provider's tool.
pub(crate) fn full_name(provider: &str, own: &str) -> String {
    format!("{provider}{JOINT}{own}")
}

/// The provider and the tool that a full name is made of, if it is made of two.
pub(crate) fn parts(full: &str) -> Option<(&str, &str)> {
    full.split_once(JOINT)
}

/// Whether models may have called the tool of this full name so.
pub(crate) fn is_named(full: &str, name: &str) -> bool {
    full == name || parts(full).is_some_and(|(_, own)| own == name)
}

impl ToolDefinition {
    /// The name that is this tool's alone in a registry, whoever comes and goes beside it:
    /// `provider__name`, or its name where it has no provider.
    pub fn full_name(&self) -> &str {
        self.full_name.as_deref().unwrap_or(&self.name)
    }

    /// Whether this names the tool, where a setting names tools: its full name does, and so does the
    /// name that it gave itself. Two providers' tools may share that one, so it means both; but not one
    /// that reads like a full name, for that would be another's. See
    /// [what names mean](crate::registry#what-names-mean).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn find(query: String) -> String {
    ///     query
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("github", tools![find])?;
    /// let tools = registry.snapshot();
    /// let definition = tools.definition("find").unwrap();
    /// assert_eq!(definition.full_name(), "github__find");
    /// assert!(definition.goes_by("find") && definition.goes_by("github__find"));
    /// assert!(!definition.goes_by("jira__find"));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn goes_by(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The names that it goes by: its full name, and where it has a provider that of its own which
    /// reads like none. What is said of the first is said of this tool alone, and so goes before what
    /// is said of the second.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.full_name.as_deref().and_then(parts).map(|(_, own)| own);
        [Some(self.full_name()), own.filter(|own| !own.contains(JOINT))].into_iter().flatten()
    }

    /// The same as one of a provider's tools, or of none's.
    pub(crate) fn under(mut self, provider: Option<&str>) -> Self {
        self.full_name = provider.map(|provider| Arc::from(full_name(provider, &self.name)));
        self
    }
}
