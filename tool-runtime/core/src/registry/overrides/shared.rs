use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::ToolOverrides;
use super::contents::{COLLECTION, DESCRIPTION, PREFERENCE};
use crate::records::{Expected, RecordQuery, Records, StoreError};
use crate::registry::{DescriptionStore, Registry, WeakRegistry};
use crate::tool::ToolPreference;

/// The time between two attempts to reach a store.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Descriptions and preferences of a store, applied to registries of this process. Clones share
/// them.
///
/// A task follows the store: a change in any process reaches the
/// [snapshots](Registry::snapshot) of each registry, in the process of the change at once, and in
/// others as soon as the store reports it. While the store can't be reached, the last overrides
/// stay, and [`store_error`](Self::store_error) returns the reason. The task ends when the last
/// clone is dropped.
///
/// They are in the collection `tool_overrides`: texts under `description/NAME`, and preferences as
/// JSON under `preference/NAME`.
///
/// ```
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::registry::overrides::SharedOverrides;
/// use tool_runtime::{Registry, ToolPreference, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let overrides = SharedOverrides::open(MemoryRecords::new()).await?;
/// let registry = overrides.apply(Registry::try_from(tools![now])?);
///
/// overrides.set_description("now", Some("Returns the time in Oslo.")).await?;
/// overrides.set_preference("now", Some(&ToolPreference::default().weight(2.0))).await?;
/// let snapshot = registry.snapshot();
/// let definition = snapshot.definition("now").unwrap();
/// assert_eq!(definition.description, "Returns the time in Oslo.");
/// assert_eq!(definition.preference.weight, 2.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedOverrides {
    store: Arc<dyn Records>,
    copy: Copied,
    /// Ends the task on drop.
    _task: Arc<AbortOnDropHandle<()>>,
}

impl SharedOverrides {
    /// Loads the overrides of a store and follows its changes.
    ///
    /// # Errors
    /// Returns the errors of [`Records::list`].
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::registry::overrides::SharedOverrides;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let overrides = SharedOverrides::open(MemoryRecords::new()).await?;
    /// assert_eq!(overrides.overrides().version, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: impl Records + 'static) -> Result<Self, StoreError> {
        let store: Arc<dyn Records> = Arc::new(store);
        let copy = Copied::default();
        copy.replace(load(&*store).await?);
        let task = tokio::spawn(follow(Arc::clone(&store), copy.clone()));
        Ok(Self { store, copy, _task: Arc::new(AbortOnDropHandle::new(task)) })
    }

    /// Returns the registry with the descriptions and preferences of the store, now and after each
    /// change, also for all other views of it.
    ///
    /// They take [precedence](DescriptionStore::precedence) over those of a catalog and of the
    /// program, which apply to the tools that have none in the store. An override that is not valid
    /// does not apply, and is listed in [`corrupt`](ToolOverrides::corrupt).
    #[must_use]
    pub fn apply(&self, registry: Registry) -> Registry {
        if !self.copy.add(&registry) {
            return registry;
        }
        registry.descriptions(self.copy.clone())
    }

    /// Returns the current overrides.
    pub fn overrides(&self) -> Arc<ToolOverrides> {
        Arc::clone(&self.copy.lock().overrides)
    }

    /// Returns the error of the store while its changes can't be followed; `None` otherwise. In the
    /// meantime, changes by other processes do not arrive.
    pub fn store_error(&self) -> Option<Arc<StoreError>> {
        self.copy.lock().store_error.clone()
    }

    /// Sets the description of the tools that [have this name](crate::registry#tool-names), in all
    /// processes, or removes it.
    ///
    /// # Errors
    /// Returns the errors of [`Records::save`] and [`Records::delete`], and those of
    /// [`Records::list`], which reads the new overrides: then, the change was made.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::registry::overrides::SharedOverrides;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let overrides = SharedOverrides::open(MemoryRecords::new()).await?;
    /// overrides.set_description("now", Some("Returns the time.")).await?;
    /// assert_eq!(overrides.overrides().descriptions["now"], "Returns the time.");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_description(
        &self,
        name: &str,
        description: Option<&str>,
    ) -> Result<(), StoreError> {
        self.set(DESCRIPTION, name, description).await
    }

    /// Sets the preference of the tool with this
    /// [full name](crate::ToolDefinition::full_name), in all processes, or removes it.
    ///
    /// # Errors
    /// Returns the errors of [`Records::save`] and [`Records::delete`], and those of
    /// [`Records::list`], which reads the new overrides: then, the change was made.
    ///
    /// ```
    /// use tool_runtime::ToolPreference;
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::registry::overrides::SharedOverrides;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let overrides = SharedOverrides::open(MemoryRecords::new()).await?;
    /// overrides.set_preference("now", Some(&ToolPreference::default().hidden())).await?;
    /// assert!(overrides.overrides().preferences["now"].hidden);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_preference(
        &self,
        name: &str,
        preference: Option<&ToolPreference>,
    ) -> Result<(), StoreError> {
        let preference = preference.map(serde_json::to_string).transpose();
        let preference = preference.map_err(StoreError::unavailable)?;
        self.set(PREFERENCE, name, preference.as_deref()).await
    }

    async fn set(&self, kind: &str, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let key = format!("{kind}{name}");
        match value {
            Some(value) => self.store.save(COLLECTION, &key, Expected::Any, value, None).await?,
            None => self.store.delete(COLLECTION, &key, Expected::Any).await?,
        };
        self.copy.replace(load(&*self.store).await?);
        Ok(())
    }
}

