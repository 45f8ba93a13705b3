//! The stream on which a server sends the notifications of a session.
//!
//! It is opened again whenever it ends. The SDK does so as quickly as the server demands, and gives
//! up unnoticed after some failures.

use std::future::poll_fn;
use std::time::Duration;

use sse_stream::{Error as SseError, Sse};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep};

use super::sse::{MAX_DELAY, MIN_DELAY, SseStream};
use super::{BoxFuture, StreamChange};

/// How long a stream without events must live for the next delay to be short.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// The number of failures after which the stream is opened from its end, because the server may
/// refuse the last event that the client names.
const MAX_RESUMPTIONS: u32 = 3;

/// The reason why a stream could not be opened.
#[derive(Debug)]
pub(super) struct OpenError {
    pub(super) reason: String,
    /// Whether the server does not know the session.
    pub(super) is_not_found: bool,
}

type Opened = Result<SseStream, OpenError>;

/// Opens the stream after the event with an id.
pub(super) type Open = Box<dyn FnMut(Option<String>) -> BoxFuture<'static, Opened> + Send>;

/// Passes the events of a stream on until their receiver is dropped. `opened` is the result of the
/// first attempt.
pub(super) async fn keep_open(
    opened: Opened,
    open: Open,
    events: Sender<Result<Sse, SseError>>,
    changes: Sender<StreamChange>,
) {
    tokio::select! {
        () = events.closed() => {}
        () = reopen_forever(opened, open, &events, &changes) => {}
    }
}

async fn reopen_forever(
    mut opened: Opened,
    mut open: Open,
    events: &Sender<Result<Sse, SseError>>,
    changes: &Sender<StreamChange>,
) {
    let mut position = Position::default();
    let (mut delay, mut failures, mut is_first, mut was_open) = (Duration::ZERO, 0, true, false);
    loop {
        let mut was_useful = false;
        match opened {
            Ok(stream) => {
                if !is_first {
                    let _ = changes.send(StreamChange::Reopened).await;
                }
                (failures, was_open) = (0, true);
                let since = Instant::now();
                let had_events = forward(stream, &mut position, events).await;
                was_useful = had_events || since.elapsed() > STABLE_AFTER;
            }
            Err(error) if error.is_not_found && was_open => {
                let _ = changes.send(StreamChange::Expired).await;
                return std::future::pending().await;
            }
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    let _ = changes.send(StreamChange::Lost(error.reason)).await;
                }
            }
        }
        is_first = false;
        delay = next_delay(delay, was_useful, position.retry);
        sleep(delay).await;
        let after = position.last_event_id.clone().filter(|_| failures < MAX_RESUMPTIONS);
        opened = open(after).await;
    }
}

/// The position at which a stream ended, and the delay that the server demands.
#[derive(Default)]
struct Position {
    last_event_id: Option<String>,
    retry: Option<Duration>,
}

/// Passes events on until the stream ends or fails. Returns whether there were any with data.
async fn forward(
    mut stream: SseStream,
    position: &mut Position,
    events: &Sender<Result<Sse, SseError>>,
) -> bool {
    let mut had_data = false;
    while let Some(Ok(event)) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        if let Some(millis) = event.retry {
            position.retry = Some(Duration::from_millis(millis));
        }
        if let Some(id) = &event.id {
            position.last_event_id = Some(id.clone());
        }
        had_data |= event.data.as_ref().is_some_and(|data| !data.is_empty());
        if events.send(Ok(event)).await.is_err() {
            break;
        }
    }
    had_data
}

