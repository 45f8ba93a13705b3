use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::LogLevel;
use crate::server::McpRequest;
use crate::server::Shared;
use crate::server::errors::busy;

/// The number of resources that one session can subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The state of one connection: of a stream, of an HTTP session, or of one HTTP request without a
/// session.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    level: Mutex<Option<LogLevel>>,
    subscriptions: Arc<Mutex<BTreeSet<String>>>,
    is_watched: AtomicBool,
    ended: CancellationToken,
    _end: DropGuard,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let ended = CancellationToken::new();
        Self {
            shared,
            level: Mutex::default(),
            subscriptions: Arc::default(),
            is_watched: AtomicBool::new(false),
            _end: ended.clone().drop_guard(),
            ended,
        }
    }

    pub(crate) fn request(&self, context: RequestContext<RoleServer>) -> McpRequest {
        McpRequest::new(context, *lock(&self.level), self.shared.limits)
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        *lock(&self.level) = Some(level);
    }

    pub(crate) fn subscribe(&self, uri: String) -> Result<(), ErrorData> {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains(&uri) {
            return Err(busy("too many subscriptions"));
        }
        subscriptions.insert(uri);
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }

    pub(crate) fn subscriptions(&self) -> Arc<Mutex<BTreeSet<String>>> {
        Arc::clone(&self.subscriptions)
    }

    /// Returns `true` the first time.
    pub(crate) fn start_watching(&self) -> bool {
        !self.is_watched.swap(true, Ordering::Relaxed)
    }

    /// Returns the token that is cancelled when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
