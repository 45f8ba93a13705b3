//! The transport that the SDK sees: it routes, bounds and ends what a server sends.
//!
//! - Progress and notifications are put into the [`Traffic`] in the order in which they arrive. The
//!   SDK would start a task for each, in any order.
//! - A message that can't be read, or is above the size limit, becomes an error of the request that
//!   it answers. A request of the server is answered with an error.
//! - Errors that repeat a secret, which the server received, lose it.
//! - Messages that arrive too fast are read at a limited rate.
//! - The end of the connection is signalled at once, before the SDK has cleaned up.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, GetExtensions as _, GetMeta as _, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::client::connect::late_discovery::{LateDiscovery, Next};
use crate::client::connect::secrets::Secrets;
use crate::client::connect::target::Target;
use crate::client::tools::text::{clean, clean_line};
use crate::client::wire::decode::decode;
use crate::client::wire::flood::MessageBudget;
use crate::client::wire::incoming::{Incoming, MALFORMED, TOO_LONG, UNMATCHED, failure};
use crate::client::wire::traffic::{LogNotice, RequestSlot, Traffic};
use crate::client::wire::{Received, StreamChange, Wire, WireError};
use crate::lines::{Envelope, Sending};

/// The number of notifications, requests and invalid messages that are read at once.
const BURST: u32 = 10_000;

/// The time after which one more of them is read.
const INTERVAL: Duration = Duration::from_millis(1);

/// The number of characters of a log message that are kept.
const MAX_LOG_CHARS: usize = 2_000;

/// The number of characters of a URI that are kept.
const MAX_URI_CHARS: usize = 2_000;

