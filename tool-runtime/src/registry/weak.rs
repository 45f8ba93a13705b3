use std::fmt;
use std::sync::{Arc, Weak};

use super::filter::Filter;
use super::{Registry, Shared, Snapshot};

/// A registry as one of its own tools knows it: without keeping it.
#[derive(Clone)]
pub(super) struct WeakRegistry {
    shared: Weak<Shared>,
    filter: Filter,
}

impl WeakRegistry {
    pub(super) fn of(registry: &Registry) -> Self {
        let shared = Arc::downgrade(&registry.shared);
        Self { shared, filter: registry.filter.clone() }
    }

    /// What the registry holds now; nothing once it is gone.
    pub(super) fn snapshot(&self) -> Snapshot {
        let shared = self.shared.upgrade();
        let registry = shared.map(|shared| Registry { shared, filter: self.filter.clone() });
        registry.map(|registry| registry.snapshot()).unwrap_or_default()
    }
}

impl fmt::Debug for WeakRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRegistry").field(&self.snapshot()).finish()
    }
}
