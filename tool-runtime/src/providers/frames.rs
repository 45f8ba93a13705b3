//! Bytes of a stream → its messages, wherever the bytes are split.
//!
//! Providers frame messages in two ways: server-sent events (HTML standard, section "Server-sent
//! events") and lines of JSON.

use std::mem;

use super::codec::Framing;

/// Buffer for the message that is not complete yet.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    data: Vec<u8>,
    /// Whether a line feed would belong to the line ending before it.
    after_carriage_return: bool,
    is_first: bool,
    max_bytes: usize,
}

/// Error of a message that exceeds the size limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Frames {
    /// Creates an empty buffer for messages of at most `max_bytes` bytes.
    pub(super) fn new(framing: Framing, max_bytes: usize) -> Self {
        Self {
            framing,
            line: Vec::new(),
            data: Vec::new(),
            after_carriage_return: false,
            is_first: true,
            max_bytes,
        }
    }

    /// Adds bytes and returns the messages that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut whole = Vec::new();
        while let Some(&first) = bytes.first() {
            if mem::take(&mut self.after_carriage_return) && first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + line.len() > self.max_bytes {
                return Err(TooLong);
            }
            self.line.extend_from_slice(line);
            bytes = rest;
            if let Some((&sign, remaining)) = rest.split_first() {
                self.after_carriage_return = sign == b'\r';
                bytes = remaining;
                whole.extend(self.end_line());
            }
        }
        Ok(whole)
    }

    /// Returns the last message, which may lack its line ending.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        let last = self.end_line();
        last.or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let mut line = mem::take(&mut self.line);
        if mem::take(&mut self.is_first) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        match self.framing {
            Framing::Lines => (!line.trim_ascii().is_empty()).then_some(line),
            Framing::Sse if line.is_empty() => self.end_event(),
            Framing::Sse => {
                self.take_field(&line);
                None
            }
        }
    }

    /// Ends an event. The standard dispatches events with empty data, but providers use them to
    /// keep the connection open: none of their messages is empty.
    fn end_event(&mut self) -> Option<Vec<u8>> {
        let mut data = mem::take(&mut self.data);
        data.pop();
        (!data.trim_ascii().is_empty()).then_some(data)
    }

    /// Adds the field `data`, as `data`, `data:x` or `data: x`. Other fields and comments are
    /// ignored.
    fn take_field(&mut self, line: &[u8]) {
        let Some(rest) = line.strip_prefix(b"data") else { return };
        let value = match rest.split_first() {
            None => rest,
            Some((b':', value)) => value.strip_prefix(b" ").unwrap_or(value),
            Some(_) => return,
        };
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{Frames, TooLong};
    use crate::providers::codec::Framing;

    fn whole(framing: Framing, pieces: &[&[u8]]) -> Vec<String> {
        let mut frames = Frames::new(framing, 1_000);
        let mut found: Vec<_> =
            pieces.iter().flat_map(|piece| frames.push(piece).unwrap()).collect();
        found.extend(frames.finish());
        found.into_iter().map(|frame| String::from_utf8(frame).unwrap()).collect()
    }

    #[test]
    fn messages_do_not_depend_on_chunk_boundaries() {
        for (framing, text, expected) in [
            (Framing::Sse, "data: a\n\ndata: b\n\n", &["a", "b"][..]),
            (Framing::Sse, "data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (Framing::Sse, "data: a\r\rdata: b\r\r", &["a", "b"]),
            (Framing::Sse, "\u{feff}data:a\n\n", &["a"]),
            (Framing::Sse, "data: é🙂\ndata: b\n\n", &["é🙂\nb"]),
            (Framing::Sse, "data:  a\ndata\n\n", &[" a\n"]),
            (Framing::Sse, ": ping\nevent: x\nid: 1\nretry: 5\ndatabase: 1\n\n", &[]),
            (Framing::Sse, "event: x\ndata: {\"a\":1}\n\n\n\ndata\n\n", &["{\"a\":1}"]),
            (Framing::Sse, "data:\n\nevent: ping\ndata: \n\ndata: a\n\ndata\ndata\n\n", &["a"]),
            (Framing::Sse, "data\ndata: a\n\ndata: b\n\ndata:", &["\na", "b"]),
            (Framing::Sse, "data: a\n\ndata: b", &["a", "b"]),
            (Framing::Sse, "data: a\n\ndata: b\n", &["a", "b"]),
            (Framing::Sse, "", &[]),
            (Framing::Lines, "{\"a\":1}\n{\"b\":\"é\"}\n", &["{\"a\":1}", "{\"b\":\"é\"}"]),
            (Framing::Lines, "\u{feff}1\r\n\r\n 2 \r\n \n3", &["1", " 2 ", "3"]),
        ] {
            let bytes = text.as_bytes();
            assert_eq!(whole(framing, &[bytes]), expected, "{text:?}");
            let single: Vec<_> = bytes.chunks(1).collect();
            assert_eq!(whole(framing, &single), expected, "{text:?}");
            for at in 0..=bytes.len() {
                let (left, right) = bytes.split_at(at);
                assert_eq!(whole(framing, &[left, right]), expected, "{text:?} at {at}");
            }
        }
    }

    #[test]
    fn message_size_is_limited() {
        for (framing, piece) in
            [(Framing::Lines, &b"x"[..]), (Framing::Sse, b"data: x\n"), (Framing::Sse, b"d")]
        {
            let mut frames = Frames::new(framing, 100);
            let ended = (0..200).find_map(|_| frames.push(piece).err());
            assert_eq!(ended, Some(TooLong), "{framing:?} {piece:?}");
        }
    }
}
