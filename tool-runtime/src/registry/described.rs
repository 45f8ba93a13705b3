use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::{DescriptionStore, Entry};
use crate::guard::guarded;

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
        tool.described(store.and_then(|store| ask(|| store.description(tool.full_name()))?))
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
    let answer = guarded(question).ok();
    IS_ASKING.set(false);
    answer
}
