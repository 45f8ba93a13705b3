//! The full name of a tool: `provider__name`, or its own name if it has no provider.
//!
//! The name under which models call the tool of a provider depends on the other tools. The full
//! name does not. Settings refer to tools by full name, so that they keep their meaning.

use std::sync::Arc;

use crate::tool::ToolDefinition;

/// Separates the provider from the tool. The name of a provider neither contains it nor ends with
/// `_`, so the first separator in a full name is where the provider ends.
pub(crate) const SEPARATOR: &str = "__";

/// Returns the full name of a provider's tool.
pub(crate) fn full_name(provider: &str, own_name: &str) -> String {
    format!("{provider}{SEPARATOR}{own_name}")
}

/// Splits a full name into the provider and the tool, if it has a provider.
pub(crate) fn split_full_name(full: &str) -> Option<(&str, &str)> {
    full.split_once(SEPARATOR)
}

/// Returns the names by which models may have called the tool with this full name.
pub(crate) fn callable_names(full: &str) -> impl Iterator<Item = &str> {
    [full].into_iter().chain(split_full_name(full).map(|(_, own_name)| own_name))
}

impl ToolDefinition {
    /// Returns the name that is unique within a registry and never changes.
    ///
    /// It is `provider__name`, or [`name`](Self::name) if the tool has no provider.
    pub fn full_name(&self) -> &str {
        self.full_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns `true` if a setting for `name` applies to this tool.
    ///
    /// A setting applies if it names the full name or the own name of the tool. Tools of several
    /// providers can have the same own name, so a setting can apply to several tools. An own name
    /// that looks like a full name does not count. See
    /// [tool names](crate::registry#tool-names).
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
    /// assert!(definition.has_name("find") && definition.has_name("github__find"));
    /// assert!(!definition.has_name("jira__find"));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the names that settings can use: the full name, then the own name if the tool has a
    /// provider and its own name does not look like a full name. A setting for the full name takes
    /// precedence.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let own_name =
            self.full_name.as_deref().and_then(split_full_name).map(|(_, own_name)| own_name);
        [Some(self.full_name()), own_name.filter(|own_name| !own_name.contains(SEPARATOR))]
            .into_iter()
            .flatten()
    }

    /// Sets or removes the provider.
    pub(crate) fn with_provider(mut self, provider: Option<&str>) -> Self {
        self.full_name = provider.map(|provider| Arc::from(full_name(provider, &self.name)));
        self
    }
}
