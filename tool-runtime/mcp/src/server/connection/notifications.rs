//! Notifications of changes, to sessions of 2025-11-25 and subscriptions of 2026-07-28.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{NotificationContext, Peer, RoleServer, ServiceError, SubscriptionContext};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;
use tool_core::Registry;
use tool_core::registry::RegistryChanges;

use super::session::{Session, lock};
use crate::server::Shared;
use crate::server::access::access;
use crate::server::call::registry;
use crate::server::features::resources::ResourceChange;

/// A change that clients are notified of.
enum Change {
    Tools,
    Prompts,
    Resources,
    /// A resource with this URI was updated.
    Resource(String),
    /// So much changed that it is not known which resources were updated.
    Lagged,
}

/// The changes of all that one client can see.
struct Changes {
    tools: Option<RegistryChanges>,
    prompts: watch::Receiver<()>,
    resources: broadcast::Receiver<ResourceChange>,
}

impl Changes {
    fn new(shared: &Shared, registry: &Registry) -> Self {
        Self {
            tools: Some(registry.changes()),
            prompts: shared.prompts.changes(),
            resources: shared.resources.changes(),
        }
    }

    /// Waits for the next change.
    async fn next(&mut self) -> Change {
        loop {
            let tools = async {
                match &mut self.tools {
                    Some(tools) => tools.changed().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                is_change = tools => if is_change { return Change::Tools } else { self.tools = None },
                Ok(()) = self.prompts.changed() => return Change::Prompts,
                change = self.resources.recv() => match change {
                    Ok(ResourceChange::List) => return Change::Resources,
                    Ok(ResourceChange::Updated(uri)) => return Change::Resource(uri),
                    Err(broadcast::error::RecvError::Lagged(_)) => return Change::Lagged,
                    // The server holds the sender as long as there are sessions.
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                },
            }
        }
    }
}

/// Notifies a session of 2025-11-25 until it ends or its client stops reading.
pub(crate) fn watch_session(session: &Session, context: &NotificationContext<RoleServer>) {
    let access = access(&context.extensions);
    let Ok(registry) = registry(&session.shared, access) else { return };
    if !session.start_watching() {
        return;
    }
    let mut changes = Changes::new(&session.shared, &registry);
    let (peer, ended) = (context.peer.clone(), session.ended());
    let (subscriptions, send_timeout) =
        (session.subscriptions(), session.shared.limits.send_timeout);
    // The task holds neither the session nor its registry, so it does not keep them alive.
    drop(registry);
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                () = ended.cancelled() => return,
                change = changes.next() => change,
            };
            let sending = notify(&peer, change, &subscriptions);
            match timeout(send_timeout, sending).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    });
}

async fn notify(
    peer: &Peer<RoleServer>,
    change: Change,
    subscriptions: &Arc<Mutex<BTreeSet<String>>>,
) -> Result<(), ServiceError> {
    let updated = match change {
        Change::Tools => return peer.notify_tool_list_changed().await,
        Change::Prompts => return peer.notify_prompt_list_changed().await,
        Change::Resources => return peer.notify_resource_list_changed().await,
        Change::Resource(uri) => {
            let is_subscribed = lock(subscriptions).contains(&uri);
            if is_subscribed { vec![uri] } else { Vec::new() }
        }
        Change::Lagged => {
            peer.notify_resource_list_changed().await?;
            lock(subscriptions).iter().cloned().collect()
        }
    };
    for uri in updated {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// The number of resources that one subscription can name.
const MAX_RESOURCES: usize = 1024;

/// Returns the part of a filter that is accepted.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.truncate(MAX_RESOURCES);
    }
    accepted
}

/// Notifies a subscription of 2026-07-28 until the client or the server ends it.
pub(crate) async fn listen(
    session: &Session,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let shared = &session.shared;
    let registry = registry(shared, access(&context.request_context().extensions))?;
    let mut changes = Changes::new(shared, &registry);
    drop(registry);
    let send_timeout = shared.limits.send_timeout;
    loop {
        let change = tokio::select! {
            () = context.cancelled() => return Ok(()),
            () = shared.cancellation.cancelled() => return Ok(()),
            change = changes.next() => change,
        };
        if !send(&context, change, send_timeout).await {
            return Ok(());
        }
    }
}

/// Sends a change that the subscription asks for. Returns whether the client still reads.
async fn send(context: &SubscriptionContext, change: Change, send_timeout: Duration) -> bool {
    use rmcp::service::SubscriptionSendError::NotificationNotAccepted;
    let sink = context.sink();
    let sending = async {
        match change {
            Change::Tools => sink.notify_tool_list_changed().await,
            Change::Prompts => sink.notify_prompt_list_changed().await,
            Change::Resources => sink.notify_resource_list_changed().await,
            Change::Resource(uri) => sink.notify_resource_updated(uri).await,
            Change::Lagged => {
                let listed = sink.notify_resource_list_changed().await;
                for uri in context.accepted().resource_subscriptions.iter().flatten() {
                    sink.notify_resource_updated(uri).await?;
                }
                listed
            }
        }
    };
    let result = timeout(send_timeout, sending).await;
    matches!(result, Ok(Ok(()) | Err(NotificationNotAccepted(_))))
}
