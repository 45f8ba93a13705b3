use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::{Entry, Registry, RegistryError};
use crate::tool::Tool;

/// The tools of a provider that were taken away, for [`Registry::restore`].
#[derive(Clone)]
#[must_use = "dropped, the tools are gone"]
pub struct Withdrawn(pub(super) Vec<Arc<Entry>>);

impl Withdrawn {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter().map(|entry| entry.tool())
    }
}

impl fmt::Debug for Withdrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|entry| entry.own_name())).finish()
    }
}

/// Tools under the name of who provides them, such as a server, apart from all others.
///
/// Two providers may have a tool of the same name. Then neither is hidden: models are told of both
/// as `provider__name`, and a tool without a provider keeps its own name. A tool whose own name holds
/// `__` is always told of like that, so that no provider takes a name that is another's.
impl Registry {
    /// As [`register`](Self::register), under a provider: what is replaced is the provider's own.
    ///
    /// # Errors
    /// The provider's name or the tool's definition is not one that models' providers take, or a tool
    /// without a provider is named `provider__name` like this one; nothing was changed.
    ///
    /// ```
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn search(query: String) -> String {
    ///     query
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("github", tools![search])?;
    /// assert!(registry.snapshot().get("search").is_some());
    ///
    /// registry.register_all_from("jira", tools![search])?;
    /// let tools = registry.snapshot();
    /// let names: Vec<_> = tools.entries().map(|entry| entry.name()).collect();
    /// assert_eq!(names, ["github__search", "jira__search"]);
    ///
    /// let github = registry.withdraw("github");
    /// assert!(registry.snapshot().get("search").is_some());
    /// registry.restore(github)?;
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn register_from(
        &self,
        provider: &str,
        tool: Arc<dyn Tool>,
    ) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        Ok(self.add([tool].into_iter().collect(), Some(provider))?.pop())
    }

    /// All of these tools at once, under a provider; those that they displace come back.
    ///
    /// # Errors
    /// As [`register_from`](Self::register_from), or two tools of one name.
    pub fn register_all_from(
        &self,
        provider: &str,
        tools: super::Tools,
    ) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        self.add(tools, Some(provider))
    }

    /// Takes all tools of a provider away, and no other; of those, the ones that this view of the
    /// registry holds.
    pub fn withdraw(&self, provider: &str) -> Withdrawn {
        let held = self.held(|entry| entry.provider() == Some(provider));
        Withdrawn(self.take(&held))
    }

    /// Gives a provider its tools back, in the places of those that it has registered since.
    ///
    /// # Errors
    /// By now a tool without a provider is named `provider__name` like one of these; nothing was
    /// changed.
    pub fn restore(&self, withdrawn: Withdrawn) -> Result<(), RegistryError> {
        self.put(withdrawn.0).map(drop)
    }

    /// A view of this registry: the tools of these providers alone.
    #[must_use]
    pub fn only_from<P: Into<String>>(&self, providers: impl IntoIterator<Item = P>) -> Self {
        let providers: HashSet<String> = providers.into_iter().map(Into::into).collect();
        self.filter(move |entry| entry.provider().is_some_and(|it| providers.contains(it)))
    }
}
