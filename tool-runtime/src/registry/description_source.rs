use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::{DescriptionStore, Entry};
use crate::guard::catch_panic;

thread_local! {
    static IS_QUERYING: Cell<bool> = const { Cell::new(false) };
}

/// The store of the descriptions, and the version that all current descriptions have; `None` if
/// they are of different versions.
///
/// A store is foreign code, so it is queried outside of the lock. If it panics, it has no
/// description. If it accesses the registry during a query, the registry does not query it again.
#[derive(Clone, Default)]
pub(super) struct DescriptionSource {
    store: Option<Arc<dyn DescriptionStore>>,
    version: Option<u64>,
}

impl DescriptionSource {
    /// Creates the source for a store that was not queried yet.
    pub(super) fn new(store: Arc<dyn DescriptionStore>) -> Self {
        Self { store: Some(store), version: None }
    }

    /// Whether the store has another version by now.
    pub(super) fn is_outdated(&self) -> bool {
        // If the store panics, the current descriptions stay.
        self.store.is_some()
            && self.at_current_version().version.is_some_and(|it| Some(it) != self.version)
    }

    /// Returns the source with the current version of the store. The version is queried before the
    /// descriptions, so that a change in between is noticed the next time.
    pub(super) fn at_current_version(&self) -> Self {
        let version = self.store.as_ref().and_then(|store| query(|| store.version()));
        Self { store: self.store.clone(), version }
    }

    /// Returns the entry with the description in the store.
    pub(super) fn describe(&self, tool: &Entry) -> Entry {
        let store = self.store.as_ref();
        let mut names = tool.definition().names();
        tool.with_description(
            store.and_then(|store| names.find_map(|name| query(|| store.description(name))?)),
        )
    }

    /// Returns the source of tools of which some have descriptions of `self` and some of `other`.
    pub(super) fn merged_with(&self, other: &Self) -> Self {
        let is_same = self.has_same_store(other) && self.version == other.version;
        Self { store: self.store.clone(), version: self.version.filter(|_| is_same) }
    }

    pub(super) fn has_same_store(&self, right: &Self) -> bool {
        match (&self.store, &right.store) {
            (Some(left), Some(right)) => ptr::addr_eq(Arc::as_ptr(left), Arc::as_ptr(right)),
            (None, None) => true,
            _ => false,
        }
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

/// Tests all schedules that shuttle tries: see [`shared`](super::shared).
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
                assert_eq!(registry.contents.load().descriptions().version, Some(store.version()));
            },
            SCHEDULES,
        );
    }
}
