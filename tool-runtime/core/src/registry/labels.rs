use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::{Entry, Registry, RegistryError, Tools};
use crate::registry::contents::replace::Group;
use crate::tool::definition::bounds::{MAX_LABEL_BYTES, MAX_LABELS, is_plain};

/// The number of characters of a label that errors quote.
const MAX_QUOTED_CHARS: usize = 80;

/// Checks the labels of a tool.
///
/// # Errors
/// There are too many, or one is empty, too long or contains control or invisible characters.
pub(super) fn check(full_name: &str, labels: &BTreeSet<Arc<str>>) -> Result<(), RegistryError> {
    if labels.len() > MAX_LABELS {
        let (name, count) = (full_name.to_owned(), labels.len());
        return Err(RegistryError::TooManyLabels { name, count });
    }
    let is_valid =
        |label: &Arc<str>| (1..=MAX_LABEL_BYTES).contains(&label.len()) && is_plain(label);
    match labels.iter().find(|label| !is_valid(label)) {
        None => Ok(()),
        Some(label) => Err(RegistryError::Label {
            name: full_name.to_owned(),
            label: label.chars().take(MAX_QUOTED_CHARS).collect(),
        }),
    }
}

/// Tools that have a label, which groups them independently of their providers.
///
/// A tool can have several labels: [`Tools::labeled`] gives them to the tools of a list.
impl Registry {
    /// Creates a view that contains only the tools that have at least one of these labels, now or
    /// later.
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
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let registry = Registry::try_from(tools![now])?;
    /// registry.register_all_from("jira", tools![find].labeled(["remote"]))?;
    /// let remote = registry.only_labeled(["remote"]);
    /// assert!(remote.snapshot().get("find").is_some());
    /// assert!(remote.snapshot().get("now").is_none());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn only_labeled<L: Into<String>>(&self, labels: impl IntoIterator<Item = L>) -> Self {
        let labels: HashSet<String> = labels.into_iter().map(Into::into).collect();
        self.filter(move |entry| entry.labels().any(|label| labels.contains(label)))
    }

    /// Removes all tools of this view that have the label, and returns them.
    #[must_use = "if this is dropped, the tools can't be restored"]
    pub fn unregister_labeled(&self, label: &str) -> Vec<Arc<Entry>> {
        let entries = self.entries_where(|entry| entry.has_label(label));
        self.remove(&entries)
    }

    /// Replaces all tools that have a label by these tools, in one atomic change, and returns the
    /// tools that were removed or replaced.
    ///
    /// The new tools have the label, in addition to those of the list, and no provider. The call
    /// affects all views, like a registration.
    ///
    /// # Errors
    /// The errors of [`register_all`](Self::register_all). Then nothing is changed.
    pub fn replace_all_labeled(
        &self,
        label: &str,
        tools: Tools,
    ) -> Result<Vec<Arc<Entry>>, RegistryError> {
        self.replace_group(&Group::Label(label), tools.labeled([label]), None)
    }
}
