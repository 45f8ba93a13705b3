//! The state that the parts of a registrar share: what is applied.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool_core::Registry;
use tool_core::records::CorruptRecord;
use tool_core::registry::{MemoryDescriptions, WeakRegistry};
use tool_mcp::McpConnection;

use super::event::RegistrarEvent;
use super::options::Options;
use super::registration::names;
use super::status::{EntryState, EntryStatus};
use crate::catalog::{Catalog, EntryContent, EntryId};

pub(super) struct Shared {
    pub(super) catalog: Catalog,
    pub(super) registry: WeakRegistry,
    pub(super) options: Options,
    /// The descriptions and preferences of entries.
    pub(super) overrides: MemoryDescriptions,
    applied: Mutex<Applied>,
    /// Cancelled when the registrar is stopped, or the registry was dropped.
    pub(super) stopped: CancellationToken,
}

/// The entries that are applied to the registry. The registry is changed under its lock.
#[derive(Default)]
pub(super) struct Applied {
    pub(super) entries: BTreeMap<EntryId, AppliedEntry>,
    /// The records of the last list that can't be decoded.
    pub(super) corrupt: Vec<CorruptRecord>,
    /// The revision of the last list that was applied as a whole.
    pub(super) synced: u64,
    /// The highest revision that is known: a list of an earlier revision is outdated.
    pub(super) known: u64,
}

/// An entry that is applied.
pub(super) struct AppliedEntry {
    pub(super) revision: u64,
    pub(super) version: u64,
    pub(super) content: EntryContent,
    pub(super) state: watch::Sender<EntryState>,
    /// The connection of an entry while it is established.
    pub(super) connection: Option<McpConnection>,
    /// Cancelled when the entry is replaced or removed.
    pub(super) outdated: CancellationToken,
    /// Cancelled when the task of the entry has ended.
    pub(super) ended: CancellationToken,
}

/// The version of an entry that a task applies, for as long as it is the current one.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) shared: Arc<Shared>,
    pub(super) id: EntryId,
    pub(super) version: u64,
    pub(super) outdated: CancellationToken,
}

impl Shared {
    pub(super) fn new(catalog: Catalog, registry: &Registry, options: Options) -> Self {
        // Those of the program have less, and those of an administrator more.
        let overrides = MemoryDescriptions::with_precedence(10);
        drop(registry.clone().descriptions(overrides.clone()));
        Self {
            catalog,
            registry: registry.downgrade(),
            options,
            overrides,
            applied: Mutex::default(),
            stopped: CancellationToken::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Applied> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the registry, unless it was dropped or the registrar was stopped.
    pub(super) fn registry(&self) -> Option<Registry> {
        self.registry.upgrade().filter(|_| !self.stopped.is_cancelled())
    }

    pub(super) fn emit(&self, events: impl IntoIterator<Item = RegistrarEvent>) {
        events.into_iter().for_each(|event| self.options.events.emit(&event));
    }

    pub(super) fn statuses(&self) -> Vec<EntryStatus> {
        let applied = self.lock();
        applied.entries.iter().map(|(id, entry)| self.status_of(id, entry)).collect()
    }

    pub(super) fn corrupt_records(&self) -> Vec<CorruptRecord> {
        self.lock().corrupt.clone()
    }

    pub(super) fn status(&self, id: &EntryId) -> Option<EntryStatus> {
        let applied = self.lock();
        applied.entries.get(id).map(|entry| self.status_of(id, entry))
    }

    fn status_of(&self, id: &EntryId, entry: &AppliedEntry) -> EntryStatus {
        let registry = self.registry.upgrade();
        EntryStatus {
            id: id.clone(),
            version: entry.version,
            state: entry.state.borrow().clone(),
            tools: registry.map(|registry| names(&registry, id)).unwrap_or_default(),
        }
    }
}

impl Task {
    /// Changes the registry and the state of the entry, unless the entry is outdated.
    ///
    /// `change` runs under the lock of the applied entries. Returns `false` if the entry is
    /// outdated.
    pub(super) fn update(&self, change: impl FnOnce(&Registry) -> TaskUpdate) -> bool {
        let event = {
            let applied = self.shared.lock();
            let Some(registry) = self.shared.registry() else { return false };
            let entry = applied.entries.get(&self.id);
            let Some(entry) = entry.filter(|_| !self.outdated.is_cancelled()) else {
                return false;
            };
            let update = change(&registry);
            registry.notify_availability();
            let (id, version) = (self.id.clone(), self.version);
            let (state, event) = match update {
                TaskUpdate::Active => {
                    (EntryState::Active, RegistrarEvent::Activated { id, version })
                }
                TaskUpdate::Unavailable { reason, retry_in } => (
                    EntryState::Unavailable { reason: reason.clone() },
                    RegistrarEvent::Unavailable { id, version, reason, retry_in },
                ),
            };
            let previous = entry.state.send_replace(state.clone());
            // Equal states in a row are one event, except that each attempt is reported.
            let is_news = previous != state || matches!(event, RegistrarEvent::Unavailable { .. });
            is_news.then_some(event)
        };
        self.shared.emit(event);
        true
    }

    /// Sets the connection of the entry, unless the entry is outdated.
    pub(super) fn set_connection(&self, connection: Option<McpConnection>) {
        let mut applied = self.shared.lock();
        let entry = applied.entries.get_mut(&self.id);
        if let Some(entry) = entry.filter(|_| !self.outdated.is_cancelled()) {
            entry.connection = connection;
        }
    }

    /// Waits for the delay. Returns `false` if the entry is outdated by then.
    pub(super) async fn sleep(&self, delay: Duration) -> bool {
        tokio::select! {
            () = self.outdated.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        }
    }
}

/// The result of an attempt.
pub(super) enum TaskUpdate {
    Active,
    Unavailable { reason: String, retry_in: Option<Duration> },
}
