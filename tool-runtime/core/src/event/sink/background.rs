use std::fmt;
use std::io;

use super::observers::Observer;
use super::queue::{Queue, Sink};
use crate::event::{Event, Origin};
use crate::guard::catch_panic;
use crate::message::Delta;

/// The default capacity of a queue, in events.
pub(super) const DEFAULT_CAPACITY: usize = 10_000;

/// Runs an observer on a dedicated thread, so that slow observers never delay a run.
///
/// Events wait in a bounded queue, in their order, and so do the pieces of replies if the observer
/// [receives](Observer::receives_deltas) them. If the queue is full, new events and pieces are
/// dropped, and the observer receives their number as a
/// [`LogEvent::Dropped`](crate::event::LogEvent::Dropped), before the event or piece that follows
/// them. When the last clone is dropped, the thread processes what is queued and ends.
///
/// ```
/// use tool_runtime::event::Background;
/// use tool_runtime::{Agent, ChatReply, Event, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let slow = Background::new(|event: &Event| {
///     std::thread::sleep(std::time::Duration::from_millis(1));
///     println!("{}", event.name());
/// })?;
/// Agent::new(model, Tools::new()).observer(slow.clone()).run("Hello").await?;
/// slow.flush()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Background {
    queue: Queue,
    receives_deltas: bool,
}

impl Background {
    /// Starts a thread for an observer, with a queue of 10,000 events and pieces.
    ///
    /// # Errors
    /// Returns an error if the thread can't be spawned.
    ///
    /// ```
    /// use tool_runtime::event::Background;
    /// use tool_runtime::{Agent, Event, ScriptedModel, Tools};
    ///
    /// let log = Background::new(|event: &Event| println!("{}", event.name()))?;
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).observer(log.clone());
    /// # log.flush()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(observer: impl Observer + 'static) -> io::Result<Self> {
        Self::with_capacity(DEFAULT_CAPACITY, observer)
    }

    /// Starts a thread for an observer, with a queue of `capacity` events and pieces, and of one at
    /// least.
    ///
    /// # Errors
    /// Returns an error if the thread can't be spawned.
    pub fn with_capacity(capacity: usize, observer: impl Observer + 'static) -> io::Result<Self> {
        let receives_deltas = catch_panic(|| observer.receives_deltas()).unwrap_or(false);
        let queue = Queue::new(capacity, ObserverSink(observer))?;
        Ok(Self { queue, receives_deltas })
    }

    /// Blocks the current thread until the observer has received all earlier events.
    ///
    /// # Errors
    /// Returns an error if the observer panicked since the last flush. It receives later events all
    /// the same.
    pub fn flush(&self) -> io::Result<()> {
        self.queue.flush()
    }
}

struct ObserverSink<O>(O);

impl<O: Observer + 'static> Sink for ObserverSink<O> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.0.observe(event);
        Ok(())
    }

    fn write_delta(&mut self, origin: &Origin, delta: Delta<'_>) {
        self.0.observe_delta(origin, delta);
    }
}

impl Observer for Background {
    fn observe(&self, event: &Event) {
        self.queue.push(event);
    }

    fn receives_deltas(&self) -> bool {
        self.receives_deltas
    }

    fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
        self.queue.push_delta(origin, delta);
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
