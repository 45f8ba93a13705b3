use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::{Event, Origin};

/// An event about the delivery of events.
///
/// Only the observer that missed events receives it; it belongs to no run.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use tool_runtime::Event;
/// use tool_runtime::event::{Channel, EventKind, LogEvent, ModelEvent, Observer, Origin};
///
/// let channel = Channel::new(1);
/// let mut reader = channel.reader();
/// let event = Event::new(Origin::default(), UNIX_EPOCH, ModelEvent::Requested { message: None });
/// for _ in 0..3 {
///     channel.observe(&event);
/// }
/// let first = reader.try_next().unwrap();
/// assert_eq!(first.kind, EventKind::Log(LogEvent::Dropped { count: 2 }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum LogEvent {
    /// Events, or pieces of replies, were dropped: they were emitted faster than they were read, or
    /// could not be written.
    #[serde(rename = "log.dropped")]
    Dropped {
        /// The number of dropped events and pieces.
        count: u64,
    },
}

impl LogEvent {
    pub(super) fn dropped_events(count: u64) -> Event {
        Event::new(Origin::default(), Clock::start().now(), Self::Dropped { count })
    }
}
