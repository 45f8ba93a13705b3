//! Lines of JSON over the pipes of a child process, or over another pair of streams.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::model::ClientJsonRpcMessage;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tool_core::process::{ChildProcess, Shutdown};

use super::{BoxFuture, Delivery, Received, Wire, WireError};
use crate::lines::{BoundedLines, Line, LineWriter, Sending, json_line};

/// How many times the size limit of a message is skipped before the server is given up.
const MAX_SKIPPED_LIMITS: usize = 8;

/// How long a server has to end after each step of a shutdown.
const SHUTDOWN_STEP: Duration = Duration::from_secs(2);

/// How long output is read after the server ended, if a process outside of its group holds the
/// pipe.
const OUTPUT_AFTER_END: Duration = Duration::from_secs(1);

/// A reader of bytes.
pub(crate) type BoxReader = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// A writer of bytes.
pub(crate) type BoxWriter = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// The process of a server, which the handshake shares: it reports why the process ended.
pub(crate) type SharedChild = Arc<tokio::sync::Mutex<ChildProcess>>;

/// Carries messages as lines.
pub(crate) struct Stdio {
    lines: BoundedLines<BoxReader>,
    writer: LineWriter,
    /// Ends when the server can't be written to any more.
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The life of the process, if there is one.
    life: Option<BoxFuture<'static, ()>>,
    /// Cancelled to end the process.
    stopped: CancellationToken,
}

impl Stdio {
    /// Starts to carry messages. A write that takes longer than `send_timeout` ends the connection.
    pub(crate) fn new(
        (reader, writer): (BoxReader, BoxWriter),
        child: Option<SharedChild>,
        max_message_bytes: usize,
        send_timeout: Duration,
    ) -> Self {
        let max_skipped = max_message_bytes.saturating_mul(MAX_SKIPPED_LIMITS);
        let (broken, stopped) = (CancellationToken::new(), CancellationToken::new());
        Self {
            lines: BoundedLines::new(reader, max_message_bytes, max_skipped),
            writer: LineWriter::new(writer, send_timeout, broken.clone()),
            broken: Box::pin(broken.cancelled_owned()),
            life: child.map(|child| live(child, stopped.clone()) as _),
            stopped,
        }
    }
}

/// Waits until the process has ended and its output should have, or ends it.
fn live(child: SharedChild, stopped: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut child = child.lock().await;
        let is_stopped = tokio::select! {
            // Kills what the server left behind, so that its output ends.
            _ = child.wait() => false,
            () = stopped.cancelled() => true,
        };
        if is_stopped {
            let steps = Shutdown::with_timeout(SHUTDOWN_STEP);
            let _ = timeout(SHUTDOWN_STEP * 3, child.shutdown(steps)).await;
        } else {
            // The report of the end reads the status meanwhile.
            drop(child);
            sleep(OUTPUT_AFTER_END).await;
        }
    })
}

impl Wire for Stdio {
    fn send(&mut self, message: ClientJsonRpcMessage) -> Delivery {
        // Queued before the future is polled, because the SDK polls futures in any order.
        match json_line(&message) {
            Ok(line) => self.writer.send(line),
            Err(error) => Sending::Ready(Some(Err(WireError::Encode(error)))),
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        if self.broken.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        // Before the output: another process may write without an end.
        if self.life.as_mut().is_some_and(|life| life.as_mut().poll(cx).is_ready()) {
            self.life = None;
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.lines.poll_next(cx)) {
            Ok(Some(Line::Complete(line))) => Some(Received::Line(line)),
            Ok(Some(Line::TooLong(envelope))) => Some(Received::TooLong(envelope)),
            Ok(None) | Err(_) => None,
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Closes the input of the server.
            self.writer.close().await;
            self.stopped.cancel();
            if let Some(life) = self.life.take() {
                life.await;
            }
        })
    }
}
