//! Replaces a group of tools in one change: a snapshot contains either all old tools or all new
//! ones.

use std::sync::Arc;

use crate::registry::candidates::candidates;
use crate::registry::contents::Contents;
use crate::registry::{Entry, Registry, RegistryError, Tools};

/// The tools that a replacement removes. No foreign code decides about that, so a change can
/// determine them under the lock.
pub(crate) enum Group<'a> {
    Provider(&'a str),
    Label(&'a str),
}

impl Group<'_> {
    fn contains(&self, entry: &Entry) -> bool {
        match self {
            Self::Provider(provider) => entry.provider() == Some(provider),
            Self::Label(label) => entry.has_label(label),
        }
    }

    /// Returns the contents without the tools of this group, and the removed tools.
    pub(crate) fn remove_from(&self, contents: &Contents) -> (Contents, Vec<Arc<Entry>>) {
        let old: Vec<_> = contents.iter().filter(|it| self.contains(it)).cloned().collect();
        contents.remove(&old)
    }
}

impl Registry {
    /// Replaces all tools of a provider by these tools, in one atomic change, and returns the
    /// tools that were removed or replaced.
    ///
    /// A snapshot contains either all old tools or all new ones. The call affects all views, like a
    /// registration. The old tools' labels are not carried over: give the list its labels with
    /// [`Tools::labeled`]. For a list from outside, use
    /// [`replace_valid_from`](Self::replace_valid_from), which skips invalid tools.
    ///
    /// # Errors
    /// The errors of [`register_all_from`](Self::register_all_from). Then nothing is changed.
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
    /// /// Lists issues.
    /// #[tool(effect = "read")]
    /// async fn list() -> &'static str {
    ///     "none"
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("jira", tools![find])?;
    /// let removed = registry.replace_all_from("jira", tools![list])?;
    /// assert_eq!(removed.len(), 1);
    /// assert!(registry.snapshot().get("find").is_none());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn replace_all_from(
        &self,
        provider: &str,
        tools: Tools,
    ) -> Result<Vec<Arc<Entry>>, RegistryError> {
        self.replace_group(&Group::Provider(provider), tools, Some(provider))
    }

    pub(crate) fn replace_group(
        &self,
        group: &Group<'_>,
        tools: Tools,
        provider: Option<&str>,
    ) -> Result<Vec<Arc<Entry>>, RegistryError> {
        let (new, source) = self.described(candidates(tools, provider)?.into_all()?);
        let change = |contents: &Contents| {
            let (rest, mut removed) = group.remove_from(contents);
            let (next, replaced) = rest.insert(&new, &source)?;
            removed.extend(replaced);
            Ok::<_, RegistryError>((next, removed))
        };
        Ok(self.contents.change(change)?.1)
    }
}

/// Tests all schedules that shuttle tries: see [`shared`](crate::registry::contents::shared).
#[cfg(all(test, shuttle))]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::json;
    use shuttle::thread;

    use crate::message::Arguments;
    use crate::registry::{Registry, Tools};
    use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

    const SCHEDULES: usize = 3_000;

    struct Named(ToolDefinition);

    #[async_trait]
    impl Tool for Named {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Err(ToolError::failed("never called"))
        }
    }

    fn list(names: [&str; 2]) -> Tools {
        let definition = |name| ToolDefinition::new(name, "It.", json!({ "type": "object" }));
        names.map(|name| Arc::new(Named(definition(name))) as Arc<dyn Tool>).into_iter().collect()
    }

    #[test]
    fn replaced_provider_is_never_empty_or_mixed() {
        let lists = [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]];
        shuttle::check_random(
            move || {
                let registry = Registry::new();
                registry.register_all_from("p", list(lists[0])).unwrap();
                let replace = |names| {
                    let registry = registry.clone();
                    thread::spawn(move || {
                        registry.replace_all_from("p", list(names)).unwrap().len()
                    })
                };
                let check = || {
                    let snapshot = registry.snapshot();
                    let names: Vec<_> = snapshot.entries().map(|entry| entry.name()).collect();
                    assert!(lists.iter().any(|list| names == *list), "{names:?}");
                    names == lists[0]
                };
                let writers = [replace(lists[1]), replace(lists[2])];
                check();
                for writer in writers {
                    assert_eq!(writer.join().unwrap(), 2);
                }
                assert!(!check());
            },
            SCHEDULES,
        );
    }
}
