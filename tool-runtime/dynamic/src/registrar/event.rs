//! Events of a registrar.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tool_core::records::CorruptRecord;

use crate::catalog::EntryId;

/// An event of a registrar, for logs and user interfaces. No event contains a secret.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, Registrar, RegistrarEvent};
/// use tool_runtime::records::MemoryRecords;
///
/// let catalog = Catalog::new(MemoryRecords::new());
/// let registrar = Registrar::builder(catalog).on_event(|event| match event {
///     RegistrarEvent::Unavailable { id, reason, .. } => println!("{id} is unavailable: {reason}"),
///     event => println!("{event:?}"),
/// });
/// # let _ = registrar;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrarEvent {
    /// An entry took effect: its tools, if it has any, are registered and available.
    Activated {
        /// The entry that took effect.
        id: EntryId,
        /// The version of the entry.
        version: u64,
    },
    /// An entry is unavailable: an attempt failed, or a connection was lost.
    Unavailable {
        /// The entry that is unavailable.
        id: EntryId,
        /// The version of the entry.
        version: u64,
        /// The cause, for operators.
        reason: String,
        /// The delay before the next attempt; `None` if there is none until the entry changes, or
        /// if a lost connection is established again by its client.
        retry_in: Option<Duration>,
    },
    /// An entry was removed with its tools.
    Removed {
        /// The entry that was removed.
        id: EntryId,
    },
    /// A tool of a server was not registered, because it is invalid.
    ToolSkipped {
        /// The connection to the server.
        id: EntryId,
        /// The reason why the tool was not registered.
        reason: String,
    },
    /// A record of the catalog has no effect, because it can't be decoded.
    RecordCorrupt(CorruptRecord),
    /// The catalog could not be read or written. The registrar tries again.
    StoreFailed {
        /// The cause, for operators.
        reason: String,
    },
}

/// Receives events.
type Hook = dyn Fn(&RegistrarEvent) + Send + Sync;

/// The function of the program that receives events, if there is one.
#[derive(Clone, Default)]
pub(super) struct EventHook(Option<Arc<Hook>>);

impl EventHook {
    pub(super) fn new(hook: impl Fn(&RegistrarEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Calls the hook. A panic of it must not end a task.
    pub(super) fn emit(&self, event: &RegistrarEvent) {
        if let Some(hook) = &self.0 {
            let _ = catch_unwind(AssertUnwindSafe(|| hook(event)));
        }
    }
}

impl fmt::Debug for EventHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "some" } else { "none" })
    }
}
