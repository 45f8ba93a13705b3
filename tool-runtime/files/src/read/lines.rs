//! Reads lines in constant memory, whatever their length.

use std::io::{self, BufRead};
use std::ops::Range;

/// The characters beyond a cut that are searched for secrets, so that one across the cut is found
/// as a whole. They are never shown.
pub(crate) const MARGIN: usize = 16 * 1024;

/// The part of the lines that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// The number of characters that are skipped at the start of each line.
    pub(crate) skipped: u64,
    /// The most characters of a line.
    pub(crate) limit: usize,
    /// The number of characters before and after these that are kept as well.
    pub(crate) margin: usize,
}

/// A line without its line break.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Line {
    before: String,
    pub(crate) text: String,
    after: String,
    /// The number of characters after those of `text`.
    pub(crate) omitted: u64,
    pub(crate) end: LineEnd,
}

impl Line {
    /// Returns the text without the secrets that reach beyond it. `redact` returns a part of a text
    /// without secrets.
    pub(crate) fn redacted(&self, redact: &dyn Fn(&str, Range<usize>) -> String) -> String {
        let Self { before, text, after, .. } = self;
        if before.is_empty() && after.is_empty() {
            return text.clone();
        }
        redact(&format!("{before}{text}{after}"), before.len()..before.len() + text.len())
    }
}

/// The line break after a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// None: the line is the last one.
    #[default]
    None,
    Lf,
    Crlf,
}

/// Skips lines; returns how many there were.
pub(crate) fn skip_lines(reader: &mut impl BufRead, count: u64) -> io::Result<u64> {
    let mut skipped = 0;
    let mut is_within_line = false;
    while skipped < count {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped + u64::from(is_within_line));
        }
        let used = match memchr::memchr(b'\n', buffer) {
            Some(end) => {
                skipped += 1;
                is_within_line = false;
                end + 1
            }
            None => {
                is_within_line = true;
                buffer.len()
            }
        };
        reader.consume(used);
    }
    Ok(skipped)
}

/// Reads one line; `None` at the end.
pub(crate) fn read_line(reader: &mut impl BufRead, columns: Columns) -> io::Result<Option<Line>> {
    let last = columns.skipped.saturating_add(columns.limit as u64);
    let margin = columns.margin as u64;
    let [mut before, mut text, mut after] = [const { Vec::new() }; 3];
    let (mut characters, mut bytes) = (0_u64, 0_u64);
    let (mut last_byte, mut missing) = (0, 0);
    let end = loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            if bytes == 0 {
                return Ok(None);
            }
            break LineEnd::None;
        }
        let end = memchr::memchr(b'\n', buffer);
        let (part, _) = buffer.split_at(end.unwrap_or(buffer.len()));
        for &byte in part {
            // A character has one byte that continues no other. A byte that continues nothing is
            // one, too: otherwise, a line of such bytes would have no end.
            let is_continuation = byte & 0xC0 == 0x80 && missing > 0;
            missing = if is_continuation { missing - 1 } else { continuation_len(byte) };
            characters += u64::from(!is_continuation);
            if characters > last {
                if characters - last <= margin {
                    after.push(byte);
                }
            } else if characters > columns.skipped {
                text.push(byte);
            } else if columns.skipped - characters < margin {
                before.push(byte);
            }
        }
        last_byte = part.last().copied().unwrap_or(last_byte);
        let used = part.len() + usize::from(end.is_some());
        bytes += used as u64;
        reader.consume(used);
        if end.is_some() {
            break if last_byte == b'\r' { LineEnd::Crlf } else { LineEnd::Lf };
        }
    };
    if end == LineEnd::Crlf {
        characters -= 1;
        if text.last() == Some(&b'\r') {
            text.pop();
        }
    }
    let [before, text, after] =
        [before, text, after].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Some(Line { before, text, after, omitted: characters.saturating_sub(last), end }))
}

/// Returns the number of bytes that continue a character of UTF-8 which starts with this one.
fn continuation_len(byte: u8) -> u8 {
    match byte {
        0xC2..=0xDF => 1,
        0xE0..=0xEF => 2,
        0xF0..=0xF4 => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Columns, Line, LineEnd, read_line, skip_lines};

    const ALL: Columns = Columns { skipped: 0, limit: usize::MAX, margin: 0 };

    #[test]
    fn lines_are_read_across_buffers() {
        let mut reader = BufReader::with_capacity(3, "Tromsø\r\n\nend\r".as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader, ALL).unwrap() {
            lines.push((line.text, line.end));
        }
        let expected = [("Tromsø", LineEnd::Crlf), ("", LineEnd::Lf), ("end\r", LineEnd::None)];
        assert_eq!(lines, expected.map(|(text, end)| (text.to_owned(), end)));
    }

    #[test]
    fn long_line_is_shown_by_columns() {
        let columns = Columns { skipped: 2, limit: 3, margin: 1 };
        let line = read_line(&mut "åbçdéfgh\r\n".as_bytes(), columns).unwrap().unwrap();
        let [before, text, after] = ["b", "çdé", "f"].map(str::to_owned);
        assert_eq!(line, Line { before, text, after, omitted: 3, end: LineEnd::Crlf });
    }

    #[test]
    fn bytes_that_are_no_text_count_as_characters() {
        let columns = Columns { skipped: 1, limit: 3, margin: 0 };
        for (bytes, text, omitted) in [
            (&[b'a', 0x80, 0x80, 0x80, 0x80, 0x80][..], "\u{fffd}\u{fffd}\u{fffd}", 2),
            (b"a\xff\xff\xff\xff", "\u{fffd}\u{fffd}\u{fffd}", 1),
            (b"a\xc3\xa5\x80\xe2\x82\xac", "å\u{fffd}€", 0),
        ] {
            let line = read_line(&mut &bytes[..], columns).unwrap().unwrap();
            assert_eq!((line.text.as_str(), line.omitted), (text, omitted), "{bytes:x?}");
        }
        let mut line = vec![b'a'];
        line.resize(1 << 20, 0x80);
        let line = read_line(&mut &line[..], columns).unwrap().unwrap();
        assert_eq!((line.text.len(), line.omitted), (9, (1 << 20) - 4));
    }

    #[test]
    fn skipping_counts_the_lines_that_exist() {
        for (text, count, expected) in
            [("a\nb\nc", 2, 2), ("a\nb", 5, 2), ("a\n", 5, 1), ("", 1, 0)]
        {
            let mut reader = BufReader::with_capacity(1, text.as_bytes());
            assert_eq!(skip_lines(&mut reader, count).unwrap(), expected, "{text:?}");
        }
    }
}
