//! A bounded queue with a thread behind it, so that slow sinks never delay a run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use super::owned_delta::OwnedDelta;
use crate::event::{Event, LogEvent, Origin};
use crate::guard::{Panic, catch_panic};
use crate::message::Delta;

/// Processes events on the thread of a queue.
pub(crate) trait Sink: Send + 'static {
    fn write(&mut self, event: &Event) -> io::Result<()>;

    /// Receives a piece of a reply.
    fn write_delta(&mut self, origin: &Origin, delta: Delta<'_>) {
        let _ = (origin, delta);
    }

    /// Flushes buffered events; called when the queue is empty.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The sending end of the queue. Once all clones are dropped, the thread processes what is queued
/// and ends.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: SyncSender<QueueItem>,
    dropped: Arc<AtomicU64>,
}

enum QueueItem {
    Event(Box<Event>),
    Delta(Box<(Origin, OwnedDelta)>),
    Flush(SyncSender<io::Result<()>>),
}

impl Queue {
    pub(crate) fn new(capacity: usize, sink: impl Sink) -> io::Result<Self> {
        let (sender, items) = sync_channel(capacity.max(1));
        let dropped = Arc::<AtomicU64>::default();
        let worker =
            Worker { sink, dropped: Arc::clone(&dropped), has_unflushed: false, error: None };
        thread::Builder::new().name("tool events".into()).spawn(move || worker.run(&items))?;
        Ok(Self { sender, dropped })
    }

    /// Queues an event, or drops it if the queue is full.
    pub(crate) fn push(&self, event: &Event) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(QueueItem::Event(Box::new(event.clone())))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Queues a piece of a reply, or drops it if the queue is full.
    pub(crate) fn push_delta(&self, origin: &Origin, delta: Delta<'_>) {
        let piece = QueueItem::Delta(Box::new((origin.clone(), OwnedDelta::from(delta))));
        if self.sender.try_send(piece).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Blocks until all queued events are processed; returns the first error since the last flush.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let ended = || io::Error::other("event queue: the worker thread has ended");
        let (acknowledge, reply) = sync_channel(1);
        self.sender.send(QueueItem::Flush(acknowledge)).map_err(|_| ended())?;
        reply.recv().map_err(|_| ended())?
    }
}

/// The thread behind the queue.
struct Worker<S> {
    sink: S,
    dropped: Arc<AtomicU64>,
    /// Whether the sink was written to since its last flush.
    has_unflushed: bool,
    /// The first error since the last flush.
    error: Option<io::Error>,
}

impl<S: Sink> Worker<S> {
    fn run(mut self, items: &Receiver<QueueItem>) {
        while let Ok(item) = items.recv() {
            self.process(item);
            while let Ok(item) = items.try_recv() {
                self.process(item);
            }
            self.flush();
        }
        // Reports the events that were dropped after the last item was taken.
        self.flush();
    }

    fn process(&mut self, item: QueueItem) {
        match item {
            QueueItem::Event(event) => {
                self.write_dropped_count();
                self.has_unflushed = true;
                if !self.try_sink(|sink| sink.write(&event)) {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            QueueItem::Delta(piece) => {
                self.write_dropped_count();
                let (origin, delta) = &*piece;
                let write = |sink: &mut S| {
                    sink.write_delta(origin, delta.as_delta());
                    Ok(())
                };
                if !self.try_sink(write) {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            QueueItem::Flush(acknowledge) => {
                self.flush();
                let _ = acknowledge.send(self.error.take().map_or(Ok(()), Err));
            }
        }
    }

    fn write_dropped_count(&mut self) {
        let count = self.dropped.swap(0, Ordering::Relaxed);
        self.has_unflushed |= count > 0;
        if count > 0 && !self.try_sink(|sink| sink.write(&LogEvent::dropped_events(count))) {
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        self.write_dropped_count();
        if std::mem::take(&mut self.has_unflushed) {
            self.try_sink(Sink::flush);
        }
    }

    /// Runs the sink, and returns whether it succeeded. A sink that panics receives the next event
    /// all the same.
    fn try_sink(&mut self, work: impl FnOnce(&mut S) -> io::Result<()>) -> bool {
        let result = catch_panic(|| work(&mut self.sink));
        let result = result.unwrap_or_else(|Panic(text)| Err(io::Error::other(text)));
        result.map_err(|error| _ = self.error.get_or_insert(error)).is_ok()
    }
}
