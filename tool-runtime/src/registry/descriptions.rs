use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Descriptions that take the place of the tools' own, so that they can be changed without touching
/// code: what a model is told decides how well it calls.
///
/// A registry asks for the version each time a snapshot is taken, and for the descriptions only
/// when it has moved, or tools are registered; so neither may block. Both may look at the registry, and
/// find what was there before.
pub trait DescriptionStore: Send + Sync {
    /// Moves whenever a description is changed.
    fn version(&self) -> u64;

    /// What models are told of the tools that [go by](crate::registry#what-names-mean) this name; none
    /// where it says nothing of it. A provider's tool is asked for as `provider__name` first and then by
    /// its own name, whatever models call it; a tool's own description holds where there is neither, and
    /// where what is said is empty, too long or not plain.
    fn description(&self, name: &str) -> Option<Arc<str>>;
}

/// Descriptions that live as long as the program. Clones share them.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
/// use tool_runtime::registry::MemoryDescriptions;
///
/// /// Tells the time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let descriptions = MemoryDescriptions::default();
/// let registry = Registry::try_from(tools![now])?.descriptions(descriptions.clone());
///
/// let version = descriptions.set("now", "Tells the time in the user's city. Ask for it first.");
/// assert_eq!(
///     registry.snapshot().definition("now").unwrap().description,
///     "Tells the time in the user's city. Ask for it first.",
/// );
/// assert!(descriptions.remove("now") > version);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryDescriptions(Arc<Kept>);

#[derive(Default)]
struct Kept {
    version: AtomicU64,
    texts: RwLock<BTreeMap<String, Arc<str>>>,
}

impl MemoryDescriptions {
    /// Replaces what models are told of the tools that [go by](crate::registry#what-names-mean) this name,
    /// but for those of which something is said by their full name. Tells the new version.
    pub fn set(&self, name: impl Into<String>, description: impl Into<Arc<str>>) -> u64 {
        self.change(|texts| drop(texts.insert(name.into(), description.into())))
    }

    /// Takes back what was set for this name. Tells the new version.
    pub fn remove(&self, name: &str) -> u64 {
        self.change(|texts| drop(texts.remove(name)))
    }

    /// Gives all tools their own descriptions back. Tells the new version.
    pub fn clear(&self) -> u64 {
        self.change(BTreeMap::clear)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Arc<str>>)) -> u64 {
        let mut texts = self.0.texts.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut texts);
        // Moved while nobody reads: who sees the version finds what belongs to it.
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
