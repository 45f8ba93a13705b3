//! Bytes → server-sent events (HTML standard, section "Server-sent events").
//!
//! The decoder is our own, because crates of the field read from a stream of a certain HTTP client
//! and limit nothing.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::message_limit::{MessageSizeError, decode_utf8};

/// Decoder that splits a byte stream into server-sent events.
///
/// It implements the HTML standard: a byte order mark at the start; lines that end with a line
/// feed, a carriage return, or both; the fields `data`, `event`, `id` and `retry`; comments.
/// [`last_event_id`](Self::last_event_id) and [`retry`](Self::retry) return what a client needs to
/// reconnect.
///
/// ```
/// use std::time::Duration;
///
/// use tool_http::SseDecoder;
///
/// let mut events = SseDecoder::new(1 << 20);
/// for chunk in ["retry: 500\nid: 7\ndata: a\n", "\nevent: ping\ndata: b\ndata: c\n\n"] {
///     events.push(chunk.as_bytes());
/// }
/// let first = events.next_event()?.unwrap();
/// assert_eq!((first.name(), first.data(), first.id()), ("message", "a", "7"));
/// let second = events.next_event()?.unwrap();
/// assert_eq!((second.name(), second.data(), second.id()), ("ping", "b\nc", "7"));
/// assert_eq!(events.next_event()?, None);
///
/// assert_eq!((events.last_event_id(), events.retry()), ("7", Some(Duration::from_millis(500))));
/// # Ok::<(), tool_http::MessageSizeError>(())
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    max_bytes: usize,
    line: Vec<u8>,
    /// Whether a line feed would belong to the line ending before it.
    after_carriage_return: bool,
    is_first_line: bool,
    /// Whether the rest of an event that is too long is skipped.
    is_skipping: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    /// The field `id` of the current event. It takes effect when the event ends.
    id: Option<Vec<u8>>,
    /// Shared: each event has it, and it can be long.
    last_event_id: Arc<str>,
    retry: Option<Duration>,
    complete: VecDeque<Result<SseEvent, MessageSizeError>>,
}

/// One event of a stream of server-sent events.
///
/// ```
/// use tool_http::SseDecoder;
///
/// let mut events = SseDecoder::new(100);
/// events.push(b"event: endpoint\ndata: /messages?session=1\n\n");
/// let event = events.next_event()?.unwrap();
/// assert_eq!(event.name(), "endpoint");
/// assert_eq!(event.into_data(), "/messages?session=1");
/// # Ok::<(), tool_http::MessageSizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    name: String,
    data: String,
    id: Arc<str>,
    has_invalid_utf8: bool,
}

impl SseEvent {
    /// Returns the name of the event: its field `event`, or `message` if it has none.
    pub fn name(&self) -> &str {
        if self.name.is_empty() { "message" } else { &self.name }
    }

    /// Returns the data of the event: its fields `data`, joined by line feeds.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// Returns the data of the event by value.
    pub fn into_data(self) -> String {
        self.data
    }

    /// Returns the last id that the stream set, in this event or before; empty if it set none.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whether the name or the data was not UTF-8. The standard requires that the invalid
    /// bytes are replaced by U+FFFD; a client can refuse the event instead.
    pub fn has_invalid_utf8(&self) -> bool {
        self.has_invalid_utf8
    }
}

impl SseDecoder {
    /// Creates a decoder of events of at most `max_bytes` bytes.
    ///
    /// All bytes of an event count, except the field names of its completed lines.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            after_carriage_return: false,
            is_first_line: true,
            is_skipping: false,
            name: Vec::new(),
            data: Vec::new(),
            id: None,
            last_event_id: Arc::default(),
            retry: None,
            complete: VecDeque::new(),
        }
    }

    /// Adds a chunk of the stream. Take the complete events before you add the next one.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while let Some(&first) = chunk.first() {
            if mem::take(&mut self.after_carriage_return) && first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', chunk);
            let (line, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            self.append(line);
            if let Some((&sign, after)) = rest.split_first() {
                self.after_carriage_return = sign == b'\r';
                self.end_line();
                chunk = after;
            } else {
                return;
            }
        }
    }

    /// Returns the next complete event, or `None` until more bytes are pushed. A block of
    /// lines without the field `data` is not an event.
    ///
    /// # Errors
    /// [`MessageSizeError`], once for each event that exceeds the limit. The event is skipped, and
    /// its id does not become the last one.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, MessageSizeError> {
        self.complete.pop_front().transpose()
    }

    /// Ends the stream and returns its last event, if the empty line after it is missing.
    ///
    /// The standard discards such an event, because the connection may have broken within it.
    /// Events that were not taken are dropped.
    pub fn finish(mut self) -> Option<SseEvent> {
        self.complete.clear();
        self.end_line();
        self.end_event();
        self.complete.pop_front()?.ok()
    }

    /// Returns the id to send as `Last-Event-ID` when the client reconnects; empty if the stream
    /// set none.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// Returns the time to wait before the client reconnects, if the stream set one.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.is_skipping {
            // Any byte distinguishes the line from an empty one, which ends the event.
            self.line = vec![b'.'];
            return;
        }
        let id_bytes = self.id.as_ref().map_or(0, Vec::len);
        let event_bytes = self.line.len() + self.name.len() + self.data.len() + id_bytes;
        if event_bytes + bytes.len() > self.max_bytes {
            (self.line, self.name, self.data, self.id) = (vec![b'.'], Vec::new(), Vec::new(), None);
            self.is_skipping = true;
            self.complete.push_back(Err(MessageSizeError { max_bytes: self.max_bytes }));
            return;
        }
        self.line.extend_from_slice(bytes);
    }

    fn end_line(&mut self) {
        let mut line = mem::take(&mut self.line);
        let is_first = mem::take(&mut self.is_first_line);
        let bom = "\u{feff}".as_bytes();
        let content = line.strip_prefix(bom).filter(|_| is_first).unwrap_or(&line);
        match content {
            [] if self.is_skipping => self.is_skipping = false,
            [] => self.end_event(),
            _ if self.is_skipping => {}
            field => self.read_field(field),
        }
        // Keep the allocation.
        line.clear();
        self.line = line;
    }

    /// Reads a field: `name`, `name:value` or `name: value`. The name of a comment is empty.
    fn read_field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let (name, rest) = line.split_at(colon);
                let value = rest.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.name = value.to_vec(),
            b"id" if !value.contains(&0) => self.id = Some(value.to_vec()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let millis = str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn end_event(&mut self) {
        if let Some(id) = self.id.take() {
            self.last_event_id = decode_utf8(id).0.into();
        }
        let (name, mut data) = (mem::take(&mut self.name), mem::take(&mut self.data));
        // Each field `data` adds a line feed, so this was a block without one.
        if data.pop().is_none() {
            return;
        }
        let ((name, is_name_invalid), (data, is_data_invalid)) =
            (decode_utf8(name), decode_utf8(data));
        self.complete.push_back(Ok(SseEvent {
            name,
            data,
            id: Arc::clone(&self.last_event_id),
            has_invalid_utf8: is_name_invalid || is_data_invalid,
        }));
    }
}
