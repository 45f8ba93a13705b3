use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{Registry, RegistryError};
use crate::guard::catch_panic;
use crate::schema::Dialect;
use crate::tool::Tool;
use crate::tool::function::Function;

/// A list of tools, which the macro [`tools!`](crate::tools) creates.
///
/// ```
/// use tool_runtime::{Registry, Tools, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let registry = Registry::try_from(tools![now])?;
/// assert!(registry.snapshot().get("now").is_some());
/// assert_eq!(Tools::new().into_iter().count(), 0);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Tools(Vec<(Arc<dyn Tool>, RegistrationOptions)>);

/// Labels and naming rule that a list adds to the registration of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegistrationOptions {
    pub(super) labels: BTreeSet<Arc<str>>,
    pub(super) is_always_prefixed: bool,
}

impl Tools {
    /// Creates an empty list.
    ///
    /// ```
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// // An agent that only talks.
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool to the list.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.0.push((Arc::new(tool), RegistrationOptions::default()));
        self
    }

    /// Adds several tools of the same type, such as those of
    /// [`Toolbox::into_tools`](crate::Toolbox::into_tools).
    #[must_use]
    pub fn with_all<T: Tool + 'static>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Self::with)
    }

    /// Adds the tools of another list.
    ///
    /// ```
    /// use tool_runtime::{Tools, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// fn clock_tools() -> Tools {
    ///     tools![now]
    /// }
    ///
    /// assert_eq!(tools![].merge(clock_tools()).into_iter().count(), 1);
    /// ```
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Adds labels to all tools that the list contains now.
    ///
    /// A label groups tools independently of their provider, such as `remote` or `beta`. A tool can
    /// have several. See [`Registry::only_labeled`] and [`Registry::unregister_labeled`].
    ///
    /// ```
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let registry = Registry::try_from(tools![now].labeled(["clock", "beta"]))?;
    /// let tools = registry.snapshot();
    /// assert!(tools.entry("now").unwrap().labels().eq(["beta", "clock"]));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn labeled<L: Into<String>>(mut self, labels: impl IntoIterator<Item = L>) -> Self {
        let labels: Vec<Arc<str>> = labels.into_iter().map(|it| it.into().into()).collect();
        for (_, options) in &mut self.0 {
            options.labels.extend(labels.iter().cloned());
        }
        self
    }

    /// Prefixes the names of all tools that the list contains now, as in `provider__name`, even if
    /// no other tool has the same own name.
    ///
    /// Models call such a tool by this name only, and it does not change the names of other tools.
    /// Without a provider it keeps its own name.
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
    /// registry.register_all_from("github", tools![find].always_prefixed())?;
    /// assert!(registry.snapshot().get("find").is_none());
    /// assert!(registry.snapshot().get("github__find").is_some());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn always_prefixed(mut self) -> Self {
        self.0.iter_mut().for_each(|(_, options)| options.is_always_prefixed = true);
        self
    }

    /// Returns the tools with what the list adds to their registration.
    pub(super) fn into_registrations(
        self,
    ) -> impl Iterator<Item = (Arc<dyn Tool>, RegistrationOptions)> {
        self.0.into_iter()
    }

    /// Creates a registry of these tools with the dialect of a model provider: see
    /// [`Registry::dialect`].
    ///
    /// # Errors
    /// A definition is invalid, the dialect can't express it, or two tools have the same name.
    pub fn dialect(self, dialect: Dialect) -> Result<Registry, RegistryError> {
        Registry::try_from(self)?.dialect(dialect)
    }

    /// Adds the tool of a function.
    #[doc(hidden)]
    #[must_use]
    pub fn with_function(self, function: &'static Function) -> Self {
        self.with(function)
    }
}

impl IntoIterator for Tools {
    type Item = Arc<dyn Tool>;
    type IntoIter = std::vec::IntoIter<Arc<dyn Tool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(tool, _)| tool).collect::<Vec<_>>().into_iter()
    }
}

impl FromIterator<Arc<dyn Tool>> for Tools {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Tool>>>(tools: I) -> Self {
        Self(tools.into_iter().map(|tool| (tool, RegistrationOptions::default())).collect())
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |tool: &Arc<dyn Tool>| catch_panic(|| tool.definition().name.clone()).ok();
        f.debug_list().entries(self.0.iter().map(|(tool, _)| name(tool))).finish()
    }
}
