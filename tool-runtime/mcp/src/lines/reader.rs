//! Lines of bounded size from a stream of bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::envelope::{Envelope, KEPT_BYTES};

/// The next line of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Complete(Vec<u8>),
    /// A line above the limit.
    TooLong(Envelope),
}

/// Reads lines of at most `limit` bytes, and skips longer ones.
pub(crate) struct BoundedLines<R> {
    reader: R,
    limit: usize,
    /// How much of a longer line is skipped before the stream is given up.
    max_skipped: usize,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that were read but not consumed.
    unread: std::ops::Range<usize>,
    line: Vec<u8>,
    skipping: Option<Skipped>,
    is_at_end: bool,
}

/// The line that is being skipped.
struct Skipped {
    bytes: usize,
    tail: Vec<u8>,
    is_reported: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(reader: R, limit: usize, max_skipped: usize) -> Self {
        Self {
            reader,
            limit,
            max_skipped,
            buffer: vec![0; 32 << 10],
            unread: 0..0,
            line: Vec::new(),
            skipping: None,
            is_at_end: false,
        }
    }

    /// Returns the next line, or `None` at the end.
    ///
    /// # Errors
    /// The stream can't be read, or a line never ends.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            while !self.unread.is_empty() {
                if let Some(line) = self.consume()? {
                    return Poll::Ready(Ok(Some(line)));
                }
            }
            if self.is_at_end {
                return Poll::Ready(Ok(None));
            }
            let mut buffer = ReadBuf::new(&mut self.buffer);
            ready!(Pin::new(&mut self.reader).poll_read(cx, &mut buffer))?;
            let count = buffer.filled().len();
            self.unread = 0..count;
            self.is_at_end = count == 0;
            if self.is_at_end && self.skipping.is_none() && !self.line.is_empty() {
                return Poll::Ready(Ok(Some(Line::Complete(std::mem::take(&mut self.line)))));
            }
        }
    }

    /// Moves unread bytes into the line, up to its end.
    fn consume(&mut self) -> io::Result<Option<Line>> {
        let unread = self.buffer.get(self.unread.clone()).unwrap_or_default();
        let end = unread.iter().position(|byte| *byte == b'\n');
        let piece = unread.get(..end.unwrap_or(unread.len())).unwrap_or_default();
        self.unread.start += piece.len() + usize::from(end.is_some());
        if let Some(skipped) = &mut self.skipping {
            skipped.add(piece);
            if skipped.bytes > self.max_skipped {
                return Err(io::Error::other("line never ends"));
            }
            if end.is_none() {
                return Ok(None);
            }
            let line = (!skipped.is_reported)
                .then(|| Line::TooLong(Envelope::read(&self.line, &skipped.tail)));
            self.line = Vec::new();
            self.skipping = None;
            return Ok(line);
        }
        self.line.extend_from_slice(piece);
        if self.line.len() > self.limit {
            let head = self.line.get(..KEPT_BYTES).unwrap_or(&self.line).to_vec();
            let early = Envelope::at_start(&head);
            let mut skipped = Skipped { bytes: 0, tail: Vec::new(), is_reported: early.is_some() };
            skipped.add(&self.line);
            if end.is_some() {
                let envelope = early.unwrap_or_else(|| Envelope::read(&head, &skipped.tail));
                self.line = Vec::new();
                return Ok(Some(Line::TooLong(envelope)));
            }
            self.line = head;
            self.skipping = Some(skipped);
            return Ok(early.map(Line::TooLong));
        }
        Ok(end.map(|_| Line::Complete(std::mem::take(&mut self.line))))
    }
}

impl Skipped {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        self.tail.extend_from_slice(
            piece.get(piece.len().saturating_sub(KEPT_BYTES)..).unwrap_or(piece),
        );
        let surplus = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use rmcp::model::RequestId;

    use super::*;

    async fn lines(text: &str, limit: usize) -> Vec<Line> {
        let mut lines = BoundedLines::new(text.as_bytes(), limit, 8 * limit);
        let mut found = Vec::new();
        while let Ok(Some(line)) = poll_fn(|cx| lines.poll_next(cx)).await {
            found.push(line);
        }
        found
    }

    fn complete(text: &str) -> Line {
        Line::Complete(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn oversized_line_is_reported_once_and_the_next_ones_are_read() {
        let long = format!("{{\"id\":5,\"result\":\"{}\"}}", "a".repeat(100_000));
        let late = format!("{{\"result\":\"{}\",\"id\":6}}", "a".repeat(100_000));
        let text = format!("one\n{long}\ntwo\n{late}\n\nlast");
        let id = |n| Line::TooLong(Envelope::Response(Some(RequestId::Number(n))));
        let expected =
            [complete("one"), id(5), complete("two"), id(6), complete(""), complete("last")];
        assert_eq!(lines(&text, 50_000).await, expected);
        assert_eq!(lines(&text, 20_000).await, expected);
    }

    #[tokio::test]
    async fn endless_line_ends_the_stream() {
        let text = "a".repeat(1_000_000);
        assert_eq!(lines(&text, 1_000).await, []);
    }

    /// A line of a gigabyte, generated while it is read.
    struct Gigabyte {
        start: &'static [u8],
        left: usize,
    }

    impl AsyncRead for Gigabyte {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let count = buffer.remaining().min(self.left);
            let (start, rest) = self.start.split_at(self.start.len().min(count));
            buffer.put_slice(start);
            buffer.initialize_unfilled_to(count - start.len()).fill(b'a');
            buffer.advance(count - start.len());
            self.start = rest;
            self.left -= count;
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn line_of_a_gigabyte_is_given_up_in_bounded_memory() {
        const LIMIT: usize = 1 << 20;
        for start in [&b""[..], b"{\"id\":7,\"result\":\""] {
            let mut lines = BoundedLines::new(Gigabyte { start, left: 1 << 30 }, LIMIT, 8 * LIMIT);
            let mut most = 0;
            let mut found = Vec::new();
            let error = loop {
                match poll_fn(|cx| lines.poll_next(cx)).await {
                    Ok(line) => found.extend(line),
                    Err(error) => break error,
                }
                most = most.max(lines.line.capacity());
            };
            assert_eq!(error.to_string(), "line never ends");
            let response = Envelope::Response(Some(RequestId::Number(7)));
            let expected = (!start.is_empty()).then_some(Line::TooLong(response));
            assert_eq!(found, Vec::from_iter(expected));
            let read = (1 << 30) - lines.reader.left;
            assert!(read <= 9 * LIMIT, "{read} bytes were read");
            let capacity = most.max(lines.line.capacity()) + lines.buffer.capacity();
            assert!(capacity <= 3 * LIMIT, "{capacity} bytes are allocated");
        }
    }
}
