//! A reference that does not keep a registry alive.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::registry::Registry;
use crate::registry::contents::Contents;
use crate::registry::contents::shared::SharedContents;
use crate::registry::filter::Filter;

/// A reference to a registry that does not keep its tools alive.
///
/// Use it in a task that registers tools for as long as the program uses the registry, such as one
/// that watches a server: the task ends when [`upgrade`](Self::upgrade) returns `None`.
///
/// ```
/// use tool_runtime::Registry;
///
/// let registry = Registry::new();
/// let weak = registry.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(registry);
/// assert!(weak.upgrade().is_none());
/// ```
#[derive(Clone)]
pub struct WeakRegistry {
    contents: Weak<SharedContents<Contents>>,
    filter: Filter,
}

impl Registry {
    /// Returns a reference to this view that does not keep the tools alive.
    pub fn downgrade(&self) -> WeakRegistry {
        WeakRegistry { contents: Arc::downgrade(&self.contents), filter: self.filter.clone() }
    }
}

impl WeakRegistry {
    /// Returns the view, or `None` when the last clone and view of the registry was dropped.
    pub fn upgrade(&self) -> Option<Registry> {
        Some(Registry { contents: self.contents.upgrade()?, filter: self.filter.clone() })
    }

    /// Returns true if both refer to views of one registry.
    ///
    /// ```
    /// use tool_runtime::Registry;
    ///
    /// let registry = Registry::new();
    /// let weak = registry.downgrade();
    /// assert!(weak.is_same_registry(&registry.clone().downgrade()));
    /// assert!(!weak.is_same_registry(&Registry::new().downgrade()));
    /// ```
    pub fn is_same_registry(&self, other: &Self) -> bool {
        self.contents.ptr_eq(&other.contents)
    }
}

impl fmt::Debug for WeakRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakRegistry").field(&self.upgrade()).finish()
    }
}