/// Guards a [`Wire`].
pub(crate) struct Guard {
    wire: Box<dyn Wire>,
    /// The server, with the secrets that it received.
    target: Target,
    traffic: Arc<Traffic>,
    budget: MessageBudget,
    late_discovery: LateDiscovery,
    /// Ends when the next message may be read, if that is later.
    resumed: Option<Pin<Box<Sleep>>>,
    /// Messages that are delivered before the next one is read.
    ready: VecDeque<ServerJsonRpcMessage>,
    /// Cancelled when the connection has ended, or to end it.
    ended: CancellationToken,
    has_ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Guard {
    pub(crate) fn new(
        wire: Box<dyn Wire>,
        target: Target,
        traffic: Arc<Traffic>,
        ended: CancellationToken,
    ) -> Self {
        let budget = MessageBudget::new(BURST, INTERVAL);
        let has_ended = Box::pin(ended.clone().cancelled_owned());
        Self {
            wire,
            target,
            traffic,
            budget,
            late_discovery: LateDiscovery::default(),
            resumed: None,
            ready: VecDeque::new(),
            ended,
            has_ended,
        }
    }

    /// Returns the next message that the SDK handles, or `None` at the end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ServerJsonRpcMessage>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Poll::Ready(Some(message));
            }
            if let Poll::Ready(message) = self.late_discovery.poll_grace(cx) {
                return Poll::Ready(Some(message));
            }
            if let Some(resumed) = &mut self.resumed {
                ready!(resumed.as_mut().poll(cx));
                self.resumed = None;
            }
            match ready!(self.wire.poll_receive(cx)) {
                Some(Received::Message(message)) => {
                    if let Some(message) = self.route(message) {
                        return Poll::Ready(Some(message));
                    }
                }
                Some(Received::Line(line)) => {
                    if let Some(message) = self.read(&line) {
                        return Poll::Ready(Some(message));
                    }
                }
                Some(Received::TooLong(envelope)) => self.too_long(envelope),
                Some(Received::Stream(change)) => self.stream_changed(change),
                None => return Poll::Ready(None),
            }
        }
    }

    fn stream_changed(&self, change: StreamChange) {
        self.traffic.notify(|notices| match change {
            StreamChange::Lost(reason) => notices.interruption = Some(reason),
            StreamChange::Reopened => notices.is_reopened = true,
            StreamChange::Expired => notices.has_expired = true,
        });
    }

    /// Counts a message whose rate is limited.
    fn take_budget(&mut self) {
        let now = Instant::now();
        self.budget.take(now);
        self.resumed = self.budget.wait_until(now).map(|at| Box::pin(sleep_until(at)));
    }

    /// Handles a line, or returns its message for the SDK.
    fn read(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        match Incoming::of(line, &self.traffic, false) {
            Incoming::Plain => match decode(line, |id| self.traffic.is_call(id)) {
                Ok(message) => self.route(message),
                Err(_) => {
                    self.malformed(Envelope::of_line(line));
                    None
                }
            },
            Incoming::Instead(message) => self.route(*message),
            Incoming::TooLong(envelope) => {
                self.too_long(envelope);
                None
            }
        }
    }

    /// Handles a message, or returns it for the SDK.
    fn route(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match message {
            JsonRpcMessage::Response(mut response) => {
                Secrets::redact_failure(&mut response.result, || self.target.secrets());
                let is_awaited = self.answered(&response.id);
                self.deliver(JsonRpcMessage::Response(response), is_awaited)
            }
            JsonRpcMessage::Error(mut error) => {
                self.target.secrets().redact_error(&mut error.error);
                let is_awaited = error.id.as_ref().is_none_or(|id| self.answered(id));
                self.deliver(JsonRpcMessage::Error(error), is_awaited)
            }
            JsonRpcMessage::Request(request) => {
                self.take_budget();
                Some(JsonRpcMessage::Request(request))
            }
            JsonRpcMessage::Notification(notification) => {
                self.take_budget();
                let notification = self.notified(notification.notification)?;
                Some(JsonRpcMessage::notification(notification))
            }
        }
    }

    /// Removes a request that is answered. Returns whether it was in flight. A response that was
    /// not asked for counts as a flood.
    fn answered(&mut self, id: &RequestId) -> bool {
        let is_awaited = self.traffic.remove(id);
        if !is_awaited {
            self.take_budget();
        }
        is_awaited
    }

    /// Returns an answer for the SDK, which would take `"3"` for an answer to request 3.
    fn deliver(
        &mut self,
        answer: ServerJsonRpcMessage,
        is_awaited: bool,
    ) -> Option<ServerJsonRpcMessage> {
        match self.late_discovery.received(is_awaited.then_some(answer)?) {
            Next::Deliver(message) => Some(message),
            Next::Send(message) => {
                let sending = self.wire.send(message);
                // If it fails, the handshake times out.
                tokio::spawn(async move { drop(sending.await) });
                None
            }
            Next::Wait => None,
        }
    }

    /// Handles a notification, or returns it for the SDK.
    fn notified(&self, notification: ServerNotification) -> Option<ServerNotification> {
        let traffic = &self.traffic;
        match notification {
            ServerNotification::ProgressNotification(mut progress) => {
                if let Some(message) = &mut progress.params.message {
                    *message = self.target.secrets().redact(message);
                }
                traffic.progress(&progress.params);
            }
            ServerNotification::ToolListChangedNotification(_) => {
                traffic.notify(|notices| notices.tools_changed = true);
            }
            ServerNotification::SubscriptionsAcknowledgedNotification(_) => {
                traffic.notify(|notices| notices.is_subscribed = true);
            }
            ServerNotification::PromptListChangedNotification(_) => {
                traffic.notify(|notices| notices.prompts_changed = true);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                traffic.notify(|notices| notices.resources_changed = true);
            }
            ServerNotification::ResourceUpdatedNotification(updated) => {
                let uri = self.target.secrets().redact(&updated.params.uri);
                let uri = clean_line(&uri, MAX_URI_CHARS);
                traffic.notify(|notices| notices.push_updated(uri));
            }
            ServerNotification::LoggingMessageNotification(mut log) => {
                // Before the text is cut, which could leave a part of a secret.
                self.target.secrets().redact_value(&mut log.params.data);
                let level = serde_json::to_value(log.params.level).ok();
                let level = level.as_ref().and_then(Value::as_str).unwrap_or("log").to_owned();
                let text = match &log.params.data {
                    Value::String(text) => clean(text, MAX_LOG_CHARS),
                    data => clean(&data.to_string(), MAX_LOG_CHARS),
                };
                traffic.notify(|notices| notices.push_log(LogNotice { level, text }));
            }
            // The SDK ends requests and subscriptions by it.
            ServerNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.as_ref();
                let is_known = id.is_some_and(|id| traffic.contains(id));
                return is_known.then_some(ServerNotification::CancelledNotification(cancelled));
            }
            _ => {}
        }
        None
    }

    /// Handles a message above the size limit.
    fn too_long(&mut self, envelope: Envelope) {
        self.take_budget();
        match envelope {
            Envelope::Response(Some(id)) => self.fail(id, TOO_LONG),
            Envelope::Response(None) => {
                let mut ids = self.traffic.in_flight();
                match ids.pop() {
                    Some(id) if ids.is_empty() => self.fail(id, TOO_LONG),
                    last => ids.into_iter().chain(last).for_each(|id| self.fail(id, UNMATCHED)),
                }
            }
            Envelope::Request(id) => self.refuse(id, "the request exceeds the size limit"),
            Envelope::Notification => {}
        }
    }

    /// Handles text that is not a valid message.
    fn malformed(&mut self, envelope: Envelope) {
        self.take_budget();
        match envelope {
            Envelope::Response(Some(id)) => self.fail(id, MALFORMED),
            Envelope::Request(id) => self.refuse(id, "the request is not a valid message"),
            Envelope::Response(None) | Envelope::Notification => {}
        }
    }

    /// Answers a request of the client with an error, if it is in flight.
    fn fail(&mut self, id: RequestId, message: &'static str) {
        let is_awaited = self.traffic.remove(&id);
        let delivered = self.deliver(failure(message, id), is_awaited);
        self.ready.extend(delivered);
    }

    /// Answers a request of the server with an error.
    fn refuse(&mut self, id: RequestId, message: &'static str) {
        let error = ErrorData::new(ErrorCode::INVALID_REQUEST, message, None);
        let sending = self.wire.send(JsonRpcMessage::error(error, Some(id)));
        // A server that does not read its answer learns nothing, and nothing depends on it.
        tokio::spawn(async move { drop(sending.await) });
    }
}

impl Transport<RoleClient> for Guard {
    type Error = WireError;

    fn name() -> Cow<'static, str> {
        "tool-mcp".into()
    }

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &mut message {
            let slot = request.request.extensions_mut().remove::<Arc<RequestSlot>>();
            let token = request.request.get_meta().get_progress_token();
            let slot = slot.unwrap_or_else(RequestSlot::new);
            self.traffic.add(request.id.clone(), token, slot);
        }
        match self.late_discovery.record_sent(message, self.wire.is_sequential()) {
            Some(message) => self.wire.send(message),
            None => Sending::Ready(Some(Ok(()))),
        }
    }

    /// All state is in the guard: the SDK drops the future and creates it again for each event.
    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        poll_fn(|cx| {
            let next = match self.has_ended.as_mut().poll(cx) {
                Poll::Ready(()) => None,
                Poll::Pending => ready!(self.poll_next(cx)),
            };
            if next.is_none() {
                self.ended.cancel();
            }
            Poll::Ready(next)
        })
    }

    async fn close(&mut self) -> Result<(), WireError> {
        self.ended.cancel();
        self.wire.close().await;
        Ok(())
    }
}
