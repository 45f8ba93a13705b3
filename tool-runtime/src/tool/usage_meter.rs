//! Counts what unfinished calls take.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::MeteredUsage;

/// Counts the tokens and the cost of calls that have no result yet. They count even if the calls
/// never finish. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter(Arc<Mutex<MeteredUsage>>);

impl UsageMeter {
    pub(crate) fn add(&self, used: impl Into<MeteredUsage>) {
        *self.lock() += used.into();
    }

    /// Returns the current count.
    pub(crate) fn total(&self) -> MeteredUsage {
        *self.lock()
    }

    /// Resets the count and returns it; the caller counts it from now on.
    pub(crate) fn take(&self) -> MeteredUsage {
        std::mem::take(&mut *self.lock())
    }

    /// Subtracts what the caller counts from now on.
    pub(crate) fn subtract(&self, used: MeteredUsage) {
        let mut total = self.lock();
        *total = total.since(used);
    }

    fn lock(&self) -> MutexGuard<'_, MeteredUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
