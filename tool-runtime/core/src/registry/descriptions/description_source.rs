use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use crate::guard::catch_panic;
use crate::registry::{DescriptionStore, Entry};

thread_local! {
    static IS_QUERYING: Cell<bool> = const { Cell::new(false) };
}

/// The stores of descriptions, and the versions that all current descriptions have.
///
/// A store is foreign code, so it is queried outside of the lock. If it panics, it has no
/// description. If it accesses the registry during a query, the registry does not query it again.
#[derive(Clone, Default)]
pub(crate) struct DescriptionSource {
    /// The store with the highest precedence comes first.
    stores: Vec<VersionedStore>,
}

#[derive(Clone)]
pub(crate) struct VersionedStore {
    store: Arc<dyn DescriptionStore>,
    precedence: u8,
    /// `None` if the current descriptions are of different versions, or of none.
    version: Option<u64>,
}

impl VersionedStore {
    /// Queries the precedence of a store, and nothing else of it.
    pub(crate) fn new(store: Arc<dyn DescriptionStore>) -> Self {
        let precedence = query(|| store.precedence()).unwrap_or_default();
        Self { store, precedence, version: None }
    }

    /// The version is `None` if the store panics.
    fn current_version(&self) -> Option<u64> {
        query(|| self.store.version())
    }

    fn is_same_store(&self, other: &Self) -> bool {
        ptr::addr_eq(Arc::as_ptr(&self.store), Arc::as_ptr(&other.store))
    }
}

impl DescriptionSource {
    /// Returns the source with one more store, before those of the same precedence.
    pub(crate) fn with(&self, store: &VersionedStore) -> Self {
        let mut stores = self.stores.clone();
        let at = stores.partition_point(|other| other.precedence > store.precedence);
        stores.insert(at, store.clone());
        Self { stores }
    }

    /// Whether a store has another version by now.
    pub(crate) fn is_outdated(&self) -> bool {
        // If a store panics, the current descriptions stay.
        let is_outdated = |stored: &VersionedStore| {
            stored.current_version().is_some_and(|version| Some(version) != stored.version)
        };
        self.stores.iter().any(is_outdated)
    }

    /// Returns the source with the current versions of the stores. The versions are queried before
    /// the descriptions, so that a change in between is noticed the next time.
    pub(crate) fn at_current_version(&self) -> Self {
        let current = |stored: &VersionedStore| VersionedStore {
            version: stored.current_version(),
            ..stored.clone()
        };
        Self { stores: self.stores.iter().map(current).collect() }
    }

    /// Returns the entry with the description and the preference in the stores.
    pub(crate) fn describe(&self, tool: &Entry) -> Entry {
        if self.stores.is_empty() {
            return tool.with_overrides(None, None);
        }
        let definition = tool.definition();
        let description = self.stores.iter().find_map(|it| {
            let text = definition.names().find_map(|name| query(|| it.store.description(name))?);
            text.filter(|text| tool.accepts_description(text))
        });
        let preference = self.stores.iter().find_map(|it| {
            let preference = query(|| it.store.preference(tool.full_name())).flatten();
            preference.filter(|preference| tool.accepts_preference(preference))
        });
        tool.with_overrides(description, preference)
    }

    /// Returns the source of tools of which some have descriptions of `self` and some of `other`.
    pub(crate) fn merged_with(&self, other: &Self) -> Self {
        let merge = |stored: &VersionedStore| {
            let same = other.stores.iter().find(|other| other.is_same_store(stored));
            let version =
                stored.version.filter(|_| same.is_some_and(|same| same.version == stored.version));
            VersionedStore { version, ..stored.clone() }
        };
        Self { stores: self.stores.iter().map(merge).collect() }
    }

    pub(crate) fn has_same_stores(&self, other: &Self) -> bool {
        let mut pairs = self.stores.iter().zip(&other.stores);
        self.stores.len() == other.stores.len()
            && pairs.all(|(left, right)| left.is_same_store(right))
    }
}

fn query<T>(query: impl FnOnce() -> T) -> Option<T> {
    if IS_QUERYING.replace(true) {
        return None;
    }
    let answer = catch_panic(query).ok();
    IS_QUERYING.set(false);
    answer
}

/// Tests all schedules that shuttle tries: see [`shared`](crate::registry::contents::shared).
#[cfg(all(test, shuttle))]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::json;
    use shuttle::thread;

    use crate::message::Arguments;
    use crate::registry::{DescriptionStore, MemoryDescriptions, Registry};
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

    fn named(name: &str) -> Arc<dyn Tool> {
        Arc::new(Named(ToolDefinition::new(name, "Its own.", json!({ "type": "object" }))))
    }

    /// A writer sees its own description or a later one, while tools are added and removed.
    #[test]
    fn changed_description_reaches_every_tool() {
        shuttle::check_random(
            || {
                let store = MemoryDescriptions::default();
                let registry = Registry::new().descriptions(store.clone());
                registry.register(named("kept")).unwrap();
                registry.register(named("going")).unwrap();
                let writer = |number: u32| {
                    let (registry, store) = (registry.clone(), store.clone());
                    thread::spawn(move || {
                        let name = format!("described_{number}");
                        store.set(name.as_str(), "By the store.");
                        registry.register(named(&name)).unwrap();
                        store.set("kept", format!("By {number}."));
                        let snapshot = registry.snapshot();
                        let description =
                            |name| snapshot.definition(name).unwrap().description.as_str();
                        assert!(description("kept").starts_with("By "));
                        assert!(description(&name).starts_with("By "));
                    })
                };
                let mut threads: Vec<_> = (0..2).map(writer).collect();
                let (other, to) = (registry.clone(), store.clone());
                threads.push(thread::spawn(move || {
                    to.set("described_0", "By another.");
                    drop(other.unregister("going"));
                }));
                for thread in threads {
                    thread.join().unwrap();
                }
                let last = registry.snapshot();
                let names: Vec<_> = last.entries().map(|entry| entry.name()).collect();
                assert_eq!(names, ["described_0", "described_1", "kept"]);
                assert!(!registry.contents.load().descriptions().is_outdated());
                for entry in last.entries() {
                    let stored = store.description(entry.name());
                    assert_eq!(Some(&*entry.definition().description), stored.as_deref());
                }
            },
            SCHEDULES,
        );
    }

    #[test]
    fn tool_that_is_registered_during_a_change_is_described() {
        shuttle::check_random(
            || {
                let store = MemoryDescriptions::default();
                let registry = Registry::new().descriptions(store.clone());
                let other = registry.clone();
                let coming = thread::spawn(move || other.register(named("coming")).map(drop));
                let (view, to) = (registry.clone(), store.clone());
                let describing = thread::spawn(move || {
                    thread::yield_now();
                    to.set("coming", "By the store.");
                    drop(view.snapshot());
                });
                coming.join().unwrap().unwrap();
                describing.join().unwrap();
                let last = registry.snapshot();
                assert_eq!(last.definition("coming").unwrap().description, "By the store.");
                assert!(!registry.contents.load().descriptions().is_outdated());
            },
            SCHEDULES,
        );
    }
}
