use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError, error::TryRecvError};

use crate::event::{Event, LogEvent, Observer};

/// The maximum capacity of a channel, in events.
const MAX_CAPACITY: usize = 1 << 20;

/// Broadcasts events to readers in other tasks.
///
/// The channel never delays a run. A reader that falls behind by more than the capacity loses the
/// oldest events, and receives their number as a [`LogEvent::Dropped`] in their place.
///
/// ```
/// use tool_runtime::event::Channel;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let channel = Channel::new(1_000);
/// let mut reader = channel.reader();
/// let agent = Agent::new(model, Tools::new()).observer(channel);
///
/// let reading = tokio::spawn(async move {
///     let mut names = Vec::new();
///     while let Some(event) = reader.next().await {
///         names.push(event.name().to_owned());
///     }
///     names
/// });
/// agent.run("Hello").await?;
/// drop(agent); // and with it the channel
/// let expected =
///     ["run.started", "run.message_added", "model.requested", "model.replied", "run.finished"];
/// assert_eq!(reading.await.unwrap(), expected);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Channel(Sender<Arc<Event>>);

/// Receives the events of a [`Channel`] that are emitted after the reader was created.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use tool_runtime::Event;
/// use tool_runtime::event::{Channel, ModelEvent, Observer, Origin};
///
/// let channel = Channel::new(10);
/// let mut reader = channel.reader();
/// let requested = ModelEvent::Requested { message: None };
/// channel.observe(&Event::new(Origin::default(), UNIX_EPOCH, requested));
/// assert_eq!(reader.try_next().unwrap().name(), "model.requested");
/// assert!(reader.try_next().is_none());
/// ```
pub struct ChannelReader(Receiver<Arc<Event>>);

impl Channel {
    /// Creates a channel that keeps at least `capacity` events for a slow reader, and at most about
    /// a million.
    ///
    /// ```
    /// use tool_runtime::event::Channel;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let channel = Channel::new(1_000);
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).observer(channel.clone());
    /// let mut reader = channel.reader();
    /// assert!(reader.try_next().is_none());
    /// ```
    pub fn new(capacity: usize) -> Self {
        Self(broadcast::channel(capacity.clamp(1, MAX_CAPACITY)).0)
    }

    /// Creates a reader, which receives every event from now on.
    pub fn reader(&self) -> ChannelReader {
        ChannelReader(self.0.subscribe())
    }
}

impl Observer for Channel {
    fn observe(&self, event: &Event) {
        if self.0.receiver_count() > 0 {
            // Fails if the last reader was dropped just now.
            let _ = self.0.send(Arc::new(event.clone()));
        }
    }
}

impl ChannelReader {
    /// Waits for the next event; `None` once the channel and all its clones are dropped.
    ///
    /// # Cancellation
    /// Dropping the future loses no event.
    ///
    /// ```
    /// use tool_runtime::event::Channel;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let channel = Channel::new(1_000);
    /// let mut reader = channel.reader();
    /// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
    /// Agent::new(model, Tools::new()).observer(channel).run("Hi").await?;
    ///
    /// let event = reader.next().await.expect("the run has started");
    /// assert_eq!(event.name(), "run.started");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(Arc::new(LogEvent::dropped_events(count))),
            Err(RecvError::Closed) => None,
        }
    }

    /// Returns the next event without waiting; `None` if there is none yet.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        match self.0.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Lagged(count)) => Some(Arc::new(LogEvent::dropped_events(count))),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("readers", &self.0.receiver_count()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ChannelReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelReader").field("waiting", &self.0.len()).finish_non_exhaustive()
    }
}
