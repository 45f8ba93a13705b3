use std::fmt;
use std::io;

use super::queue::{Queue, Sink};
use super::{Event, Observer};

/// How many events may wait, unless a program says otherwise.
pub(super) const CAPACITY: usize = 10_000;

/// Has an observer told of events on a thread of its own, however long it takes there. Runs are never
/// held up: where it is too far behind, it loses what comes, and is told how much by a
/// [`LogEvent::Lost`](super::LogEvent::Lost).
///
/// ```
/// use tool_runtime::event::{Background, Event};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let slow = Background::new(|event: &Event| {
///     std::thread::sleep(std::time::Duration::from_millis(1));
///     println!("{} {}", event.layer(), event.action());
/// })?;
/// Agent::new(model, Tools::new()).observer(slow.clone()).run("Hello").await?;
/// slow.flush()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Background(Queue);

impl Background {
    /// Up to 10,000 events may wait for it.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn new(observer: impl Observer + 'static) -> io::Result<Self> {
        Self::with_capacity(CAPACITY, observer)
    }

    /// Up to this many events may wait for it.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn with_capacity(capacity: usize, observer: impl Observer + 'static) -> io::Result<Self> {
        Queue::new(capacity, Told(observer)).map(Self)
    }

    /// Waits, and holds this thread up meanwhile, until it was told of all that came before.
    ///
    /// # Errors
    /// It panicked since the last time; it goes on all the same.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Told<O>(O);

impl<O: Observer + 'static> Sink for Told<O> {
    fn take(&mut self, event: &Event) -> io::Result<()> {
        self.0.observe(event);
        Ok(())
    }
}

impl Observer for Background {
    fn observe(&self, event: &Event) {
        self.0.push(event);
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
