//! Lines to a stream of bytes, in the order in which they are queued.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The number of lines that may wait to be written.
const MAX_QUEUED: usize = 1_024;

/// How long the end of a stream may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why a line was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The stream has ended before the line was begun.
    #[error("the connection is closed")]
    Closed,
    /// The peer does not read.
    #[error("the peer did not read for {0:?}")]
    NotRead(Duration),
    /// The line was not begun.
    #[error("too many messages wait to be sent")]
    QueueFull,
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Writes lines. Each is queued at once, so that the order is that of the calls of
/// [`send`](Self::send), and written by its future. A line that can't be written ends the stream:
/// a part of it may have been written, and the next line would be appended to it.
#[derive(Clone)]
pub(crate) struct LineWriter(Arc<Shared>);

/// A writer of bytes.
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

struct Shared {
    queue: Mutex<Queue>,
    stream: tokio::sync::Mutex<Stream>,
    send_timeout: Duration,
    /// Cancelled when nothing can be written any more.
    broken: CancellationToken,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Vec<u8>>,
    /// The number of the last line that was queued.
    last: u64,
}

struct Stream {
    /// `None` after the end.
    writer: Option<Writer>,
    /// The line that is being written, and how much of it was.
    line: Vec<u8>,
    offset: usize,
    is_flushed: bool,
    /// The number of lines of which a part was written.
    started: u64,
    /// The number of lines that were written.
    written: u64,
}

/// The delivery of a line.
pub(crate) enum Sending<T> {
    /// The result is known; `None` after it was returned.
    Ready(Option<T>),
    Waiting(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// The state of a line after the attempt to write it at once.
enum Attempt {
    Ready(Result<(), WriteError>),
    /// The number of the line.
    Waiting(u64),
}

impl<T: Unpin> Future for Sending<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            Self::Ready(result) => result.take().map_or(Poll::Pending, Poll::Ready),
            Self::Waiting(waiting) => waiting.as_mut().poll(cx),
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => error,
            error => Self::other(error),
        }
    }
}

impl LineWriter {
    /// Creates a writer that gives the stream up, and cancels `broken`, if a line takes longer than
    /// `send_timeout`.
    pub(crate) fn new(writer: Writer, send_timeout: Duration, broken: CancellationToken) -> Self {
        let stream = Stream {
            writer: Some(writer),
            line: Vec::new(),
            offset: 0,
            is_flushed: true,
            started: 0,
            written: 0,
        };
        let stream = tokio::sync::Mutex::new(stream);
        Self(Arc::new(Shared { queue: Mutex::default(), stream, send_timeout, broken }))
    }

    /// Queues a line, and writes it if the stream takes it at once.
    pub(crate) fn send<E: From<WriteError> + 'static>(
        &self,
        line: Vec<u8>,
    ) -> Sending<Result<(), E>> {
        match self.0.begin(line) {
            Attempt::Ready(result) => Sending::Ready(Some(result.map_err(E::from))),
            Attempt::Waiting(number) => {
                let shared = Arc::clone(&self.0);
                let deliver = async move { shared.deliver(number).await.map_err(E::from) };
                Sending::Waiting(Box::pin(deliver))
            }
        }
    }

    /// Ends the stream. What waits is written if the peer reads it within a second.
    pub(crate) async fn close(&self) {
        let last = self.0.queue().last;
        let _ = timeout(CLOSE_TIMEOUT, self.0.deliver(last)).await;
        self.0.broken.cancel();
        let closing = async {
            let writer = self.0.stream.lock().await.writer.take();
            if let Some(mut writer) = writer {
                let _ = writer.shutdown().await;
            }
        };
        let _ = timeout(CLOSE_TIMEOUT, closing).await;
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line, and writes what the stream takes at once.
    fn begin(&self, line: Vec<u8>) -> Attempt {
        if self.broken.is_cancelled() {
            return Attempt::Ready(Err(WriteError::Closed));
        }
        let number = {
            let mut queue = self.queue();
            if queue.waiting.len() >= MAX_QUEUED {
                return Attempt::Ready(Err(WriteError::QueueFull));
            }
            queue.waiting.push_back(line);
            queue.last += 1;
            queue.last
        };
        let Ok(mut stream) = self.stream.try_lock() else { return Attempt::Waiting(number) };
        // What is pending is polled again by the future, with the waker of its task.
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(written) = stream.poll_line(self, &mut cx) {
            if written.is_err() || stream.is_done(number) {
                let result = self.result(&stream, number, written.map_err(WriteError::Io));
                return Attempt::Ready(result);
            }
        }
        Attempt::Waiting(number)
    }

    /// Writes the lines up to a number.
    async fn deliver(&self, number: u64) -> Result<(), WriteError> {
        let mut stream = self.stream.lock().await;
        loop {
            let is_followed = !self.queue().waiting.is_empty();
            let is_done = stream.is_done(number) || (stream.written >= number && is_followed);
            if is_done || self.broken.is_cancelled() {
                return self.result(&stream, number, Ok(()));
            }
            let mut line = pin!(poll_fn(|cx| stream.poll_line(self, cx)));
            let written = tokio::select! {
                biased;
                () = self.broken.cancelled() => Ok(()),
                written = timeout(self.send_timeout, line.as_mut()) => match written {
                    Ok(written) => written.map_err(WriteError::Io),
                    Err(_) => Err(WriteError::NotRead(self.send_timeout)),
                },
            };
            if written.is_err() {
                return self.result(&stream, number, written);
            }
        }
    }

    /// Returns the result of a line after `last`, the result of the last attempt to write, whose
    /// failure ends the stream.
    fn result(
        &self,
        stream: &Stream,
        number: u64,
        last: Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        if last.is_err() {
            self.broken.cancel();
        }
        if stream.written >= number {
            Ok(())
        } else if stream.started >= number {
            last.and_then(|_| Err(WriteError::Io(io::ErrorKind::BrokenPipe.into())))
        } else {
            Err(WriteError::Closed)
        }
    }
}

