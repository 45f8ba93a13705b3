//! A byte stream as a transport that a client can't make hang or grow.

use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tool_runtime::CancellationToken;

use super::Limits;
use super::decode::decode;
use super::session::lock;
use crate::lines::{BoundedLines, Envelope, Line, LineWriter, Sending};

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The number of requests, in addition to the running ones, that may await their response. They are
/// answered at once, if only with the error that too many requests run.
const MAX_WAITING: usize = 1024;

/// Some programs begin their first line with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Ends the connection if the client does not read: after a timeout for each message, or at once
/// if too many messages wait. Stops reading while too many requests are unanswered. The SDK alone
/// would hold all of them.
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
}

impl StreamTransport {
    pub(crate) fn new(reader: Reader, writer: Writer, limits: &Limits) -> Self {
        let ended = CancellationToken::new();
        Self {
            lines: BoundedLines::new(reader, limits.message_bytes, usize::MAX),
            writer: LineWriter::new(writer, limits.send, ended.clone()),
            has_ended: Box::pin(ended.clone().cancelled_owned()),
            ended,
            unanswered: Arc::new(Unanswered::new(limits.requests.saturating_add(MAX_WAITING))),
            has_started: false,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ClientJsonRpcMessage>> {
        loop {
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
            self.received(&message);
            if self.has_started {
                return Poll::Ready(Some(message));
            }
        }
    }

    fn received(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.unanswered.insert(request.id.clone());
                self.has_started = true;
            }
            // A cancelled request gets no response.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
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
        let sending = self.encode(&JsonRpcMessage::error(error, id));
        if let Sending::Waiting(sending) = sending {
            tokio::spawn(async move { drop(sending.await) });
        }
    }

    /// Queues a message. One that is not sent would be awaited for ever, so it ends the connection.
    fn encode(&self, message: &ServerJsonRpcMessage) -> Sending<io::Result<()>> {
        let sending = match serde_json::to_vec(message) {
            Ok(mut line) => {
                line.push(b'\n');
                self.writer.send(line)
            }
            Err(error) => Sending::Ready(Some(Err(error.into()))),
        };
        if matches!(sending, Sending::Ready(Some(Err(_)))) {
            self.ended.cancel();
        }
        sending
    }
}

/// The ids of the requests that await their response.
struct Unanswered {
    state: Mutex<UnansweredState>,
    limit: usize,
}

#[derive(Default)]
struct UnansweredState {
    ids: HashSet<RequestId>,
    /// Reads on when there is room.
    reader: Option<Waker>,
}

impl Unanswered {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    fn insert(&self, id: RequestId) {
        lock(&self.state).ids.insert(id);
    }

    fn remove(&self, id: &RequestId) {
        let reader = {
            let mut state = lock(&self.state);
            state.ids.remove(id);
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Waits until there is room for a request.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.ids.len() < self.limit {
            return Poll::Ready(());
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Transport<RoleServer> for StreamTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => self.unanswered.remove(&response.id),
            JsonRpcMessage::Error(error) => {
                error.id.iter().for_each(|id| self.unanswered.remove(id));
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
