//! A byte stream as a transport that a client can't make hang or grow.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tool_core::CancellationToken;

use super::decode::decode;
use super::malformed::invalid_params;
use super::unanswered::Unanswered;
use crate::lines::{BoundedLines, Envelope, Line, LineWriter, Sending, json_line};
use crate::server::Limits;

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The number of requests, in addition to the running ones, that may await their response. They are
/// answered at once, if only with the error that too many requests run.
const MAX_WAITING: usize = 1024;

/// Some programs begin their first line with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of ignored messages after which other tasks get their turn.
const MAX_IGNORED: usize = 64;

/// Ends the connection if the client does not read: after a timeout for each message, or at once
/// if too many messages wait. Stops reading while too many requests are unanswered. The SDK alone
/// would hold all of them.
///
/// Ignores notifications that change nothing: the SDK would spawn a task for each of them, without
/// a limit.
///
/// Answers what it can't read with an error, and ignores what comes before the first request, which
/// the SDK would take for a wrong start.
pub(crate) struct StreamTransport {
    lines: BoundedLines<Reader>,
    writer: LineWriter,
    /// Cancelled when the client can't be written to any more.
    ended: CancellationToken,
    has_ended: Pin<Box<WaitForCancellationFutureOwned>>,
    unanswered: Arc<Unanswered>,
    has_started: bool,
    is_initialized: bool,
}

impl StreamTransport {
    pub(crate) fn new(reader: Reader, writer: Writer, limits: &Limits) -> Self {
        let ended = CancellationToken::new();
        Self {
            lines: BoundedLines::new(reader, limits.max_message_bytes, usize::MAX),
            writer: LineWriter::new(writer, limits.send_timeout, ended.clone()),
            has_ended: Box::pin(ended.clone().cancelled_owned()),
            ended,
            unanswered: Arc::new(Unanswered::new(limits.max_requests.saturating_add(MAX_WAITING))),
            has_started: false,
            is_initialized: false,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ClientJsonRpcMessage>> {
        for _ in 0..MAX_IGNORED {
            if self.has_ended.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            ready!(self.unanswered.poll_room(cx));
            let Ok(Some(line)) = ready!(self.lines.poll_next(cx)) else {
                return Poll::Ready(None);
            };
            let message = match line {
                Line::Complete(line) => {
                    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
                    match decode(line) {
                        Ok(message) => message,
                        Err(error) => {
                            // The peer could answer a response to invalid JSON in the same way.
                            if error.is_data() {
                                self.refuse(Envelope::of_line(line), "Invalid request");
                            }
                            continue;
                        }
                    }
                }
                Line::TooLong(envelope) => {
                    if matches!(envelope, Envelope::Request(_)) {
                        self.refuse(envelope, "the request exceeds the size limit of the server");
                    }
                    continue;
                }
            };
            if self.received(&message) {
                return Poll::Ready(Some(message));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Records a message. Returns whether it is passed on.
    fn received(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::CustomRequest(custom) = &request.request
                    && let Some(error) = invalid_params(custom, custom.extensions.get())
                {
                    self.answer(&JsonRpcMessage::error(error, Some(request.id.clone())));
                    return false;
                }
                self.unanswered.insert(request.id.clone());
                self.has_started = true;
                true
            }
            JsonRpcMessage::Notification(notification) => {
                self.has_started && self.notified(&notification.notification)
            }
            // The ids of the server are numbers, and the SDK would take `"3"` for one.
            JsonRpcMessage::Response(response) => {
                self.has_started && matches!(response.id, RequestId::Number(_))
            }
            JsonRpcMessage::Error(error) => {
                self.has_started && !matches!(error.id, Some(RequestId::String(_)))
            }
        }
    }

    /// Records a notification. Returns whether it changes anything.
    fn notified(&mut self, notification: &ClientNotification) -> bool {
        match notification {
            // A cancelled request gets no response.
            ClientNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.as_ref();
                id.is_some_and(|id| self.unanswered.remove(id))
            }
            ClientNotification::InitializedNotification(_) => {
                !std::mem::replace(&mut self.is_initialized, true)
            }
            _ => false,
        }
    }

    /// Answers a request that can't be read, or a message of no kind.
    fn refuse(&self, envelope: Envelope, message: &'static str) {
        let id = match envelope {
            Envelope::Request(id) => Some(id),
            Envelope::Response(None) => None,
            Envelope::Response(Some(_)) | Envelope::Notification => return,
        };
        let error = ErrorData::new(ErrorCode::INVALID_REQUEST, message, None);
        self.answer(&JsonRpcMessage::error(error, id));
    }

    /// Sends an answer that nothing waits for.
    fn answer(&self, message: &ServerJsonRpcMessage) {
        let sending = self.encode(message);
        if let Sending::Waiting(sending) = sending {
            tokio::spawn(async move { drop(sending.await) });
        }
    }

    /// Queues a message. One that is not sent would be awaited for ever, so it ends the connection.
    fn encode(&self, message: &ServerJsonRpcMessage) -> Sending<io::Result<()>> {
        let sending = match json_line(message) {
            Ok(line) => self.writer.send(line),
            Err(error) => Sending::Ready(Some(Err(error.into()))),
        };
        if matches!(sending, Sending::Ready(Some(Err(_)))) {
            self.ended.cancel();
        }
        sending
    }
}

impl Transport<RoleServer> for StreamTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => {
                self.unanswered.remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        self.encode(&message)
    }

    /// All state is in the transport: the SDK drops the future and creates it again for each event.
    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        poll_fn(|cx| self.poll_next(cx))
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await;
        Ok(())
    }
}