impl fmt::Debug for SharedOverrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.copy.lock().overrides.version;
        f.debug_struct("SharedOverrides")
            .field("store", &self.store)
            .field("version", &version)
            .finish_non_exhaustive()
    }
}

/// The copy of a store in memory.
#[derive(Clone, Default)]
struct Copied(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    overrides: Arc<ToolOverrides>,
    registries: Vec<WeakRegistry>,
    store_error: Option<Arc<StoreError>>,
}

impl Copied {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a registry that is changed after each change of the store. Returns `false` if it was
    /// added before.
    fn add(&self, registry: &Registry) -> bool {
        let (mut state, registry) = (self.lock(), registry.downgrade());
        let is_new = !state.registries.iter().any(|other| other.is_same_registry(&registry));
        if is_new {
            state.registries.push(registry);
        }
        is_new
    }

    /// Replaces the overrides, unless they are older, and changes the registries.
    fn replace(&self, overrides: ToolOverrides) {
        let registries: Vec<_> = {
            let mut state = self.lock();
            if overrides.version < state.overrides.version {
                return;
            }
            state.overrides = Arc::new(overrides);
            state.registries.retain(|registry| registry.upgrade().is_some());
            state.registries.clone()
        };
        // Without the lock, because the registries query this copy.
        for registry in registries.iter().filter_map(WeakRegistry::upgrade) {
            drop(registry.snapshot());
        }
    }
}

impl DescriptionStore for Copied {
    fn version(&self) -> u64 {
        self.lock().overrides.version
    }

    fn description(&self, name: &str) -> Option<Arc<str>> {
        self.lock().overrides.descriptions.get(name).map(|text| text.as_str().into())
    }

    fn preference(&self, full_name: &str) -> Option<ToolPreference> {
        self.lock().overrides.preferences.get(full_name).cloned()
    }

    fn precedence(&self) -> u8 {
        20
    }
}

/// Loads all overrides of one moment.
async fn load(store: &dyn Records) -> Result<ToolOverrides, StoreError> {
    Ok(ToolOverrides::decode(store.list(COLLECTION, RecordQuery::all()).await?))
}

/// Loads the overrides again after each change.
async fn follow(store: Arc<dyn Records>, copy: Copied) {
    loop {
        let version = copy.lock().overrides.version;
        let changed = match store.changed(COLLECTION, version).await {
            Ok(_) => load(&*store).await,
            Err(error) => Err(error),
        };
        let (overrides, error) = match changed {
            Ok(overrides) => (Some(overrides), None),
            Err(error) => (None, Some(Arc::new(error))),
        };
        copy.lock().store_error = error;
        match overrides {
            Some(overrides) => copy.replace(overrides),
            None => sleep(RETRY_AFTER).await,
        }
    }
}
