//! Keeps a connection alive: one task for each, which connects, listens and connects again.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use tokio::time::{Instant, sleep};

use super::error::McpError;
use super::events::McpEvent;
use super::handshake::connect;
use super::link::Link;
use super::notices::deliver;
use super::request_error::RequestError;
use super::session::Session;
use super::status::McpStatus;
use super::traffic::RequestSlot;

/// The delay before the first attempt to connect again; it doubles after each.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The longest delay between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// How long a connection must live for the next delay to be short again.
const STABLE_AFTER: Duration = Duration::from_secs(30);

/// The shortest time between two requests of the list of tools.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// A deadline for what lasts as long as the connection.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// Connects and registers the tools.
pub(super) async fn establish(link: &Arc<Link>) -> Result<Established, McpError> {
    let session = connect(link).await?;
    let ttl = match link.refresh(&session).await {
        Ok(ttl) => ttl,
        Err(error) => {
            session.close().await;
            return Err(error);
        }
    };
    Ok(Established { session: Arc::new(session), ttl })
}

/// A new connection whose tools are registered.
pub(super) struct Established {
    session: Arc<Session>,
    /// How long the list of tools is fresh.
    ttl: Option<Duration>,
}

impl Established {
    /// Makes this the connection of the tools.
    pub(super) fn publish(&self, link: &Link) {
        let revision = self.session.info.revision.clone();
        let previous = link.replace_session(Some(Arc::clone(&self.session)));
        link.emit(&McpEvent::Connected { revision: revision.clone() });
        link.set_status(McpStatus::Connected { revision });
        drop(previous);
    }
}

/// Runs until the connection is stopped, or nothing uses the registry any more.
pub(super) async fn supervise(link: Arc<Link>, first: Option<Established>) {
    let registry_dropped = async {
        let Some(mut changes) = link.registry.upgrade().map(|registry| registry.changes()) else {
            return;
        };
        while changes.changed().await.is_some() {}
    };
    tokio::select! {
        () = link.stopped.cancelled() => {}
        () = registry_dropped => {}
        () = keep_connected(&link, first) => {}
    }
    link.stopped.cancel();
    if let Some(registry) = link.registry.upgrade() {
        drop(registry.unregister_provider(&link.name));
    }
    link.set_status(McpStatus::Disconnected);
    if let Some(session) = link.replace_session(None) {
        session.close().await;
    }
    link.closed.cancel();
}

async fn keep_connected(link: &Arc<Link>, first: Option<Established>) {
    let (mut next, mut delay) = (first, FIRST_DELAY);
    loop {
        let established = match next.take() {
            Some(established) => established,
            None => match establish(link).await {
                Ok(established) => {
                    established.publish(link);
                    established
                }
                Err(error) => {
                    down(link, error.to_string());
                    sleep(delay).await;
                    delay = (delay * 2).min(MAX_DELAY);
                    continue;
                }
            },
        };
        let since = Instant::now();
        let reason = watch(link, established).await;
        down(link, reason);
        if since.elapsed() > STABLE_AFTER {
            delay = FIRST_DELAY;
        }
        sleep(delay).await;
        delay = (delay * 2).min(MAX_DELAY);
    }
}

fn down(link: &Link, reason: String) {
    link.emit(&McpEvent::Disconnected { reason: reason.clone() });
    link.set_status(McpStatus::Down { reason });
}

/// Watches a connection until it ends, and returns why it did.
async fn watch(link: &Arc<Link>, established: Established) -> String {
    let Established { session, mut ttl } = established;
    // The revisions without a handshake send notifications to subscribers only.
    let mut listening = Box::pin(listen(link, &session, Duration::ZERO));
    loop {
        let expired = async {
            match ttl.filter(|ttl| !ttl.is_zero()) {
                Some(ttl) => sleep(ttl.max(MIN_REFRESH_INTERVAL)).await,
                None => std::future::pending().await,
            }
        };
        let must_refresh = tokio::select! {
            () = session.ended() => return "the connection ended".to_owned(),
            () = link.suspected.notified() => return "the server can't be reached".to_owned(),
            () = expired => true,
            // A new subscription: what changed in between was not notified.
            () = &mut listening => {
                // Later, so that a server that ends subscriptions at once is not flooded.
                listening = Box::pin(listen(link, &session, FIRST_DELAY));
                true
            }
            notices = session.traffic().next_notices() => deliver(link, notices),
        };
        if must_refresh {
            match link.refresh(&session).await {
                Ok(fresh) => ttl = fresh,
                Err(error) => link.emit(&McpEvent::ListFailed { reason: error.to_string() }),
            }
            sleep(MIN_REFRESH_INTERVAL).await;
        }
    }
}

/// Subscribes to the changes of lists after a delay, and returns when the subscription has ended.
async fn listen(link: &Link, session: &Session, delay: Duration) {
    if session.info.has_initialize {
        return std::future::pending().await;
    }
    sleep(delay).await;
    let updates: Vec<_> = link.subscriptions().into_iter().collect();
    let mut filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed();
    if !updates.is_empty() {
        filter = filter.resource_subscriptions(updates);
    }
    let deadline = Instant::now() + FOREVER;
    let subscribed = subscribe(session, filter.build(), deadline);
    tokio::select! {
        () = link.resubscribe.notified() => {}
        refused = subscribed => {
            if refused {
                // The server knows no subscriptions.
                link.resubscribe.notified().await;
            }
        }
    }
}

/// Returns whether the server refuses subscriptions.
async fn subscribe(session: &Session, filter: SubscriptionFilter, deadline: Instant) -> bool {
    let params = SubscriptionsListenRequestParams::new(filter);
    let request: ClientRequest = SubscriptionsListenRequest::new(params).into();
    let result =
        async { session.start(request, RequestSlot::new(), deadline).await?.result().await };
    let error = result.await.err();
    matches!(error, Some(RequestError::Service(rmcp::service::ServiceError::McpError(_))))
}
