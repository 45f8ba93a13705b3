//! Lines of JSON over the pipes of a child process, or over another pair of streams.

use std::future::pending;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tool_runtime::process::{ChildProcess, Shutdown};

use super::envelope::Envelope;
use super::lines::{BoundedLines, Line};
use super::{BoxFuture, Received, Wire, WireError};

/// The number of messages that may wait to be written.
const MAX_QUEUED: usize = 1_024;

/// How long a server has to end after each step of a shutdown.
const SHUTDOWN_STEP: Duration = Duration::from_secs(2);

/// How long output is read after the server ended, if a process outside of its group holds the
/// pipe.
const OUTPUT_AFTER_END: Duration = Duration::from_secs(1);

/// A reader of bytes.
pub(crate) type BoxReader = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// A writer of bytes.
pub(crate) type BoxWriter = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Carries messages as lines.
pub(crate) struct Stdio {
    lines: BoundedLines<BoxReader>,
    queue: Option<mpsc::Sender<Outgoing>>,
    /// Cancelled when the server can't be written to any more.
    broken: CancellationToken,
    child: Option<ChildProcess>,
}

struct Outgoing {
    line: Vec<u8>,
    delivered: oneshot::Sender<Result<(), WireError>>,
}

impl Stdio {
    /// Starts to carry messages. A write that takes longer than `send_timeout` ends the connection.
    pub(crate) fn new(
        (reader, writer): (BoxReader, BoxWriter),
        child: Option<ChildProcess>,
        max_message_bytes: usize,
        send_timeout: Duration,
    ) -> Self {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        let broken = CancellationToken::new();
        tokio::spawn(write_queued(queued, writer, send_timeout, broken.clone()));
        let lines = BoundedLines::new(reader, max_message_bytes);
        Self { lines, queue: Some(queue), broken, child }
    }

    fn enqueue(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> Result<oneshot::Receiver<Result<(), WireError>>, WireError> {
        let mut line = serde_json::to_vec(message).map_err(WireError::Encode)?;
        line.push(b'\n');
        let (delivered, delivery) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(WireError::Closed)?;
        queue.try_send(Outgoing { line, delivered }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => WireError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => WireError::Closed,
        })?;
        Ok(delivery)
    }

    async fn next(&mut self) -> Option<Received> {
        let ended = async {
            match &mut self.child {
                // Kills what the server left behind, so that its output ends.
                Some(child) => drop(child.wait().await),
                None => pending().await,
            }
            sleep(OUTPUT_AFTER_END).await;
        };
        let line = tokio::select! {
            biased;
            () = self.broken.cancelled() => return None,
            line = self.lines.next() => line.ok().flatten()?,
            () = ended => return None,
        };
        Some(match line {
            Line::TooLong(envelope) => Received::TooLong(envelope),
            Line::Complete(line) => match serde_json::from_slice::<ServerJsonRpcMessage>(&line) {
                Ok(message) => Received::Message(Box::new(message)),
                Err(_) => Received::Malformed(Envelope::of_line(&line)),
            },
        })
    }
}

/// Writes messages until the queue is closed or a write fails.
async fn write_queued(
    mut queued: mpsc::Receiver<Outgoing>,
    mut writer: BoxWriter,
    send_timeout: Duration,
    broken: CancellationToken,
) {
    let _guard = broken.clone().drop_guard();
    loop {
        let Outgoing { line, delivered } = tokio::select! {
            next = queued.recv() => match next {
                Some(next) => next,
                None => return,
            },
            () = broken.cancelled() => return,
        };
        let write = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let result = match timeout(send_timeout, write).await {
            Ok(result) => result.map_err(WireError::Io),
            Err(_) => Err(WireError::NotRead(send_timeout)),
        };
        let has_failed = result.is_err();
        let _ = delivered.send(result);
        // A part of the line may have been written: the next message would be junk.
        if has_failed {
            return;
        }
    }
}

impl Wire for Stdio {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), WireError>> {
        // Queued before the future is polled, because the SDK polls futures in any order.
        let delivery = self.enqueue(&message);
        Box::pin(async move { delivery?.await.unwrap_or(Err(WireError::Closed)) })
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<Received>> {
        Box::pin(self.next())
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Closes the input of the server.
            self.queue = None;
            self.broken.cancel();
            if let Some(mut child) = self.child.take() {
                let steps = Shutdown::with_limit(SHUTDOWN_STEP);
                let _ = timeout(SHUTDOWN_STEP * 3, child.shutdown(steps)).await;
            }
        })
    }
}
