//! The tokens that calls take before they have a result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::Usage;

/// What calls that have no result yet took: it counts as theirs also where they never have one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent(Arc<Mutex<Usage>>);

impl Spent {
    pub(crate) fn add(&self, usage: Usage) {
        *self.lock() += usage;
    }

    /// So far.
    pub(crate) fn so_far(&self) -> Usage {
        *self.lock()
    }

    /// So far, to be counted elsewhere from now on.
    pub(crate) fn take(&self) -> Usage {
        std::mem::take(&mut *self.lock())
    }

    /// So much of it is counted elsewhere.
    pub(crate) fn settle(&self, usage: Usage) {
        let mut spent = self.lock();
        *spent = spent.since(usage);
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
