//! Leases: one owner at a time runs a session, among all processes that share a store.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::SessionError;

/// The owner of runs: the [locks](super::SessionLocks) of a store in one process.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, SessionStore};
///
/// let store = MemorySessions::new();
/// let owner = store.locks().owner();
/// assert_eq!(owner.id.len(), 32);
/// assert!(owner.label.contains(&std::process::id().to_string()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionOwner {
    /// A random id of 32 hexadecimal digits.
    pub id: String,
    /// The process and its host, for people, such as `process 4711 on web-1`.
    pub label: String,
}

impl SessionOwner {
    /// Creates an owner with a random id, and with the label of this process.
    pub fn random() -> Self {
        let process = format!("process {}", std::process::id());
        let label = match host() {
            Some(host) => format!("{process} on {host}"),
            None => process,
        };
        Self { id: format!("{:032x}", fastrand::u128(..)), label }
    }

    /// Creates the owner that a store has recorded.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionOwner;
    ///
    /// let owner = SessionOwner::new("00ff", "process 4711 on web-1");
    /// assert_eq!(owner.label, "process 4711 on web-1");
    /// ```
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into() }
    }
}

/// Returns the name of the machine, or `None` if it can't be read without a call into C.
fn host() -> Option<String> {
    let name = std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME"));
    let name = name.or_else(|_| std::fs::read_to_string("/proc/sys/kernel/hostname")).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The lease of a session: who runs it, and since which epoch.
///
/// A store keeps at most one for each session, beside its record: there is one before the first
/// write. The methods decide what a store allows, and are for implementations of
/// [`SessionStore`](super::SessionStore).
///
/// ```
/// use tool_runtime::agent::session::{SessionError, SessionLease, SessionOwner};
///
/// let [ada, grace] = ["1", "2"].map(|id| SessionOwner::new(id, format!("process {id}")));
/// let lease = SessionLease::new(ada.clone(), 7, true);
/// assert!(SessionLease::check_acquire("s", Some(&lease), &ada).is_ok());
/// let refused = SessionLease::check_acquire("s", Some(&lease), &grace).unwrap_err();
/// assert!(matches!(refused, SessionError::Busy { owner, .. } if owner == "process 1"));
///
/// assert!(SessionLease::check_write("s", Some(&lease), Some(7)).is_ok());
/// let late = SessionLease::check_write("s", Some(&lease), Some(6)).unwrap_err();
/// assert!(matches!(late, SessionError::LeaseLost { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLease {
    /// The owner that has acquired it.
    pub owner: SessionOwner,
    /// The number of the acquisition. A later one of the same session has a higher number.
    pub epoch: u64,
    /// Whether it has not expired, and its owner is not known to have ended.
    pub is_live: bool,
}

impl SessionLease {
    /// Creates the lease of an owner.
    pub fn new(owner: SessionOwner, epoch: u64, is_live: bool) -> Self {
        Self { owner, epoch, is_live }
    }

    /// Checks whether an owner may acquire a session with this lease, or with none.
    ///
    /// # Errors
    /// Returns [`Busy`](SessionError::Busy) if another owner has a live lease.
    pub fn check_acquire(
        session: &str,
        lease: Option<&Self>,
        owner: &SessionOwner,
    ) -> Result<(), SessionError> {
        match lease {
            Some(lease) if lease.is_live && lease.owner.id != owner.id => Err(lease.busy(session)),
            _ => Ok(()),
        }
    }

    /// Checks whether a session with this lease, or with none, may be changed under an epoch, or
    /// under none.
    ///
    /// # Errors
    /// Returns [`LeaseLost`](SessionError::LeaseLost) if the lease of the epoch was released, or
    /// acquired by another owner; and [`Busy`](SessionError::Busy) without an epoch if there is a
    /// live lease.
    pub fn check_write(
        session: &str,
        lease: Option<&Self>,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        match (lease, epoch) {
            (Some(lease), Some(epoch)) if lease.epoch == epoch => Ok(()),
            (lease, Some(_)) => Err(SessionError::LeaseLost {
                session: session.to_owned(),
                owner: lease.map(|lease| lease.owner.label.clone()),
            }),
            (Some(lease), None) if lease.is_live => Err(lease.busy(session)),
            (_, None) => Ok(()),
        }
    }

