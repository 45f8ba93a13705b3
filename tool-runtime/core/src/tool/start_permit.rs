//! A permit for calls to start, which can expire and be revoked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// The time until which the calls of a batch may start. Clones share it.
///
/// A cancellation token alone is not enough: the task that cancels it may run late, for example
/// after the process was suspended.
#[derive(Clone, Debug)]
pub(crate) struct StartPermit(Arc<Mutex<Instant>>);

impl StartPermit {
    /// Creates a permit that expires at this time.
    pub(crate) fn expiring_at(time: Instant) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Lets the permit expire at this time.
    pub(crate) fn extend_to(&self, time: Instant) {
        *self.time() = time;
    }

    /// Lets the permit expire now.
    pub(crate) fn revoke(&self) {
        self.extend_to(Instant::now());
    }

    /// Returns the time at which the permit expires.
    pub(crate) fn expires_at(&self) -> Instant {
        *self.time()
    }

    /// Returns whether a call may start now.
    pub(crate) fn is_valid(&self) -> bool {
        Instant::now() < self.expires_at()
    }

    fn time(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
