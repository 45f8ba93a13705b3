use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::{Entry, Registry, RegistryError};
use crate::tool::Tool;
use crate::tool::definition::full_name::SEPARATOR;

impl Registry {
    /// Adds a tool under a provider. It replaces the provider's tool of the same name, which is
    /// returned.
    ///
    /// # Errors
    /// The name of the provider or the definition is invalid, or a tool without a provider has the
    /// name `provider__name`. Then nothing is changed.
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
    /// let github = registry.unregister_provider("github");
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

    /// Adds several tools under a provider in one atomic change and returns the tools that they
    /// replace.
    ///
    /// # Errors
    /// The errors of [`register_from`](Self::register_from), or two of the tools have the same
    /// name. Then nothing is changed.
    ///
    /// ```
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
    /// assert_eq!(registry.snapshot().providers(), ["github"]);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn register_all_from(
        &self,
        provider: &str,
        tools: super::Tools,
    ) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        self.add(tools, Some(provider))
    }

    /// Removes all tools of a provider that this view contains, and returns them.
    #[must_use = "if this is dropped, the tools can't be restored"]
    pub fn unregister_provider(&self, provider: &str) -> Vec<Arc<Entry>> {
        let entries = self.entries_where(|entry| entry.provider() == Some(provider));
        self.change(|contents| {
            let (mut next, removed) = contents.remove(&entries);
            next.announce(provider, None);
            next.set_unmatched_settings(provider, BTreeSet::new());
            (next, removed)
        })
        .1
    }

    /// Reports names of tools in the settings of a provider that none of its tools has, such as the
    /// trust in a misspelled tool of a server.
    ///
    /// [`Agent::check`](crate::Agent::check) and
    /// [`RunEvent::RuleUnmatched`](crate::event::RunEvent::RuleUnmatched) name them as
    /// [settings of a provider](crate::event::RuleSetting::ProviderSetting). They replace the names
    /// that the provider has reported before.
    ///
    /// ```
    /// use tool_runtime::{Agent, Registry, ScriptedModel};
    ///
    /// let registry = Registry::new();
    /// registry.report_unmatched_settings("github", ["find"]);
    /// let error = Agent::new(ScriptedModel::default(), registry.clone()).check().unwrap_err();
    /// assert!(error.to_string().contains("`github__find` applies to no tool"));
    ///
    /// registry.report_unmatched_settings("github", [""; 0]);
    /// assert!(Agent::new(ScriptedModel::default(), registry).check().is_ok());
    /// ```
    pub fn report_unmatched_settings<N: AsRef<str>>(
        &self,
        provider: &str,
        tools: impl IntoIterator<Item = N>,
    ) {
        let prefix = format!("{provider}{SEPARATOR}");
        let full_name = |name: N| match name.as_ref() {
            name if name.starts_with(&prefix) => name.to_owned(),
            name => format!("{prefix}{name}"),
        };
        let names: BTreeSet<_> = tools.into_iter().map(full_name).collect();
        // Another version of the registry would be compared with all rules again.
        if self.snapshot().has_unmatched_settings(provider, &names) {
            return;
        }
        self.change(|contents| {
            let mut next = contents.clone();
            next.set_unmatched_settings(provider, names.clone());
            (next, ())
        });
    }

    /// Announces a provider whose tools are not known yet, such as a server that starts.
    ///
    /// Until the provider registers its tools, is unregistered, or the
    /// [announcement ends](Self::end_announcement), a call to one of them is answered as
    /// [unavailable](crate::ToolErrorKind::Unavailable) with this state, instead of as a call to an
    /// unknown tool. Another announcement replaces the state. The state is written for a model:
    /// pass no text from outside.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let registry = Registry::new();
    /// registry.announce_provider("github", "the server `github` is starting");
    /// let call = ToolCall::new("1", "github__search", "{}");
    /// let result = Dispatcher::new(registry).dispatch(vec![call]).await.remove(0).result;
    /// assert!(result.text.contains("the server `github` is starting"));
    /// # }
    /// ```
    pub fn announce_provider(&self, provider: &str, state: impl Into<String>) {
        let state: Arc<str> = state.into().into();
        self.change(|contents| {
            let mut next = contents.clone();
            next.announce(provider, Some(Arc::clone(&state)));
            (next, ())
        });
    }

    /// Ends the [announcement](Self::announce_provider) of a provider that will have no tools.
    pub fn end_announcement(&self, provider: &str) {
        self.change(|contents| {
            let mut next = contents.clone();
            next.announce(provider, None);
            (next, ())
        });
    }

    /// Registers removed tools again, with their providers and labels. They replace tools of the
    /// same full names that have been registered in the meantime.
    ///
    /// # Errors
    /// A tool without a provider has been registered with the name `provider__name` of one of them.
    /// Then nothing is changed.
    pub fn restore(&self, removed: Vec<Arc<Entry>>) -> Result<(), RegistryError> {
        self.insert(removed).map(drop)
    }

    /// Creates a view that contains only the tools of these providers.
    #[must_use]
    pub fn only_from<P: Into<String>>(&self, providers: impl IntoIterator<Item = P>) -> Self {
        let providers: HashSet<String> = providers.into_iter().map(Into::into).collect();
        self.filter(move |entry| entry.provider().is_some_and(|it| providers.contains(it)))
    }
}