impl Stream {
    fn is_done(&self, number: u64) -> bool {
        self.written >= number && self.is_flushed
    }

    /// Writes one line, or flushes the stream if none waits.
    fn poll_line(&mut self, shared: &Shared, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        if self.line.is_empty() {
            let Some(next) = shared.queue().waiting.pop_front() else {
                ready!(Pin::new(writer).poll_flush(cx))?;
                self.is_flushed = true;
                return Poll::Ready(Ok(()));
            };
            self.line = next;
            self.started += 1;
            self.is_flushed = false;
        }
        while let Some(rest) = self.line.get(self.offset..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut *writer).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.offset += count,
            }
        }
        self.written += 1;
        (self.line, self.offset) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, duplex};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn writer(capacity: usize) -> (LineWriter, tokio::io::DuplexStream, CancellationToken) {
        let (near, far) = duplex(capacity);
        let broken = CancellationToken::new();
        (LineWriter::new(Box::new(near), TIMEOUT, broken.clone()), far, broken)
    }

    fn line(number: usize, length: usize) -> Vec<u8> {
        format!("{number:0length$}\n").into_bytes()
    }

    fn send(writer: &LineWriter, line: Vec<u8>) -> Sending<Result<(), WriteError>> {
        writer.send(line)
    }

    #[tokio::test]
    async fn lines_arrive_in_the_order_of_sending_whatever_is_polled_first() {
        for capacity in [1, 7, 64, 1 << 16] {
            let (writer, far, _) = writer(capacity);
            let mut sending: Vec<_> = (0..100).map(|n| send(&writer, line(n, 10))).collect();
            // One that is dropped is written nevertheless.
            drop(sending.remove(50));
            let reading = tokio::spawn(async move {
                let mut lines = BufReader::new(far).lines();
                let mut numbers = Vec::new();
                while let Some(line) = lines.next_line().await.unwrap() {
                    numbers.push(line.parse::<usize>().unwrap());
                }
                numbers
            });
            for delivery in sending.into_iter().rev() {
                delivery.await.unwrap();
            }
            writer.close().await;
            drop(writer);
            let expected: Vec<_> = (0..100).collect();
            assert_eq!(reading.await.unwrap(), expected, "{capacity}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn line_whose_future_was_dropped_in_the_middle_is_completed() {
        let (writer, mut far, _) = writer(4);
        let first = timeout(Duration::from_secs(1), send(&writer, line(1, 9))).await;
        assert!(first.is_err());
        let second = tokio::spawn({
            let writer = writer.clone();
            async move { send(&writer, line(2, 9)).await }
        });
        let mut text = [0; 20];
        far.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"000000001\n000000002\n");
        second.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_does_not_read_breaks_the_stream() {
        let (writer, _far, broken) = writer(4);
        let first = send(&writer, line(1, 9));
        let waiting = send(&writer, line(2, 9));
        let started = tokio::time::Instant::now();
        assert!(matches!(first.await, Err(WriteError::NotRead(TIMEOUT))));
        assert_eq!(started.elapsed(), TIMEOUT);
        assert!(broken.is_cancelled());
        // Nothing of the others was written.
        assert!(matches!(waiting.await, Err(WriteError::Closed)));
        assert!(matches!(send(&writer, line(3, 9)).await, Err(WriteError::Closed)));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_peer_has_the_time_limit_for_each_line() {
        let (writer, mut far, _) = writer(1);
        let sending: Vec<_> = (0..5).map(|n| send(&writer, line(n, 1))).collect();
        tokio::spawn(async move {
            let mut byte = [0];
            while far.read_exact(&mut byte).await.is_ok() {
                tokio::time::sleep(TIMEOUT / 3).await;
            }
        });
        for delivery in sending {
            delivery.await.unwrap();
        }
    }

    #[tokio::test]
    async fn lines_that_wait_are_written_before_the_end() {
        let (writer, far, _) = writer(4);
        let sending: Vec<_> = (0..10).map(|n| send(&writer, line(n, 9))).collect();
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            BufReader::new(far).read_to_string(&mut text).await.unwrap();
            text
        });
        writer.close().await;
        drop((writer, sending));
        assert_eq!(reading.await.unwrap().lines().count(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_waiting_lines_is_limited() {
        let (writer, _far, broken) = writer(1);
        // One is being written.
        let waiting: Vec<_> = (0..=MAX_QUEUED).map(|n| send(&writer, line(n, 9))).collect();
        assert!(matches!(send(&writer, line(0, 9)).await, Err(WriteError::QueueFull)));
        assert!(!broken.is_cancelled());
        writer.close().await;
        for (number, delivery) in waiting.into_iter().enumerate() {
            let error = delivery.await.unwrap_err();
            let was_begun = matches!(error, WriteError::Io(_));
            assert_eq!(was_begun, number == 0, "{error}");
        }
    }
}
