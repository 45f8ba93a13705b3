//! Keeps a connection alive: one task for each, which connects, listens and connects again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, SubscribeRequest, SubscribeRequestParams, SubscriptionFilter,
    SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use rmcp::service::ServiceError;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::client::calls::deadline;
use crate::client::calls::request_error::{RequestError, SESSION_EXPIRED, UNREACHABLE, mcp_error};
use crate::client::connect::handshake::connect;
use crate::client::connect::link::Link;
use crate::client::connect::session::Session;
use crate::client::connect::subscription::Subscription;
use crate::client::error::McpError;
use crate::client::events::McpEvent;
use crate::client::notices::deliver;
use crate::client::status::McpStatus;
use crate::client::wire::traffic::RequestSlot;

/// The delay before the first attempt to connect again; it doubles after each.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The longest delay between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// How long a connection must live for the next delay to be short again.
const STABLE_AFTER: Duration = Duration::from_secs(30);

/// The shortest time between two requests of the list of tools.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// The shortest time for which a list of tools is fresh, whatever the server declares.
const MIN_TTL: Duration = Duration::from_secs(1);

/// How long the end of a connection waits for a registration that has begun.
const MAX_REGISTRATION_WAIT: Duration = Duration::from_secs(1);

/// The method that subscribes.
const LISTEN: &str = "subscriptions/listen";

