//! Events to be awaited elsewhere.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError, error::TryRecvError};

use super::{Event, LogEvent, Observer};

/// The most events that are kept for a reader.
const MOST: usize = 1 << 20;

/// Hands events to readers in other tasks.
///
/// It never holds a run up: a reader who falls behind by more than the channel's capacity loses the
/// oldest events, and is told how many by a [`LogEvent::Lost`] in their place.
///
/// ```
/// use tool_runtime::event::Channel;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let channel = Channel::new(1_000);
/// let mut reader = channel.reader();
/// let agent = Agent::new(model, Tools::new()).observer(channel);
///
/// let reading = tokio::spawn(async move {
///     let mut seen = Vec::new();
///     while let Some(event) = reader.next().await {
///         seen.push(format!("{} {}", event.layer(), event.action()));
///     }
///     seen
/// });
/// agent.run("Hello").await?;
/// drop(agent); // and with it the channel
/// let expected = ["run started", "run said", "model asked", "model replied", "run finished"];
/// assert_eq!(reading.await.unwrap(), expected);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Channel(Sender<Arc<Event>>);

/// Reads the events that are told from when it was made.
pub struct ChannelReader(Receiver<Arc<Event>>);

impl Channel {
    /// A channel that keeps at least this many events for a reader who is behind.
    pub fn new(capacity: usize) -> Self {
        Self(broadcast::channel(capacity.clamp(1, MOST)).0)
    }

    /// One more reader; each reads all events from now on.
    pub fn reader(&self) -> ChannelReader {
        ChannelReader(self.0.subscribe())
    }
}

impl Observer for Channel {
    fn observe(&self, event: &Event) {
        if self.0.receiver_count() > 0 {
            // Fails only where the last reader has just gone.
            let _ = self.0.send(Arc::new(event.clone()));
        }
    }
}

impl ChannelReader {
    /// The next event; none once the channel and all its clones are gone.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(Arc::new(LogEvent::lost(count))),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        match self.0.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Lagged(count)) => Some(Arc::new(LogEvent::lost(count))),
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
