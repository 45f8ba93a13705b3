use std::sync::Arc;

use crate::registry::candidates::candidates;
use crate::registry::contents::Contents;
use crate::registry::contents::replace::Group;
use crate::registry::{Entry, Registry, RegistryError, Tools};

/// Reports which tools of a list were registered, and why the others were not.
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
/// let report = registry.register_valid_from("jira", tools![find, find])?;
/// assert_eq!(report.registered, ["jira__find"]);
/// assert_eq!(report.skipped[0].index, 1);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegistrationReport {
    /// The full names of the tools that were registered, in the order of the list.
    pub registered: Vec<String>,
    /// The tools that were removed or replaced.
    pub removed: Vec<Arc<Entry>>,
    /// The tools that were not registered, in the order of the list.
    pub skipped: Vec<SkippedTool>,
}

/// A tool of a list that was not registered.
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
/// let report = Registry::new().register_valid_from("jira", tools![find, find])?;
/// let skipped = &report.skipped[0];
/// assert_eq!((skipped.index, skipped.name.as_deref()), (1, Some("find")));
/// assert!(skipped.error.to_string().starts_with("duplicate tool name `jira__find`"));
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedTool {
    /// The position in the list.
    pub index: usize,
    /// The name in the definition. `None` if the tool panicked. It may be invalid, and a long name
    /// is truncated.
    pub name: Option<String>,
    /// Why the tool was not registered.
    pub error: RegistryError,
}

/// Lists of tools from outside, such as those of a server.
impl Registry {
    /// Adds the valid tools of a list under a provider, in one atomic change, and reports the
    /// others.
    ///
    /// # Errors
    /// The name of the provider is invalid. Then nothing is changed.
    pub fn register_valid_from(
        &self,
        provider: &str,
        tools: Tools,
    ) -> Result<RegistrationReport, RegistryError> {
        self.add_valid(provider, tools, |contents| (contents.clone(), Vec::new()))
    }

    /// Replaces all tools of a provider by the valid tools of a list, in one atomic change, and
    /// reports the others.
    ///
    /// If a tool of the list is skipped, the provider's old tool of the same name is removed
    /// nevertheless. The call affects all views. The old tools' labels are not carried over: give
    /// the list its labels with [`Tools::labeled`].
    ///
    /// # Errors
    /// The name of the provider is invalid. Then nothing is changed.
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
    /// registry.register_all_from("jira", tools![find])?;
    /// let report = registry.replace_valid_from("jira", tools![find].labeled([""]))?;
    /// assert_eq!((report.removed.len(), report.skipped.len()), (1, 1));
    /// assert!(registry.snapshot().get("find").is_none());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn replace_valid_from(
        &self,
        provider: &str,
        tools: Tools,
    ) -> Result<RegistrationReport, RegistryError> {
        let group = Group::Provider(provider);
        self.add_valid(provider, tools, |contents| {
            let (mut rest, removed) = group.remove_from(contents);
            rest.announce(provider, None);
            (rest, removed)
        })
    }

    fn add_valid(
        &self,
        provider: &str,
        tools: Tools,
        base: impl Fn(&Contents) -> (Contents, Vec<Arc<Entry>>),
    ) -> Result<RegistrationReport, RegistryError> {
        let (indexes, new, mut skipped) = candidates(tools, Some(provider))?.into_valid();
        let (new, source) = self.described(new);
        let change = |contents: &Contents| {
            let (mut next, mut removed) = base(contents);
            let (mut registered, mut failed) = (Vec::new(), Vec::new());
            for (at, entry) in new.iter().enumerate() {
                match next.insert_one(entry) {
                    Ok(replaced) => {
                        removed.extend(replaced);
                        registered.push(entry.full_name().to_owned());
                    }
                    Err(error) => failed.push((at, error)),
                }
            }
            next.add_source(&source);
            (next, (registered, removed, failed))
        };
        let (registered, removed, failed) = self.change(change).1;
        skipped.extend(failed.into_iter().filter_map(|(at, error)| {
            let name = Some(new.get(at)?.own_name().to_owned());
            Some(SkippedTool { index: *indexes.get(at)?, name, error })
        }));
        skipped.sort_by_key(|tool| tool.index);
        Ok(RegistrationReport { registered, removed, skipped })
    }
}
