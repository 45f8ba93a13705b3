//! What calls take before they have a result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Bill;

/// What calls that have no result yet took: it counts as theirs also where they never have one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent(Arc<Mutex<Bill>>);

impl Spent {
    pub(crate) fn add(&self, took: impl Into<Bill>) {
        *self.lock() += took.into();
    }

    /// So far.
    pub(crate) fn so_far(&self) -> Bill {
        *self.lock()
    }

    /// So far, to be counted elsewhere from now on.
    pub(crate) fn take(&self) -> Bill {
        std::mem::take(&mut *self.lock())
    }

    /// So much of it is counted elsewhere.
    pub(crate) fn settle(&self, took: Bill) {
        let mut spent = self.lock();
        *spent = spent.since(took);
    }

    fn lock(&self) -> MutexGuard<'_, Bill> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