/// A deadline for what lasts as long as the connection.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// Connects and registers the tools.
pub(crate) async fn establish(link: &Arc<Link>) -> Result<Established, McpError> {
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
pub(crate) struct Established {
    session: Arc<Session>,
    /// How long the list of tools is fresh.
    ttl: Option<Duration>,
}

impl Established {
    /// Makes this the connection of the tools.
    pub(crate) fn publish(&self, link: &Link) {
        let revision = self.session.info.revision.clone();
        let previous = link.replace_session(Some(Arc::clone(&self.session)));
        link.emit(&McpEvent::Connected { revision: revision.clone() });
        link.set_status(McpStatus::Connected { revision });
        drop(previous);
    }
}

/// Runs until the connection is stopped or refused, or nothing uses the registry any more.
pub(crate) async fn supervise(link: Arc<Link>, first: Option<Established>) {
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
    {
        // A registration that has passed its check for the end must not follow the removal. One
        // that waits for its pin store has its check ahead, and may take long.
        let _catalog = timeout(MAX_REGISTRATION_WAIT, link.catalog.lock()).await;
        link.has_registered.store(true, Ordering::Relaxed);
        if let Some(registry) = link.registry.upgrade() {
            drop(registry.unregister_provider(&link.name));
        }
    }
    link.set_status(McpStatus::Disconnected);
    if let Some(session) = link.replace_session(None) {
        session.close().await;
    }
    link.closed.cancel();
}

/// Connects again after each loss. Returns when no further attempt can succeed.
async fn keep_connected(link: &Arc<Link>, first: Option<Established>) {
    let (mut next, mut delay) = (first, Duration::ZERO);
    loop {
        let established = match next.take() {
            Some(established) => established,
            None => match establish(link).await {
                Ok(established) => {
                    established.publish(link);
                    established
                }
                Err(error) => {
                    down(link, &error.to_string());
                    if matches!(error, McpError::AuthorizationFailed { is_permanent: true, .. }) {
                        return;
                    }
                    delay = next_delay(delay, Duration::ZERO);
                    sleep(delay).await;
                    continue;
                }
            },
        };
        let since = Instant::now();
        let reason = watch(link, established).await;
        down(link, &reason);
        delay = next_delay(delay, since.elapsed());
        sleep(delay).await;
    }
}

/// Returns the delay after a connection or a subscription that lived for some time. It grows unless
/// that was long.
fn next_delay(previous: Duration, lived: Duration) -> Duration {
    let doubled = (previous * 2).clamp(FIRST_DELAY, MAX_DELAY);
    if lived > STABLE_AFTER { FIRST_DELAY } else { doubled }
}

fn down(link: &Link, reason: &str) {
    let reason = link.target.secrets().redact(reason);
    link.emit(&McpEvent::Disconnected { reason: reason.clone() });
    link.set_status(McpStatus::Down { reason });
}

/// Watches a connection until it ends, and returns why it did.
async fn watch(link: &Arc<Link>, established: Established) -> String {
    let Established { session, ttl } = established;
    let expiry = |ttl: Option<Duration>| {
        let ttl = ttl.filter(|ttl| !ttl.is_zero())?;
        Instant::now().checked_add(ttl.max(MIN_TTL))
    };
    let (mut expires_at, mut retry_delay) = (expiry(ttl), Duration::ZERO);
    // The revisions without a handshake send notifications to subscribers only.
    let (mut delay, mut subscription) = (Duration::ZERO, Subscription::default());
    let mut listening = Box::pin(listen(link, &session, delay));
    loop {
        let expired = async {
            match expires_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let must_refresh = tokio::select! {
            () = session.ended() => return session.why_ended().await,
            () = link.suspected() => return UNREACHABLE.to_owned(),
            () = expired => true,
            lost = &mut listening, if !session.has_ended() => {
                // The end of the connection ends the subscription, and is reported by itself.
                if session.has_ended() {
                    return session.why_ended().await;
                }
                delay = lost.as_ref().map_or(FIRST_DELAY, |lost| next_delay(delay, lost.lived));
                let reported = subscription.ended(lost.map(|lost| lost.reason));
                reported.iter().for_each(|event| link.emit(event));
                listening = Box::pin(listen(link, &session, delay));
                true
            }
            notices = session.traffic().next_notices() => {
                let mut has_gap = false;
                if notices.is_subscribed {
                    let reported;
                    // What changed before a new subscription was not notified.
                    (has_gap, reported) = subscription.accepted();
                    reported.iter().for_each(|event| link.emit(event));
                }
                let has_expired = notices.has_expired;
                let has_changed = deliver(link, notices);
                if has_expired {
                    return SESSION_EXPIRED.to_owned();
                }
                has_changed || has_gap
            }
        };
        if must_refresh {
            let failure = match link.refresh(&session).await {
                Ok(ttl) => {
                    (expires_at, retry_delay) = (expiry(ttl), Duration::ZERO);
                    None
                }
                Err(McpError::SessionExpired { .. }) => return SESSION_EXPIRED.to_owned(),
                Err(error) => {
                    // The registered list may be stale until another one arrives.
                    retry_delay = next_delay(retry_delay, Duration::ZERO);
                    expires_at = Some(deadline::after(retry_delay));
                    Some(error)
                }
            };
            tokio::select! {
                biased;
                // The list failed because the connection ended, which is reported instead.
                () = session.ended() => return session.why_ended().await,
                () = sleep(MIN_REFRESH_INTERVAL) => {}
            }
            if let Some(error) = failure {
                let reason = link.target.secrets().redact(&error.to_string());
                link.emit(&McpEvent::ListFailed { reason });
            }
        }
    }
}

/// A subscription that the server ended or refused, such as when it is busy.
struct Lost {
    lived: Duration,
    /// The cause, for operators.
    reason: String,
}

/// Subscribes to the changes of lists after a delay. Returns when the subscription has ended, or
/// `None` if other resources must be subscribed to.
async fn listen(link: &Link, session: &Session, delay: Duration) -> Option<Lost> {
    if session.info.has_initialize {
        // A new connection knows nothing of the subscriptions of the one before.
        for uri in link.subscriptions() {
            let request = SubscribeRequest::new(SubscribeRequestParams::new(uri)).into();
            let deadline = deadline::after(link.options.call_timeout);
            // A resource that is gone has no changes.
            let _ = session.request(request, "resources/subscribe", deadline).await;
        }
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
    let since = Instant::now();
    let subscribed = subscribe(session, filter.build(), since + FOREVER);
    tokio::select! {
        () = link.resubscribe.notified() => None,
        end = subscribed => match end {
            Ended::Unknown => {
                link.resubscribe.notified().await;
                None
            }
            Ended::Lost(error) => {
                let reason = match error {
                    Some(error) => mcp_error(&link.name, LISTEN, FOREVER, error).to_string(),
                    None => "the server ended the subscription".to_owned(),
                };
                Some(Lost { lived: since.elapsed(), reason })
            }
        },
    }
}

/// The end of a subscription.
enum Ended {
    /// The server knows no subscriptions.
    Unknown,
    /// The server ended it, or refused it with an error.
    Lost(Option<RequestError>),
}

async fn subscribe(session: &Session, filter: SubscriptionFilter, deadline: Instant) -> Ended {
    let params = SubscriptionsListenRequestParams::new(filter);
    let request: ClientRequest = SubscriptionsListenRequest::new(params).into();
    let slot = RequestSlot::of_subscription();
    let result = async { session.start(request, slot, deadline).await?.result().await };
    match result.await {
        Err(RequestError::Service(ServiceError::McpError(error)))
            if error.code == ErrorCode::METHOD_NOT_FOUND =>
        {
            Ended::Unknown
        }
        result => Ended::Lost(result.err()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_a_minute_and_is_short_after_a_long_life() {
        let mut delays = vec![Duration::ZERO];
        for _ in 0..9 {
            delays.push(next_delay(delays[delays.len() - 1], Duration::from_secs(1)));
        }
        let millis: Vec<_> = delays.iter().map(Duration::as_millis).collect();
        let expected = [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
        assert_eq!(millis, expected);
        assert_eq!(next_delay(MAX_DELAY, Duration::from_secs(31)), FIRST_DELAY);
    }
}
