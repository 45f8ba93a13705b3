use std::fmt;
use std::sync::{Arc, Weak};

use super::cell::Cell;
use super::contents::Contents;
use super::filter::Filter;
use super::{Registry, Snapshot};

/// A registry as one of its own tools knows it: without keeping it.
#[derive(Clone)]
pub(super) struct WeakRegistry {
    contents: Weak<Cell<Contents>>,
    filter: Filter,
}

impl WeakRegistry {
    pub(super) fn of(registry: &Registry) -> Self {
        let contents = Arc::downgrade(&registry.contents);
        Self { contents, filter: registry.filter.clone() }
    }

    /// What the registry holds now; nothing once it is gone.
    pub(super) fn snapshot(&self) -> Snapshot {
        let contents = self.contents.upgrade();
        let registry = contents.map(|contents| Registry { contents, filter: self.filter.clone() });
        registry.map(|registry| registry.snapshot()).unwrap_or_default()
    }
}

impl fmt::Debug for WeakRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRegistry").field(&self.snapshot()).finish()
    }
}
