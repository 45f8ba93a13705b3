//! The sessions of the SDK with their principals: how many there are, and when they end.
//!
//! The SDK would end a session after a time without a message, even while a call runs. Here, a
//! session is idle while it has neither a running request nor an open stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::{Instant, sleep_until};

use super::super::Limits;
use super::super::connection::session::lock;
use super::sharers::Sharers;
use super::shares::{Share, Shares};

/// A time that is longer than any session.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The sessions of the SDK with their principals, up to a limit.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    table: Mutex<Table>,
    starting: Arc<AtomicUsize>,
    /// The sessions of each sharer that are about to start.
    starting_shares: Shares,
    limit: usize,
    sharer_limit: usize,
    idle: Duration,
}

#[derive(Default)]
struct Table {
    /// Sessions that the SDK ended are removed now and then.
    sessions: HashMap<String, OpenSession>,
    /// Whether a task ends the idle sessions.
    is_watched: bool,
}

struct OpenSession {
    principal: Option<String>,
    /// The parties that share the limits with the session.
    sharers: Vec<String>,
    activity: Arc<Mutex<Activity>>,
}

/// The running requests and open streams of a session.
#[derive(Clone, Copy)]
enum Activity {
    Used(usize),
    IdleSince(Instant),
    Ended,
}

/// A running request or open stream of a session, until it is dropped.
pub(super) struct SessionUse(Arc<Mutex<Activity>>);

impl Drop for SessionUse {
    fn drop(&mut self) {
        let mut activity = lock(&self.0);
        *activity = match *activity {
            Activity::Used(count) if count > 1 => Activity::Used(count - 1),
            Activity::Used(_) | Activity::IdleSince(_) => Activity::IdleSince(Instant::now()),
            Activity::Ended => Activity::Ended,
        };
    }
}

/// The place of a session that is about to start.
pub(super) struct Reservation {
    starting: Arc<AtomicUsize>,
    _shares: Vec<Share>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.starting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The session that a request names does not exist, or belongs to another principal.
pub(super) struct NoSession;

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>, limits: &Limits) -> Self {
        Self {
            manager,
            table: Mutex::default(),
            starting: Arc::default(),
            starting_shares: Shares::default(),
            limit: limits.max_sessions,
            sharer_limit: limits.sessions_per_principal(),
            // Otherwise, the task that ends sessions would never wait.
            idle: limits.idle_timeout.max(Duration::from_millis(1)),
        }
    }

    /// Uses a session for a request of a principal. If the session is unknown here, the SDK
    /// decides.
    pub(super) fn enter(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<Option<SessionUse>, NoSession> {
        let table = lock(&self.table);
        let Some(session) = table.sessions.get(id) else { return Ok(None) };
        if session.principal.as_deref() != principal {
            return Err(NoSession);
        }
        let mut activity = lock(&session.activity);
        *activity = match *activity {
            Activity::Used(count) => Activity::Used(count + 1),
            Activity::IdleSince(_) => Activity::Used(1),
            Activity::Ended => return Err(NoSession),
        };
        Ok(Some(SessionUse(Arc::clone(&session.activity))))
    }

    /// Reserves a place for a session; `None` if there are too many, or too many of one sharer.
    pub(super) async fn reserve(&self, sharers: &Sharers) -> Option<Reservation> {
        let running = self.manager.sessions.read().await;
        let mut shares = Vec::new();
        for (sharer, limit) in sharers.limits(self.sharer_limit) {
            let table = lock(&self.table);
            let is_own = |(id, session): &(&String, &OpenSession)| {
                session.sharers.iter().any(|it| it == sharer) && running.contains_key(id.as_str())
            };
            let count = table.sessions.iter().filter(is_own).count();
            shares.push(self.starting_shares.take(sharer, limit.saturating_sub(count))?);
        }
        let starting = self.starting.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation { starting: Arc::clone(&self.starting), _shares: shares };
        (running.len() + starting < self.limit).then_some(reservation)
    }

    /// Records a new session with its principal. It ends when it has been idle for too long.
    pub(super) async fn insert(
        self: &Arc<Self>,
        id: String,
        principal: Option<String>,
        sharers: Sharers,
    ) {
        let running = self.manager.sessions.read().await;
        let mut table = lock(&self.table);
        if table.sessions.len() >= self.limit.saturating_mul(2) {
            table.sessions.retain(|id, _| running.contains_key(id.as_str()));
        }
        let activity = Arc::new(Mutex::new(Activity::IdleSince(Instant::now())));
        table
            .sessions
            .insert(id, OpenSession { principal, sharers: sharers.into_names(), activity });
        if !table.is_watched {
            table.is_watched = true;
            tokio::spawn(Arc::clone(self).end_idle());
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.table).sessions.len()
    }

    /// Forgets a session that has ended.
    pub(super) fn remove(&self, id: &str) {
        lock(&self.table).sessions.remove(id);
    }

    /// Ends sessions that have been idle for too long, until there is no session.
    async fn end_idle(self: Arc<Self>) {
        while let Some(next) = self.next_end() {
            sleep_until(next).await;
            for id in self.expired(Instant::now()) {
                // It fails if the session has ended by itself.
                let _ = self.manager.close_session(&id.as_str().into()).await;
                self.remove(&id);
            }
        }
    }

    /// Returns the earliest time at which a session can end; `None` if there is no session.
    fn next_end(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut table = lock(&self.table);
        let idle_since = table.sessions.values().map(|session| match *lock(&session.activity) {
            Activity::IdleSince(time) => time,
            Activity::Used(_) | Activity::Ended => now,
        });
        let next = idle_since.min();
        table.is_watched = next.is_some();
        Some(next?.checked_add(self.idle).unwrap_or_else(|| now + FAR))
    }

    /// Returns the sessions that have been idle for too long. They can't be used any more.
    fn expired(&self, now: Instant) -> Vec<String> {
        let table = lock(&self.table);
        let is_expired = |session: &OpenSession| {
            let mut activity = lock(&session.activity);
            let is_expired = match *activity {
                Activity::IdleSince(time) => now.duration_since(time) >= self.idle,
                Activity::Used(_) | Activity::Ended => false,
            };
            if is_expired {
                *activity = Activity::Ended;
            }
            is_expired
        };
        let expired = table.sessions.iter().filter(|(_, session)| is_expired(session));
        expired.map(|(id, _)| id.clone()).collect()
    }
}
