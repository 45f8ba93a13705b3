//! Bytes of a stream → its messages: server-sent events or lines of JSON.

use crate::codec::Framing;
use tool_http::{LineDecoder, MessageSizeError, SseDecoder, decode_utf8};

/// Decoder of the messages of one stream. Empty messages are dropped: providers send them to keep
/// the connection open.
#[derive(Debug)]
pub(crate) enum Frames {
    Sse(SseDecoder),
    Lines { decoder: LineDecoder, is_first: bool },
}

/// One message of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) text: String,
    /// Whether the text is a copy in which invalid UTF-8 was replaced.
    pub(crate) has_invalid_utf8: bool,
}

impl Frames {
    /// Creates a decoder of messages of at most `max_bytes` bytes.
    pub(crate) fn new(framing: Framing, max_bytes: usize) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseDecoder::new(max_bytes)),
            Framing::Lines => Self::Lines { decoder: LineDecoder::new(max_bytes), is_first: true },
        }
    }

    /// Adds bytes and returns the messages that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, MessageSizeError> {
        let mut complete = Vec::new();
        match self {
            Self::Sse(decoder) => {
                decoder.push(bytes);
                while let Some(event) = decoder.next_event()? {
                    let has_invalid_utf8 = event.has_invalid_utf8();
                    complete.push(Frame { text: event.into_data(), has_invalid_utf8 });
                }
            }
            Self::Lines { decoder, is_first } => {
                decoder.push(bytes);
                while let Some(line) = decoder.next_line()? {
                    complete.push(Frame::from_line(line, std::mem::take(is_first)));
                }
            }
        }
        complete.retain(|frame| !frame.is_empty());
        Ok(complete)
    }

    /// Returns the last message, which may lack its ending: some servers omit it.
    pub(crate) fn finish(self) -> Option<Frame> {
        let last = match self {
            Self::Sse(decoder) => {
                let event = decoder.finish()?;
                let has_invalid_utf8 = event.has_invalid_utf8();
                Frame { text: event.into_data(), has_invalid_utf8 }
            }
            Self::Lines { decoder, is_first } => Frame::from_line(decoder.finish()?, is_first),
        };
        (!last.is_empty()).then_some(last)
    }
}

impl Frame {
    fn from_line(mut line: Vec<u8>, is_first: bool) -> Self {
        if is_first && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        let (text, has_invalid_utf8) = decode_utf8(line);
        Self { text, has_invalid_utf8 }
    }

    fn is_empty(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Frames;
    use crate::codec::Framing;

    fn whole(framing: Framing, pieces: &[&[u8]]) -> Vec<String> {
        let mut frames = Frames::new(framing, 1_000);
        let mut found: Vec<_> =
            pieces.iter().flat_map(|piece| frames.push(piece).unwrap()).collect();
        found.extend(frames.finish());
        found.into_iter().map(|frame| frame.text).collect()
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
            assert!(ended.is_some(), "{framing:?} {piece:?}");
        }
    }
}
