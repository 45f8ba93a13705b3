//! A thread of its own behind a bounded queue: what takes long there takes long for nobody else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use super::{Event, LogEvent};
use crate::guard::{Panic, guarded};

/// What the thread does with events.
pub(super) trait Sink: Send + 'static {
    fn take(&mut self, event: &Event) -> io::Result<()>;

    /// Lets go of what it holds back; called when there is nothing else to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The near end of the queue. Once all its clones are gone the thread finishes what is queued, and ends.
#[derive(Clone)]
pub(super) struct Queue {
    sender: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

enum Item {
    Event(Box<Event>),
    Flush(SyncSender<io::Result<()>>),
}

impl Queue {
    pub(super) fn new(capacity: usize, sink: impl Sink) -> io::Result<Self> {
        let (sender, items) = sync_channel(capacity.max(1));
        let lost = Arc::<AtomicU64>::default();
        let far = Far { sink, lost: Arc::clone(&lost), holds_back: false, failed: None };
        thread::Builder::new().name("tool events".into()).spawn(move || far.run(&items))?;
        Ok(Self { sender, lost })
    }

    /// Hands the event over, unless the queue is full.
    pub(super) fn push(&self, event: &Event) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(Item::Event(Box::new(event.clone())))
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all that was handed over is dealt with; what failed since the last time.
    pub(super) fn flush(&self) -> io::Result<()> {
        let gone = || io::Error::other("the thread that events go to is gone");
        let (done, waits) = sync_channel(1);
        self.sender.send(Item::Flush(done)).map_err(|_| gone())?;
        waits.recv().map_err(|_| gone())?
    }
}

/// The far end.
struct Far<S> {
    sink: S,
    lost: Arc<AtomicU64>,
    /// Whether it has taken something since it was last told to let go.
    holds_back: bool,
    failed: Option<io::Error>,
}

impl<S: Sink> Far<S> {
    fn run(mut self, items: &Receiver<Item>) {
        while let Ok(item) = items.recv() {
            self.take(item);
            while let Ok(item) = items.try_recv() {
                self.take(item);
            }
            self.flush();
        }
        // What was lost while it was already done with all else.
        self.flush();
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Event(event) => {
                self.tell_of_lost();
                self.holds_back = true;
                if !self.attempt(|sink| sink.take(&event)) {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Item::Flush(done) => {
                self.flush();
                let _ = done.send(self.failed.take().map_or(Ok(()), Err));
            }
        }
    }

    fn tell_of_lost(&mut self) {
        let count = self.lost.swap(0, Ordering::Relaxed);
        self.holds_back |= count > 0;
        if count > 0 && !self.attempt(|sink| sink.take(&LogEvent::lost(count))) {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        self.tell_of_lost();
        if std::mem::take(&mut self.holds_back) {
            self.attempt(Sink::flush);
        }
    }

    /// Whether it went well. A sink that panics goes on with the next event.
    fn attempt(&mut self, work: impl FnOnce(&mut S) -> io::Result<()>) -> bool {
        let outcome = guarded(|| work(&mut self.sink));
        let outcome = outcome.unwrap_or_else(|Panic(text)| Err(io::Error::other(text)));
        outcome.map_err(|error| _ = self.failed.get_or_insert(error)).is_ok()
    }
}
