//! One established connection: requests with deadlines.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
    GetExtensions as _, GetMeta as _, ServerCapabilities, ServerResult, SetLevelRequest,
    SetLevelRequestParams,
};
use rmcp::service::{
    Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::LogLevel;
use crate::client::calls::request_error::{HttpFailure, RequestError, http_failure, mcp_error};
use crate::client::challenge::{Challenges, MAX_CHALLENGES};
use crate::client::connect::server_program::ServerProgram;
use crate::client::error::McpError;
use crate::client::questions::handler::Handler;
use crate::client::wire::BoxFuture;
use crate::client::wire::incoming::UNMATCHED;
use crate::client::wire::traffic::{RequestSlot, Traffic};

/// How long a notification may take to be sent.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end of a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a program may take to end after its connection, for the report of the end.
const EXIT_LIMIT: Duration = Duration::from_millis(500);

/// The reason of a lost connection whose transport ended.
const CONNECTION_ENDED: &str = "the connection ended";

/// A connection after the handshake. Dropping it ends the connection.
pub(crate) struct Session {
    challenges: Challenges,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    /// The program of the server, if there is one, until its end was explained.
    program: Mutex<Option<ServerProgram>>,
    traffic: Arc<Traffic>,
    ended: CancellationToken,
    pub(crate) info: SessionInfo,
    log_level: Option<LogLevel>,
}

/// The results of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct SessionInfo {
    pub(crate) revision: String,
    /// Whether the revision has a handshake, and with it notifications without a subscription.
    pub(crate) has_initialize: bool,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) server_name: Option<String>,
    pub(crate) instructions: Option<String>,
}

/// A request in flight. Dropping it cancels the request.
pub(crate) struct PendingRequest {
    handle: RequestHandle<RoleClient>,
    traffic: Arc<Traffic>,
    ended: CancellationToken,
    /// Whether the response arrived, with which the guard removed the request.
    is_answered: bool,
    /// Whether there is nothing to cancel.
    is_done: bool,
}

impl Session {
    pub(crate) fn new(
        challenges: Challenges,
        service: RunningService<RoleClient, Handler>,
        program: Option<ServerProgram>,
        traffic: Arc<Traffic>,
        ended: CancellationToken,
        info: SessionInfo,
        log_level: Option<LogLevel>,
    ) -> Self {
        let peer = service.peer().clone();
        let (service, program) = (Mutex::new(Some(service)), Mutex::new(program));
        Self { challenges, peer, service, program, traffic, ended, info, log_level }
    }

    /// Requests log messages, if the revision has a request for that. Later revisions name the
    /// level in each request.
    pub(crate) async fn request_log_level(&self, deadline: Instant) {
        if let Some(level) = self.log_level
            && self.info.has_initialize
            && self.info.capabilities.logging.is_some()
        {
            let params = SetLevelRequestParams::new(level.into());
            let request = SetLevelRequest::new(params).into();
            // A server that refuses it sends other messages, and nothing depends on them.
            let _ = self.request(request, "logging/setLevel", deadline).await;
        }
    }

    /// Sends a request. What arrives for it is put into `slot`.
    pub(crate) async fn start(
        &self,
        mut request: ClientRequest,
        slot: Arc<RequestSlot>,
        deadline: Instant,
    ) -> Result<PendingRequest, RequestError> {
        request.extensions_mut().insert(slot);
        if let Some(level) = self.log_level.filter(|_| !self.info.has_initialize) {
            request.get_meta_mut().set_log_level(level.into());
        }
        let sending = boxed_send(&self.peer, request);
        let handle = tokio::select! {
            biased;
            result = timeout_at(deadline, sending) => result.map_err(|_| RequestError::TimedOut)?,
            () = self.ended.cancelled() => return Err(RequestError::Lost),
        };
        let handle = handle.map_err(|error| {
            if let ServiceError::TransportSend(failure) = &error
                && matches!(http_failure(&*failure.error), HttpFailure::SessionExpired)
            {
                self.traffic.notify(|notices| notices.has_expired = true);
            }
            RequestError::Service(error)
        })?;
        let (traffic, ended) = (Arc::clone(&self.traffic), self.ended.clone());
        Ok(PendingRequest { handle, traffic, ended, is_answered: false, is_done: false })
    }

