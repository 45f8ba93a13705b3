use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::super::Limits;
use super::super::session::lock;
use super::shares::{Share, Shares};

/// The sessions of the SDK with their principals, up to a limit.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    /// The principal of each session. Ended sessions are removed now and then.
    owners: Mutex<HashMap<String, Option<String>>>,
    starting: Arc<AtomicUsize>,
    /// The sessions of each principal that are about to start.
    starting_shares: Shares,
    limit: usize,
    principal_limit: usize,
}

/// The place of a session that is about to start.
pub(super) struct Reservation {
    starting: Arc<AtomicUsize>,
    _share: Option<Share>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.starting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>, limits: &Limits) -> Self {
        Self {
            manager,
            owners: Mutex::default(),
            starting: Arc::default(),
            starting_shares: Shares::default(),
            limit: limits.sessions,
            principal_limit: limits.sessions_of_principal(),
        }
    }

    /// Whether a session is unknown, or belongs to this principal.
    pub(super) fn may_use(&self, id: &str, principal: Option<&str>) -> bool {
        lock(&self.owners).get(id).is_none_or(|owner| owner.as_deref() == principal)
    }

    /// Reserves a place for a session; `None` if there are too many, or too many of the principal.
    pub(super) async fn reserve(&self, principal: Option<&str>) -> Option<Reservation> {
        let running = self.manager.sessions.read().await;
        let share = match principal {
            Some(principal) => {
                let owners = lock(&self.owners);
                let is_own = |(id, owner): &(&String, &Option<String>)| {
                    owner.as_deref() == Some(principal) && running.contains_key(id.as_str())
                };
                let count = owners.iter().filter(is_own).count();
                let left = self.principal_limit.saturating_sub(count);
                Some(self.starting_shares.take(principal, left)?)
            }
            None => None,
        };
        let starting = self.starting.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation { starting: Arc::clone(&self.starting), _share: share };
        (running.len() + starting < self.limit).then_some(reservation)
    }

    /// Records the principal of a new session.
    pub(super) async fn insert(&self, id: String, principal: Option<String>) {
        if lock(&self.owners).len() >= self.limit.saturating_mul(2) {
            let running = self.manager.sessions.read().await;
            lock(&self.owners).retain(|id, _| running.contains_key(id.as_str()));
        }
        lock(&self.owners).insert(id, principal);
    }
}
