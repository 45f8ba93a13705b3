//! The stream of a response, which the SDK opens again where it ended: never at once.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use sse_stream::{Error as SseError, Sse};
use tokio::time::{Sleep, sleep};

use super::sse::{MAX_DELAY, MIN_DELAY, SseStream};

/// Bounds the delay that a server demands before its stream is opened again.
///
/// The SDK waits for the time that the server demands after the end of a stream, and not at all
/// after a failure. Both would let a server make the client connect in a loop.
pub(super) struct PacedStream {
    inner: SseStream,
    /// A failure that is passed on later.
    failure: Option<(Pin<Box<Sleep>>, SseError)>,
}

impl PacedStream {
    pub(super) fn new(inner: SseStream) -> Self {
        Self { inner, failure: None }
    }
}

impl Stream for PacedStream {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.failure.is_none() {
            match ready!(self.inner.as_mut().poll_next(cx)) {
                Some(Ok(mut event)) => {
                    event.retry = event.retry.map(bounded_retry);
                    return Poll::Ready(Some(Ok(event)));
                }
                Some(Err(error)) => self.failure = Some((Box::pin(sleep(MIN_DELAY)), error)),
                None => return Poll::Ready(None),
            }
        }
        if let Some((delay, _)) = &mut self.failure {
            ready!(delay.as_mut().poll(cx));
        }
        Poll::Ready(self.failure.take().map(|(_, error)| Err(error)))
    }
}

/// Bounds a delay in milliseconds.
fn bounded_retry(millis: u64) -> u64 {
    let limit = |delay: std::time::Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    millis.clamp(limit(MIN_DELAY), limit(MAX_DELAY))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::Instant;

    use super::*;

    /// A stream that has these events in reverse order.
    struct Events(Vec<Result<Sse, SseError>>);

    impl Stream for Events {
        type Item = Result<Sse, SseError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.pop())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delay_is_bounded_and_a_failure_waits() {
        let failure = SseError::Body(Box::new(std::io::Error::other("reset")));
        let demanded = [u64::MAX, 2_000, 0].map(|millis| Ok(Sse::default().retry(millis)));
        let events = [Err(failure)].into_iter().chain(demanded).collect();
        let mut stream = PacedStream::new(Box::pin(Events(events)));
        let started = Instant::now();
        for expected in [500, 2_000, 60_000] {
            let event = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
            assert_eq!(event.unwrap().unwrap().retry, Some(expected));
        }
        assert_eq!(started.elapsed().as_millis(), 0);
        let event = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
        assert!(event.unwrap().is_err());
        assert_eq!(started.elapsed(), MIN_DELAY);
        assert!(poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.is_none());
    }
}
