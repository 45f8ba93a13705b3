use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Stores descriptions that replace those of the tools, so that they can be tuned at run time.
///
/// A registry queries the version for each snapshot. It queries the descriptions only if the
/// version has changed or tools are registered. Neither method may block. Both can access the
/// registry, which then still has the old contents.
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::registry::DescriptionStore;
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// /// Shortens every description.
/// struct Terse;
///
/// impl DescriptionStore for Terse {
///     fn version(&self) -> u64 {
///         1
///     }
///
///     fn description(&self, name: &str) -> Option<Arc<str>> {
///         Some(format!("Runs {name}.").into())
///     }
/// }
///
/// let registry = Registry::try_from(tools![now])?.descriptions(Terse);
/// assert_eq!(registry.snapshot().definition("now").unwrap().description, "Runs now.");
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
pub trait DescriptionStore: Send + Sync {
    /// Returns a number that changes whenever a description changes.
    fn version(&self) -> u64;

    /// Returns the description of the tools that [have this name](crate::registry#tool-names), if
    /// the store has one.
    ///
    /// The tool of a provider is queried by its full name first and then by its own name. If the
    /// store has neither, or the description is empty, too long or contains invisible characters,
    /// the description of the tool itself is used.
    fn description(&self, name: &str) -> Option<Arc<str>>;
}

/// Stores descriptions in memory. Clones share them.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
/// use tool_runtime::registry::MemoryDescriptions;
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let descriptions = MemoryDescriptions::default();
/// let registry = Registry::try_from(tools![now])?.descriptions(descriptions.clone());
///
/// let version = descriptions.set("now", "Returns the time in the user's city. Ask for it first.");
/// assert_eq!(
///     registry.snapshot().definition("now").unwrap().description,
///     "Returns the time in the user's city. Ask for it first.",
/// );
/// assert!(descriptions.remove("now") > version);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryDescriptions(Arc<DescriptionsState>);

#[derive(Default)]
struct DescriptionsState {
    version: AtomicU64,
    texts: RwLock<BTreeMap<String, Arc<str>>>,
}

impl MemoryDescriptions {
    /// Sets the description of the tools that [have this name](crate::registry#tool-names). A
    /// description for a full name takes precedence. Returns the new version.
    pub fn set(&self, name: impl Into<String>, description: impl Into<Arc<str>>) -> u64 {
        self.change(|texts| drop(texts.insert(name.into(), description.into())))
    }

    /// Removes the description for this name. Returns the new version.
    pub fn remove(&self, name: &str) -> u64 {
        self.change(|texts| drop(texts.remove(name)))
    }

    /// Removes all descriptions of the store. Returns the new version.
    pub fn clear(&self) -> u64 {
        self.change(BTreeMap::clear)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Arc<str>>)) -> u64 {
        let mut texts = self.0.texts.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut texts);
        // Incremented under the lock: a reader of the new version finds the new texts.
        self.0.version.fetch_add(1, Ordering::Release) + 1
    }
}

impl DescriptionStore for MemoryDescriptions {
    fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    fn description(&self, name: &str) -> Option<Arc<str>> {
        self.0.texts.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl fmt::Debug for MemoryDescriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDescriptions")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
