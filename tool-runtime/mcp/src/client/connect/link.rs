//! The state that the parts of one connection share.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tool_core::Registry;
use tool_core::registry::WeakRegistry;

use crate::client::challenge::Challenges;
use crate::client::connect::session::Session;
use crate::client::connect::target::Target;
use crate::client::error::McpError;
use crate::client::events::McpEvent;
use crate::client::options::Options;
use crate::client::pins::PinStore;
use crate::client::questions::roots::Roots;
use crate::client::status::McpStatus;
use crate::client::tools::catalog::Catalog;

/// The state of a connection, which its tools, its supervisor and its handle share.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) options: Arc<Options>,
    pub(crate) challenges: Challenges,
    pub(crate) roots: Roots,
    pub(crate) registry: WeakRegistry,
    pub(crate) status: watch::Sender<McpStatus>,
    session: Mutex<Option<Arc<Session>>>,
    pub(crate) catalog: tokio::sync::Mutex<Catalog>,
    /// Whether tools were registered, or the connection has ended.
    pub(crate) has_registered: AtomicBool,
    /// The number of lists of tools that were requested.
    lists: AtomicU64,
    /// Wakes the supervisor to replace the connection.
    suspected: Notify,
    /// Cancelled when the connection is to end for good.
    pub(crate) stopped: CancellationToken,
    /// Cancelled when the connection has ended for good.
    pub(crate) closed: CancellationToken,
    pub(crate) pins: Arc<dyn PinStore>,
    /// The server that the pins belong to. The name of the connection may be chosen by a model.
    pub(crate) pinned_server: String,
    subscriptions: Mutex<BTreeSet<String>>,
    /// Wakes the supervisor to subscribe with other resources.
    pub(crate) resubscribe: Notify,
}

impl Link {
    pub(crate) fn new(
        name: String,
        target: Target,
        options: Options,
        pins: Arc<dyn PinStore>,
        registry: WeakRegistry,
    ) -> Self {
        let challenges = Challenges::new(&name, &options.events, target.authorizer());
        let pinned_server = target.identity().unwrap_or_else(|| name.clone());
        let roots = Roots::new(options.roots.clone().unwrap_or_default());
        Self {
            challenges,
            roots,
            name,
            target,
            options: Arc::new(options),
            registry,
            status: watch::Sender::new(McpStatus::Connecting),
            session: Mutex::default(),
            catalog: tokio::sync::Mutex::default(),
            has_registered: AtomicBool::new(false),
            lists: AtomicU64::new(0),
            suspected: Notify::new(),
            stopped: CancellationToken::new(),
            closed: CancellationToken::new(),
            pins,
            pinned_server,
            subscriptions: Mutex::default(),
            resubscribe: Notify::new(),
        }
    }

    /// Returns the connection, unless it is down.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).as_ref().filter(|session| !session.has_ended()).cloned()
    }

    /// Returns the connection.
    pub(crate) fn connected(&self) -> Result<Arc<Session>, McpError> {
        self.session().ok_or_else(|| McpError::NotConnected { server: self.name.clone() })
    }

    /// Replaces the connection and returns the previous one.
    pub(crate) fn replace_session(&self, session: Option<Arc<Session>>) -> Option<Arc<Session>> {
        let previous = std::mem::replace(&mut *lock(&self.session), session);
        // What was suspected of the previous connection does not end this one.
        pin!(self.suspected.notified()).enable();
        previous
    }

    /// Reports that a request could not reach the server on a connection. One that was replaced
    /// since is ignored.
    pub(crate) fn suspect(&self, session: &Arc<Session>) {
        if lock(&self.session).as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            self.suspected.notify_one();
        }
    }

    /// Waits until the connection is suspected.
    pub(crate) async fn suspected(&self) {
        self.suspected.notified().await;
    }

    /// Returns the number of a list of tools that is requested now.
    pub(crate) fn next_list(&self) -> u64 {
        self.lists.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the URIs of the resources that the program subscribed to.
    pub(crate) fn subscriptions(&self) -> BTreeSet<String> {
        lock(&self.subscriptions).clone()
    }

    /// Changes the resources that the program subscribed to. Returns whether that is a change.
    pub(crate) fn set_subscription(&self, uri: &str, is_subscribed: bool) -> bool {
        let mut subscriptions = lock(&self.subscriptions);
        if is_subscribed { subscriptions.insert(uri.to_owned()) } else { subscriptions.remove(uri) }
    }

    /// Sets the status, and reports that tools became available or unavailable.
    pub(crate) fn set_status(&self, status: McpStatus) {
        self.status.send_replace(status);
        if let Some(registry) = self.registry.upgrade() {
            self.announce(&registry);
            registry.notify_availability();
        }
    }

    /// Announces the state of the server to the registry, until the first list is registered.
    pub(crate) fn announce(&self, registry: &Registry) {
        let status = self.status.borrow();
        if !status.is_connected() && !self.has_registered.load(Ordering::Relaxed) {
            let state = format!("the MCP server `{}` is {}", self.name, status.to_model_text());
            registry.announce_provider(&self.name, state);
        }
    }

    pub(crate) fn emit(&self, event: &McpEvent) {
        self.options.events.emit(&self.name, event);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.has_registered.load(Ordering::Relaxed)
            && let Some(registry) = self.registry.upgrade()
        {
            registry.end_announcement(&self.name);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("name", &self.name).finish_non_exhaustive()
    }
}
