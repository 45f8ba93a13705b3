use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::contents::Contents;
use super::filter::Filter;
use super::{Entry, Registry, Snapshot};
use crate::registry::contents::shared::SharedContents;

/// Waits for changes of the tools that a registry or a view contains.
///
/// [`Registry::changes`] creates it. A change is a tool that was added, removed or replaced, a
/// definition that differs, such as by a new name or preference, or a tool that became available or
/// unavailable. Changes outside of the view are not reported. Several changes in a row can be
/// reported once.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let registry = Registry::new();
/// let mut changes = registry.changes();
/// registry.register_all(tools![now]).unwrap();
/// let tools = changes.changed().await.unwrap();
/// assert!(tools.get("now").is_some());
///
/// drop(registry);
/// assert!(changes.changed().await.is_none());
/// # }
/// ```
pub struct RegistryChanges {
    signal: watch::Receiver<()>,
    contents: Weak<SharedContents<Contents>>,
    filter: Filter,
    last: Vec<EntryState>,
}

/// A tool of the view and whether it was available. Removed tools are not kept alive.
struct EntryState {
    entry: Weak<Entry>,
    is_available: bool,
}

impl Registry {
    /// Returns a listener for later changes of the tools that this view contains.
    pub fn changes(&self) -> RegistryChanges {
        // Before the snapshot is taken, so that no change falls in between.
        let signal = self.contents.subscribe();
        RegistryChanges {
            signal,
            contents: Arc::downgrade(&self.contents),
            filter: self.filter.clone(),
            last: states(&self.snapshot()),
        }
    }

    /// Reports that the [availability](crate::Tool::availability) of tools may have changed, such
    /// as when the connection to a server was lost.
    ///
    /// The listeners of [`changes`](Self::changes) then query the availability of the tools in
    /// their views. A registry does not do that by itself. The call also makes listeners query the
    /// [`DescriptionStore`](crate::registry::DescriptionStore).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use tool_runtime::{Availability, Registry, tool, tools};
    ///
    /// static CONNECTED: AtomicBool = AtomicBool::new(true);
    ///
    /// fn connection() -> Availability {
    ///     match CONNECTED.load(Ordering::Relaxed) {
    ///         true => Availability::Available,
    ///         false => Availability::Unavailable("the connection was lost".into()),
    ///     }
    /// }
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read", available = connection)]
    /// async fn find(query: String) -> String {
    ///     query
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let registry = Registry::try_from(tools![find]).unwrap();
    /// let mut changes = registry.changes();
    /// CONNECTED.store(false, Ordering::Relaxed);
    /// registry.notify_availability();
    /// assert!(changes.changed().await.unwrap().definitions().is_empty());
    /// # }
    /// ```
    pub fn notify_availability(&self) {
        self.contents.notify();
    }
}

impl RegistryChanges {
    /// Waits for a change of the tools in the view and returns the current tools, or `None` when
    /// the last clone and view of the registry was dropped.
    ///
    /// A change is a difference from the tools that this method returned before. The first call
    /// compares with the tools at the time when this listener was created.
    ///
    /// # Cancellation
    /// If the future is dropped, no change is lost.
    ///
    /// ```
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let registry = Registry::try_from(tools![now]).unwrap();
    /// let mut changes = registry.changes();
    /// registry.prefer("now", ToolPreference::default().disabled()).unwrap();
    /// let tools = changes.changed().await.unwrap();
    /// assert!(tools.get("now").is_none());
    /// # }
    /// ```
    pub async fn changed(&mut self) -> Option<Snapshot> {
        loop {
            self.signal.changed().await.ok()?;
            let contents = self.contents.upgrade()?;
            let snapshot = Registry { contents, filter: self.filter.clone() }.snapshot();
            let states = states(&snapshot);
            if states != self.last {
                self.last = states;
                return Some(snapshot);
            }
        }
    }
}

fn states(snapshot: &Snapshot) -> Vec<EntryState> {
    let state = |entry: &Arc<Entry>| EntryState {
        entry: Arc::downgrade(entry),
        is_available: entry.availability().is_available(),
    };
    snapshot.shared_entries().map(state).collect()
}

impl PartialEq for EntryState {
    fn eq(&self, other: &Self) -> bool {
        // An entry is replaced when it changes.
        self.entry.ptr_eq(&other.entry) && self.is_available == other.is_available
    }
}

impl fmt::Debug for RegistryChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryChanges").finish_non_exhaustive()
    }
}