impl fmt::Debug for StreamTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamTransport").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    /// Returns this number of notifications of all kinds, including cancellations of requests that
    /// are not in flight.
    fn flood(count: usize) -> Vec<u8> {
        let kinds = [
            json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } }),
            json!({ "method": "notifications/initialized" }),
            json!({ "method": "notifications/progress",
                "params": { "progressToken": 1, "progress": 1.0 } }),
            json!({ "method": "notifications/roots/list_changed" }),
            json!({ "method": "notifications/unknown", "params": { "text": "x".repeat(100) } }),
        ];
        let lines = kinds.into_iter().cycle().take(count).map(|mut notification| {
            notification["jsonrpc"] = "2.0".into();
            format!("{notification}\n")
        });
        lines.collect::<String>().into_bytes()
    }

    fn request(id: u32) -> Vec<u8> {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").into_bytes()
    }

    #[tokio::test]
    async fn flood_of_notifications_reaches_no_handler_and_yields() {
        const COUNT: usize = 20_000;
        let cancelled =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
        let cancelled = [&cancelled[..], b"\n"].concat();
        let lines = [request(1), flood(COUNT), request(2), cancelled.repeat(3), flood(COUNT)];
        let reader = Box::new(io::Cursor::new(lines.concat()));
        let limits = Limits::default().send_timeout(Duration::from_secs(1));
        let mut transport = StreamTransport::new(reader, Box::new(tokio::io::sink()), &limits);
        let (mut passed, mut yields) = (Vec::new(), 0);
        loop {
            match transport.receive().now_or_never() {
                Some(Some(message)) => passed.push(serde_json::to_value(message).unwrap()),
                Some(None) => break,
                None => yields += 1,
            }
            assert!(transport.unanswered.count() <= 2);
        }
        let methods: Vec<_> = passed.iter().map(|message| message["method"].as_str()).collect();
        let initialized = Some("notifications/initialized");
        let expected = [Some("ping"), initialized, Some("ping"), Some("notifications/cancelled")];
        assert_eq!(methods, expected);
        assert!(yields >= 2 * COUNT / MAX_IGNORED - 2, "{yields}");
    }
}
