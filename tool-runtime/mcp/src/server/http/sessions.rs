use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::super::session::lock;

/// The sessions of the SDK with their principals, up to a limit.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    /// The principal of each session. Ended sessions are removed now and then.
    owners: Mutex<HashMap<String, Option<String>>>,
    starting: Arc<AtomicUsize>,
    limit: usize,
}

/// The place of a session that is about to start.
pub(super) struct Reservation(Arc<AtomicUsize>);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>, limit: usize) -> Self {
        Self { manager, owners: Mutex::default(), starting: Arc::default(), limit }
    }

    /// Whether a session is unknown, or belongs to this principal.
    pub(super) fn may_use(&self, id: &str, principal: Option<&str>) -> bool {
        lock(&self.owners).get(id).is_none_or(|owner| owner.as_deref() == principal)
    }

    /// Reserves a place for a session; `None` if there are too many.
    pub(super) async fn reserve(&self) -> Option<Reservation> {
        let running = self.manager.sessions.read().await.len();
        let starting = self.starting.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation(Arc::clone(&self.starting));
        (running + starting < self.limit).then_some(reservation)
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
