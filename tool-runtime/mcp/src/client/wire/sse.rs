//! Streams of server-sent events, and the bounds of the delay before one is opened again.

use std::time::Duration;

use futures_core::stream::BoxStream;
use sse_stream::{Error as SseError, Sse};

/// The events of a stream, until it ends or fails.
pub(super) type SseStream = BoxStream<'static, Result<Sse, SseError>>;

/// The shortest delay before a stream is opened again. A server can lengthen it only.
pub(super) const MIN_DELAY: Duration = Duration::from_millis(500);

/// The longest delay before a stream is opened again.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(60);
