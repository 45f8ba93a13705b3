use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::{DescriptionStore, Entry};
use crate::guard::catch_panic;

thread_local! {
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Which store describes the tools, and the version that all of their descriptions are of; none where
/// they are of several.
///
/// A store is foreign code, so it is asked where nobody waits. One that panics says nothing. One that
/// looks at the registry while it is asked finds what was there before, for it would be asked without
/// end.
#[derive(Clone, Default)]
pub(super) struct Described {
    store: Option<Arc<dyn DescriptionStore>>,
    version: Option<u64>,
}

impl Described {
    /// By a store that nobody has asked yet.
    pub(super) fn by(store: Arc<dyn DescriptionStore>) -> Self {
        Self { store: Some(store), version: None }
    }

    /// Whether descriptions were changed since.
    pub(super) fn is_outdated(&self) -> bool {
        // Where it says nothing, what it said before holds.
        self.store.is_some() && self.now().version.is_some_and(|now| Some(now) != self.version)
    }

    /// By the same store as it is now. Taken before it is asked for descriptions, so that what is
    /// changed meanwhile is taken over next time.
    pub(super) fn now(&self) -> Self {
        let version = self.store.as_ref().and_then(|store| ask(|| store.version()));
        Self { store: self.store.clone(), version }
    }

    /// A tool with what the store says of it.
    pub(super) fn tell(&self, tool: &Entry) -> Entry {
        let store = self.store.as_ref();
        let mut names = tool.definition().names();
        tool.described(
            store.and_then(|store| names.find_map(|name| ask(|| store.description(name))?)),
        )
    }

    /// Those of tools of which some are described like this and some like the other.
    pub(super) fn with(&self, other: &Self) -> Self {
        let is_same = self.is_of_the_store(other) && self.version == other.version;
        Self { store: self.store.clone(), version: self.version.filter(|_| is_same) }
    }

    pub(super) fn is_of_the_store(&self, other: &Self) -> bool {
        match (&self.store, &other.store) {
            (Some(one), Some(other)) => ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
            (None, None) => true,
            _ => false,
        }
    }
}

fn ask<T>(question: impl FnOnce() -> T) -> Option<T> {
    if IS_ASKING.replace(true) {
        return None;
    }
    let answer = catch_panic(question).ok();
    IS_ASKING.set(false);
    answer
}

/// In every order of steps that shuttle tries: see [`cell`](super::cell).
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

    /// While tools come and go, one who has changed a description is shown it, or a later one, and
    /// in the end everything is described as it should be.
    #[test]
    fn a_changed_description_reaches_every_tool() {
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
                        let shown = registry.snapshot();
                        let told = |name| shown.definition(name).unwrap().description.as_str();
                        assert!(told("kept").starts_with("By "));
                        assert!(told(&name).starts_with("By "));
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
                assert!(!registry.contents.load().described().is_outdated());
                for entry in last.entries() {
                    let told = store.description(entry.name());
                    assert_eq!(Some(&*entry.definition().description), told.as_deref());
                }
            },
            SCHEDULES,
        );
    }

    /// One that is registered while it is being described, and while others are asked for.
    #[test]
    fn a_tool_that_comes_meanwhile_is_described() {
        shuttle::check_random(
            || {
                let store = MemoryDescriptions::default();
                let registry = Registry::new().descriptions(store.clone());
                let other = registry.clone();
                let coming = thread::spawn(move || other.register(named("coming")).map(drop));
                let (seen, to) = (registry.clone(), store.clone());
                let describing = thread::spawn(move || {
                    thread::yield_now();
                    to.set("coming", "By the store.");
                    drop(seen.snapshot());
                });
                coming.join().unwrap().unwrap();
                describing.join().unwrap();
                let last = registry.snapshot();
                assert_eq!(last.definition("coming").unwrap().description, "By the store.");
                assert_eq!(registry.contents.load().described().version, Some(store.version()));
            },
            SCHEDULES,
        );
    }
}
