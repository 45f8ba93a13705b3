pub(crate) mod description_source;
pub(crate) mod preferences;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::tool::ToolPreference;

/// Stores descriptions and preferences that replace those of the tools, so that they can be tuned
/// at run time.
///
/// A registry can have several stores: see [`precedence`](Self::precedence). It queries the version
/// for each snapshot. It queries descriptions and preferences only if the version has changed or
/// tools are registered. No method may block. All can access the registry, which then still has the
/// old contents.
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
    /// Returns a number that changes whenever a description or a preference changes.
    fn version(&self) -> u64;

    /// Returns the description of the tools that [have this name](crate::registry#tool-names), if
    /// the store has one.
    ///
    /// The tool of a provider is queried by its full name first and then by its own name. If the
    /// store has neither, or the description is empty, too long or contains invisible characters,
    /// that of the next store is used, or that of the tool itself.
    fn description(&self, name: &str) -> Option<Arc<str>>;

    /// Returns the preference of the tool with this
    /// [full name](crate::ToolDefinition::full_name), if the store has one. Default: none.
    ///
    /// It replaces the one that was set by [`prefer`](crate::Registry::prefer). If it is invalid,
    /// that of the next store is used.
    fn preference(&self, full_name: &str) -> Option<ToolPreference> {
        let _ = full_name;
        None
    }

    /// Returns the precedence over the other stores of a registry, which is queried once. Default:
    /// 0, for stores of the program.
    ///
    /// For each tool, the description and the preference are those of the store with the highest
    /// precedence that has one, whatever the order in which the stores were added. Of two stores
    /// with the same precedence, the one that was added last takes precedence. The store of a
    /// catalog of dynamic tools has 10, and that of an administrator
    /// ([`SharedOverrides`](crate::registry::overrides::SharedOverrides)) has 20.
    fn precedence(&self) -> u8 {
        0
    }
}

/// Stores descriptions and preferences in memory. Clones share them.
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
pub struct MemoryDescriptions {
    state: Arc<DescriptionsState>,
    precedence: u8,
}

#[derive(Default)]
struct DescriptionsState {
    version: AtomicU64,
    overrides: RwLock<Overrides>,
}

#[derive(Default)]
struct Overrides {
    texts: BTreeMap<String, Arc<str>>,
    preferences: BTreeMap<String, ToolPreference>,
}

impl MemoryDescriptions {
    /// Creates a store with this [precedence](DescriptionStore::precedence).
    ///
    /// ```
    /// use tool_runtime::registry::{DescriptionStore, MemoryDescriptions};
    ///
    /// assert_eq!(MemoryDescriptions::with_precedence(5).precedence(), 5);
    /// ```
    pub fn with_precedence(precedence: u8) -> Self {
        Self { precedence, ..Self::default() }
    }

    /// Sets the description of the tools that [have this name](crate::registry#tool-names). A
    /// description for a full name takes precedence. Returns the new version.
    pub fn set(&self, name: impl Into<String>, description: impl Into<Arc<str>>) -> u64 {
        self.change(|it| drop(it.texts.insert(name.into(), description.into())))
    }

    /// Removes the description for this name. Returns the new version.
    pub fn remove(&self, name: &str) -> u64 {
        self.change(|it| drop(it.texts.remove(name)))
    }

    /// Sets the preference of the tool with this [full name](crate::ToolDefinition::full_name).
    /// Returns the new version.
    ///
    /// ```
    /// use tool_runtime::registry::MemoryDescriptions;
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let store = MemoryDescriptions::default();
    /// let registry = Registry::try_from(tools![now])?.descriptions(store.clone());
    /// store.set_preference("now", ToolPreference::default().hidden());
    /// assert!(registry.snapshot().definition("now").unwrap().preference.hidden);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn set_preference(&self, full_name: impl Into<String>, preference: ToolPreference) -> u64 {
        self.change(|it| drop(it.preferences.insert(full_name.into(), preference)))
    }

    /// Removes the preference for this full name. Returns the new version.
    pub fn remove_preference(&self, full_name: &str) -> u64 {
        self.change(|it| drop(it.preferences.remove(full_name)))
    }

    /// Removes all descriptions and preferences of the store. Returns the new version.
    pub fn clear(&self) -> u64 {
        self.change(|it| *it = Overrides::default())
    }

    fn change(&self, change: impl FnOnce(&mut Overrides)) -> u64 {
        let overrides = &self.state.overrides;
        let mut overrides = overrides.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut overrides);
        // Incremented under the lock: a reader of the new version finds the new texts.
        self.state.version.fetch_add(1, Ordering::Release) + 1
    }

    fn read<T>(&self, read: impl FnOnce(&Overrides) -> T) -> T {
        read(&self.state.overrides.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DescriptionStore for MemoryDescriptions {
    fn version(&self) -> u64 {
        self.state.version.load(Ordering::Acquire)
    }

    fn description(&self, name: &str) -> Option<Arc<str>> {
        self.read(|it| it.texts.get(name).cloned())
    }

    fn preference(&self, full_name: &str) -> Option<ToolPreference> {
        self.read(|it| it.preferences.get(full_name).cloned())
    }

    fn precedence(&self) -> u8 {
        self.precedence
    }
}

impl fmt::Debug for MemoryDescriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDescriptions")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
