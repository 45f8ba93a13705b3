//! Locks by the name of a session, within one process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::SessionOwner;

type Locks = HashMap<String, Arc<AsyncMutex<()>>>;

/// Locks that let one run at a time work on a session of this process.
///
/// A [store](super::SessionStore::locks) holds them, and a [`Session`](super::Session) takes the
/// lock for each of its runs. Only sessions that are locked or waited for take memory.
///
/// Among processes, [leases](super::SessionStore::acquire) do the same: the locks of a store are
/// their [owner](Self::owner).
///
/// ```
/// use tool_runtime::agent::session::SessionLocks;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let locks = SessionLocks::new();
/// let lock = locks.lock("ada").await;
/// assert!(locks.try_lock("ada").is_none());
/// assert!(locks.try_lock("grace").is_some());
/// drop(lock);
/// assert!(locks.try_lock("ada").is_some());
/// # }
/// ```
#[derive(Clone)]
pub struct SessionLocks(Arc<OwnedLocks>);

struct OwnedLocks {
    owner: SessionOwner,
    locks: Mutex<Locks>,
}

impl SessionLocks {
    /// Creates locks for the sessions of one store.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionLocks;
    ///
    /// // One value for all requests: clones share the locks.
    /// let locks = SessionLocks::new();
    /// let other = locks.clone();
    /// let lock = locks.try_lock("ada");
    /// assert!(lock.is_some() && other.try_lock("ada").is_none());
    /// ```
    pub fn new() -> Self {
        let (owner, locks) = (SessionOwner::random(), Mutex::default());
        Self(Arc::new(OwnedLocks { owner, locks }))
    }

    /// Returns the owner that acquires the leases of the sessions.
    pub fn owner(&self) -> &SessionOwner {
        &self.0.owner
    }

    /// Waits until no other request holds the lock of this session. Requests get the lock in the
    /// order in which they asked for it.
    ///
    /// # Cancellation
    /// Dropping the future gives up the place in the queue.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionLocks;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let locks = SessionLocks::new();
    /// let lock = locks.lock("ada").await; // no run of this process is in progress
    /// assert_eq!(lock.session(), "ada");
    /// # }
    /// ```
    pub async fn lock(&self, session: impl Into<String>) -> SessionLock {
        let mut lock = SessionLock { locks: self.clone(), session: session.into(), guard: None };
        let mutex = self.mutex(&lock.session);
        lock.guard = Some(mutex.lock_owned().await);
        lock
    }

    /// Returns the lock of this session, or `None` if another request holds it.
    ///
    /// A web server can answer that request with the status `409 Conflict`.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionLocks;
    ///
    /// /// Returns the status of the response.
    /// fn chat(locks: &SessionLocks, session: &str) -> u16 {
    ///     let Some(_lock) = locks.try_lock(session) else { return 409 };
    ///     200
    /// }
    ///
    /// let locks = SessionLocks::new();
    /// assert_eq!(chat(&locks, "ada"), 200);
    /// let _first_request = locks.try_lock("ada");
    /// assert_eq!(chat(&locks, "ada"), 409);
    /// ```
    pub fn try_lock(&self, session: impl Into<String>) -> Option<SessionLock> {
        let session = session.into();
        let guard = self.mutex(&session).try_lock_owned().ok()?;
        Some(SessionLock { locks: self.clone(), session, guard: Some(guard) })
    }

    fn mutex(&self, session: &str) -> Arc<AsyncMutex<()>> {
        let mut locks = self.entries();
        match locks.get(session) {
            Some(mutex) => Arc::clone(mutex),
            None => Arc::clone(locks.entry(session.to_owned()).or_default()),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Locks> {
        self.0.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SessionLocks {
    fn default() -> Self {
        Self::new()
    }
}

/// The lock of one session, held until it is dropped.
///
/// [`SessionLocks::lock`] and [`SessionLocks::try_lock`] return it.
///
/// ```
/// use tool_runtime::agent::session::{SessionLock, SessionLocks};
///
/// let locks = SessionLocks::new();
/// let lock: SessionLock = locks.try_lock("ada").unwrap();
/// assert_eq!(lock.session(), "ada");
/// ```
#[must_use = "the lock is released as soon as it is dropped"]
pub struct SessionLock {
    locks: SessionLocks,
    session: String,
    /// `None` while the lock is waited for.
    guard: Option<OwnedMutexGuard<()>>,
}

impl SessionLock {
    /// Returns the name of the session.
    pub fn session(&self) -> &str {
        &self.session
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        let mut locks = self.locks.entries();
        drop(self.guard.take());
        // The map has the last reference if no other request holds the lock or waits for it.
        if locks.get(&self.session).is_some_and(|mutex| Arc::strong_count(mutex) == 1) {
            locks.remove(&self.session);
        }
    }
}

impl fmt::Debug for SessionLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLocks").field("count", &self.entries().len()).finish()
    }
}

impl fmt::Debug for SessionLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLock").field("session", &self.session).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::SessionLocks;

    #[test]
    fn unused_lock_takes_no_memory() {
        let mut cx = Context::from_waker(Waker::noop());
        let locks = SessionLocks::new();
        let lock = locks.try_lock("ada").unwrap();
        {
            let mut abandoned = pin!(locks.lock("ada"));
            assert!(abandoned.as_mut().poll(&mut cx).is_pending());
            // The holder leaves first, so the one that waits has to clean up.
            drop(lock);
            assert_eq!(locks.entries().len(), 1);
        }
        assert_eq!(locks.entries().len(), 0);
        assert!(locks.try_lock("ada").is_some());
        assert!(locks.try_lock("ada").is_some(), "an unused lock is released at once");
        assert_eq!(locks.entries().len(), 0);
    }

    #[test]
    fn locks_are_granted_in_order() {
        let mut cx = Context::from_waker(Waker::noop());
        let locks = SessionLocks::new();
        let first = locks.try_lock("ada").unwrap();
        let mut second = pin!(locks.lock("ada"));
        let mut third = pin!(locks.lock("ada"));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert!(third.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(lock) = second.as_mut().poll(&mut cx) else { panic!("not granted") };
        assert!(locks.try_lock("ada").is_none());
        drop(lock);
        assert!(third.as_mut().poll(&mut cx).is_ready());
        assert_eq!(locks.entries().len(), 0);
    }
}