/// Returns the delay before the next attempt. It grows as long as the streams are of no use.
fn next_delay(previous: Duration, was_useful: bool, retry: Option<Duration>) -> Duration {
    let delay = if was_useful { MIN_DELAY } else { (previous * 2).max(MIN_DELAY) };
    delay.max(retry.unwrap_or_default()).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll};

    use futures_core::Stream;
    use tokio::sync::mpsc::{Receiver, channel};
    use tokio::time::timeout;

    use super::*;

    /// A stream of these events, which ends after them or stays open.
    struct Events(Vec<Sse>, bool);

    impl Stream for Events {
        type Item = Result<Sse, SseError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            match self.0.pop() {
                Some(event) => Poll::Ready(Some(Ok(event))),
                None if self.1 => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn ends_after(events: impl Into<Vec<Sse>>) -> Opened {
        Ok(Box::pin(Events(events.into(), false)))
    }

    fn stays_open() -> Opened {
        Ok(Box::pin(Events(Vec::new(), true)))
    }

    fn fails(is_not_found: bool) -> Opened {
        Err(OpenError { reason: "no".to_owned(), is_not_found })
    }

    /// A stream that is kept open, what arrives on it, and the attempts to open it.
    struct Trial {
        events: Receiver<Result<Sse, SseError>>,
        changes: Receiver<StreamChange>,
        attempts: Arc<Mutex<Vec<Option<String>>>>,
    }

    /// Keeps a stream open. `open` receives the number of the attempt.
    fn keep(open: impl Fn(usize) -> Opened + Send + Sync + 'static) -> Trial {
        let ((sender, events), (notify, changes)) = (channel(64), channel(64));
        let (attempts, count) = (Arc::new(Mutex::new(Vec::new())), AtomicUsize::new(1));
        let recorded = Arc::clone(&attempts);
        let opened = open(0);
        let reopen: Open = Box::new(move |after| {
            recorded.lock().unwrap().push(after);
            let opened = open(count.fetch_add(1, Ordering::Relaxed));
            Box::pin(async { opened })
        });
        tokio::spawn(keep_open(opened, reopen, sender, notify));
        Trial { events, changes, attempts }
    }

    impl Trial {
        async fn attempts_within(&self, seconds: u64) -> usize {
            sleep(Duration::from_secs(seconds)).await;
            self.attempts.lock().unwrap().len()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn server_that_demands_no_delay_is_not_asked_in_a_loop() {
        let hurry = || Sse::default().retry(0);
        // 0.5, 1, 2, 4, 8, 16 and 28 of 32 seconds.
        let empty = keep(move |_| ends_after([hurry()]));
        assert_eq!(empty.attempts_within(60).await, 6);
        let mut useful = keep(move |_| ends_after([hurry().data("{}")]));
        let read = async { while useful.events.recv().await.is_some() {} };
        let _ = timeout(Duration::from_secs(10), read).await;
        let attempts = useful.attempts.lock().unwrap().len();
        assert!((18..=20).contains(&attempts), "{attempts}");
    }

    #[tokio::test(start_paused = true)]
    async fn server_can_lengthen_the_delay_to_a_minute() {
        let slow = keep(|_| ends_after([Sse::default().data("{}").retry(10_000)]));
        assert_eq!(slow.attempts_within(25).await, 2);
        let endless = keep(|_| ends_after([Sse::default().retry(u64::MAX)]));
        assert_eq!(endless.attempts_within(190).await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn stream_is_opened_after_any_number_of_failures() {
        let mut trial = keep(|number| match number {
            0 => ends_after([Sse::default().data("{}").id("7")]),
            1..=20 => fails(false),
            21 => Ok(Box::pin(Events(vec![Sse::default().data("back")], true))),
            _ => unreachable!(),
        });
        assert_eq!(trial.events.recv().await.unwrap().unwrap().id.as_deref(), Some("7"));
        assert_eq!(trial.changes.recv().await, Some(StreamChange::Lost("no".to_owned())));
        assert_eq!(trial.changes.recv().await, Some(StreamChange::Reopened));
        let event = trial.events.recv().await.unwrap().unwrap();
        assert_eq!(event.data.as_deref(), Some("back"));
        // The id that the server may have refused is not named for ever.
        let attempts = trial.attempts.lock().unwrap().clone();
        let id = Some("7".to_owned());
        assert_eq!(attempts[..4], [id.clone(), id.clone(), id, None]);
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_session_counts_as_expired_only_if_its_stream_was_open() {
        let mut expired = keep(|number| if number == 0 { ends_after([]) } else { fails(true) });
        assert_eq!(expired.changes.recv().await, Some(StreamChange::Expired));
        assert_eq!(expired.attempts_within(600).await, 1);
        let mut never_open = keep(|_| fails(true));
        assert_eq!(never_open.changes.recv().await, Some(StreamChange::Lost("no".to_owned())));
        assert_eq!(never_open.attempts_within(600).await, 15);
        assert!(never_open.changes.try_recv().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_the_connection() {
        for opened in [fails as fn(bool) -> Opened, |_| stays_open()] {
            let trial = keep(move |_| opened(false));
            let attempts = Arc::clone(&trial.attempts);
            drop(trial);
            sleep(Duration::from_secs(600)).await;
            assert!(attempts.lock().unwrap().is_empty());
            assert_eq!(Arc::strong_count(&attempts), 1, "the task has ended");
        }
    }
}