    fn busy(&self, session: &str) -> SessionError {
        SessionError::Busy { session: session.to_owned(), owner: self.owner.label.clone() }
    }
}

/// Leases in memory, for a store whose sessions end with the process.
///
/// Keep it under the lock that guards the sessions, so that no lease changes between a check and
/// the write that it allows.
///
/// ```
/// use std::time::Duration;
///
/// use tool_runtime::agent::session::{MemoryLeases, SessionOwner};
///
/// # fn main() -> Result<(), tool_runtime::agent::session::SessionError> {
/// let mut leases = MemoryLeases::default();
/// let (ada, grace) = (SessionOwner::random(), SessionOwner::random());
/// let lifetime = Duration::from_secs(30);
/// let epoch = leases.acquire("s", &ada, lifetime)?;
/// assert!(leases.acquire("s", &grace, lifetime).is_err());
/// leases.check("s", Some(epoch))?;
///
/// leases.release("s", epoch);
/// assert!(leases.acquire("s", &grace, lifetime)? > epoch);
/// assert!(leases.check("s", Some(epoch)).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryLeases {
    leases: HashMap<String, MemoryLease>,
    last_epoch: u64,
}

#[derive(Clone, Debug)]
struct MemoryLease {
    owner: SessionOwner,
    epoch: u64,
    /// `None` is a time that the clock can't represent.
    expires_at: Option<Instant>,
}

impl MemoryLeases {
    /// Acquires the lease of a session, as
    /// [`SessionStore::acquire`](super::SessionStore::acquire) does.
    ///
    /// # Errors
    /// Returns [`Busy`](SessionError::Busy) if another owner has a live lease.
    pub fn acquire(
        &mut self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        SessionLease::check_acquire(session, self.get(session).as_ref(), owner)?;
        self.last_epoch += 1;
        let (epoch, expires_at) = (self.last_epoch, Instant::now().checked_add(lifetime));
        let lease = MemoryLease { owner: owner.clone(), epoch, expires_at };
        self.leases.insert(session.to_owned(), lease);
        Ok(epoch)
    }

    /// Extends a lease, as [`SessionStore::renew`](super::SessionStore::renew) does.
    ///
    /// # Errors
    /// Returns [`LeaseLost`](SessionError::LeaseLost) if the lease has another epoch.
    pub fn renew(
        &mut self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.check(session, Some(epoch))?;
        if let Some(lease) = self.leases.get_mut(session) {
            lease.expires_at = Instant::now().checked_add(lifetime);
        }
        Ok(())
    }

    /// Ends a lease, unless it has another epoch.
    pub fn release(&mut self, session: &str, epoch: u64) {
        if self.leases.get(session).is_some_and(|lease| lease.epoch == epoch) {
            self.leases.remove(session);
        }
    }

    /// Checks whether a session may be changed under an epoch, or under none.
    ///
    /// # Errors
    /// Returns the errors of [`SessionLease::check_write`].
    pub fn check(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        SessionLease::check_write(session, self.get(session).as_ref(), epoch)
    }

    /// Returns whether a session has a lease that has not expired.
    pub fn is_live(&self, session: &str) -> bool {
        self.get(session).is_some_and(|lease| lease.is_live)
    }

    fn get(&self, session: &str) -> Option<SessionLease> {
        let MemoryLease { owner, epoch, expires_at } = self.leases.get(session)?;
        let is_live = expires_at.is_none_or(|at| at > Instant::now());
        Some(SessionLease::new(owner.clone(), *epoch, is_live))
    }
}
