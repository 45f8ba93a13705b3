//! Reads lines in constant memory, whatever their length.

use std::io::{self, BufRead};

/// The part of the lines that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// The number of characters that are skipped at the start of each line.
    pub(super) skipped: u64,
    /// The most characters of a line.
    pub(super) limit: usize,
}

/// A line without its line break.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    /// The number of characters after those of `text`.
    pub(super) omitted: u64,
    /// Whether the line ended with `\r\n`.
    pub(super) is_crlf: bool,
}

/// Skips lines; returns how many there were.
pub(super) fn skip_lines(reader: &mut impl BufRead, count: u64) -> io::Result<u64> {
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
pub(super) fn read_line(reader: &mut impl BufRead, columns: Columns) -> io::Result<Option<Line>> {
    let last = columns.skipped.saturating_add(columns.limit as u64);
    let mut text = Vec::new();
    let (mut characters, mut bytes) = (0_u64, 0_u64);
    let mut last_byte = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            if bytes == 0 {
                return Ok(None);
            }
            break;
        }
        let end = memchr::memchr(b'\n', buffer);
        let (part, _) = buffer.split_at(end.unwrap_or(buffer.len()));
        for &byte in part {
            // Each character has one byte that does not continue another.
            characters += u64::from(byte & 0xC0 != 0x80);
            if characters > columns.skipped && characters <= last {
                text.push(byte);
            }
        }
        last_byte = part.last().copied().unwrap_or(last_byte);
        let used = part.len() + usize::from(end.is_some());
        bytes += used as u64;
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    let is_crlf = last_byte == b'\r';
    if is_crlf {
        characters -= 1;
        if text.last() == Some(&b'\r') {
            text.pop();
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Some(Line { text, omitted: characters.saturating_sub(last), is_crlf }))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Columns, Line, read_line, skip_lines};

    const ALL: Columns = Columns { skipped: 0, limit: usize::MAX };

    #[test]
    fn lines_are_read_across_buffers() {
        let mut reader = BufReader::with_capacity(3, "Tromsø\r\n\nend".as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader, ALL).unwrap() {
            lines.push((line.text, line.is_crlf));
        }
        let expected = [("Tromsø", true), ("", false), ("end", false)];
        assert_eq!(lines, expected.map(|(text, is_crlf)| (text.to_owned(), is_crlf)));
    }

    #[test]
    fn long_line_is_shown_by_columns() {
        let columns = Columns { skipped: 2, limit: 3 };
        let line = read_line(&mut "åbçdéfgh\r\n".as_bytes(), columns).unwrap().unwrap();
        assert_eq!(line, Line { text: "çdé".into(), omitted: 3, is_crlf: true });
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