    /// Sends a request and waits for its result, again after each challenge that is answered. The
    /// time that the answers take is added to the deadline.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        operation: &'static str,
        deadline: Instant,
    ) -> Result<ServerResult, McpError> {
        self.request_in(RequestSlot::new(), request, operation, deadline).await
    }

    /// Sends a request as [`request`](Self::request) does. What arrives for it is put into `slot`.
    pub(crate) async fn request_in(
        &self,
        slot: Arc<RequestSlot>,
        request: ClientRequest,
        operation: &'static str,
        mut deadline: Instant,
    ) -> Result<ServerResult, McpError> {
        let limit = deadline.saturating_duration_since(Instant::now());
        let server = self.challenges.server();
        for number in 0.. {
            let generation = self.challenges.generation();
            let error = match self.exchange(Arc::clone(&slot), request.clone(), deadline).await {
                Ok(result) => return Ok(result),
                Err(error) => mcp_error(server, operation, limit, error),
            };
            let McpError::AuthorizationRequired { challenge, .. } = &error else {
                return Err(error);
            };
            let challenged_at = Instant::now();
            let answered = if number < MAX_CHALLENGES {
                self.challenges.answer(challenge.as_deref(), generation).await
            } else {
                Ok(false)
            };
            deadline += challenged_at.elapsed();
            match answered {
                Ok(true) => {}
                Ok(false) => return Err(error),
                Err(failure) => {
                    return Err(McpError::authorization_failed(server.to_owned(), failure));
                }
            }
        }
        let server = server.to_owned();
        Err(McpError::AuthorizationRequired { server, challenge: None })
    }

    async fn exchange(
        &self,
        slot: Arc<RequestSlot>,
        request: ClientRequest,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let mut pending = self.start(request, slot, deadline).await?;
        tokio::select! {
            result = pending.result() => result,
            () = sleep_until(deadline) => Err(RequestError::TimedOut),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, notification: ClientNotification) {
        // A connection that is lost is established again, and the server asks anew.
        let _ = timeout(NOTIFY_TIMEOUT, self.peer.send_notification(notification)).await;
    }

    pub(crate) fn invalid_answer(&self, operation: &'static str, reason: String) -> McpError {
        McpError::InvalidResponse { server: self.challenges.server().to_owned(), operation, reason }
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns why the connection ended, for operators.
    pub(crate) async fn why_ended(&self) -> String {
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner).take();
        match program {
            Some(program) => program.why_ended(CONNECTION_ENDED, EXIT_LIMIT).await,
            None => CONNECTION_ENDED.to_owned(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Ends the connection and waits for a few seconds until the server has ended.
    pub(crate) async fn close(&self) {
        self.ended.cancel();
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Creates the future of the SDK that sends a request in its box: it is large, and a caller would
/// move it several times.
#[inline(never)]
fn boxed_send(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
) -> BoxFuture<'_, Result<RequestHandle<RoleClient>, ServiceError>> {
    Box::pin(peer.send_request_with_option(request, PeerRequestOptions::no_options()))
}

impl PendingRequest {
    /// Returns the id of the request.
    #[cfg(feature = "tracing")]
    pub(crate) fn id(&self) -> &rmcp::model::RequestId {
        &self.handle.id
    }

    /// Waits for the result. The future can be dropped and created again.
    pub(crate) async fn result(&mut self) -> Result<ServerResult, RequestError> {
        let answered = tokio::select! {
            biased;
            answered = &mut self.handle.rx => answered,
            () = self.ended.cancelled() => Ok(Err(ServiceError::TransportClosed)),
        };
        (self.is_answered, self.is_done) = match &answered {
            // It may not have been answered, and is cancelled.
            Ok(Err(ServiceError::McpError(error))) if error.message == UNMATCHED => (false, false),
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => (true, true),
            Ok(Err(_)) | Err(_) => (false, true),
        };
        match answered {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ServiceError::TransportClosed)) | Err(_) => Err(RequestError::Lost),
            Ok(Err(error)) => Err(RequestError::Service(error)),
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.traffic.remove(&self.handle.id);
        let Ok(runtime) = Handle::try_current() else { return };
        if self.is_done || self.ended.is_cancelled() {
            return;
        }
        let reason = Some("the client abandoned the request".to_owned());
        let params = CancelledNotificationParam::new(Some(self.handle.id.clone()), reason);
        let notification = CancelledNotification::new(params);
        let peer = self.handle.peer.clone();
        runtime.spawn(async move {
            let _ = timeout(NOTIFY_TIMEOUT, peer.send_notification(notification.into())).await;
        });
    }
}
